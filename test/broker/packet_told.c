/* SPDX-License-Identifier: MIT */
/* Packets into words; see packet.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "packet_inside.h"
#include "story.h"

void tell(struct told *told, const char *format, ...)
{
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(told->words + told->size, PACKET_WORDS_MAX - told->size, format,
	                 arguments);
	va_end(arguments);
	told->size += (size_t)size;
	if (told->size >= PACKET_WORDS_MAX)
		told->size = PACKET_WORDS_MAX - 1;
}

unsigned long take(struct in *in, unsigned int bytes)
{
	unsigned long number = 0;

	for (; bytes > 0; bytes--) {
		number <<= 8;
		if (in->size == 0) {
			in->ended = true;
			continue;
		}
		number |= *in->bytes++;
		in->size--;
	}
	return number;
}

/* 1.5.5; one that is longer than need be is told as an end. */
size_t take_length(struct in *in)
{
	size_t length = 0;

	for (unsigned int shift = 0; shift < 28; shift += 7) {
		const unsigned long byte = take(in, 1);

		length |= (byte & 127) << shift;
		if (byte < 128) {
			in->ended = in->ended || (byte == 0 && shift > 0);
			return length;
		}
	}
	in->ended = true;
	return 0;
}

struct in take_part(struct in *in, size_t size)
{
	struct in part = {in->bytes, size, false};

	if (size > in->size) {
		in->ended = true;
		part.size = in->size;
	}
	in->bytes += part.size;
	in->size -= part.size;
	return part;
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

/* Without the story's name in front. */
static void tell_topic(struct told *told, struct in topic)
{
	const size_t prefix = strlen(story_name()) + 1;

	if (topic.size >= prefix && memcmp(topic.bytes, story_name(), prefix - 1) == 0)
		take_part(&topic, prefix);
	tell(told, " %.*s", (int)topic.size, (const char *)topic.bytes);
}

static void tell_publish(struct told *told, unsigned int version, unsigned int flags, struct in *in)
{
	const unsigned int qos = flags >> 1 & 3;
	const struct in topic = take_part(in, take(in, 2));

	tell(told, "%s%s q%u", flags & 8 ? " dup" : "", flags & 1 ? " retain" : "", qos);
	if (qos > 0)
		tell(told, " id%lu", take(in, 2));
	if (version == 5)
		tell_properties(told, 3, in);
	if (version == 5 && topic.size == 0)
		tell(told, " ^");
	else
		tell_topic(told, topic);
	if (in->size > 80)
		tell(told, " <%zu bytes>", in->size);
	else if (in->size > 0)
		tell(told, " %.*s", (int)in->size, (const char *)in->bytes);
}

static void tell_code(struct told *told, unsigned int version, unsigned int code)
{
	tell(told, version == 5 && code >= 0x80 ? " 0x%02x" : " %u", code);
}

/* SUBACK, UNSUBACK: properties, then codes; others: a code, then properties. Tells codes first. */
static void tell_reasons(struct told *told, unsigned int type, struct in *in)
{
	char words[PACKET_WORDS_MAX] = "";
	struct told properties = {words, 0};

	if (type == 9 || type == 11)
		tell_properties(&properties, type, in);
	else if (in->size > 0)
		tell_code(told, 5, (unsigned int)take(in, 1));
	if (type != 9 && type != 11 && in->size > 0)
		tell_properties(&properties, type, in);
	while (in->size > 0)
		tell_code(told, 5, (unsigned int)take(in, 1));
	tell(told, "%s", words);
}

void packet_describe(unsigned int version, const unsigned char *bytes, size_t size,
                     char words[PACKET_WORDS_MAX])
{
	const unsigned int type = bytes[0] >> 4, flags = bytes[0] & 15;
	struct in in = {bytes + 1, size - 1, false};
	struct told told = {words, 0};

	take_length(&in);
	tell(&told, "%s", packet_types[type]);
	if (type == 3) {
		tell_publish(&told, version, flags, &in);
	} else {
		if (flags != (type == 6 ? 2U : 0U))
			tell(&told, " flags=%u", flags);
		if (type == 2)
			tell(&told, " %lu", take(&in, 1));
		else if (type < 14 && in.size >= 2)
			tell(&told, " %lu", take(&in, 2));
		if (version == 5)
			tell_reasons(&told, type, &in);
		while (in.size > 0)
			tell_code(&told, version, (unsigned int)take(&in, 1));
	}
	if (in.ended)
		tell(&told, " truncated");
}
