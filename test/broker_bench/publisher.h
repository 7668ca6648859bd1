/* SPDX-License-Identifier: MIT */
/*
 * Publishes: as fast as its window lets it, or what has come due; takes the acknowledgements, QoS
 * 2 in its four steps.
 */
#ifndef LOAD_PUBLISHER_H
#define LOAD_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct load;
struct stream;
struct wire_frame;

/* A publication to one of its topics, but for packet id and the payload's beginning. */
struct publisher_form {
	unsigned char *bytes;
	struct stream *stream;
	size_t size, id_at, payload_at;
	unsigned int topic;
};

struct publisher {
	struct client *client;
	struct publisher *next_ready;
	struct publisher_form *forms;
	unsigned int form_count, form; /* the next one's */
	uint16_t *free_ids;            /* a ring of window ids, 1 to window, the oldest first */
	uint8_t *id_states;            /* by packet id */
	unsigned int first_free, free_count;
	uint64_t sent;
	uint64_t owed; /* paced: come due and not sent */
	bool ready;
	bool held_back; /* paced: by its window; what follows is late and counts from its time */
};

/* 0 or LOAD_SYSTEM; the streams are there. */
int publisher_init(struct load *load, struct publisher *publisher, struct client *client);
void publisher_deinit(struct publisher *publisher);

/* It may be able to publish, and is asked at the next opportunity. */
void publisher_wake(struct load *load, struct publisher *publisher);

/* Puts into its client's output what it may send now. */
void publisher_fill(struct load *load, struct publisher *publisher);

/* PUBACK, PUBREC or PUBCOMP. False: the run has failed. */
bool publisher_take(struct load *load, struct publisher *publisher, const struct wire_frame *frame);

#endif
