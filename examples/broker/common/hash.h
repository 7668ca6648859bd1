/* SPDX-License-Identifier: MIT */
/*
 * Hashes of names that clients choose: client ids, topics, levels of filters. Each step of a hash
 * depends on all of a number that is drawn when the broker starts. Otherwise a client could make
 * names of one hash, and so long searches. (FNV would not do, with any seed: texts that collide for
 * one seed collide for all with the same last byte.)
 */
#ifndef BROKER_HASH_H
#define BROKER_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Draws the number. Once, before the first hash. Without randomness names may be guessed. */
void hash_begin(void);

/* Hashes with different seeds are independent. Any thread. */
uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed);

#endif
