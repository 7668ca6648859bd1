/* SPDX-License-Identifier: MIT */
/*
 * One hot resource: what its contenders have in common.
 */
#include "hot.h"

#include "baton_pool.h"
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_MS 60

_Static_assert(HOT_METRICS <= BENCH_METRICS_MAX, "raise BENCH_METRICS_MAX");

const char *const hot_metrics[HOT_METRICS + 1] = {
	[HOT_RATE] = "M tasks/s",        [HOT_FAIRNESS] = "slowest/fastest",
	[HOT_P50] = "p50, us",           [HOT_P99] = "p99, us",
	[HOT_P999] = "p99.9, us",        [HOT_MAX] = "max, us",
	[HOT_CPU] = "CPU ns/task",       [HOT_SWITCHES] = "switches/1000",
	[HOT_WAKES] = "pool wakes/1000",
};

struct baton_pool *hot_pool(void)
{
	static struct baton_pool *pool;

	if (!pool)
		pool = bench_pool_create(team_cpus(), true);
	return pool;
}

struct baton_executor *hot_executor(void)
{
	return baton_pool_executor(hot_pool());
}

void hot_begin(struct hot *hot, const struct hot_async *load)
{
	memset(hot, 0, sizeof(*hot));
	hot->work = machine_work_of(load->body_ns);
	hot->batch = load->batch;
}

/* With many threads per CPU each of them must have had a turn or more. */
static unsigned window_ms(unsigned threads)
{
	return bench_sample_ms(threads > 4 * team_cpus() ? 3 * WINDOW_MS : WINDOW_MS);
}

static double quantile_us(const struct hot *hot, double quantile)
{
	return (double)histogram_quantile(&hot->latency, quantile) / machine_ticks_per_ns() / 1e3;
}

void hot_run(struct hot *hot, const struct hot_async *load, team_body body, double *values)
{
	struct team_result result =
		team_run(load->threads, body, hot, window_ms(load->threads), false);

	if (hot->counter != result.done) {
		fprintf(stderr, "W2: %llu tasks ran of %llu\n", (unsigned long long)hot->counter,
		        (unsigned long long)result.done);
		abort();
	}
	values[HOT_RATE] = result.per_second / 1e6;
	values[HOT_FAIRNESS] = result.fairness;
	values[HOT_P50] = quantile_us(hot, 0.50);
	values[HOT_P99] = quantile_us(hot, 0.99);
	values[HOT_P999] = quantile_us(hot, 0.999);
	values[HOT_MAX] = (double)hot->latency.most / machine_ticks_per_ns() / 1e3;
	values[HOT_CPU] = result.cpu_ns;
	values[HOT_SWITCHES] = result.switches * 1e3;
	values[HOT_WAKES] = NAN;
}
