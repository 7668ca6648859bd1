/* SPDX-License-Identifier: MIT */
/* For the tests of inflight.h: messages that are but a count of how often they were freed. */
#ifndef BATON_TEST_UNIT_FLIGHTS_H
#define BATON_TEST_UNIT_FLIGHTS_H

#include "mqtt/codec.h"
#include "session/inflight.h"
#include "net/message.h"
#include "support.h"

#define MESSAGES INFLIGHT_MAX

static uint64_t released[MESSAGES];

/* Nobody may look into it. */
static inline struct message *message(size_t number)
{
	MUST(number < MESSAGES);
	return (struct message *)(void *)&released[number];
}

/* The broker's is in message.c. */
void message_release(struct message *gone, uint64_t counts)
{
	uint64_t *count = (uint64_t *)(void *)gone;

	MUST(counts == MESSAGE_REFERENCE);
	MUST(count >= released && count < released + MESSAGES);
	++*count;
}

/* Of the first so many messages. */
static inline size_t released_once(size_t count)
{
	size_t once = 0;

	for (size_t i = 0; i < count; i++)
		once += released[i] == 1;
	return once;
}

/* Its packet id. */
static inline unsigned add(struct inflight *inflight, size_t number, unsigned qos)
{
	return inflight_add(inflight, message(number), (uint8_t)qos, false)->packet_id;
}

static inline void acknowledge(struct inflight *inflight, uint8_t type, uint16_t packet_id)
{
	cr_assert_eq(inflight_acknowledge(inflight, type, packet_id), 0);
}

static inline unsigned state(const struct inflight *inflight, uint16_t packet_id)
{
	return inflight_find(inflight, packet_id)->state;
}

#endif
