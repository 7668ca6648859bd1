/* SPDX-License-Identifier: MIT */
/* Histograms of times, and what a resource does now. See gauge.h. */
#include "core/gauge.h"

#include "base/count.h"
#include "base/futex.h"
#include "thread/thread.h"
#include "thread/trace.h"

/* The power of two from which the buckets are BATON__HISTOGRAM_PART to a doubling. */
#define FIRST_POWER 3U

size_t baton__histogram_bucket(uint64_t ns)
{
	unsigned power;
	size_t bucket;

	if (ns < BATON__HISTOGRAM_PART)
		return (size_t)ns;
	power = 63U - (unsigned)__builtin_clzll(ns);
	bucket = (power - FIRST_POWER + 1) * BATON__HISTOGRAM_PART +
	         ((ns >> (power - FIRST_POWER)) & (BATON__HISTOGRAM_PART - 1));
	return bucket < BATON__HISTOGRAM_BUCKETS ? bucket : BATON__HISTOGRAM_BUCKETS - 1;
}

uint64_t baton__histogram_lowest(size_t bucket)
{
	const size_t row = bucket / BATON__HISTOGRAM_PART;

	if (row == 0)
		return bucket;
	return (uint64_t)(BATON__HISTOGRAM_PART + bucket % BATON__HISTOGRAM_PART) << (row - 1);
}

void baton__histogram_record(struct baton__histogram *histogram, uint64_t ns)
{
	/* Relaxed, here and below: only the holder writes, and the baton orders holders. */
	baton__count(&histogram->counts[baton__histogram_bucket(ns)], 1);
	if (ns > load_relaxed(&histogram->max_ns))
		store_relaxed(&histogram->max_ns, ns);
}

uint64_t baton__histogram_quantile(const struct baton__histogram *histogram, unsigned part)
{
	const uint64_t max = load_relaxed(&histogram->max_ns);
	uint64_t all = 0, below = 0, middle;
	size_t bucket;

	for (bucket = 0; bucket < BATON__HISTOGRAM_BUCKETS; bucket++)
		all += load_relaxed(&histogram->counts[bucket]);
	if (!all)
		return 0;
	for (bucket = 0; bucket < BATON__HISTOGRAM_BUCKETS - 1; bucket++) {
		below += load_relaxed(&histogram->counts[bucket]);
		/* Without overflow for all counts below 2^54. */
		if (below * 1000 >= all * part && below)
			break;
	}
	if (bucket == BATON__HISTOGRAM_BUCKETS - 1)
		return max;
	middle = (baton__histogram_lowest(bucket) + baton__histogram_lowest(bucket + 1)) / 2;
	return middle < max ? middle : max;
}

void baton__gauge_waited(struct baton__gauge *gauge, uint64_t marked_ns)
{
	const uint64_t now = baton__now_ns();

	baton__histogram_record(&gauge->waited, now > marked_ns ? now - marked_ns : 0);
}

void baton__gauge_enter(struct baton__gauge *gauge, uintptr_t function)
{
	const uint64_t entered = load_relaxed(&gauge->entered) + 1;
	const bool timed = entered % BATON__GAUGE_EVERY == 1 || baton__trace_is_on();

	store_relaxed(&gauge->thread, baton__self->tid);
	store_relaxed(&gauge->began_ns, timed ? baton__now_ns() : 0);
	store_relaxed(&gauge->function, function);
	store_relaxed(&gauge->entered, entered);
}

void baton__gauge_leave(struct baton__gauge *gauge)
{
	const uint64_t began = load_relaxed(&gauge->began_ns);
	uint64_t ns;

	if (began) {
		ns = baton__now_ns() - began;
		baton__histogram_record(&gauge->ran, ns);
		if (baton__trace_is_on())
			baton__trace(&(struct baton__event){
				began, (uintptr_t)gauge, load_relaxed(&gauge->function),
				baton__event_word(BATON__EVENT_RAN, ns)});
	}
	store_relaxed(&gauge->function, 0);
}

void baton__gauge_trace(const struct baton__gauge *gauge, enum baton__event_kind kind,
                        const void *task, uint64_t more)
{
	if (baton__trace_is_on())
		baton__trace(&(struct baton__event){baton__now_ns(), (uintptr_t)gauge,
		                                    (uintptr_t)task,
		                                    baton__event_word(kind, more)});
}
