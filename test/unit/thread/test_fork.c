/* SPDX-License-Identifier: MIT */
/*
 * fork: in the child of a process with a pool or a running task, calls are refused clearly, and
 * never hang (an alarm would end the child). A child that was forked before the first use works.
 */
#include "child.h"
#include "fixture.h"
#include "misuse.h"

#include <baton/board.h>
#include <baton/epoch.h>
#include <baton/watchdog.h>

#include <sys/wait.h>

/* Exit codes of a child: 0, or the number of the check that failed. */
#define CHECK(number, condition)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return (number);                                                           \
	} while (0)

/* 0 to 99: what the check returned; -n: ended by signal n. */
static int in_child(int (*check)(void *), void *arg)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		child_begins();
		_exit(check(arg));
	}
	while (waitpid(child, &status, 0) < 0)
		MUST(errno == EINTR);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void *count(void *arg)
{
	++*(int *)arg;
	return arg;
}

static void run_nothing(struct baton_plain_job *job)
{
}

static int everything_works(void *arg)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_future *future = NULL;
	struct baton_pool *pool = NULL;
	struct baton_resource resource;
	int counter = 0;

	CHECK(1, baton_pool_create(NULL, &pool) == 0);
	config.executor = baton_pool_executor(pool);
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&resource, &config);
	CHECK(2, baton_post(&resource, count, &counter) == 0);
	CHECK(3, baton_async(&resource, count, &counter, &future) == 0);
	CHECK(4, baton_future_wait(future) == 0);
	baton_future_unref(future);
	CHECK(5, baton_call(&resource, count, &counter, NULL) == 0);
	CHECK(6, counter == 3);
	CHECK(7, baton_resource_close(&resource) == 0);
	CHECK(8, baton_resource_await(&resource) == 0);
	CHECK(9, baton_pool_destroy(pool) == 0);
	return 0;
}

Test(fork, before_the_first_use_it_does_not_matter, .timeout = 10)
{
	cr_assert_eq(in_child(everything_works, NULL), 0);
}

Test(fork, a_forked_process_may_fork_again_before_its_first_use, .timeout = 10)
{
	cr_assert_eq(in_child(everything_works, NULL), 0);
	cr_assert_eq(everything_works(NULL), 0);
}

static int inline_works(void *arg)
{
	struct baton_resource *resource = arg;
	int counter = 0;

	CHECK(1, baton_post(resource, count, &counter) == 0);
	CHECK(2, baton_call(resource, count, &counter, NULL) == 0);
	CHECK(3, counter == 2);
	CHECK(4, load_relaxed(&baton__self->tid) == (uint32_t)gettid()); /* boards show it */
	return 0;
}

Test(fork, with_no_pool_and_nothing_running_the_child_goes_on, .timeout = 10)
{
	cr_assert_eq(inline_works(&fix.resource), 0);
	cr_assert_eq(in_child(inline_works, &fix.resource), 0);
	cr_assert_eq(inline_works(&fix.resource), 0);
}

static int section_goes_on(void *arg)
{
	CHECK(1, baton_epoch_inside());
	baton_epoch_leave();
	CHECK(2, !baton_epoch_inside());
	return 0;
}

Test(fork, a_section_of_the_forking_thread_goes_on_in_the_child, .timeout = 10)
{
	cr_assert_eq(baton_epoch_enter(), 0);
	cr_assert_eq(in_child(section_goes_on, NULL), 0);
	cr_assert(baton_epoch_inside());
	baton_epoch_leave();
}

static void retired_is_gone(struct baton_retired *retired)
{
}

static int is_reclaimed(void *arg)
{
	struct baton_retired retired;

	baton_limbo_retire(arg, &retired, retired_is_gone);
	(void)baton_limbo_poll(arg);
	CHECK(1, baton_limbo_poll(arg) == 0);
	return 0;
}

struct reader {
	atomic_int inside;
	sem_t leave;
};

