/* SPDX-License-Identifier: MIT */
/*
 * Hashes of names that clients choose: client ids, topics, levels of filters. Each step of a hash
 * depends on all bits of a random number that is drawn when the broker starts. Otherwise a client
 * could choose many names with the same hash, and make searches long. (FNV with a random seed is
 * not enough: texts that collide for one seed collide for all seeds with the same last byte.)
 */
#ifndef BROKER_HASH_H
#define BROKER_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Draws the number. Once, before the first hash. If the system has no random number, a client may
 * guess names that collide. */
void hash_begin(void);

/* Hashes with different seeds are independent. Any thread. */
uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed);

#endif
