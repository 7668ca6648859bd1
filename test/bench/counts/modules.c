/* SPDX-License-Identifier: MIT */
/*
 * What the modules' headers say that a call costs: suspensions, tags, timers, brackets.
 */
#include "counters.h"

#include <math.h>
#include <semaphore.h>
#include <stdlib.h>

#include <baton/all.h>

#define ROUNDS 64

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
static struct baton_timers *timers;
static struct baton_timer timer[ROUNDS];

static int no_run(struct baton_timer *mine)
{
	return 0;
}

static void suspend_and_resume(void)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	for (int i = 0; i < ROUNDS; i++) {
		if (baton_resource_suspend(&resource, &suspension))
			abort();
		BATON_IGNORE(baton_resource_resume(&suspension));
	}
}

static void cancel_tag(void)
{
	struct baton_tag tag = BATON_TAG_INIT;

	for (int i = 0; i < ROUNDS; i++)
		baton_tag_cancel(&tag);
}

/* Each of them later than the last time. */
static void arm_later(void)
{
	static uint64_t delay_ns = BATON_SECOND;

	for (int i = 0; i < ROUNDS; i++)
		BATON_IGNORE(baton_timer_arm_after(&timer[i], delay_ns));
	delay_ns += BATON_SECOND;
}

static void disarm(void)
{
	for (int i = 0; i < ROUNDS; i++)
		baton_timer_disarm(&timer[i]);
}

/* All have expired, and run here. */
static void expire(void)
{
	if (baton_timers_advance(timers, 1000 * BATON_SECOND) != ROUNDS)
		abort();
}

static void ask(void)
{
	for (int i = 0; i < ROUNDS; i++)
		(void)baton_should_yield();
}

static int ask_in_task(struct baton_task *task)
{
	ask();
	return 0;
}

static void ask_in_a_task(void)
{
	static struct baton_task task;

	baton_task_init(&task, ask_in_task, NULL);
	BATON_IGNORE(baton_submit(&resource, &task));
}

static void row(const char *path, struct counts limit, void (*before_it)(void), void (*way)(void))
{
	struct bench_counts before;

	for (int i = 0; i < 2; i++) { /* the first round fills the caches */
		if (before_it)
			before_it();
		before = counts_now();
		way();
	}
	counts_row(path, limit, counts_since(&before, ROUNDS));
}

struct bracketed {
	struct baton_plain_job job;
	uint64_t rmws; /* of the ends */
	sem_t over;
};

static void bracketed_run(struct baton_plain_job *job)
{
	struct bracketed *bracketed = baton_container_of(job, struct bracketed, job);

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t before;

		baton_blocking_begin();
		before = counts_now().rmws;
		baton_blocking_end();
		bracketed->rmws += counts_now().rmws - before;
	}
	(void)sem_post(&bracketed->over);
}

static double bracket_end_cost(void)
{
	struct baton_pool_options options = {.workers = 1};
	struct bracketed bracketed = {.job = BATON_PLAIN_JOB_INIT(bracketed_run, NULL)};
	struct baton_pool *pool;

	if (sem_init(&bracketed.over, 0, 0) || baton_pool_create(&options, &pool))
		return INFINITY;
	BATON_IGNORE(baton_pool_submit(pool, &bracketed.job));
	while (sem_wait(&bracketed.over))
		;
	BATON_IGNORE(baton_pool_destroy(pool));
	return (double)bracketed.rmws / ROUNDS;
}

void counts_modules(void)
{
	struct counts end = {bracket_end_cost(), 0, 0};

	row("suspend and resume, idle", (struct counts){4, 0, 0}, NULL, suspend_and_resume);
	row("tag, cancelled", (struct counts){1, 0, 0}, NULL, cancel_tag);
	counts_row("blocking bracket in a worker, its end", (struct counts){2, 0, 0}, end);
	/* The submit itself costs two, for all of them. */
	row("should_yield in a task", (struct counts){2.0 / ROUNDS, 0, 0}, NULL, ask_in_a_task);
	if (baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                        &timers))
		return;
	for (int i = 0; i < ROUNDS; i++)
		baton_timer_init(&timer[i], timers, &resource, no_run);
	row("timer, armed for later", (struct counts){1, 0, 0}, arm_later, arm_later);
	row("timer, disarmed", (struct counts){1, 0, 0}, arm_later, disarm);
	row("timer, expired and run", (struct counts){9.5, 0, 0}, arm_later, expire);
	for (int i = 0; i < ROUNDS; i++)
		BATON_IGNORE(baton_timer_stop(&timer[i]).met);
	BATON_IGNORE(baton_timers_destroy(timers));
}
