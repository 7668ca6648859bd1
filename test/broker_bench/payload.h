/* SPDX-License-Identifier: MIT */
/*
 * What a message holds: the run's mark, who sent it as the how manieth on which topic, and when;
 * and a fixed pattern behind that up to its size.
 */
#ifndef LOAD_PAYLOAD_H
#define LOAD_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PAYLOAD_MIN 28U
#define PAYLOAD_MAX 1048576U

struct payload {
	uint32_t mark; /* another one in each run */
	uint32_t publisher;
	uint32_t topic;
	uint64_t sequence; /* per publisher and topic, from 0 */
	uint64_t sent_ns;
};

/* One machine sends and receives: its own byte order will do. */
static inline void payload_put(unsigned char *to, const struct payload *payload)
{
	memcpy(to, &payload->mark, 4);
	memcpy(to + 4, &payload->publisher, 4);
	memcpy(to + 8, &payload->topic, 4);
	memcpy(to + 12, &payload->sequence, 8);
	memcpy(to + 20, &payload->sent_ns, 8);
}

static inline void payload_get(const unsigned char *from, struct payload *payload)
{
	memcpy(&payload->mark, from, 4);
	memcpy(&payload->publisher, from + 4, 4);
	memcpy(&payload->topic, from + 8, 4);
	memcpy(&payload->sequence, from + 12, 8);
	memcpy(&payload->sent_ns, from + 20, 8);
}

/* The pattern of a payload of this size. */
static inline void payload_fill(unsigned char *bytes, size_t size)
{
	for (size_t i = PAYLOAD_MIN; i < size; i++)
		bytes[i] = (unsigned char)(i * 167 + 13);
}

/* Is the rest of it as payload_fill left `pattern`? */
static inline bool payload_intact(const unsigned char *bytes, const unsigned char *pattern,
                                  size_t size)
{
	return memcmp(bytes + PAYLOAD_MIN, pattern + PAYLOAD_MIN, size - PAYLOAD_MIN) == 0;
}

#endif
