/* SPDX-License-Identifier: MIT */
/* The values of options, by the kind of their rows; see option_table.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomic.h"
#include "common/must.h"
#include "common/option_table.h"

#define HOUR 3600ULL

/* What may stand behind a number, and what the number is then multiplied by. */
struct unit {
	char letter;
	unsigned long long factor;
};

static const struct unit bytes[] = {{'K', 1ULL << 10}, {'M', 1ULL << 20}, {'G', 1ULL << 30}, {0}};
static const struct unit spans[] = {
	{'h', HOUR},           {'d', 24 * HOUR},       {'w', 7 * 24 * HOUR},
	{'m', 30 * 24 * HOUR}, {'y', 365 * 24 * HOUR}, {0},
};
static const struct unit none[] = {{0}};

static const struct unit *units_of(enum option_kind kind)
{
	if (kind == OPTION_SIZE || kind == OPTION_LIMIT)
		return bytes;
	return kind == OPTION_SPAN ? spans : none;
}

/* A number of the row's range, with an optional unit behind it. */
static bool parse_number(const struct option_row *row, const char *text, unsigned long long *number)
{
	const struct unit *unit = units_of(row->kind);
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || errno != 0)
		return false;
	if (*end != '\0') {
		while (unit->letter != '\0' && unit->letter != *end)
			unit++;
		if (unit->letter == '\0' || end[1] != '\0' || *number > row->most / unit->factor)
			return false;
		*number *= unit->factor;
	}
	return *number >= row->least && *number <= row->most;
}

static const char *expected_number(const struct option_row *row)
{
	const struct unit *unit = units_of(row->kind);
	const char *more = "";
	static char text[128];

	if (unit == bytes)
		more = ", also with K, M or G";
	if (unit == spans)
		more = " in seconds, also with h, d, w, m or y";
	snprintf(text, sizeof(text), "a number from %llu to %llu%s", row->least, row->most, more);
	return text;
}

static const char *set_number(struct broker_options *options, const struct option_row *row,
                              const char *value)
{
	void *const at = (char *)options + row->offset;
	unsigned long long number;

	if (!parse_number(row, value, &number))
		return expected_number(row);
	if (row->kind == OPTION_LIMIT && number == 0)
		number = row->most;
	if (row->kind == OPTION_UINT || row->kind == OPTION_SPAN)
		*(unsigned int *)at = (unsigned int)number;
	else
		*(size_t *)at = (size_t)number;
	return NULL;
}

static char *copy_text(const char *text)
{
	char *copy = must_alloc(strlen(text) + 1);

	strcpy(copy, text);
	return copy;
}

static const char *set_text(struct broker_options *options, const struct option_row *row,
                            const char *value)
{
	char **const at = (char **)(void *)((char *)options + row->offset);

	if (value[0] == '\0')
		return "a value behind it";
	free(*at);
	*at = copy_text(value);
	return NULL;
}

