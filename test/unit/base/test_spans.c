/* SPDX-License-Identifier: MIT */
/* Spans and deadlines beyond the greatest time: such a wait has no end, and never ends at once. */
#include "ledger.h"
#include "fixture.h"
#include "timer_support.h"

#include <baton/all.h>

#include "../parts.h"

static const uint64_t endless[] = {UINT64_MAX, UINT64_MAX - 1};

#define ENDLESS (sizeof(endless) / sizeof(*endless))
#define STEPS 5

/* The most distant deadline. */
static const uint64_t last = BATON_FOREVER - 1;

/* ---- Limits of a resource ---- */

Test(spans, an_endless_capture_limit_cuts_no_stay, .timeout = 10)
{
	for (size_t i = 0; i < ENDLESS; i++) {
		struct step steps[STEPS];

		fix.config.capture_ns = endless[i];
		fix.counted = true;
		fix.stats = (struct baton_resource_stats){0};
		fixture_stash();
		steps_init(steps, STEPS, &fix.journal, 0);
		occupy(&fix.occupant, &fix.resource);
		for (int step = 0; step < STEPS; step++)
			cr_assert_eq(baton_submit(&fix.resource, &steps[step].task), 0);
		release(&fix.occupant);
		cr_assert_eq(fix.stats.handoffs, 0);
		cr_assert(journal_counts_up(&fix.journal, 0, STEPS));
		fixture_end();
	}
}

Test(spans, an_endless_quantum_cuts_no_stay, .timeout = 10)
{
	for (size_t i = 0; i < ENDLESS; i++) {
		struct step steps[STEPS];

		fix.config.quantum_ns = endless[i];
		fixture_manual();
		steps_init(steps, STEPS, &fix.journal, 0);
		for (int step = 0; step < STEPS; step++)
			cr_assert_eq(baton_submit_later(&fix.resource, &steps[step].task), 0);
		cr_assert(baton_manual_run(fix.manual, 1));
		cr_assert(journal_counts_up(&fix.journal, 0, STEPS));
		fixture_end();
	}
}

Test(spans, an_endless_batch_ends_with_the_stay, .timeout = 10)
{
	for (size_t i = 0; i < ENDLESS; i++) {
		struct ledger ledger;
		struct entry entries[STEPS];

		ledger_init(&ledger, NULL);
		ledger.config.batch_ns = endless[i];
		entries_init(entries, STEPS, &ledger);
		entries_submit(entries, STEPS);
		cr_assert(ledger_balanced(&ledger));
		cr_assert_eq(ledger.begun, 1);
		cr_assert_eq(ledger.sizes[0], STEPS);
		resource_end(&ledger.resource);
	}
}

struct laned_step {
	struct stamped stamped;
	struct journal *journal;
	int number;
};

static int laned_step_run(struct baton_task *task)
{
	struct laned_step *step = baton_container_of(task, struct laned_step, stamped.task);

	journal_add(step->journal, step->number);
	return 0;
}

Test(spans, endless_aging_gives_no_turn, .timeout = 10)
{
	for (size_t i = 0; i < ENDLESS; i++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
		const struct baton_lanes_config aging = {.aging_ns = endless[i]};
		struct baton_lane array[2];
		struct baton_lanes lanes;
		struct journal journal = {0};
		struct occupant occupant;
		struct laned_step steps[STEPS];

		baton_lanes_init(&lanes, array, 2, &aging);
		baton_resource_set_lanes(&resource, &lanes);
		occupy(&occupant, &resource);
		/* The first one is in the lower lane, and comes last. */
		for (int step = 0; step < STEPS; step++) {
			steps[step].journal = &journal;
			steps[step].number = step ? step : STEPS;
			stamped_init(&steps[step].stamped, laned_step_run, NULL);
			baton_stamp_set_lane(&steps[step].stamped.stamp, step == 0);
			cr_assert_eq(baton_submit(&resource, &steps[step].stamped.task), 0);
		}
		release(&occupant);
		cr_assert(journal_counts_up(&journal, 1, STEPS));
		resource_end(&resource);
	}
}

/* The first job waits for the second, which needs a spare: the pool has one worker. */
struct pair {
	struct baton_plain_job jobs[2];
	struct baton_future promise;
	atomic_int ran;
};

