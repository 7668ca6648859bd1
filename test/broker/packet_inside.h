/* SPDX-License-Identifier: MIT */
/* What the files of packet.h share. */
#ifndef BROKER_PACKET_INSIDE_H
#define BROKER_PACKET_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "packet.h"

extern const char *const packet_types[16];

/* Bytes that are written, and their room. */
struct out {
	unsigned char *bytes;
	size_t size;
	size_t capacity;
};

void put(struct out *out, const void *bytes, size_t size);
void put_byte(struct out *out, unsigned int value);
void put_number(struct out *out, unsigned long value); /* two bytes */
void put_text(struct out *out, const char *text);
void put_length(struct out *out, size_t length); /* one to four bytes */

/* Bytes that are read. Behind their end they are 0, and `ended` is set. */
struct in {
	const unsigned char *bytes;
	size_t size;
	bool ended;
};

unsigned long take(struct in *in, unsigned int bytes); /* a number of so many bytes */
size_t take_length(struct in *in);
struct in take_part(struct in *in, size_t size);

/* Words that are written; what has no room is left out. */
struct told {
	char *words;
	size_t size;
};

__attribute__((format(printf, 2, 3))) void tell(struct told *told, const char *format, ...);

/* packet_properties.c. Where properties stand: a packet's type, or this. */
#define IN_WILL 16

/* Adds the property that the word says to those of that packet. False: it says none. */
bool put_property(struct out *properties, unsigned int where, const char *word);

/* With their length. */
void put_properties(struct out *out, const struct out *properties);

/* Takes the properties with their length, and tells each, with a space before it. */
void tell_properties(struct told *told, unsigned int where, struct in *in);

#endif