static void *reader_main(void *arg)
{
	struct reader *reader = arg;

	MUST(baton_epoch_enter() == 0);
	atomic_store(&reader->inside, 1);
	gate_pass(&reader->leave);
	baton_epoch_leave();
	return NULL;
}

Test(fork, a_section_of_another_thread_has_ended_in_the_child, .timeout = 10)
{
	struct baton_limbo *limbo = NULL;
	struct reader reader = {.inside = 0};
	pthread_t thread;

	gate_init(&reader.leave);
	cr_assert_eq(baton_limbo_create(&limbo), 0);
	thread = thread_start(reader_main, &reader);
	until_at_least(&reader.inside, 1);
	cr_assert_eq(in_child(is_reclaimed, limbo), 0);
	gate_open(&reader.leave);
	thread_join(thread);
	baton_limbo_destroy(limbo);
}

/* A process with a pool, at rest. */
struct parent {
	struct baton_pool *pool;
	struct baton_resource_config config;
	struct baton_resource_config config_later;
	struct baton_resource resource;
	struct baton_resource later;
	struct baton_future *future; /* pending */
};

static void parent_init(struct parent *parent)
{
	memset(parent, 0, sizeof(*parent));
	parent->pool = pool_of(2);
	parent->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	parent->config.executor = baton_pool_executor(parent->pool);
	parent->config_later = parent->config;
	parent->config_later.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&parent->resource, &parent->config);
	baton_resource_init(&parent->later, &parent->config_later);
}

static int pool_is_refused(void *arg)
{
	struct parent *parent = arg;
	struct baton_plain_job job = BATON_PLAIN_JOB_INIT(run_nothing, NULL);
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_future *async = NULL;
	struct baton_pool *pool = NULL;
	struct journal journal = {0};
	struct step step;
	int counter = 0;

	step_init(&step, &journal, 0, &future);
	CHECK(1, baton_pool_submit(parent->pool, &job) == -ECHILD);
	CHECK(2, baton_pool_create(NULL, &pool) == -ECHILD && !pool);
	CHECK(3, baton_pool_default(&pool) == -ECHILD && !pool);
	CHECK(4, baton_submit_later(&parent->resource, &step.task) == -ECHILD);
	CHECK(5, baton_submit(&parent->later, &step.task) == -ECHILD);
	CHECK(6, baton_post(&parent->later, count, &counter) == -ECHILD);
	CHECK(7, baton_async(&parent->later, count, &counter, &async) == -ECHILD && !async);
	CHECK(8, baton_call(&parent->later, count, &counter, NULL) == -ECHILD);
	CHECK(9, baton_future_state(&future) == BATON_PENDING);
	CHECK(10, baton_pool_await(parent->pool) == -ECHILD);
	CHECK(11, baton_pool_destroy(parent->pool) == -ECHILD);
	CHECK(12, counter == 0 && journal.count == 0);
	return 0;
}

static int in_tasks_child;

static void *forks(void *arg)
{
	in_tasks_child = in_child(pool_is_refused, arg);
	return NULL;
}

static void *forks_deeper(void *arg)
{
	struct baton_resource inner = BATON_RESOURCE_INIT(NULL);

	MUST(baton_call(&inner, forks, arg, NULL) == 0);
	resource_end(&inner);
	return NULL;
}

/* The frames, and the baton that has none, are still popped in the child. */
Test(fork, the_child_that_is_made_inside_a_task_is_refused, .timeout = 10)
{
	struct parent parent;
	int counter = 0;

	parent_init(&parent);
	cr_assert_eq(baton_call(&parent.resource, count, &counter, NULL), 0);
	cr_assert_eq(baton_call(&parent.resource, forks, &parent, NULL), 0);
	cr_assert_eq(in_tasks_child, 0);
	cr_assert_eq(baton_call(&parent.resource, forks_deeper, &parent, NULL), 0);
	cr_assert_eq(in_tasks_child, 0);
	cr_assert_eq(baton_call(&parent.resource, count, &counter, NULL), 0, "the parent goes on");
	cr_assert_eq(counter, 2);
	resource_end(&parent.later);
	resource_end(&parent.resource);
	cr_assert_eq(baton_pool_destroy(parent.pool), 0);
}

