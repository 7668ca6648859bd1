/* SPDX-License-Identifier: MIT */
/*
 * Topic names and topic filters: which ones MQTT allows (3.1.1: sections 1.5.3 and 4.7; 5: 1.5.4,
 * 4.7 and 4.8.2), and which filter matches which name. Pure functions of their arguments.
 */
#ifndef BROKER_NAMES_H
#define BROKER_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Some bytes of memory that belongs to another object. */
struct slice {
	const char *bytes;
	size_t size;
};

bool names_equal(struct slice a, struct slice b);

/*
 * The length of the character of UTF-8 at the beginning of these bytes, of which there is one at
 * least; 0: NUL, an overlong form, a surrogate, or no UTF-8.
 */
size_t names_utf8_length(const unsigned char *bytes, size_t size);

/* Only characters that names_utf8_length() accepts. */
bool names_utf8_valid(struct slice text);

/* Not empty, no wildcards. The text has been found valid UTF-8. */
bool names_topic_valid(struct slice topic);

/* Not empty, each + a level of its own, # only as the last level. */
bool names_filter_valid(struct slice filter);

/*
 * Takes the filter of a shared subscription apart: "$share/group/filter" (4.8.2 of MQTT 5). False:
 * it begins so, but its group is empty or has + or #, or the filter behind the group is missing or
 * invalid. Any other name is no error. `filter->bytes` is NULL in both cases.
 */
bool names_share(struct slice name, struct slice *group, struct slice *filter);

size_t names_levels(struct slice name);
bool names_wildcard(struct slice filter);

/* Takes the first level off `*rest`. False when there is none left (rest->bytes is NULL). */
bool names_next_level(struct slice *rest, struct slice *level);

/* Is the topic the broker's own, $SYS or something below it? */
bool names_own(struct slice topic);

/* Does the filter match each topic that the other filter matches? */
bool names_covers(struct slice filter, struct slice other);

/* Does the filter match the topic? A leading wildcard does not match names that begin with $. */
bool names_match(struct slice filter, struct slice topic);

#endif
