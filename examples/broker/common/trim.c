/* SPDX-License-Identifier: MIT */
/* Memory goes back to the system; see trim.h. */
#include "common/trim.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <baton/pool.h>

#include "common/atomic.h"
#include "common/must.h"

#define TRIM_QUIET (TRIM_PERIOD / 20) /* of CPU time: more is not quiet */
#define TRIM_WORTH ((size_t)8 << 20)

static uint64_t trim_cpu(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * BATON_SECOND + (uint64_t)now.tv_nsec;
}

size_t trim_resident(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	FILE *file = fopen("/proc/self/statm", "re");
	size_t pages = 0;

	if (file != NULL && fscanf(file, "%*u %zu", &pages) != 1)
		pages = 0;
	if (file != NULL)
		fclose(file);
	return pages * page;
}

static void trim_arm(struct trim *trim)
{
	must(baton_timer_arm_after(&trim->timer, TRIM_PERIOD), "trim");
}

/* Only growth since the last trim counts: what trim could not give back then, it cannot now. */
static bool trim_worth(const struct trim *trim)
{
	return trim_resident() > trim->resident + TRIM_WORTH ||
	       mallinfo2().fordblks > trim->unused + TRIM_WORTH;
}

static int trim_run(struct baton_timer *timer)
{
	struct trim *trim = baton_container_of(timer, struct trim, timer);
	const uint64_t cpu = trim_cpu();
	const bool quiet = cpu - trim->cpu < TRIM_QUIET;

	trim->cpu = cpu;
	if (!quiet) {
		trim_arm(trim);
		return 0;
	}
	/* Cleared before the look at the heap, so that a note that comes from here on arms the
	 * timer again. */
	store_seq_cst(&trim->armed, false);
	if (!trim_worth(trim))
		return 0;
	malloc_trim(0);
	trim->resident = trim_resident();
	trim->unused = mallinfo2().fordblks;
	return 0;
}

void trim_note(struct trim *trim)
{
	/* Relaxed: a thread that sees an old value here calls again with its next bytes. */
	if (!load_relaxed(&trim->armed) && !swap_seq_cst(&trim->armed, true))
		trim_arm(trim);
}

void trim_init(struct trim *trim, struct baton_pool *slow_pool, struct baton_timers *timers)
{
	trim->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	trim->config.capture_max = BATON_CAPTURE_NONE;
	trim->config.executor = baton_pool_executor(slow_pool);
	trim->config.name = "trim";
	baton_resource_init(&trim->resource, &trim->config);
	baton_timer_init(&trim->timer, timers, &trim->resource, trim_run);
}

void trim_deinit(struct trim *trim)
{
	must(baton_timer_stop_wait(&trim->timer), "stop trimming");
	baton_resource_close(&trim->resource);
	must(baton_resource_await(&trim->resource), "end of trimming");
	baton_resource_deinit(&trim->resource);
}
