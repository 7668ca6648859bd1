/* SPDX-License-Identifier: MIT */
/* Pairs of a line; see logfmt.h. */
#include "common/logfmt.h"

#include <stdbool.h>
#include <string.h>

#include "common/printable.h"

/* Bytes of a value that need no quotes; a byte of a longer character needs none, too. */
static bool is_plain(char byte)
{
	return byte > ' ' && byte != '"' && byte != '\\' && byte != '=';
}

static bool needs_quotes(const char *value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!is_plain(value[i]) && (unsigned char)value[i] < 0x80)
			return true;
	return size == 0;
}

/* A byte of a character that is not its first. */
static bool is_inner(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Where to cut a text, so that no character is cut in two. */
static size_t whole(const char *bytes, size_t size, size_t most)
{
	if (size <= most)
		return size;
	while (most > 0 && is_inner(bytes[most]))
		most--;
	return most;
}

static void append(struct logfmt *line, char byte)
{
	line->text[line->used++] = byte;
}

/* What fits of the value, in quotes. */
static void append_quoted(struct logfmt *line, const char *value, size_t size, size_t room)
{
	size_t length;

	append(line, '"');
	for (size_t i = 0; i < size; i += length) {
		const bool escaped = value[i] == '"' || value[i] == '\\';

		length = 1;
		while (i + length < size && is_inner(value[i + length]))
			length++;
		if (length + escaped > room)
			break;
		room -= length + escaped;
		if (escaped)
			append(line, '\\');
		for (size_t at = i; at < i + length; at++)
			append(line, value[at]);
	}
	append(line, '"');
}

static void append_plain(struct logfmt *line, const char *value, size_t size)
{
	memcpy(line->text + line->used, value, size);
	line->used += size;
}

void logfmt_add(struct logfmt *line, const char *key, struct slice value)
{
	const size_t key_size = strlen(key), space = line->used > 0;
	char text[LOGFMT_VALUE_MAX];
	size_t size, room;

	/* A space, the key, =, two quotes. */
	if (line->used + space + key_size + 3 >= line->size)
		return;
	room = line->size - line->used - space - key_size - 4;
	size = whole(value.bytes, value.size, room < sizeof(text) ? room : sizeof(text));
	memcpy(text, value.bytes, size);
	printable(text, size);
	if (space > 0)
		append(line, ' ');
	append_plain(line, key, key_size);
	append(line, '=');
	if (needs_quotes(text, size))
		append_quoted(line, text, size, room);
	else
		append_plain(line, text, size);
}
