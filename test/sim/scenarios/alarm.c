/* SPDX-License-Identifier: MIT */
/*
 * The pool's alarm: a deadline that the workers keep. A wheel of the test's own, whose job says
 * that it was run; where nothing but the deadline could wake a worker, a deadline that is
 * overlooked is a deadlock.
 */
#include "support.h"

#include <baton/pool.h>

#include <stdlib.h>

#include "pool/alarm.h"
#include "pool/pool.h"

#define SOON 1000U
#define LATE 1000000000U
#define NEVER UINT64_MAX

static struct baton_pool *pool;
static struct baton_future fired; /* the deadline was kept, by a worker or by the wheel itself */
static struct baton_future started;
static unsigned runs;
static unsigned orphans;
static int orphan_error;
static uint64_t begun;
static uint32_t let_go; /* not 0: stay_in_job ends */

static struct baton__alarm *alarm_of(void)
{
	return &baton__default_alarm;
}

static void run_wheel(struct baton_plain_job *job)
{
	(void)job;
	runs++;
	(void)baton_future_complete(&fired, 0, NULL);
	(void)add_seq_cst(&let_go, 1);
	baton__alarm_done(alarm_of());
}

static struct baton_plain_job *next;
static unsigned rounds; /* more deadlines to set */

/* Sets the next deadline, and may submit a job that lasts until it was kept: to this worker
 * itself. */
static void run_wheel_again(struct baton_plain_job *job)
{
	if (!rounds) {
		run_wheel(job);
		return;
	}
	rounds--;
	baton__alarm_set(alarm_of(), sim_now() + SOON);
	sim_require(!next || baton_pool_submit(pool, next) == 0);
	baton__alarm_done(alarm_of());
}

static struct baton_plain_job wheel_job = BATON_PLAIN_JOB_INIT(run_wheel_again, NULL);

static int orphaned(struct baton_job *job)
{
	sim_require(job == &wheel_job.job);
	if (orphan_error)
		return orphan_error;
	orphans++;
	if (!runs)
		(void)baton_future_complete(&fired, 0, NULL);
	(void)add_seq_cst(&let_go, 1);
	return 0;
}

static const struct baton__alarm_wheel wheel = {&wheel_job.job, orphaned};

static void set(uint64_t in_ns)
{
	baton__alarm_set(alarm_of(), in_ns == NEVER ? NEVER : sim_now() + in_ns);
}

static void arm(uint64_t in_ns)
{
	set(in_ns);
	baton__alarm_announce(alarm_of());
}

/* A pool whose alarm is attached. */
static void begin(size_t workers, size_t spares)
{
	struct baton_pool_options options = {.workers = workers,
	                                     .spares_max = spares ? spares : BATON_POOL_NO_SPARES};

	sim_calm(true);
	begun = sim_now();
	baton_promise_init(&fired);
	baton_promise_init(&started);
	sim_require(baton__pool_create(&options, alarm_of(), &pool) == 0);
	baton__alarm_open(alarm_of(), &pool->executor);
	sim_require(baton__alarm_attach(alarm_of(), &wheel));
	baton__alarm_lent(alarm_of());
}

static void end(void)
{
	sim_require(baton__alarm_bar(alarm_of()) == 0);
	baton__pool_end(pool);
	free(pool);
	sim_require(runs + orphans >= 1);
	sim_no_leaks();
}

static void await_fired(void)
{
	sim_require(baton_future_wait(&fired) == 0);
}

SIM_SCENARIO(alarm_set_and_park, "[idle.work] a deadline beside workers that park", .bound = 2)
{
	begin(2, 0);
	sim_calm(false);
	arm(SOON);
	await_fired();
	sim_require(runs == 1);
	end();
}

static void opens(void *unused)
{
	(void)unused;
	baton__alarm_open(alarm_of(), &pool->executor);
}

SIM_SCENARIO(alarm_opened, "[alarm.opened] who attaches a wheel finds the pool")
{
	const struct baton_pool_options options = {.workers = 1,
	                                           .spares_max = BATON_POOL_NO_SPARES};

	sim_calm(true);
	sim_require(baton__pool_create(&options, alarm_of(), &pool) == 0);
	sim_settle();
	sim_calm(false);
	(void)sim_start(opens, NULL);
	if (baton__alarm_attach(alarm_of(), &wheel))
		baton__alarm_lent(alarm_of());
	sim_join_started();
	sim_calm(true);
	sim_require(baton__alarm_bar(alarm_of()) == 0);
	baton__pool_end(pool);
	free(pool);
	sim_no_leaks();
}

