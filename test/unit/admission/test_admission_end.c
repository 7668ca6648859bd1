/* SPDX-License-Identifier: MIT */
/* Admission: callbacks, memory that is given back, threads and a pool, the end. */
#include "admission_support.h"
#include "misuse.h"

#define S 1000U /* in ms */

/* ---- Callbacks ---- */

static unsigned calls;

static void call_everything(struct baton_admission *admission)
{
	static const uint32_t limits[] = {1, 1, 1};
	struct baton_admission_stats stats;

	calls++;
	cr_assert(baton_held(&admission->_resource));
	baton_admission_stats_read(admission, &stats);
	cr_assert_eq(baton_admission_set_limits(admission, limits, 0), 0);
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[1 + calls].admitted), 0);
	hall.held = true;
	cr_assert_eq(hall_arrive(3 + calls, 0), 0);
	hall.held = false;
}

static void stop_calls(struct baton_admission *admission, struct baton_admitted *admitted,
                       int status)
{
	job_stop(admission, admitted, status);
	call_everything(admission);
}

static void overrun_calls(struct baton_admission *admission, struct baton_admitted *admitted)
{
	job_overruns(admission, admitted);
	call_everything(admission);
	cr_assert_eq(baton_detached_complete(&job_of(admitted)->token, 0, NULL), 0);
	cr_assert_eq(baton_admission_close(admission, BATON_ADMISSION_RUN), 0);
}

Test(admission_end, callbacks_hold_the_baton_and_make_every_call_but_await, .timeout = 10)
{
	hall_begin();
	hall.admission._config.stop = stop_calls;
	hall.admission._config.overrun = overrun_calls;
	hall.jobs[0].stubborn = true;
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(hall_arrive(i, 0), 0);
	hall_until_ms(3 * S + 101);
	hall.admission._config.stop = job_stop;
	cr_assert_eq(calls, 2);
	cr_assert_eq(hall.jobs[0].overran, 1);
	cr_assert_eq(baton_future_status(&hall.jobs[0].outcome), -ETIMEDOUT);
	cr_assert_eq(hall.jobs[1].entered, 1);
	cr_assert_eq(baton_future_status(&hall.jobs[2].outcome), -ECANCELED);
	cr_assert_eq(baton_future_status(&hall.jobs[3].outcome), -ECANCELED);
	cr_assert_eq(baton_future_status(&hall.jobs[5].outcome), -EAGAIN, "waits");
	hall.jobs[0].stubborn = false;
	hall_end();
}

static struct baton_resource closed;

/* Both messages are sent under the baton: the withdrawal has its turn before the end of an entry
 * that its resource has refused. */
static void stop_lets_arrive(struct baton_admission *admission, struct baton_admitted *admitted,
                             int status)
{
	admission->_config.stop = job_stop;
	job_stop(admission, admitted, status);
	hall.jobs[1].admitted.resource = &closed;
	hall.jobs[1].resource = &closed;
	hall.held = true;
	cr_assert_eq(hall_arrive(1, 0), 0);
	hall.held = false;
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[1].admitted), 0);
}

Test(admission_end, what_its_resource_has_refused_is_not_told_to_stop, .timeout = 10)
{
	struct baton_admission_stats stats;

	baton_resource_init(&closed, NAMED("closed"));
	cr_assert_eq(baton_resource_close(&closed), 0);
	hall_begin();
	hall.admission._config.stop = stop_lets_arrive;
	cr_assert_eq(hall_arrive(0, 0), 0);
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[0].admitted), 0);
	(void)baton_manual_run(hall.manual, 0);
	cr_assert_eq(baton_future_status(&hall.jobs[0].outcome), -ECANCELED);
	cr_assert_eq(baton_future_status(&hall.jobs[1].outcome), -EPIPE);
	baton_admission_stats_read(&hall.admission, &stats);
	cr_assert_eq(stats.stopped, 1, "the first alone");
	cr_assert_eq(hall.jobs[1].stopped, 0);
	hall_end();
	cr_assert_eq(baton_resource_await(&closed), 0);
	baton_resource_deinit(&closed);
}

/* The task returns between its withdrawal and the turn of that. */
static void stop_lets_return(struct baton_admission *admission, struct baton_admitted *admitted,
                             int status)
{
	admission->_config.stop = job_stop;
	job_stop(admission, admitted, status);
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[1].admitted), 0);
	cr_assert_eq(baton_detached_complete(&hall.jobs[1].token, 7, NULL), 0);
}

