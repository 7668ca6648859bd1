/* SPDX-License-Identifier: MIT */
/* Topic names and filters; see names.h. */
#include "mqtt/names.h"

#include <string.h>

bool names_equal(struct slice a, struct slice b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

/* Unicode's table 3-7. */
size_t names_utf8_length(const unsigned char *at, size_t size)
{
	const unsigned char first = at[0];
	unsigned char low = 0x80, high = 0xbf;
	size_t length;

	if (first < 0x80)
		return first == 0 ? 0 : 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (size < length)
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

bool names_utf8_valid(struct slice text)
{
	const unsigned char *at = (const unsigned char *)text.bytes;
	size_t left = text.size;

	while (left > 0) {
		const size_t length = names_utf8_length(at, left);

		if (length == 0)
			return false;
		at += length;
		left -= length;
	}
	return true;
}

bool names_wildcard(struct slice filter)
{
	return memchr(filter.bytes, '+', filter.size) != NULL ||
	       memchr(filter.bytes, '#', filter.size) != NULL;
}

bool names_topic_valid(struct slice topic)
{
	return topic.size > 0 && !names_wildcard(topic);
}

bool names_next_level(struct slice *rest, struct slice *level)
{
	const char *slash;

	if (rest->bytes == NULL)
		return false;
	slash = memchr(rest->bytes, '/', rest->size);
	level->bytes = rest->bytes;
	if (slash == NULL) {
		level->size = rest->size;
		rest->bytes = NULL;
		rest->size = 0;
	} else {
		level->size = (size_t)(slash - rest->bytes);
		rest->size -= level->size + 1;
		rest->bytes = slash + 1;
	}
	return true;
}

bool names_filter_valid(struct slice filter)
{
	struct slice rest = filter, level;

	if (filter.size == 0)
		return false;
	while (names_next_level(&rest, &level)) {
		if (!names_wildcard(level))
			continue;
		if (level.size != 1)
			return false;
		if (level.bytes[0] == '#' && rest.bytes != NULL)
			return false;
	}
	return true;
}

bool names_share(struct slice name, struct slice *group, struct slice *filter)
{
	struct slice rest = name, first;

	*filter = (struct slice){NULL, 0};
	names_next_level(&rest, &first);
	if (rest.bytes == NULL || !names_equal(first, (struct slice){"$share", 6}))
		return true;
	if (!names_next_level(&rest, group) || group->size == 0 || names_wildcard(*group) ||
	    !names_filter_valid(rest))
		return false;
	*filter = rest;
	return true;
}

size_t names_levels(struct slice name)
{
	struct slice rest = name, level;
	size_t levels = 0;

	while (names_next_level(&rest, &level))
		levels++;
	return levels;
}

bool names_match(struct slice filter, struct slice topic)
{
	struct slice want, have;

	if (topic.bytes[0] == '$' && (filter.bytes[0] == '+' || filter.bytes[0] == '#'))
		return false;
	while (names_next_level(&filter, &want)) {
		if (want.size == 1 && want.bytes[0] == '#')
			return true; /* also the parent: "a/#" matches "a" */
		if (!names_next_level(&topic, &have))
			return false;
		if (want.size == 1 && want.bytes[0] == '+')
			continue;
		if (!names_equal(want, have))
			return false;
	}
	return topic.bytes == NULL;
}

bool names_covers(struct slice filter, struct slice other)
{
	struct slice want, have;

	if (other.bytes[0] == '$' && (filter.bytes[0] == '+' || filter.bytes[0] == '#'))
		return false;
	while (names_next_level(&filter, &want)) {
		if (want.size == 1 && want.bytes[0] == '#')
			return true;
		if (!names_next_level(&other, &have) || (have.size == 1 && have.bytes[0] == '#'))
			return false;
		if (want.size == 1 && want.bytes[0] == '+')
			continue;
		if (!names_equal(want, have))
			return false;
	}
	return other.bytes == NULL;
}

bool names_own(struct slice topic)
{
	static const struct slice own = {"$SYS/#", 6};

	return topic.bytes[0] == '$' && names_match(own, topic);
}
