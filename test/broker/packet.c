/* SPDX-License-Identifier: MIT */
/* Packets from words; see packet.h. */
#include "packet.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet_inside.h"
#include "story.h"

const char *const packet_types[16] = {"RESERVED0", "CONNECT",  "CONNACK",     "PUBLISH",
                                      "PUBACK",    "PUBREC",   "PUBREL",      "PUBCOMP",
                                      "SUBSCRIBE", "SUBACK",   "UNSUBSCRIBE", "UNSUBACK",
                                      "PINGREQ",   "PINGRESP", "DISCONNECT",  "AUTH"};

void put(struct out *out, const void *bytes, size_t size)
{
	if (out->size + size > out->capacity)
		story_fail("no room for a packet");
	memcpy(out->bytes + out->size, bytes, size);
	out->size += size;
}

void put_byte(struct out *out, unsigned int value)
{
	const unsigned char byte = (unsigned char)value;

	put(out, &byte, 1);
}

void put_number(struct out *out, unsigned long value)
{
	put_byte(out, value >> 8 & 255);
	put_byte(out, value & 255);
}

void put_text(struct out *out, const char *text)
{
	put_number(out, strlen(text));
	put(out, text, strlen(text));
}

void put_length(struct out *out, size_t length)
{
	do {
		put_byte(out, (length & 127) | (length > 127 ? 128 : 0));
		length >>= 7;
	} while (length > 0);
}

