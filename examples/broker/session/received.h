/* SPDX-License-Identifier: MIT */
/*
 * The packet ids of the PUBLISH packets of QoS 2 that have come from a client and whose PUBREL has
 * not come: a second PUBLISH with such an id is the same message again (MQTT 3.1.1, 4.3.3).
 */
#ifndef BROKER_RECEIVED_H
#define BROKER_RECEIVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct received {
	uint64_t *bits; /* NULL: there are none */
	size_t count;
};

/* 1: the id is new; 0: the id was there already; -ENOMEM. */
int received_add(struct received *received, uint16_t packet_id);

/* Was it there? */
bool received_remove(struct received *received, uint16_t packet_id);

/* trim: gives back the memory if there are no ids; clear: forgets all ids, and the same. */
void received_trim(struct received *received);
void received_clear(struct received *received);

#endif
