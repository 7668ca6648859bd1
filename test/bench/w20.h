/* SPDX-License-Identifier: MIT */
/*
 * W20: names to look up: what the contenders share. A look-up takes a reference on what it has
 * found, and gives it back, since otherwise what is found might be gone.
 */
#ifndef BATON_BENCH_W20_H
#define BATON_BENCH_W20_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "team.h"

#define W20_NAMES 1000
#define W20_NAME_SIZE 28 /* sensors/room-0123/humidity/1 */

struct w20_name {
	char bytes[W20_NAME_SIZE + 1];
};

extern struct w20_name w20_names[W20_NAMES];

/* Multiply and fold, eight bytes at a time, as the registry's. */
static inline uint64_t w20_hash(const char *bytes, size_t size)
{
	uint64_t hash = size, word;

	for (; size >= 8; bytes += 8, size -= 8) {
		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, bytes, size);
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* A name of the 1,000, at random. */
static inline const char *w20_pick(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407U;
	return w20_names[(*state >> 33) % W20_NAMES].bytes;
}

/* liburcu's hash table: false if it is not there. */
bool w20_lfht_begin(void);
void w20_lfht_end(void);
void w20_lfht_loop(struct team_member *member);

#endif
