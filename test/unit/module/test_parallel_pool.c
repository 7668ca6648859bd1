/* SPDX-License-Identifier: MIT */
/* Parallel loops beside other work: pools that do not help, sleep, other jobs, fork. */
#include "parallel_support.h"

#include <sys/wait.h>

/* ---- Pools that do not help ---- */

static void expect_alone(struct baton_pool *pool)
{
	struct marks *marks = marks_create(INDICES);

	cr_assert_eq(baton_parallel_for(pool, INDICES, 1, mark, marks), 0);
	expect_each_once(marks);
	cr_assert_eq(atomic_load(&marks->elsewhere), 0);
	free(marks);
}

Test(parallel_pool, runs_alone_with_a_pool_of_one_worker, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);

	expect_alone(pool);
	cr_assert_eq(pool_stats(pool).executed, 0, "no worker was asked");
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(parallel_pool, runs_alone_with_a_pool_that_is_shut_down, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);

	cr_assert_eq(baton_pool_shutdown(pool), 0);
	expect_alone(pool);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* A job that shuts its pool down, and then runs a loop. */
static void shut_down_and_loop(struct baton_plain_job *job)
{
	struct work *work = work_of(job);
	struct marks *marks = marks_create(INDICES);

	work->result = baton_pool_shutdown(work->pool);
	if (!work->result)
		work->result = baton_parallel_for(work->pool, INDICES, 1, mark, marks);
	work->number = atomic_load(&marks->elsewhere);
	free(marks);
	work_finish(work);
}