Test(admission_end, a_task_that_has_returned_is_not_told_to_stop, .timeout = 10)
{
	struct baton_admission_stats stats;

	hall.config.rules = (struct baton_rules_config){.limit = {2, 2, 2}};
	hall_begin();
	hall.admission._config.stop = stop_lets_return;
	cr_assert_eq(hall_arrive(0, 0), 0);
	cr_assert_eq(hall_arrive(1, 0), 0);
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[0].admitted), 0);
	hall_drive();
	cr_assert_eq(baton_future_status(&hall.jobs[1].outcome), 7);
	cr_assert_eq(hall.jobs[1].stopped, 0);
	baton_admission_stats_read(&hall.admission, &stats);
	cr_assert_eq(stats.stopped, 1, "the first alone");
	hall_end();
}

static void overrun_after_stop(struct baton_admission *admission, struct baton_admitted *admitted)
{
	cr_assert_eq(job_of(admitted)->stopped, 1, "told to stop before");
	job_overruns(admission, admitted);
}

/* Of the timers of one tick of a coarse wheel any may come first: also the one of the overruns. */
Test(admission_end, a_task_that_overruns_is_told_to_stop_before, .timeout = 10)
{
	const struct baton_timers_options coarse = {.source = BATON_TIMERS_POLL,
	                                            .resolution_ns = 100 * BATON_MILLISECOND};

	MUST(baton_timers_create(&coarse, &hall.timers) == 0);
	hall.config.rules = (struct baton_rules_config){
		.limit = {2, 2, 2}, .duration_ns = {1000, 1000, 1000}, .grace_ns = 1};
	hall_begin();
	hall.admission._config.overrun = overrun_after_stop;
	for (int i = 0; i < 2; i++) {
		hall.jobs[i].stubborn = true;
		cr_assert_eq(hall_arrive((uint32_t)i, 0), 0);
	}
	while (!hall.jobs[0].overran || !hall.jobs[1].overran) {
		BATON_IGNORE(baton_timers_poll(hall.timers));
		hall_drive();
	}
	for (int i = 0; i < 2; i++)
		cr_assert_eq(hall.jobs[i].overran, 1);
	hall_end();
}

/* ---- At time 0 of the wheel, which is no value of its own ---- */

static void nothing_is_left(int i, const char *when)
{
	cr_assert_eq(baton_admitted_estimate(&hall.jobs[i].admitted), 0, "%s", when);
	cr_assert_eq(baton_admitted_time_left(&hall.jobs[i].admitted), 0, "%s", when);
}

Test(admission_end, what_has_ended_or_must_stop_has_no_estimate_and_no_time_left, .timeout = 10)
{
	baton_resource_init(&closed, NAMED("closed"));
	cr_assert_eq(baton_resource_close(&closed), 0);
	hall.jobs[0].stubborn = true;
	hall_begin();
	for (uint32_t i = 0; i < 4; i++) {
		hall.jobs[i].resource = i == 2 ? &closed : NULL;
		cr_assert_eq(hall_arrive(i, 0), 0);
	}
	nothing_is_left(4, "it has not arrived");
	cr_assert_eq(baton_admitted_estimate(&hall.jobs[0].admitted), 0, "it runs");
	cr_assert_eq(hall_arrive(4, BATON_RULES_INTERACTIVE), 0);
	nothing_is_left(4, "denied");
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[1].admitted), 0);
	hall_drive();
	nothing_is_left(1, "withdrawn");
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[0].admitted), 0);
	hall_drive();
	cr_assert_eq(baton_future_status(&hall.jobs[0].outcome), -ECANCELED);
	nothing_is_left(0, "told to stop");
	cr_assert_eq(baton_detached_complete(&hall.jobs[0].token, 0, NULL), 0);
	hall_drive();
	nothing_is_left(0, "stopped");
	cr_assert_eq(baton_future_status(&hall.jobs[2].outcome), -EPIPE);
	nothing_is_left(2, "refused by its resource");
	cr_assert_eq(baton_detached_complete(&hall.jobs[3].token, 0, NULL), 0);
	hall_drive();
	nothing_is_left(3, "done");
	hall_end();
	cr_assert_eq(baton_resource_await(&closed), 0);
}

/* ---- Memory ---- */

