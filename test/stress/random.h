/* SPDX-License-Identifier: MIT */
/* Random numbers: xorshift64* (Vigna 2016), one generator per thread, all from one seed. */
#ifndef BATON_TEST_STRESS_RANDOM_H
#define BATON_TEST_STRESS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t random_stream(uint64_t seed, uint64_t stream)
{
	uint64_t state = (seed + stream * 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U;

	state ^= state >> 29;
	return state ? state : 1;
}

static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(((*state * 0x2545F4914F6CDD1DU) >> 32) % bound);
}

/* True once in `count` times. */
static inline bool random_one_in(uint64_t *state, uint32_t count)
{
	return random_below(state, count) == 0;
}

#endif
