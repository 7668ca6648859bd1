/* SPDX-License-Identifier: MIT */
/* Takes what is delivered, acknowledges it, and checks it against what was sent. */
#ifndef LOAD_SUBSCRIBER_H
#define LOAD_SUBSCRIBER_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct ledger;
struct load;
struct wire_frame;

struct subscriber {
	struct client *client;
	struct ledger *ledgers; /* by stream_local */
	uint8_t *held;          /* QoS 2: a bit for each packet id from PUBREC to PUBREL */
	unsigned int ledger_count;
};

/* 0 or LOAD_SYSTEM. */
int subscriber_init(struct load *load, struct subscriber *subscriber, struct client *client);
void subscriber_deinit(struct subscriber *subscriber);

/* PUBLISH or PUBREL. False: the run has failed. */
bool subscriber_take(struct load *load, struct subscriber *subscriber,
                     const struct wire_frame *frame);

#endif
