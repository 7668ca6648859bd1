/* SPDX-License-Identifier: MIT */
/* Packets from words and into words; see packet.h. */
#include "packet.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "story.h"

static const char *const types[16] = {"RESERVED0", "CONNECT",  "CONNACK",     "PUBLISH",
                                      "PUBACK",    "PUBREC",   "PUBREL",      "PUBCOMP",
                                      "SUBSCRIBE", "SUBACK",   "UNSUBSCRIBE", "UNSUBACK",
                                      "PINGREQ",   "PINGRESP", "DISCONNECT",  "RESERVED15"};

struct out {
	unsigned char *bytes;
	size_t size;
	size_t capacity;
};

static void put(struct out *out, const void *bytes, size_t size)
{
	if (out->size + size > out->capacity)
		story_fail("no room for a packet");
	memcpy(out->bytes + out->size, bytes, size);
	out->size += size;
}

static void put_byte(struct out *out, unsigned int value)
{
	const unsigned char byte = (unsigned char)value;

	put(out, &byte, 1);
}

static void put_number(struct out *out, unsigned long value)
{
	put_byte(out, value >> 8 & 255);
	put_byte(out, value & 255);
}

static void put_text(struct out *out, const char *text)
{
	put_number(out, strlen(text));
	put(out, text, strlen(text));
}

/* With the story's name in front. */
static void put_name(struct out *out, const char *name)
{
	char text[PACKET_WORDS_MAX];

	if (name[0] == '^')
		snprintf(text, sizeof(text), "%s", name + 1);
	else
		snprintf(text, sizeof(text), "%s/%s", story_name(), name);
	put_text(out, text);
}

/* The next word of *rest, which goes on behind it; "" at the end. */
static char *next_word(char **rest)
{
	char *word = *rest, *end;

	while (*word == ' ')
		word++;
	end = word + strcspn(word, " ");
	*rest = *end == '\0' ? end : end + 1;
	*end = '\0';
	return word;
}

/* What is behind "name=" if the word begins so. */
static const char *value_of(const char *word, const char *name)
{
	const size_t size = strlen(name);

	return strncmp(word, name, size) == 0 && word[size] == '=' ? word + size + 1 : NULL;
}

static void put_connect(struct out *out, char *rest)
{
	const char *id = next_word(&rest), *will = NULL, *message = "", *user = NULL,
		   *password = NULL, *name = "MQTT", *value;
	unsigned long alive = 60, level = 4, flags = 0;

	for (char *word = next_word(&rest); *word != '\0'; word = next_word(&rest)) {
		if (strcmp(word, "clean") == 0)
			flags |= 2;
		else if (strcmp(word, "wr") == 0)
			flags |= 0x20;
		else if ((value = value_of(word, "wq")) != NULL)
			flags |= strtoul(value, NULL, 10) << 3;
		else if ((value = value_of(word, "alive")) != NULL)
			alive = strtoul(value, NULL, 10);
		else if ((value = value_of(word, "level")) != NULL)
			level = strtoul(value, NULL, 10);
		else if ((value = value_of(word, "will")) != NULL)
			will = value, flags |= 4;
		else if ((value = value_of(word, "message")) != NULL)
			message = value;
		else if ((value = value_of(word, "user")) != NULL)
			user = value, flags |= 0x80;
		else if ((value = value_of(word, "password")) != NULL)
			password = value, flags |= 0x40;
		else if ((value = value_of(word, "name")) != NULL)
			name = value;
		else
			story_fail("CONNECT: what is '%s'?", word);
	}
	put_text(out, name);
	put_byte(out, (unsigned int)level);
	put_byte(out, (unsigned int)flags);
	put_number(out, alive);
	put_name(out, strcmp(id, "-") == 0 ? "^" : id);
	if (will != NULL) {
		put_name(out, will);
		put_text(out, message);
	}
	if (user != NULL)
		put_text(out, user);
	if (password != NULL)
		put_text(out, password);
}

/* Returns the flags of the fixed header. */
static unsigned int put_publish(struct out *out, char *rest)
{
	unsigned int flags = 0;
	const char *topic;
	char *word = next_word(&rest);
	unsigned long id = 0;

	if (strcmp(word, "dup") == 0) {
		flags |= 8;
		word = next_word(&rest);
	}
	if (strcmp(word, "retain") == 0) {
		flags |= 1;
		word = next_word(&rest);
	}
	if (word[0] != 'q')
		story_fail("PUBLISH: which QoS?");
	flags |= (unsigned int)(word[1] - '0') << 1;
	if ((flags & 6) != 0) {
		word = next_word(&rest);
		if (strncmp(word, "id", 2) != 0)
			story_fail("PUBLISH: which packet id?");
		id = strtoul(word + 2, NULL, 10);
	}
	topic = next_word(&rest);
	put_name(out, topic);
	if ((flags & 6) != 0)
		put_number(out, id);
	put(out, rest, strlen(rest));
	return flags;
}

static void put_filters(struct out *out, char *rest, bool with_qos)
{
	put_number(out, strtoul(next_word(&rest), NULL, 10));
	for (char *word = next_word(&rest); *word != '\0'; word = next_word(&rest)) {
		char *qos = with_qos ? strrchr(word, ':') : NULL;

		if (with_qos && qos == NULL)
			story_fail("SUBSCRIBE: which QoS?");
		if (with_qos)
			*qos = '\0';
		put_name(out, word);
		if (with_qos)
			put_byte(out, (unsigned int)(qos[1] - '0'));
	}
}

