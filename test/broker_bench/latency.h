/* SPDX-License-Identifier: MIT */
/* A histogram of nanoseconds: 64 buckets per power of two, 1.6 % wide; the exact maximum. */
#ifndef LOAD_LATENCY_H
#define LOAD_LATENCY_H

#include <stdint.h>

#define LATENCY_SUB 64U
#define LATENCY_BUCKETS (59U * LATENCY_SUB)

struct latency {
	uint64_t count;
	uint64_t most;
	uint64_t buckets[LATENCY_BUCKETS];
};

static inline void latency_add(struct latency *latency, uint64_t ns)
{
	uint64_t index = ns;

	if (ns >= LATENCY_SUB) {
		const unsigned int shift = 57U - (unsigned int)__builtin_clzll(ns);

		index = shift * LATENCY_SUB + (ns >> shift);
	}
	latency->buckets[index]++;
	latency->count++;
	if (ns > latency->most)
		latency->most = ns;
}

/* The middle of the bucket in which the quantile lies; 0 if there is nothing. */
static inline double latency_quantile(const struct latency *latency, double quantile)
{
	uint64_t left = (uint64_t)(quantile * (double)latency->count);

	for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
		if (left < latency->buckets[i]) {
			const unsigned int shift = i < 2 * LATENCY_SUB ? 0 : i / LATENCY_SUB - 1;
			const uint64_t low = (uint64_t)(i - shift * LATENCY_SUB) << shift;

			const double middle = (double)low + (double)((1ULL << shift) - 1) / 2;

			return middle < (double)latency->most ? middle : (double)latency->most;
		}
		left -= latency->buckets[i];
	}
	return (double)latency->most;
}

#endif
