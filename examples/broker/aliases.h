/* SPDX-License-Identifier: MIT */
/*
 * Topic aliases of MQTT 5 (3.3.2.3.4): numbers that a client gives to topics and then sends instead
 * of them. They belong to a connection and are touched by its loop thread alone. A client that uses
 * none costs a pointer.
 */
#ifndef BROKER_ALIASES_H
#define BROKER_ALIASES_H

#include <stdint.h>

#include "mqtt/names.h"

struct alias {
	char *topic; /* NULL: the number is not given */
	size_t size;
};

/*
 * The topic of that number, from 1 to `count`, in a table of so many. A topic with bytes is given
 * the number; else `topic` gets the topic that has it. `*table` is NULL at first, and made when it
 * is needed. 0; -EBADMSG: the number is not given; -ENOMEM.
 */
int aliases_apply(struct alias **table, unsigned int count, uint16_t number, struct slice *topic);

/* Frees the table, which may be NULL. */
void aliases_free(struct alias *table, unsigned int count);

#endif