/* With the story's name in front; of a shared subscription, in front of its filter. */
static void put_name(struct out *out, const char *name)
{
	const char *group = strncmp(name, "$share/", 7) == 0 ? strchr(name + 7, '/') : NULL;
	const size_t before = group != NULL ? (size_t)(group + 1 - name) : 0;
	char text[PACKET_WORDS_MAX];

	if (name[0] == '^')
		snprintf(text, sizeof(text), "%s", name + 1);
	else
		snprintf(text, sizeof(text), "%.*s%s/%s", (int)before, name, story_name(),
		         name + before);
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

/* The properties of a packet, as its words have them. */
struct aside {
	unsigned char bytes[PACKET_WORDS_MAX];
	struct out out;
};

static struct out *aside_empty(struct aside *aside)
{
	aside->out = (struct out){aside->bytes, 0, sizeof(aside->bytes)};
	return &aside->out;
}

/* Returns the version of MQTT. */
static unsigned int put_connect(struct out *out, char *rest)
{
	struct aside own, wills;
	struct out *properties = aside_empty(&own), *will_properties = aside_empty(&wills);
	const char *id = next_word(&rest), *will = NULL, *message = "", *user = NULL,
		   *password = NULL, *name = "MQTT", *value;
	unsigned long alive = 60, level = 4, flags = 0;

	for (char *word = next_word(&rest); *word != '\0'; word = next_word(&rest)) {
		if (strcmp(word, "clean") == 0)
			flags |= 2;
		else if (strcmp(word, "wr") == 0)
			flags |= 0x20;
		else if (strcmp(word, "v5") == 0)
			level = 5;
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
		else if (strncmp(word, "will-", 5) == 0
		                 ? !put_property(will_properties, IN_WILL, word + 5)
		                 : !put_property(properties, 1, word))
			story_fail("CONNECT: what is '%s'?", word);
	}
	put_text(out, name);
	put_byte(out, (unsigned int)level);
	put_byte(out, (unsigned int)flags);
	put_number(out, alive);
	if (level == 5)
		put_properties(out, properties);
	put_name(out, strcmp(id, "-") == 0 ? "^" : id);
	if (will != NULL && level == 5)
		put_properties(out, will_properties);
	if (will != NULL) {
		put_name(out, will);
		put_text(out, message);
	}
	if (user != NULL)
		put_text(out, user);
	if (password != NULL)
		put_text(out, password);
	return level == 5 ? 5 : 4;
}

/* Takes all next words that say a property; returns the word behind them. */
static char *take_properties(struct out *properties, unsigned int type, char **rest)
{
	char *word = next_word(rest);

	while (put_property(properties, type, word))
		word = next_word(rest);
	return word;
}

/* Returns the flags of the fixed header. */
static unsigned int put_publish(struct out *out, unsigned int version, char *rest)
{
	struct aside own;
	struct out *properties = aside_empty(&own);
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
	topic = version == 5 ? take_properties(properties, 3, &rest) : next_word(&rest);
	put_name(out, topic);
	if ((flags & 6) != 0)
		put_number(out, id);
	if (version == 5)
		put_properties(out, properties);
	put(out, rest, strlen(rest));
	return flags;
}

/* "1", or "1,nl,rap,rh2" (no local, retain as published, retain handling), or any ",0x40". */
static unsigned int options_of(const char *words)
{
	unsigned int options = (unsigned int)(words[0] - '0');

	for (const char *at = strchr(words, ','); at != NULL; at = strchr(at + 1, ','))
		options |= strncmp(at + 1, "nl", 2) == 0    ? 4U
		           : strncmp(at + 1, "rap", 3) == 0 ? 8U
		           : strncmp(at + 1, "rh", 2) == 0  ? (unsigned int)(at[3] - '0') << 4
		                                           : (unsigned int)strtoul(at + 1, NULL, 0);
	return options;
}

static void put_filters(struct out *out, unsigned int version, unsigned int type, char *rest)
{
	struct aside own;
	struct out *properties = aside_empty(&own);
	char *word;

	put_number(out, strtoul(next_word(&rest), NULL, 10));
	word = version == 5 ? take_properties(properties, type, &rest) : next_word(&rest);
	if (version == 5)
		put_properties(out, properties);
	for (; *word != '\0'; word = next_word(&rest)) {
		char *options = type == 8 ? strrchr(word, ':') : NULL;

		if (type == 8 && options == NULL)
			story_fail("SUBSCRIBE: which QoS?");
		if (type == 8)
			*options = '\0';
		put_name(out, word);
		if (type == 8)
			put_byte(out, options_of(options + 1));
	}
}

/* "[code] [properties]": nothing is written of what is not said. */
static void put_reason(struct out *out, unsigned int type, char *rest)
{
	struct aside own;
	struct out *properties = aside_empty(&own);
	char *word = take_properties(properties, type, &rest);
	const bool code = *word != '\0';

	if (code || properties->size > 0)
		put_byte(out, (unsigned int)strtoul(word, NULL, 0));
	if (code && *take_properties(properties, type, &rest) != '\0')
		story_fail("%s: what is behind its code?", packet_types[type]);
	if (properties->size > 0)
		put_properties(out, properties);
}

/* Returns the flags of the fixed header. */
static unsigned int put_body(struct out *out, unsigned int *version, unsigned int type, char *rest)
{
	switch (type) {
	case 1:
		*version = put_connect(out, rest);
		return 0;
	case 3:
		return put_publish(out, *version, rest);
	case 8:
	case 10:
		put_filters(out, *version, type, rest);
		return 2;
	case 4:
	case 5:
	case 6:
	case 7:
		put_number(out, strtoul(next_word(&rest), NULL, 10));
		if (*version == 5)
			put_reason(out, type, rest);
		return type == 6 ? 2 : 0;
	case 12:
		return 0;
	case 14:
	case 15:
		if (*version == 5)
			put_reason(out, type, rest);
		return 0;
	default:
		story_fail("no client says a %s", packet_types[type]);
	}
}

size_t packet_encode(unsigned int *version, const char *words, unsigned char *bytes, size_t size)
{
	struct out out = {bytes + 5, 0, size - 5}, header = {bytes, 0, 5};
	char *copy = strdup(words), *rest = copy;
	const char *name = next_word(&rest);
	unsigned int type = 1, flags;

	while (type < 15 && strcmp(name, packet_types[type]) != 0)
		type++;
	if (strcmp(name, packet_types[type]) != 0)
		story_fail("what is '%s'?", words);
	flags = put_body(&out, version, type, rest);
	free(copy);
	put_byte(&header, type << 4 | flags);
	put_length(&header, out.size);
	memmove(bytes + header.size, bytes + 5, out.size);
	return header.size + out.size;
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