static void pair_waits(struct baton_plain_job *job)
{
	struct pair *pair = baton_container_of(job, struct pair, jobs[0]);

	MUST(baton_future_wait(&pair->promise) == 0);
	atomic_fetch_add(&pair->ran, 1);
}

static void pair_fulfils(struct baton_plain_job *job)
{
	struct pair *pair = baton_container_of(job, struct pair, jobs[1]);

	MUST(baton_future_complete(&pair->promise, 0, NULL) == 0);
	atomic_fetch_add(&pair->ran, 1);
}

Test(spans, a_pool_keeps_its_spares_endlessly, .timeout = 10)
{
	for (size_t i = 0; i < ENDLESS; i++) {
		struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
		struct baton_pool_stats stats;
		struct baton_pool *pool = NULL;

		options.workers = 1;
		options.spare_keep_ns = endless[i];
		cr_assert_eq(baton_pool_create(&options, &pool), 0);
		for (int turn = 0; turn < 20; turn++) {
			struct pair pair = {.promise = BATON_PROMISE_INIT};

			baton_plain_job_init(&pair.jobs[0], pair_waits, NULL);
			baton_plain_job_init(&pair.jobs[1], pair_fulfils, NULL);
			for (int job = 0; job < 2; job++)
				cr_assert_eq(baton_pool_submit(pool, &pair.jobs[job]), 0);
			until_at_least(&pair.ran, 2);
		}
		baton_pool_stats_read(pool, &stats);
		cr_assert_geq(stats.spares_started, 1);
		cr_assert_eq(stats.spares_retired, 0);
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
}

/* ---- Timers ---- */

enum arm { ARM_AT, ARM_AFTER, ARM_EVERY_FIRST, ARM_AGAIN, ARM_EVERY_PERIOD, ARMS };

static int armed(struct bell *bell, enum arm arm, uint64_t span)
{
	switch (arm) {
	case ARM_AT:
		return baton_timer_arm_at(&bell->timer, span);
	case ARM_AFTER:
		return baton_timer_arm_after(&bell->timer, span);
	case ARM_EVERY_FIRST:
		return baton_timer_arm_every(&bell->timer, span, 1, BATON_TIMER_CATCH_UP);
	case ARM_AGAIN:
		return baton_timer_arm_again_after(&bell->timer, span);
	case ARM_EVERY_PERIOD:
		return baton_timer_arm_every(&bell->timer, 1, span, BATON_TIMER_SKIP);
	default:
		return -EINVAL;
	}
}

Test(spans, a_timer_with_an_endless_span_never_expires, .timeout = 10)
{
	for (size_t i = 0; i < ENDLESS * ARMS; i++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
		struct baton_timers *timers = virtual_timers();
		enum arm arm = (enum arm)(i % ARMS);
		struct bell bell;

		bell_init(&bell, timers, &resource);
		cr_assert_eq(baton_timers_advance(timers, 12345), 0);
		cr_assert_eq(armed(&bell, arm, endless[i / ARMS]), 0);
		cr_assert_geq(baton_timers_advance(timers, endless[i / ARMS]), 0);
		cr_assert_eq(baton_timers_now(timers), UINT64_MAX);
		/* The first run of a rate has a time of its own. */
		cr_assert_eq(bell.runs, arm == ARM_EVERY_PERIOD, "arm %d", (int)arm);
		cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_PREVENTED);
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

struct detached {
	struct baton_task task;
	struct baton_detached token;
	struct baton_deadline deadline;
	uint64_t timeout_ns;
};

static int detaches(struct baton_task *task)
{
	struct detached *detached = baton_container_of(task, struct detached, task);

	return baton_detach_within(&detached->token, 0, detached->timeout_ns, &detached->deadline);
}

Test(spans, a_detached_task_with_an_endless_deadline_waits, .timeout = 10)
{
	for (size_t i = 0; i < ENDLESS; i++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
		struct baton_timers *timers = virtual_timers();
		struct baton_future future = BATON_FUTURE_INIT;
		struct detached detached = {.timeout_ns = endless[i]};

		baton_detached_init(&detached.token);
		baton_deadline_init(&detached.deadline, timers);
		baton_task_init(&detached.task, detaches, &future);
		cr_assert_eq(baton_submit(&resource, &detached.task), 0);
		cr_assert_eq(baton_timers_advance(timers, 1000 * BATON_SECOND), 0);
		cr_assert_eq(baton_future_state(&future), BATON_RUNNING);
		cr_assert_eq(baton_detached_complete(&detached.token, 0, NULL), 0);
		cr_assert_eq(baton_future_wait(&future), 0);
		resource_end(&resource);
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

Test(spans, a_wheel_takes_any_resolution, .timeout = 10)
{
	static const enum baton_timers_source sources[] = {BATON_TIMERS_THREAD, BATON_TIMERS_POLL,
	                                                   BATON_TIMERS_VIRTUAL};

	for (size_t i = 0; i < ENDLESS * 3; i++) {
		struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
		struct baton_timers *timers;

		config.source = sources[i % 3];
		config.resolution_ns = endless[i / 3];
		cr_assert_eq(baton_timers_create(&config, &timers), 0);
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

/* ---- Waits until the most distant deadline ---- */

/* Each waits on a thread of its own for what happens only when it has been seen asleep. */
struct wait {
	int (*run)(struct wait *wait);
	struct baton_future *future;
	struct baton_resource *resource;
	struct baton_group *group;
	struct baton_pool *pool;
	struct baton_suspension suspension;
	atomic_int tid;
	int result;
};

static int waits_until(struct wait *wait)
{
	return baton_future_wait_until(wait->future, last);
}

static int waits_any(struct wait *wait)
{
	struct baton_future other = BATON_PROMISE_INIT;
	struct baton_future *futures[] = {&other, wait->future};
	size_t index = 0;
	int result = baton_future_wait_any_until(futures, 2, last, &index);

	MUST(baton_future_complete(&other, 0, NULL) == 0);
	return result ? result : index != 1;
}

static int waits_all(struct wait *wait)
{
	return baton_future_wait_all_until(&wait->future, 1, last);
}

static int awaits(struct wait *wait)
{
	return baton_resource_await_until(wait->resource, last);
}

static int waits_for_group(struct wait *wait)
{
	return baton_group_wait_until(wait->group, last);
}

static int suspends(struct wait *wait)
{
	struct baton_resource *resources[] = {wait->resource};
	int result = baton_quiesce_until(resources, 1, &wait->suspension, last);

	if (!result)
		baton_quiesce_end(&wait->suspension, 1);
	return result;
}

static int terminates(struct wait *wait)
{
	return baton_pool_await_until(wait->pool, last);
}

static void *wait_main(void *arg)
{
	struct wait *wait = arg;

	atomic_store(&wait->tid, thread_id());
	wait->result = wait->run(wait);
	return NULL;
}

Test(spans, a_wait_until_the_last_deadline_ends_by_its_event, .timeout = 20)
{
	static int (*const runs[])(struct wait * wait) = {
		waits_until, waits_any, waits_all, awaits, waits_for_group, suspends, terminates};
	enum { RUNS = sizeof(runs) / sizeof(*runs) };
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_future future = BATON_PROMISE_INIT;
	struct baton_pool *pool = pool_of(1);
	struct baton_group group;
	struct occupant occupant;
	struct occupant worker;
	struct wait waits[RUNS];
	pthread_t threads[RUNS];
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource pooled;

	/* The pool cannot end before its worker does. */
	config.executor = baton_pool_executor(pool);
	baton_resource_init(&pooled, &config);
	occupy_later(&worker, &pooled);
	cr_assert_eq(baton_pool_shutdown(pool), 0);
	baton_group_init(&group);
	baton_group_enter(&group);
	occupy(&occupant, &resource);
	for (size_t i = 0; i < RUNS; i++) {
		waits[i] = (struct wait){.run = runs[i],
		                         .future = &future,
		                         .resource = &resource,
		                         .group = &group,
		                         .pool = pool};
		threads[i] = thread_start(wait_main, &waits[i]);
	}
	for (size_t i = 0; i < RUNS; i++) {
		until_at_least(&waits[i].tid, 1);
		until_asleep(atomic_load(&waits[i].tid));
	}
	cr_assert_eq(baton_future_complete(&future, 0, NULL), 0);
	baton_group_leave(&group);
	release(&occupant);
	gate_open(&worker.leave);
	for (size_t i = 0; i < RUNS; i++) {
		thread_join(threads[i]);
		cr_assert_eq(waits[i].result, 0, "wait %zu: %d", i, waits[i].result);
	}
	resource_end(&resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	resource_end(&pooled);
}