SIM_SCENARIO(alarm_earlier, "a deadline before that for which a worker sleeps, or is about to",
             .bound = 2)
{
	begin(1, 0);
	arm(NEVER);
	sim_calm(false);
	arm(LATE); /* has not passed when the worker looks: the worker sleeps again */
	await_fired();
	sim_require(runs == 1);
	end();
}

/* Ends when the deadline has been kept. */
static void await_in_job(struct baton_plain_job *job)
{
	(void)job;
	(void)baton_future_complete(&started, 0, NULL);
	await_fired();
}

static struct baton_plain_job waiting = BATON_PLAIN_JOB_INIT(await_in_job, NULL);

SIM_SCENARIO(alarm_given_on, "the worker that sleeps for the deadline gets a job, and stays in it",
             .bound = 2)
{
	begin(2, 0);
	arm(LATE);
	sim_settle();
	sim_calm(false);
	sim_require(baton_pool_submit(pool, &waiting) == 0);
	await_fired();
	end();
}

SIM_SCENARIO(alarm_set_by_job, "in a job that stays: the other worker sleeps for the deadline",
             .bound = 2)
{
	begin(2, 0);
	sim_settle();
	sim_calm(false);
	sim_require(baton_pool_submit(pool, &waiting) == 0);
	sim_require(baton_future_wait(&started) == 0);
	arm(SOON);
	await_fired();
	end();
}

SIM_SCENARIO(alarm_next, "set by the wheel's job, whose worker stays in the next job", .bound = 2)
{
	rounds = 1;
	next = &waiting;
	begin(2, 0);
	sim_settle();
	arm(SOON);
	sim_calm(false);
	await_fired();
	end();
}

/* Ends when the deadline has been kept, as await_in_job; the worker stays awake, and in its
 * place. */
static void stay_in_job(struct baton_plain_job *job)
{
	(void)job;
	(void)baton_future_complete(&started, 0, NULL);
	while (!add_seq_cst(&let_go, 0))
		sim_idle(&let_go);
}

static struct baton_plain_job staying = BATON_PLAIN_JOB_INIT(stay_in_job, NULL);

SIM_SCENARIO(alarm_sentry, "[sentry.watched] the only worker gets a job, and stays in it awake",
             .bound = 2)
{
	begin(1, 0);
	arm(LATE);
	sim_settle();
	sim_calm(false);
	sim_require(baton_pool_submit(pool, &staying) == 0);
	await_fired();
	sim_require(runs == 1);
	end();
}

SIM_SCENARIO(alarm_sentry_armed, "[sentry.call] a deadline, then an earlier one, while it stays",
             .bound = 2)
{
	begin(1, 0);
	sim_require(baton_pool_submit(pool, &staying) == 0);
	sim_require(baton_future_wait(&started) == 0);
	arm(NEVER);
	sim_settle();
	sim_calm(false);
	arm(SOON);
	await_fired();
	sim_require(runs == 1);
	sim_require(sim_now() < begun + LATE);
	end();
}

SIM_SCENARIO(alarm_sentry_earlier, "[sentry.watched] an earlier deadline while the sentry starts",
             .bound = 2)
{
	begin(1, 0);
	sim_require(baton_pool_submit(pool, &staying) == 0);
	sim_require(baton_future_wait(&started) == 0);
	sim_calm(false);
	arm(NEVER);
	arm(SOON);
	await_fired();
	sim_require(runs == 1);
	sim_require(sim_now() < begun + LATE);
	end();
}

SIM_SCENARIO(alarm_sentry_next, "set by the wheel's job, whose worker stays in the next job awake",
             .bound = 2)
{
	rounds = 1;
	next = &staying;
	begin(1, 0);
	sim_settle();
	arm(SOON);
	sim_calm(false);
	await_fired();
	sim_require(runs == 1);
	end();
}

SIM_SCENARIO(alarm_sentry_bar, "[sentry.started] the pool ends while its sentry starts", .bound = 2)
{
	begin(1, 0);
	sim_require(baton_pool_submit(pool, &staying) == 0);
	sim_require(baton_future_wait(&started) == 0);
	sim_calm(false);
	arm(LATE);
	end();
}