struct heap_job {
	struct baton_admitted admitted;
	char payload[64];
};

static atomic_int freed;
static atomic_int ran;

static void free_job(struct baton_admission *admission, struct baton_admitted *admitted)
{
	struct heap_job *job = baton_container_of(admitted, struct heap_job, admitted);

	(void)admission;
	memset(job, 0x55, sizeof(*job));
	free(job);
	atomic_fetch_add(&freed, 1);
}

static int returns(struct baton_task *task)
{
	(void)task;
	atomic_fetch_add(&ran, 1);
	return 0;
}

static struct baton_admitted *heap_job(uint32_t kind, baton_task_fn run)
{
	struct heap_job *job = malloc(sizeof(*job));

	MUST(job);
	baton_admitted_init(&job->admitted, kind, run);
	return &job->admitted;
}

Test(admission_end, an_entry_without_a_promise_goes_to_the_callback, .timeout = 10)
{
	struct baton_admitted *waits;

	hall.plain = true;
	hall.config.gone = free_job;
	hall_begin();
	hall.held = true;
	cr_assert_eq(baton_admission_arrive(&hall.admission, heap_job(0, returns)), 0);
	waits = heap_job(0, returns);
	cr_assert_eq(baton_admission_arrive(&hall.admission, waits), 0);
	cr_assert_eq(
		baton_admission_arrive(&hall.admission, heap_job(BATON_RULES_INTERACTIVE, returns)),
		0);
	cr_assert_eq(freed, 1, "denied");
	cr_assert_eq(baton_admitted_withdraw(waits), 0);
	cr_assert_eq(freed, 2, "withdrawn");
	hall.held = false;
	hall_drive();
	cr_assert_eq(freed, 3, "has run");
	cr_assert_eq(ran, 1);
	hall_end();
}

Test(admission_end, ten_thousand_that_wait_are_dropped_at_once, .timeout = 20)
{
	enum { COUNT = 10000 };

	hall.plain = true;
	hall.config.gone = free_job;
	hall_begin();
	for (int i = 0; i < COUNT; i++)
		cr_assert_eq(baton_admission_arrive(&hall.admission, heap_job(0, returns)), 0);
	cr_assert_eq(baton_admission_close(&hall.admission, BATON_ADMISSION_DROP), 0);
	hall_drive();
	cr_assert_eq(freed, COUNT);
	cr_assert_eq(ran, 0);
	hall_end();
}

/* ---- The end ---- */

Test(admission_end, an_await_ends_with_the_last_entry_or_its_deadline, .timeout = 10)
{
	uint64_t soon = deadline_in_ms(5);

	hall_begin();
	hall.jobs[0].stubborn = true;
	cr_assert_eq(hall_arrive(0, 0), 0);
	cr_assert_eq(baton_admission_close(&hall.admission, BATON_ADMISSION_DROP), 0);
	cr_assert_eq(baton_admission_await_until(&hall.admission, soon), -ETIMEDOUT);
	cr_assert_eq(baton_detached_complete(&hall.jobs[0].token, 0, NULL), 0);
	hall_drive();
	cr_assert_eq(baton_admission_await(&hall.admission), 0);
	hall_end();
}

static void deinit_open(void)
{
	hall_begin();
	baton_admission_deinit(&hall.admission);
}

static void no_promise(void)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_admitted admitted;

	hall_begin();
	baton_admitted_init(&admitted, 0, idle_run);
	admitted.outcome = &future;
	BATON_IGNORE(baton_admission_arrive(&hall.admission, &admitted));
	hall_drive();
}

Test(admission_end, mistakes_are_named, .timeout = 10)
{
	static const struct mistake mistakes[] = {
		{deinit_open, "baton_admission_deinit: \"hall\" is not closed"},
		{no_promise, "baton_admission_arrive: \"hall\" was given an entry whose `outcome` "
	                     "or `gone` is no promise"},
	};

	mistakes_are_said(mistakes, 2);
}

/* ---- Threads and a pool ---- */

#define EACH 400
#define THREADS 3

struct polling_job {
	struct baton_admitted admitted;
	struct baton_future outcome;
	struct baton_future gone;
	unsigned polls;
};

static struct baton_admission hot;
static struct polling_job polling[THREADS][EACH];