static size_t put_header(unsigned char *bytes, unsigned int first, size_t size)
{
	size_t at = 0;

	bytes[at++] = (unsigned char)first;
	do {
		bytes[at++] = (unsigned char)((size & 127) | (size > 127 ? 128 : 0));
		size >>= 7;
	} while (size > 0);
	return at;
}

size_t packet_encode(const char *words, unsigned char *bytes, size_t size)
{
	struct out out = {bytes + 5, 0, size - 5};
	char *copy = strdup(words), *rest = copy;
	const char *name = next_word(&rest);
	unsigned int type = 0, flags = 0;
	size_t header;

	while (type < 16 && strcmp(name, types[type]) != 0)
		type++;
	switch (type) {
	case 1:
		put_connect(&out, rest);
		break;
	case 3:
		flags = put_publish(&out, rest);
		break;
	case 8:
	case 10:
		flags = 2;
		put_filters(&out, rest, type == 8);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		flags = type == 6 ? 2 : 0;
		put_number(&out, strtoul(rest, NULL, 10));
		break;
	case 12:
	case 14:
		break;
	default:
		story_fail("no client says '%s'", words);
	}
	free(copy);
	header = put_header(bytes, type << 4 | flags, out.size);
	memmove(bytes + header, bytes + 5, out.size);
	return header + out.size;
}

size_t packet_encode_hex(const char *hex, unsigned char *bytes, size_t size)
{
	struct out out = {bytes, 0, size};

	while (*hex != '\0') {
		char *end;

		if (*hex == ' ') {
			hex++;
		} else if (*hex == '\'') {
			const size_t length = strcspn(hex + 1, "'");

			put(&out, hex + 1, length);
			hex += length + 2;
		} else {
			put_byte(&out, (unsigned int)strtoul(hex, &end, 16));
			if (end == hex)
				story_fail("not hexadecimal: '%s'", hex);
			hex = end;
		}
	}
	return out.size;
}

size_t packet_size(const unsigned char *bytes, size_t size)
{
	size_t length = 0;

	for (size_t i = 1; i < size && i < 5; i++) {
		length |= (size_t)(bytes[i] & 127) << (7 * (i - 1));
		if ((bytes[i] & 128) == 0)
			return 1 + i + length;
	}
	if (size >= 5)
		story_fail("a packet without a length");
	return 0;
}

static unsigned int number_at(const unsigned char *bytes)
{
	return (unsigned int)bytes[0] << 8 | bytes[1];
}

static void describe_publish(unsigned int flags, const unsigned char *body, size_t size,
                             char words[PACKET_WORDS_MAX])
{
	const size_t topic_size = size < 2 ? 0 : number_at(body);
	const size_t prefix = strlen(story_name()) + 1;
	const unsigned int qos = flags >> 1 & 3;
	const char *topic = (const char *)body + 2;
	size_t at = 2 + topic_size + (qos > 0 ? 2 : 0), shown = topic_size;
	char id[16] = "", payload[100] = "";

	if (size < 2 || at > size) {
		snprintf(words, PACKET_WORDS_MAX, "PUBLISH truncated");
		return;
	}
	if (qos > 0)
		snprintf(id, sizeof(id), " id%u", number_at(body + at - 2));
	if (shown >= prefix && strncmp(topic, story_name(), prefix - 1) == 0) {
		topic += prefix;
		shown -= prefix;
	}
	if (size - at > 80)
		snprintf(payload, sizeof(payload), " <%zu bytes>", size - at);
	else if (size > at)
		snprintf(payload, sizeof(payload), " %.*s", (int)(size - at),
		         (const char *)body + at);
	snprintf(words, PACKET_WORDS_MAX, "PUBLISH%s%s q%u%s %.*s%s", flags & 8 ? " dup" : "",
	         flags & 1 ? " retain" : "", qos, id, (int)shown, topic, payload);
}

void packet_describe(const unsigned char *bytes, size_t size, char words[PACKET_WORDS_MAX])
{
	const unsigned int type = bytes[0] >> 4, flags = bytes[0] & 15;
	const unsigned char *body = bytes + 1;
	size_t at, rest;

	while (*body & 128)
		body++;
	body++;
	rest = size - (size_t)(body - bytes);
	if (type == 3) {
		describe_publish(flags, body, rest, words);
		return;
	}
	at = (size_t)snprintf(words, PACKET_WORDS_MAX, "%s", types[type]);
	if (flags != (type == 6 ? 2U : 0U))
		at += (size_t)snprintf(words + at, PACKET_WORDS_MAX - at, " flags=%u", flags);
	if (type != 2 && rest >= 2) {
		at += (size_t)snprintf(words + at, PACKET_WORDS_MAX - at, " %u", number_at(body));
		body += 2;
		rest -= 2;
	}
	for (size_t i = 0; i < rest && at + 8 < PACKET_WORDS_MAX; i++)
		at += (size_t)snprintf(words + at, PACKET_WORDS_MAX - at, " %u", body[i]);
}
