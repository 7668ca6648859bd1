/* SPDX-License-Identifier: MIT */
/*
 * A publisher, a subscriber and a third client, with sessions that the broker keeps, and a ledger
 * of what the broker has acknowledged to them. They behave as MQTT wants it: when the broker has
 * died and is there again, they come back and repeat what was not acknowledged. Then the ledger is
 * judged: each message of QoS 1 has come, each of QoS 2 once, each topic's in their order, and none
 * of another; what is retained is each topic's last one; the third client's
 * subscriptions and session are what the broker has said last.
 */
#ifndef BROKER_LEDGER_H
#define BROKER_LEDGER_H

#include <stdbool.h>

/* Called when the broker has died; it starts the broker again. */
typedef void (*ledger_revive_fn)(void);

struct ledger;

/* Runs all of it against a broker that runs. */
struct ledger *ledger_run(ledger_revive_fn revive);

/* Judges; the broker dies no more. Returns how often it has died. */
unsigned int ledger_judge(struct ledger *ledger);

/* How much: messages of the publisher. */
#define LEDGER_MESSAGES 24

#endif