Test(parallel_pool, runs_alone_in_a_job_of_a_pool_that_is_shut_down, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct work *work = works_create(1, pool, NULL);

	baton_plain_job_init(&work->job, shut_down_and_loop, NULL);
	cr_assert_eq(baton_pool_submit(pool, &work->job), 0);
	until_at_least(&work->ran, 1);
	cr_assert_eq(work->result, 0);
	cr_assert_eq(work->number, 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(work);
}

Test(parallel_pool, runs_alone_while_no_worker_is_free, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct plug plugs[2];

	plug_in(&plugs[0], pool);
	plug_in(&plugs[1], pool);
	expect_alone(pool); /* the invitation lies in the pool when the loop is over */
	expect_alone(pool);
	gate_open(&plugs[0].leave);
	gate_open(&plugs[1].leave);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(parallel_pool, runs_alone_with_a_full_pool, .timeout = 10)
{
	const struct baton_pool_options options = {.workers = 2, .waiting_max = 1};
	struct baton_pool *pool = NULL;
	struct plug plugs[2];
	struct work *work;

	MUST(baton_pool_create(&options, &pool) == 0);
	work = works_create(1, pool, NULL);
	plug_in(&plugs[0], pool);
	plug_in(&plugs[1], pool);
	cr_assert_eq(baton_pool_submit(pool, &work->job), 0);
	expect_alone(pool);
	cr_assert_eq(pool_stats(pool).waiting, 1);
	gate_open(&plugs[0].leave);
	gate_open(&plugs[1].leave);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(work);
}

Test(parallel_pool, an_invitation_that_is_given_back_can_be_run_or_cancelled, .timeout = 10)
{
	for (int round = 0; round < 2; round++) {
		struct baton_pool *pool = pool_of(2);
		struct baton_job *jobs = NULL;
		struct plug plugs[2];

		plug_in(&plugs[0], pool);
		plug_in(&plugs[1], pool);
		expect_alone(pool);
		cr_assert_eq(baton_pool_shutdown_now(pool, &jobs), 0);
		cr_assert_not_null(jobs);
		cr_assert_null(baton_job_next(jobs));
		if (round)
			baton_job_run(jobs);
		else
			baton_job_cancel(jobs);
		gate_open(&plugs[0].leave);
		gate_open(&plugs[1].leave);
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
}

Test(parallel_pool, loops_leave_little_behind_in_a_pool_that_is_busy, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_job *jobs = NULL;
	struct plug plugs[4];
	size_t left = 0;
	atomic_int met = 0;

	plug_in(&plugs[0], pool);
	plug_in(&plugs[1], pool);
	for (int i = 0; i < 200; i++)
		expect_alone(pool);
	gate_open(&plugs[1].leave);
	plug_in(&plugs[2], pool); /* behind what the loops have left */
	gate_open(&plugs[2].leave);
	cr_assert_eq(baton_parallel_for(pool, 2, 1, meet, &met), 0, "a worker helps again");
	plug_in(&plugs[3], pool);
	for (int i = 0; i < 200; i++)
		expect_alone(pool);
	cr_assert_eq(baton_pool_shutdown_now(pool, &jobs), 0);
	while (jobs) {
		struct baton_job *job = jobs;

		jobs = baton_job_next(job);
		baton_job_cancel(job);
		left++;
	}
	cr_assert_eq(left, 64);
	gate_open(&plugs[0].leave);
	gate_open(&plugs[3].leave);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* Long enough for a worker that is asked. */
static int long_chunk(void *arg, size_t begin, size_t end)
{
	(void)begin;
	(void)end;
	work_for_ns(1000000);
	MUST(*(int *)arg == thread_id());
	return 0;
}

static void loop_alone(void *pool)
{
	int here = thread_id();

	MUST(baton_parallel_for(pool, 30, 1, long_chunk, &here) == 0);
}

Test(parallel_pool, runs_alone_in_a_function_that_is_told_of_an_end, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation told;

	baton_continuation_function(&told, loop_alone, pool);
	baton_future_then(&promise, &told);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	cr_assert_eq(pool_stats(pool).executed, 0, "no worker was asked");
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(parallel_pool, uses_the_default_pool, .timeout = 10)
{
	struct marks *marks = marks_create(INDICES);

	cr_assert_eq(baton_parallel_for(NULL, INDICES, 1, mark, marks), 0);
	expect_each_once(marks);
	cr_assert_eq(baton_pool_default_destroy(), 0);
	free(marks);
}

Test(parallel_pool, a_short_loop_asks_for_no_pool, .timeout = 10)
{
	struct marks *marks = marks_create(10);

	cr_assert_eq(baton_parallel_for(NULL, 10, 10, mark, marks), 0);
	cr_assert_eq(atomic_load(&marks->chunks), 1);
	cr_assert_eq(baton_parallel_for(NULL, 0, 0, mark, NULL), 0);
	expect_thread_is_free();
	free(marks);
}

/* ---- Waits, and other jobs ---- */

/* The caller's chunk ends while the helper's chunk goes on until it is let go. */
struct slow {
	atomic_int met;
	int caller;
	atomic_int other; /* the thread that helps */
	atomic_int go;
};

static int slow_elsewhere(void *arg, size_t begin, size_t end)
{
	struct slow *slow = arg;

	(void)begin;
	(void)end;
	atomic_fetch_add(&slow->met, 1);
	until_at_least(&slow->met, 2);
	if (thread_id() != slow->caller)
		until_at_least(&slow->go, 1);
	return 0;
}

static void *let_go_when_asleep(void *arg)
{
	struct slow *slow = arg;

	until_at_least(&slow->met, 2);
	until_asleep(slow->caller);
	atomic_store(&slow->go, 1);
	return NULL;
}

Test(parallel_pool, the_caller_sleeps_until_the_last_helper_wakes_it, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);

	for (int round = 0; round < 5; round++) {
		struct slow slow = {.caller = thread_id()};
		pthread_t thread = thread_start(let_go_when_asleep, &slow);

		cr_assert_eq(baton_parallel_for(pool, 2, 1, slow_elsewhere, &slow), 0);
		cr_assert_eq(atomic_load(&slow.go), 1);
		(void)thread_join(thread);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* The loop goes on, for seconds, until another job has run, which only the helper's worker can. */
struct guest {
	struct work *work;
	atomic_int helped;
	int caller;
};

static int until_guest_ran(void *arg, size_t begin, size_t end)
{
	struct guest *guest = arg;

	if (thread_id() == guest->caller)
		until_at_least(&guest->helped, 1);
	else if (!atomic_exchange(&guest->helped, 1))
		BATON_IGNORE(baton_pool_submit(guest->work->pool, &guest->work->job));
	work_for_ns((end - begin) * 1000);
	return atomic_load(&guest->work->ran);
}

Test(parallel_pool, a_helper_leaves_for_other_jobs, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct plug plug;
	struct work *work = works_create(1, pool, NULL);
	struct guest guest = {.work = work, .caller = thread_id()};

	plug_in(&plug, pool);
	cr_assert_eq(baton_parallel_for(pool, 30000000, 1, until_guest_ran, &guest), 1);
	gate_open(&plug.leave);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(work);
}

/* As above, and the loop goes on until a helper has come again after the job. */
static int until_helped_again(void *arg, size_t begin, size_t end)
{
	struct guest *guest = arg;

	if (thread_id() != guest->caller && atomic_load(&guest->work->ran))
		return 1;
	(void)until_guest_ran(arg, begin, end);
	return 0;
}

Test(parallel_pool, a_helper_comes_back_after_other_jobs, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct plug plug;
	struct work *work = works_create(1, pool, NULL);
	struct guest guest = {.work = work, .caller = thread_id()};

	plug_in(&plug, pool);
	cr_assert_eq(baton_parallel_for(pool, 30000000, 1, until_helped_again, &guest), 1);
	gate_open(&plug.leave);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(work);
}

/* ---- Fork ---- */

static int exit_status(pid_t child)
{
	int status = 0;

	MUST(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(parallel_pool, runs_alone_in_a_forks_child, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	pid_t child = fork();

	if (child == 0) {
		struct marks *marks = marks_create(100);

		if (baton_parallel_for(pool, 100, 1, mark, marks) || marks->elsewhere)
			_exit(1);
		for (size_t i = 0; i < 100; i++)
			if (atomic_load(&marks->done[i]) != 1)
				_exit(2);
		_exit(0);
	}
	MUST(child > 0);
	cr_assert_eq(exit_status(child), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

struct forks {
	struct slow slow;
	pid_t child;
};

static int fork_here(void *arg, size_t begin, size_t end)
{
	struct forks *forks = arg;
	struct slow *slow = &forks->slow;

	(void)begin;
	(void)end;
	atomic_fetch_add(&slow->met, 1);
	until_at_least(&slow->met, 2);
	if (thread_id() == slow->caller) {
		forks->child = fork();
		atomic_store(&slow->go, 1);
	} else {
		until_at_least(&slow->go, 1);
	}
	return 0;
}

Test(parallel_pool, a_chunk_that_forks_does_not_wait_for_lost_threads_in_the_child, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct forks forks = {.slow.caller = thread_id()};
	int error = baton_parallel_for(pool, 2, 1, fork_here, &forks);

	if (forks.child == 0)
		_exit(error == -ECHILD ? 0 : 1);
	cr_assert_eq(error, 0);
	cr_assert_eq(exit_status(forks.child), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
