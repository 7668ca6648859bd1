/* SPDX-License-Identifier: MIT */
/*
 * What the broker writes into its store. A message comes with all that must be there with it or not
 * at all: its rows in the sessions' queues, its place as a topic's retained message, and at QoS 2
 * the packet id by which a repetition is known. All else is a note: one statement.
 */
#ifndef BROKER_WRITES_H
#define BROKER_WRITES_H

#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"
#include "store/database.h"
#include "store/store.h"

/* Copies the text to `*end`, which moves on; returns the copy. */
struct slice slice_copy(char **end, struct slice text);

/* A message's place in the queue of a session. */
struct store_row {
	uint64_t session;
	uint64_t row;
	struct slice identifiers;
	uint8_t qos;
	bool retain;
};

struct store_message {
	struct store_write write;
	uint64_t id; /* 0: the message itself need not be kept */
	uint8_t qos;
	bool retained;        /* the topic keeps it from now on */
	uint64_t outdated;    /* the message that the topic has kept until now; 0: none */
	uint64_t received_by; /* as in struct message */
	uint16_t packet_id;
	struct slice topic;
	struct slice payload;
	struct slice properties;
	int64_t expires; /* seconds of the wall clock; 0: never */
	void *arg;
	size_t count;
	struct store_row rows[];
};

/*
 * Makes the write of a message with so many rows, and with room for so many bytes behind them; the
 * caller fills it and submits it.
 */
struct store_message *store_message_create(size_t count, size_t bytes, store_done_fn done,
                                           void *arg);

/* Submits a statement that is not urgent. Copies the record's texts. */
void store_note(struct store *store, enum database_statement statement,
                const struct database_record *record);

/*
 * Submits a statement, or DATABASE_NOTHING, after which `told(arg, kept)` is called: when it, and
 * whatever was submitted before it, is committed. The record's texts live until then. `told` is
 * called on the store's thread, and must not wait.
 */
typedef void (*store_told_fn)(void *arg, bool kept);
void store_note_then(struct store *store, enum database_statement statement,
                     const struct database_record *record, store_told_fn told, void *arg);

/*
 * Seconds of the wall clock, for times that outlive the process; 0: the clock is not set, as on a
 * machine without a battery that has just started.
 */
int64_t store_time(void);

/* The numbers of a record. */
#define STORE_NUMBERS(...) (&(const struct database_record){.numbers = {__VA_ARGS__}})

#endif
