/* SPDX-License-Identifier: MIT */
/*
 * A histogram of latencies: 16 buckets per power of two (about 6 % wide), the exact maximum.
 */
#ifndef BATON_BENCH_HISTOGRAM_H
#define BATON_BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB 16U
#define HISTOGRAM_BUCKETS (61U * HISTOGRAM_SUB)

struct histogram {
	uint64_t count;
	uint64_t most;
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
	unsigned index = (unsigned)value;

	if (value >= HISTOGRAM_SUB) {
		unsigned shift = 59U - (unsigned)__builtin_clzll(value);

		index = shift * HISTOGRAM_SUB + (unsigned)(value >> shift);
	}
	histogram->buckets[index]++;
	histogram->count++;
	if (value > histogram->most)
		histogram->most = value;
}

static inline void histogram_merge(struct histogram *into, const struct histogram *from)
{
	into->count += from->count;
	if (from->most > into->most)
		into->most = from->most;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

/* The lower end of the bucket in which the quantile lies. */
static inline uint64_t histogram_quantile(const struct histogram *histogram, double quantile)
{
	uint64_t left = (uint64_t)(quantile * (double)histogram->count);

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (left < histogram->buckets[i]) {
			unsigned shift = i < 2 * HISTOGRAM_SUB ? 0 : i / HISTOGRAM_SUB - 1;

			return (uint64_t)(i - shift * HISTOGRAM_SUB) << shift;
		}
		left -= histogram->buckets[i];
	}
	return histogram->most;
}

#endif