static int default_is_refused(void *arg)
{
	struct baton_pool *pool = NULL;
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct journal journal = {0};
	struct step step;

	step_init(&step, &journal, 0, NULL);
	CHECK(1, baton_pool_default(&pool) == -ECHILD);
	CHECK(2, baton_submit_later(&resource, &step.task) == -ECHILD);
	CHECK(3, journal.count == 0);
	return 0;
}

Test(fork, the_child_of_a_process_with_the_default_pool_is_refused, .timeout = 10)
{
	struct baton_pool *pool = NULL;

	cr_assert_eq(baton_pool_default(&pool), 0);
	cr_assert_eq(in_child(default_is_refused, NULL), 0);
	cr_assert_eq(in_child(everything_works, NULL), 1, "no new pool either");
}

/* A task runs on another thread at the moment of the fork: its runner is not in the child. */
static int running_is_refused(void *arg)
{
	struct parent *parent = arg;
	uint64_t deadline = deadline_in_ms(60000);
	struct baton_future *futures[1] = {parent->future};
	struct baton_future *async = NULL;
	struct journal journal = {0};
	struct step step;
	size_t index = 7;
	int counter = 0;

	step_init(&step, &journal, 0, NULL);
	CHECK(1, baton_submit(&parent->resource, &step.task) == -ECHILD);
	CHECK(2, baton_submit_later(&parent->resource, &step.task) == -ECHILD);
	CHECK(3, baton_post(&parent->resource, count, &counter) == -ECHILD);
	CHECK(4, baton_async(&parent->resource, count, &counter, &async) == -ECHILD && !async);
	CHECK(5, baton_call(&parent->resource, count, &counter, NULL) == -ECHILD);
	CHECK(6, baton_future_wait(parent->future) == -ECHILD);
	CHECK(7, baton_future_wait_until(parent->future, deadline) == -ECHILD);
	CHECK(8, baton_future_wait_any(futures, 1, &index) == -ECHILD && index == 7);
	CHECK(9, baton_future_wait_all(futures, 1) == -ECHILD);
	CHECK(10, baton_resource_await(&parent->resource) == -ECHILD);
	CHECK(11, baton_resource_close_then(&parent->resource, &step.task) == -ECHILD);
	CHECK(12, counter == 0 && journal.count == 0);
	return 0;
}

Test(fork, while_a_task_runs_elsewhere_the_child_is_refused, .timeout = 10)
{
	struct parent parent;
	struct occupant occupant;
	int counter = 0;

	memset(&parent, 0, sizeof(parent));
	baton_resource_init(&parent.resource, NULL);
	occupy(&occupant, &parent.resource);
	cr_assert_eq(baton_async(&parent.resource, count, &counter, &parent.future), 0);
	cr_assert_eq(in_child(running_is_refused, &parent), 0);
	release(&occupant);
	cr_assert_eq(baton_future_wait(parent.future), 0, "the parent goes on");
	cr_assert_eq(counter, 1);
	baton_future_unref(parent.future);
	resource_end(&parent.resource);
}

/* The child forks, and its child, and so on: the same answer to all of them. */
struct generations {
	struct parent parent;
	int left;
};

static int is_refused_down_to(void *arg)
{
	struct generations *generations = arg;
	struct journal journal = {0};
	struct step step;

	step_init(&step, &journal, 0, NULL);
	CHECK(1, baton_submit(&generations->parent.resource, &step.task) == -ECHILD);
	CHECK(2, journal.count == 0);
	return --generations->left ? in_child(is_refused_down_to, generations) : 0;
}

Test(fork, a_childs_child_is_refused_too_and_so_on, .timeout = 10)
{
	struct generations generations = {.left = 6};
	struct parent *parent = &generations.parent;

	parent_init(parent);
	cr_assert_eq(in_child(is_refused_down_to, &generations), 0);
	resource_end(&parent->later);
	resource_end(&parent->resource);
	cr_assert_eq(baton_pool_destroy(parent->pool), 0);
}

