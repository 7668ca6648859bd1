/* SPDX-License-Identifier: MIT */
/* Properties of MQTT 5 from words and into words; see packet.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet_inside.h"
#include "story.h"

enum {
	CONNECT = 1 << 1,
	CONNACK = 1 << 2,
	PUBLISH = 1 << 3,
	SUBSCRIBE = 1 << 8,
	UNSUBSCRIBE = 1 << 10,
	DISCONNECT = 1 << 14,
	AUTH = 1 << 15,
	WILL = 1 << IN_WILL,
	ANSWERS = CONNACK | 0xf0 | 1 << 9 | 1 << 11 | DISCONNECT | AUTH,
	ANY = CONNECT | PUBLISH | SUBSCRIBE | UNSUBSCRIBE | WILL | ANSWERS,
};

/* Table 2-4. Kinds: a number of 1, 2 or 4 bytes, (v)ariable byte integer, (t)ext, (p)air. */
static const struct word {
	unsigned int id;
	char kind;
	const char *name;
	unsigned int in;
} words[] = {
	{0x01, '1', "format", PUBLISH | WILL},
	{0x02, '4', "expiry", PUBLISH | WILL},
	{0x03, 't', "type", PUBLISH | WILL},
	{0x08, 't', "response", PUBLISH | WILL},
	{0x09, 't', "correlation", PUBLISH | WILL},
	{0x0b, 'v', "sid", PUBLISH | SUBSCRIBE},
	{0x11, '4', "expiry", CONNECT | CONNACK | DISCONNECT},
	{0x12, 't', "assigned", CONNACK},
	{0x13, '2', "alive", CONNACK},
	{0x15, 't', "method", CONNECT | CONNACK | AUTH},
	{0x16, 't', "data", CONNECT | CONNACK | AUTH},
	{0x17, '1', "problem", CONNECT},
	{0x18, '4', "delay", WILL},
	{0x19, '1', "ask-response", CONNECT},
	{0x1a, 't', "response-info", CONNACK},
	{0x1c, 't', "server", CONNACK | DISCONNECT},
	{0x1f, 't', "text", ANSWERS},
	{0x21, '2', "receive", CONNECT | CONNACK},
	{0x22, '2', "alias-max", CONNECT | CONNACK},
	{0x23, '2', "alias", PUBLISH},
	{0x24, '1', "qos-max", CONNACK},
	{0x25, '1', "retains", CONNACK},
	{0x26, 'p', "user", ANY},
	{0x27, '4', "packet-max", CONNECT | CONNACK},
	{0x28, '1', "wildcards", CONNACK},
	{0x29, '1', "sids", CONNACK},
	{0x2a, '1', "shared", CONNACK},
};

#define WORDS (sizeof(words) / sizeof(*words))

/* \xNN stands for a byte, in a word of `size` characters. */
static size_t bytes_of(const char *word, size_t size, char bytes[PACKET_WORDS_MAX])
{
	size_t at = 0;

	for (size_t i = 0; i < size; i++) {
		if (strncmp(word + i, "\\x", 2) == 0 && i + 4 <= size) {
			const char digits[] = {word[i + 2], word[i + 3], '\0'};

			bytes[at++] = (char)strtoul(digits, NULL, 16);
			i += 3;
		} else {
			bytes[at++] = word[i];
		}
	}
	return at;
}

static void put_value(struct out *out, const char *text, size_t size)
{
	char bytes[PACKET_WORDS_MAX];
	const size_t length = bytes_of(text, size, bytes);

	put_number(out, length);
	put(out, bytes, length);
}

static void put_by_kind(struct out *out, char kind, const char *value)
{
	const unsigned long number = strtoul(value, NULL, 0);

	if (kind == 't')
		put_value(out, value, strlen(value));
	else if (kind == 'v')
		put_length(out, number);
	else if (kind == '1')
		put_byte(out, number & 255);
	else if (kind == '4')
		put_number(out, number >> 16);
	if (kind == '2' || kind == '4')
		put_number(out, number);
}

/* Which property has this name: of two, the one that may stand there; else the first. */
static const struct word *word_named(const char *name, size_t size, unsigned int where)
{
	const struct word *found = NULL;

	for (size_t i = 0; i < WORDS; i++)
		if (strlen(words[i].name) == size && strncmp(words[i].name, name, size) == 0 &&
		    (found == NULL || words[i].in >> where & 1))
			found = &words[i];
	return found;
}

bool put_property(struct out *properties, unsigned int where, const char *word)
{
	const char *equals = strchr(word, '=');
	const struct word *found;
	char bytes[PACKET_WORDS_MAX];

	if (equals == NULL)
		return false;
	if (strncmp(word, "raw=", 4) == 0) {
		put(properties, bytes, bytes_of(word + 4, strlen(word + 4), bytes));
		return true;
	}
	if (strncmp(word, "user:", 5) == 0) {
		put_byte(properties, 0x26);
		put_value(properties, word + 5, (size_t)(equals - word) - 5);
		put_value(properties, equals + 1, strlen(equals + 1));
		return true;
	}
	found = word_named(word, (size_t)(equals - word), where);
	if (found == NULL || found->kind == 'p')
		return false;
	put_byte(properties, found->id);
	put_by_kind(properties, found->kind, equals + 1);
	return true;
}

void put_properties(struct out *out, const struct out *properties)
{
	put_length(out, properties->size);
	put(out, properties->bytes, properties->size);
}

/* A text as one word: a space is told as _, what is not printable as \xNN. */
static void tell_text(struct told *told, struct in *in)
{
	struct in text = take_part(in, take(in, 2));

	while (text.size > 0) {
		const unsigned int byte = (unsigned int)take(&text, 1);

		if (byte == ' ')
			tell(told, "_");
		else if (byte < 0x20 || byte > 0x7e)
			tell(told, "\\x%02x", byte);
		else
			tell(told, "%c", byte);
	}
}

static const struct word *word_of(unsigned int id)
{
	for (size_t i = 0; i < WORDS; i++)
		if (words[i].id == id)
			return &words[i];
	return NULL;
}

static void tell_value(struct told *told, char kind, struct in *in)
{
	if (kind == 'p') {
		tell(told, ":");
		tell_text(told, in);
	}
	tell(told, "=");
	if (kind == 'p' || kind == 't')
		tell_text(told, in);
	else if (kind == 'v')
		tell(told, "%zu", take_length(in));
	else
		tell(told, "%lu", take(in, (unsigned int)(kind - '0')));
}

void tell_properties(struct told *told, unsigned int where, struct in *in)
{
	struct in properties = take_part(in, take_length(in));
	unsigned long long seen = 0;

	while (properties.size > 0 && !properties.ended) {
		const unsigned int id = (unsigned int)take(&properties, 1);
		const struct word *word = word_of(id);
		const bool often = id == 0x26 || (id == 0x0b && where == 3);

		if (word == NULL) {
			tell(told, " unknown:%#x", id);
			break;
		}
		tell(told, " %s%s%s", word->in >> where & 1 ? "" : "forbidden:",
		     seen >> id & 1 && !often ? "again:" : "", word->name);
		tell_value(told, word->kind, &properties);
		seen |= 1ULL << id;
	}
	if (properties.ended)
		in->ended = true;
}
