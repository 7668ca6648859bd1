/* SPDX-License-Identifier: MIT */
/*
 * Hashes of names that strangers choose: client ids, topics, levels of filters. They depend on a
 * number that is drawn when the broker starts, on all of it in each step: else somebody could make
 * names of one hash, and long searches of them. (FNV would not do, with whatever seed: texts that
 * collide for one collide for all with the same last byte.)
 */
#ifndef BROKER_HASH_H
#define BROKER_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Once, before the first hash. Where there is no randomness, names may be guessed. */
void hash_begin(void);

/* Hashes with different seeds have nothing to do with each other. Any thread. */
uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed);

#endif