/* ---- A process without a pool and a task, but with a board ---- */

static struct baton_board *board;

static int board_is_refused(void *arg)
{
	CHECK(1, baton_board_join(board, &fix.resource, "again", NULL) == -ECHILD);
	CHECK(2, baton_board_dump(board, STDERR_FILENO) == -ECHILD);
	baton_board_refresh(board);
	baton_board_leave(board, &fix.resource);
	baton_board_destroy(board);
	return 0;
}

static atomic_int dumper; /* its thread */

/* Holds the board until the pipe, which is full, has been read. */
static void *dumps(void *ends)
{
	atomic_store(&dumper, thread_id());
	MUST(baton_board_dump(board, ((int *)ends)[1]) == 0);
	MUST(close(((int *)ends)[1]) == 0);
	return NULL;
}

Test(fork, while_a_thread_looks_at_a_board_the_child_is_refused, .timeout = 10)
{
	char text[4096];
	pthread_t thread;
	int ends[2];

	MUST(pipe(ends) == 0);
	MUST(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
	while (write(ends[1], text, sizeof(text)) > 0)
		continue;
	MUST(fcntl(ends[1], F_SETFL, 0) == 0);
	cr_assert_eq(baton_board_create(NULL, &board), 0);
	cr_assert_eq(baton_board_join(board, &fix.resource, "topic", NULL), 0);
	thread = thread_start(dumps, ends);
	until_at_least(&dumper, 1);
	until_asleep(atomic_load(&dumper));
	cr_assert_eq(in_child(board_is_refused, NULL), 0);
	while (read(ends[0], text, sizeof(text)) > 0)
		continue;
	thread_join(thread);
	resource_end(&fix.resource);
	baton_board_leave(board, &fix.resource);
	baton_board_destroy(board);
}

static int board_works(void *arg)
{
	baton_board_refresh(board);
	return inline_works(&fix.resource);
}

Test(fork, a_child_may_use_a_board_at_which_no_thread_looked, .timeout = 10)
{
	cr_assert_eq(baton_board_create(NULL, &board), 0);
	cr_assert_eq(baton_board_join(board, &fix.resource, "topic", NULL), 0);
	cr_assert_eq(in_child(board_works, NULL), 0);
	resource_end(&fix.resource);
	baton_board_leave(board, &fix.resource);
	baton_board_destroy(board);
}

Test(fork, the_child_of_a_process_with_a_watchdog_is_refused, .timeout = 10)
{
	struct baton_watchdog_options options = {.limit_ns = 1000000000};
	struct baton_watchdog *watchdog = NULL;

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	cr_assert_eq(baton_board_join(board, &fix.resource, "topic", NULL), 0);
	options.board = board;
	cr_assert_eq(baton_watchdog_create(&options, &watchdog), 0);
	cr_assert_eq(in_child(board_is_refused, NULL), 0);
	baton_watchdog_destroy(watchdog);
	cr_assert_eq(in_child(inline_works, &fix.resource), 0, "no more than before the start");
	resource_end(&fix.resource);
	baton_board_leave(board, &fix.resource);
	baton_board_destroy(board);
}

static void run_the_parents_job(void)
{
	(void)baton_manual_run(fix.manual, 1);
}

static void cancel_the_parents_job(void)
{
	baton_manual_destroy(fix.manual);
}

Test(fork, a_child_that_runs_its_parents_job_ends_with_the_reason, .timeout = 10)
{
	const struct mistake mistakes[] = {
		{run_the_parents_job, "baton_job_run: this process was forked"},
		{cancel_the_parents_job, "baton_job_run: this process was forked"},
	};
	struct parent parent;

	parent_init(&parent);
	fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_manual();
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	mistakes_are_said(mistakes, 2);
	cr_assert_eq(baton_manual_run(fix.manual, 0), 1);
	fixture_end();
	resource_end(&parent.later);
	resource_end(&parent.resource);
	cr_assert_eq(baton_pool_destroy(parent.pool), 0);
}
