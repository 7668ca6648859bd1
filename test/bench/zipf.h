/* SPDX-License-Identifier: MIT */
/*
 * Which of many is picked: a few are hot (Zipf). Drawn beforehand, since drawing costs more than
 * what is measured.
 */
#ifndef BATON_BENCH_ZIPF_H
#define BATON_BENCH_ZIPF_H

#include <stdint.h>

/* `count` numbers, each of them once, in an order of their own; and how likely each is. */
struct zipf;

/* The same seed, the same order. To be destroyed. */
struct zipf *zipf_create(uint32_t count, uint64_t seed);
void zipf_destroy(struct zipf *zipf);

/* `keys`: `length` numbers below `count`; the popular ones are not neighbours. */
void zipf_draw(const struct zipf *zipf, uint32_t *keys, unsigned length, uint64_t seed);

#endif