/* Is it one of the words, which have a space between two? */
static bool word_among(const char *words, const char *value)
{
	const size_t size = strlen(value);

	for (const char *at = words; size > 0 && (at = strstr(at, value)) != NULL; at += size)
		if ((at == words || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
			return true;
	return false;
}

static const char *set_word(struct broker_options *options, const struct option_row *row,
                            const char *value)
{
	static char text[128];

	if (strchr(value, ' ') == NULL && word_among(row->words, value))
		return set_text(options, row, value);
	snprintf(text, sizeof(text), "one of: %s", row->words);
	return text;
}

static const char *set_bit(struct broker_options *options, const struct option_row *row,
                           const char *value)
{
	unsigned int *const at = (unsigned int *)(void *)((char *)options + row->offset), bit = 1;
	static char text[128];

	for (const char *word = row->words; *word != '\0'; bit *= 2) {
		const size_t size = strcspn(word, " ");

		if (strlen(value) == size && memcmp(word, value, size) == 0) {
			*at |= bit;
			return NULL;
		}
		word += size + (word[size] == ' ');
	}
	snprintf(text, sizeof(text), "one of: %s", row->words);
	return text;
}

static const char *set_place(struct broker_options *options, const struct option_row *row,
                             const char *value)
{
	const size_t size = strcspn(value, " \t"), space = strspn(value + size, " \t");

	if (size != 4 || memcmp(value, "file", size) != 0)
		return set_bit(options, row, value);
	if (value[size + space] == '\0')
		return "file PATH";
	if (options->log_file != NULL && strcmp(options->log_file, value + size + space) != 0)
		return "one file";
	free(options->log_file);
	options->log_file = copy_text(value + size + space);
	return set_bit(options, row, "file");
}

static const char *set_flag(struct broker_options *options, const struct option_row *row,
                            const char *value)
{
	bool *const at = (bool *)(void *)((char *)options + row->offset);

	/* mosquitto has 1 and 0, too */
	if (strcmp(value, "true") == 0 || strcmp(value, "1") == 0)
		*at = true;
	else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)
		*at = false;
	else
		return "true or false";
	return NULL;
}

static const char *set_filter(struct broker_options *options, const char *value)
{
	const struct slice filter = {value, strlen(value)};

	if (!names_utf8_valid(filter) || !names_filter_valid(filter))
		return "a topic filter";
	options->denied =
		realloc(options->denied, (options->denied_count + 1) * sizeof(*options->denied));
	must(options->denied == NULL ? -ENOMEM : 0, "options");
	options->denied[options->denied_count++] = (struct slice){copy_text(value), filter.size};
	return NULL;
}

static const char *set_listener(struct broker_options *options, const char *value)
{
	static const struct option_row port = {.kind = OPTION_UINT, .most = 65535};
	const size_t size = strcspn(value, " \t"), space = strspn(value + size, " \t");
	const char *host = value + size + space;
	char number[8] = "";
	unsigned long long parsed;
	struct broker_listener *listener = &options->listeners[options->listeners_count];

	if (size < sizeof(number))
		memcpy(number, value, size);
	if (!parse_number(&port, number, &parsed) || strpbrk(host, " \t") != NULL)
		return "a port from 0 to 65535 and, behind it or not, one address or host";
	if (options->listeners_count == OPTIONS_LISTENERS_MAX - 2)
		return "fewer listeners";
	listener->port = (unsigned int)parsed;
	listener->host = host[0] != '\0' ? copy_text(host) : NULL;
	options->listeners_count++;
	return NULL;
}

const char *option_set(struct broker_options *options, const struct option_row *row,
                       const char *value)
{
	switch (row->kind) {
	case OPTION_TEXT:
		return set_text(options, row, value);
	case OPTION_WORD:
		return set_word(options, row, value);
	case OPTION_BITS:
		return set_bit(options, row, value);
	case OPTION_PLACES:
		return set_place(options, row, value);
	case OPTION_FLAG:
		return set_flag(options, row, value);
	case OPTION_FILTER:
		return set_filter(options, value);
	case OPTION_LISTENER:
		return set_listener(options, value);
	default:
		return set_number(options, row, value);
	}
}

static bool texts_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool filters_equal(const struct broker_options *a, const struct broker_options *b)
{
	bool equal = a->denied_count == b->denied_count;

	for (size_t i = 0; equal && i < a->denied_count; i++)
		equal = strcmp(a->denied[i].bytes, b->denied[i].bytes) == 0;
	return equal;
}

static bool listeners_equal(const struct broker_options *a, const struct broker_options *b)
{
	bool equal = a->listeners_count == b->listeners_count;

	for (size_t i = 0; equal && i < a->listeners_count; i++)
		equal = a->listeners[i].port == b->listeners[i].port &&
		        a->listeners[i].tls == b->listeners[i].tls &&
		        texts_equal(a->listeners[i].host, b->listeners[i].host);
	return equal;
}

bool option_equal(const struct option_row *row, const struct broker_options *a,
                  const struct broker_options *b)
{
	const void *const left = (const char *)a + row->offset;
	const void *const right = (const char *)b + row->offset;

	switch (row->kind) {
	case OPTION_PLACES:
		if (!texts_equal(a->log_file, b->log_file))
			return false;
		/* fallthrough */
	case OPTION_BITS:
	case OPTION_UINT:
	case OPTION_SPAN:
		return *(const unsigned int *)left == *(const unsigned int *)right;
	case OPTION_SIZE:
	case OPTION_LIMIT:
		return *(const size_t *)left == *(const size_t *)right;
	case OPTION_FLAG:
		return *(const bool *)left == *(const bool *)right;
	case OPTION_TEXT:
	case OPTION_WORD:
		return texts_equal(*(char *const *)left, *(char *const *)right);
	case OPTION_FILTER:
		return filters_equal(a, b);
	case OPTION_LISTENER:
		return listeners_equal(a, b);
	default:
		return true;
	}
}

/* `from` frees the old one. */
static void swap_texts(char **to, char **from)
{
	char *const old = *to;

	*to = *from;
	*from = old;
}

/* Relaxed: a limit orders nothing (struct broker_limits). Texts are the main thread's. */
void option_move(const struct option_row *row, struct broker_options *to,
                 struct broker_options *from)
{
	void *const target = (char *)to + row->offset, *const source = (char *)from + row->offset;

	switch (row->kind) {
	case OPTION_PLACES:
		swap_texts(&to->log_file, &from->log_file);
		/* fallthrough */
	case OPTION_BITS:
	case OPTION_UINT:
	case OPTION_SPAN:
		store_relaxed((unsigned int *)target, *(unsigned int *)source);
		return;
	case OPTION_SIZE:
	case OPTION_LIMIT:
		store_relaxed((size_t *)target, *(size_t *)source);
		return;
	case OPTION_FLAG:
		store_relaxed((bool *)target, *(bool *)source);
		return;
	default:
		swap_texts(target, source);
		return;
	}
}