static int poll_run(struct baton_task *task)
{
	struct polling_job *job = baton_container_of(task, struct polling_job, admitted.task);

	for (unsigned i = 0; i < job->polls; i++) {
		if (baton_cancel_requested())
			return -ECANCELED;
		sched_yield();
	}
	return 0;
}

static void *arrives_main(void *arg)
{
	struct polling_job *jobs = arg;
	uint64_t random = rng_fork((uintptr_t)arg, 3);

	for (int i = 0; i < EACH; i++) {
		struct polling_job *job = &jobs[i];
		uint32_t kind = rng_below(&random, 5);

		job->polls = rng_below(&random, 40);
		baton_admitted_init(&job->admitted, kind < 3 ? kind : kind + 5, poll_run);
		baton_promise_init(&job->outcome);
		baton_promise_init(&job->gone);
		job->admitted.outcome = &job->outcome;
		job->admitted.gone = &job->gone;
		MUST(baton_admission_arrive(&hot, &job->admitted) == 0);
		if (i > 0 && rng_below(&random, 3) == 0)
			(void)baton_admitted_withdraw(
				&jobs[rng_below(&random, (uint32_t)i)].admitted);
		(void)baton_admitted_estimate(&job->admitted);
		(void)baton_admitted_time_left(&job->admitted);
	}
	return NULL;
}

Test(admission_end, arrivals_withdrawals_and_ends_on_many_threads, .timeout = 30)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_admission_config config = {
		.rules = {.limit = {3, 2, 1},
	                  .duration_ns = {BATON_MILLISECOND, 2 * BATON_MILLISECOND,
	                                  5 * BATON_MILLISECOND}},
		.executor = baton_pool_executor(pool),
	};
	struct baton_admission_stats stats;
	pthread_t threads[THREADS];

	cr_assert_eq(baton_admission_init(&hot, &config), 0);
	for (int i = 0; i < THREADS; i++)
		threads[i] = thread_start(arrives_main, polling[i]);
	for (int i = 0; i < THREADS; i++)
		(void)thread_join(threads[i]);
	cr_assert_eq(baton_admission_close(&hot, BATON_ADMISSION_RUN), 0);
	cr_assert_eq(baton_admission_await(&hot), 0);
	baton_admission_stats_read(&hot, &stats);
	cr_assert_eq(stats.arrived, THREADS * EACH);
	cr_assert_eq(stats.started + stats.denied + stats.withdrawn, THREADS * EACH);
	cr_assert_eq(stats.finished, stats.started);
	cr_assert_eq(stats.waiting, 0);
	for (int i = 0; i < THREADS; i++)
		for (int j = 0; j < EACH; j++) {
			cr_assert(baton_future_is_complete(&polling[i][j].outcome));
			cr_assert(baton_future_is_complete(&polling[i][j].gone));
		}
	baton_admission_deinit(&hot);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_eq(baton_timers_default_destroy(), 0);
}

/* ---- Few workers ---- */

static int run_until_told(struct baton_task *task)
{
	job_of(baton_container_of(task, struct baton_admitted, task))->entered++;
	/* Ends: the time of the entry is over. */
	while (!baton_cancel_requested())
		sched_yield();
	return -ECANCELED;
}

Test(admission_end, entries_that_take_up_all_workers_are_told_to_stop, .timeout = 10)
{
	static struct baton_admission admission;
	struct baton_admission_config config = BATON_ADMISSION_CONFIG_INIT;
	struct baton_pool_options options = {.workers = 1};
	struct baton_pool *pool;

	cr_assert_eq(baton_pool_create(&options, &pool), 0);
	config.executor = baton_pool_executor(pool);
	config.rules.class_count = 1;
	config.rules.duration_ns[0] = 20 * BATON_MILLISECOND;
	config.rules.limit[0] = 3;
	cr_assert_eq(baton_admission_init(&admission, &config), 0);
	for (int i = 0; i < 4; i++) {
		struct job *job = &hall.jobs[i];

		baton_admitted_init(&job->admitted, 0, run_until_told);
		baton_promise_init(&job->outcome);
		job->admitted.outcome = &job->outcome;
		cr_assert_eq(baton_admission_arrive(&admission, &job->admitted), 0);
	}
	cr_assert_eq(baton_admission_close(&admission, BATON_ADMISSION_RUN), 0);
	cr_assert_eq(baton_admission_await(&admission), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(baton_future_status(&hall.jobs[i].outcome), -ETIMEDOUT);
	baton_admission_deinit(&admission);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
