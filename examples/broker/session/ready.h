/* SPDX-License-Identifier: MIT */
/*
 * The members of a group that have room, the one with the least under way first; of equals, the one
 * whose turn is longest ago: a binary heap. A change costs as many steps as the number of members
 * has bits. Pure.
 */
#ifndef BROKER_READY_H
#define BROKER_READY_H

#include <stddef.h>
#include <stdint.h>

/* A member's place, embedded in the member. */
struct ready_place {
	uint32_t under_way; /* messages */
	uint64_t turn;      /* when it was given one last; no two members have the same */
	size_t at;          /* its index in the heap, plus 1; 0: it has no room */
};

struct ready {
	struct ready_place **places;
	size_t count;
	size_t capacity;
};

/* A heap of zeroes is empty. */

/* Puts the place in, if it is not there, and where its words, which may have changed, want it. */
void ready_put(struct ready *ready, struct ready_place *place);

/* Takes the place out, if it is there. */
void ready_take(struct ready *ready, struct ready_place *place);

/* The member whose turn it is; NULL: no member has room. */
struct ready_place *ready_first(const struct ready *ready);

/* Frees the memory of an empty heap, or of one whose places are all gone. */
void ready_free(struct ready *ready);

#endif