SIM_SCENARIO(alarm_sentry_fails, "no thread for the sentry: the deadline waits for the worker",
             .bound = 2)
{
	begin(1, 0);
	sim_require(baton_pool_submit(pool, &staying) == 0);
	sim_require(baton_future_wait(&started) == 0);
	sim_fail_thread(1);
	arm(SOON);
	sim_require(baton__default_alarm.sentry.state == BATON__SENTRY_NONE);
	sim_calm(false);
	(void)add_seq_cst(&let_go, 1);
	await_fired();
	end();
}

SIM_SCENARIO(alarm_spare, "all workers wait in jobs for the deadline: a spare keeps it",
             .walk_only = true)
{
	begin(1, 1);
	arm(LATE);
	sim_settle();
	sim_calm(false);
	sim_require(baton_pool_submit(pool, &waiting) == 0);
	await_fired();
	end();
}

SIM_SCENARIO(alarm_orphan, "all workers wait in jobs for the deadline, without spares: the sentry",
             .bound = 2)
{
	begin(1, 0);
	arm(LATE);
	sim_settle();
	sim_calm(false);
	sim_require(baton_pool_submit(pool, &waiting) == 0);
	await_fired();
	end();
}

static void does_detach(void *unused)
{
	(void)unused;
	baton__alarm_detach(alarm_of());
	sim_retire(&wheel_job, sizeof(wheel_job));
}

SIM_SCENARIO(alarm_detach, "[alarm.taken] the wheel ends beside a deadline that passes", .bound = 2)
{
	unsigned other;

	begin(1, 0);
	arm(SOON);
	sim_calm(false);
	other = sim_start(does_detach, NULL);
	baton__alarm_detach(alarm_of());
	sim_join(other);
	sim_require(runs <= 1);
	runs++;
	end();
}

SIM_SCENARIO(alarm_bar, "[alarm.taken] the pool ends beside a deadline that passes", .bound = 2)
{
	begin(1, 0);
	arm(SOON);
	sim_calm(false);
	end();
	sim_require(orphans == 1);
}

SIM_SCENARIO(alarm_bar_set, "[alarm.done] the pool ends beside a wheel that sets its next deadline",
             .bound = 2)
{
	rounds = 1;
	begin(1, 0);
	arm(SOON);
	sim_calm(false);
	end();
	sim_require(orphans == 1);
}

static void attaches(void *unused)
{
	(void)unused;
	if (baton__alarm_attach(alarm_of(), &wheel))
		baton__alarm_lent(alarm_of());
}

SIM_SCENARIO(alarm_bar_attached, "[alarm.taken] the pool ends beside a wheel that is attached",
             .bound = 2)
{
	const struct baton_pool_options options = {.workers = 1,
	                                           .spares_max = BATON_POOL_NO_SPARES};

	sim_calm(true);
	sim_require(baton__pool_create(&options, alarm_of(), &pool) == 0);
	baton__alarm_open(alarm_of(), &pool->executor);
	baton_promise_init(&fired);
	sim_settle();
	sim_calm(false);
	(void)sim_start(attaches, NULL);
	sim_require(baton__alarm_bar(alarm_of()) == 0);
	sim_join_started();
	sim_calm(true);
	baton__pool_end(pool);
	free(pool);
	sim_no_leaks();
}

static uint32_t brief_over;

static void stay_briefly(struct baton_plain_job *job)
{
	(void)job;
	while (!add_seq_cst(&brief_over, 0))
		sim_idle(&brief_over);
}

static struct baton_plain_job brief = BATON_PLAIN_JOB_INIT(stay_briefly, NULL);

/* The worker with the claim sleeps below the other one, which is woken for each job. */
SIM_SCENARIO(alarm_given_up, "[idle.work] the deadline passes while the other worker takes a job",
             .bound = 2)
{
	begin(2, 0);
	arm(LATE);
	sim_settle();
	sim_require(baton_pool_submit(pool, &brief) == 0);
	sim_settle();
	(void)add_seq_cst(&brief_over, 1);
	sim_settle();
	sim_calm(false);
	sim_require(baton_pool_submit(pool, &staying) == 0);
	await_fired();
	sim_require(runs == 1);
	end();
}

SIM_SCENARIO(alarm_bar_fails, "no thread for the wheel: the pool keeps its deadline", .bound = 2)
{
	begin(1, 0);
	arm(SOON);
	sim_calm(false);
	orphan_error = -EAGAIN;
	sim_require(baton__alarm_bar(alarm_of()) == -EAGAIN);
	await_fired();
	orphan_error = 0;
	end();
}
