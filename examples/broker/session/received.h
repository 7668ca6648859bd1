/* SPDX-License-Identifier: MIT */
/*
 * The packet ids of the PUBLISH packets of QoS 2 that have come from a client and whose PUBREL has
 * not: a second PUBLISH with one of these is the same message once more (MQTT 3.1.1, 4.3.3).
 */
#ifndef BROKER_RECEIVED_H
#define BROKER_RECEIVED_H

#include <stddef.h>
#include <stdint.h>

struct received {
	uint64_t *bits; /* NULL: there are none */
	size_t count;
};

/* 1: it is new; 0: it was there already; -ENOMEM. */
int received_add(struct received *received, uint16_t packet_id);
void received_remove(struct received *received, uint16_t packet_id);

/* Gives back the memory if there are none; the same and forgets all. */
void received_trim(struct received *received);
void received_clear(struct received *received);

#endif
