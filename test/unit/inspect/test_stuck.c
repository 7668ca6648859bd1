/* SPDX-License-Identifier: MIT */
/* Why tasks wait although none runs: the cause is on the board, and in the dump. */
#include "window_support.h"

#include <baton/call.h>
#include <baton/detach.h>
#include <baton/hooks.h>
#include <baton/lane.h>
#include <baton/manual.h>
#include <baton/reader.h>
#include <baton/suspend.h>
#include <baton/watchdog.h>

#include "inspect/stuck.h"

#include <inttypes.h>

static struct baton_board *board;
static struct baton_resource_config named;
static struct baton_resource resource;
static struct baton_suspension suspension;

static void begin(const struct baton_resource_config *config)
{
	const struct baton_board_options one = {.resources = 1};
	const struct baton_resource_config unnamed = BATON_RESOURCE_CONFIG_INIT;

	cr_assert_eq(baton_board_create(&one, &board), 0);
	named = config ? *config : unnamed;
	named.name = "topic";
	baton_resource_init(&resource, &named);
}

static void joins(void)
{
	cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
}

static void end(void)
{
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
	baton_board_leave(board, &resource);
	baton_board_destroy(board);
}

static enum baton__cause cause(void)
{
	baton_board_refresh(board);
	return (enum baton__cause)board->file->line[0].cause;
}

/* A descriptor that takes a few bytes at a time, as a socket does that is nearly full; -1: none.
 * The library's calls come here, too. */
static int narrow = -1;

ssize_t write(int fd, const void *bytes, size_t count)
{
	return syscall(SYS_write, fd, bytes, fd == narrow && count > 7 ? 7 : count);
}

static void dump(char *text, size_t size)
{
	int fds[2];
	ssize_t length;

	cr_assert_eq(pipe(fds), 0);
	narrow = fds[1];
	cr_assert_eq(baton_board_dump(board, fds[1]), 0);
	narrow = -1;
	length = read(fds[0], text, size - 1);
	cr_assert_gt(length, 0);
	text[length] = '\0';
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/* The refresh and the dump say why; no other words of causes are in the dump. */
static void expect(enum baton__cause wanted)
{
	char text[2000];

	cr_assert_eq(cause(), wanted, "%d", cause());
	dump(text, sizeof(text));
	for (unsigned other = BATON__CAUSE_SUSPENDED; other < BATON__CAUSES; other++)
		cr_assert_eq(!strstr(text, baton__cause_sentence[other]), other != wanted, "%s",
		             text);
}

static void *nothing(void *arg)
{
	return arg;
}

static void post(void)
{
	cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
}

Test(stuck, a_suspended_resource, .timeout = 10)
{
	begin(NULL);
	joins();
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	expect(BATON__CAUSE_NONE);
	post();
	expect(BATON__CAUSE_SUSPENDED);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	expect(BATON__CAUSE_NONE);
	end();
}

Test(stuck, suspended_lower_lanes, .timeout = 10)
{
	static const struct baton_label low = {.lane = 1};
	const struct baton_call_options options = {.fn = nothing, .label = &low};
	struct baton_lane array[2];
	struct baton_lanes lanes;

	begin(NULL);
	baton_lanes_init(&lanes, array, 2, NULL);
	baton_resource_set_lanes(&resource, &lanes);
	joins();
	cr_assert_eq(baton_resource_suspend_lower(&resource, &suspension), 0);
	cr_assert_eq(baton_post_with(&resource, &options), 0);
	expect(BATON__CAUSE_LANES);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	expect(BATON__CAUSE_NONE);
	end();
}

Test(stuck, a_loop_that_nobody_runs, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_manual *manual;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	config.capture_max = BATON_CAPTURE_NONE;
	begin(&config);
	joins();
	post();
	expect(BATON__CAUSE_QUEUED);
	cr_assert_eq(baton_manual_run(manual, 0), 1);
	expect(BATON__CAUSE_NONE);
	end();
	baton_manual_destroy(manual);
}

Test(stuck, a_full_window, .timeout = 10)
{
	struct journal journal = {0};
	struct message messages[2];
	struct baton_window window;

	begin(NULL);
	joins();
	baton_window_init(&window, &resource, 1);
	for (int i = 0; i < 2; i++) {
		message_init(&messages[i], &window, &journal, 2 * i);
		cr_assert_eq(baton_submit(&resource, &messages[i].windowed.task), 0);
		expect(i ? BATON__CAUSE_WINDOW : BATON__CAUSE_NONE);
	}
	cr_assert_eq(baton_detached_complete(&messages[0].windowed.part.token, 0, NULL), 0);
	expect(BATON__CAUSE_NONE);
	cr_assert_eq(baton_detached_complete(&messages[1].windowed.part.token, 0, NULL), 0);
	baton_window_deinit(&window);
	end();
}

static enum baton__cause in_batch_end;

static int batch_begin(struct baton_resource *of)
{
	(void)of;
	return 0;
}

static int batch_end(struct baton_resource *of)
{
	if (in_batch_end == BATON__CAUSE_NONE) {
		cr_assert_eq(baton_post(of, nothing, NULL), 0);
		in_batch_end = cause();
	}
	return 0;
}

Test(stuck, a_batch_that_is_committed, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config.batch_begin = batch_begin;
	config.batch_end = batch_end;
	begin(&config);
	joins();
	post();
	cr_assert_eq(in_batch_end, BATON__CAUSE_HELD);
	expect(BATON__CAUSE_NONE);
	end();
}

/* Also where a line serves another resource. */
Test(stuck, a_cause_ends_with_the_resource, .timeout = 10)
{
	begin(NULL);
	joins();
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	post();
	cr_assert_eq(cause(), BATON__CAUSE_SUSPENDED);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
	baton_board_leave(board, &resource);
	baton_resource_init(&resource, NAMED("another"));
	joins();
	cr_assert_eq(board->file->line[0].cause, BATON__CAUSE_NONE);
	end();
}

static struct baton_future promise;
static atomic_int promised;
static char within[2000];

static int waits_for_its_own(struct baton_task *task)
{
	(void)task;
	baton_promise_init(&promise);
	atomic_store(&promised, 1);
	return baton_future_wait(&promise);
}

static void *submit_it(void *arg)
{
	static struct baton_task task;

	baton_task_init(&task, waits_for_its_own, NULL);
	cr_assert_eq(baton_submit(arg, &task), 0);
	return NULL;
}

/* A thread waits for a promise of its own; its task's function is in this program. */
Test(stuck, a_promise_of_ones_own_and_a_function_without_a_name, .timeout = 10)
{
	pthread_t waiter;

	begin(NULL);
	joins();
	waiter = thread_start(submit_it, &resource);
	while (!atomic_load(&promised))
		sched_yield();
	do {
		sched_yield();
		dump(within, sizeof(within));
	} while (!strstr(within, " waits since "));
	cr_expect_not_null(strstr(within, "for a promise that it has made itself, and that nobody "
	                                  "has completed\n"),
	                   "%s", within);
	cr_expect_not_null(strstr(within, " (test_stuck+0x"), "%s", within);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	thread_join(waiter);
	end();
}

/* ---- What else a dump says ---- */

static struct baton_suspension own;

static void *suspend_topic(void *arg)
{
	cr_assert_eq(baton_resource_suspend(&resource, arg), 0);
	return NULL;
}

Test(stuck, who_has_suspended_in_which_task, .timeout = 10)
{
	struct baton_resource in;
	char wanted[128];

	(void)pthread_setname_np(pthread_self(), "suspender");
	begin(NULL);
	joins();
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	post();
	dump(within, sizeof(within));
	(void)snprintf(wanted, sizeof(wanted),
	               "nobody has resumed it; thread %d (suspender) has suspended it\n", gettid());
	cr_expect_not_null(strstr(within, wanted), "%s", within);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	baton_resource_init(&in, NULL); /* the board has one line */
	cr_assert_eq(baton_call(&in, suspend_topic, &own, NULL), 0);
	post();
	dump(within, sizeof(within));
	cr_expect_not_null(strstr(within, " has suspended it in a task of a resource that is not "
	                                  "on the board\n"),
	                   "%s", within);
	cr_assert_eq(baton_resource_resume(&own), 0);
	cr_assert_eq(baton_post(&resource, suspend_topic, &own), 0);
	post();
	dump(within, sizeof(within));
	(void)snprintf(wanted, sizeof(wanted),
	               " has suspended it in a task of \"topic\", the function at %#" PRIxPTR
	               " (test_stuck+0x",
	               (uintptr_t)suspend_topic);
	cr_expect_not_null(strstr(within, wanted), "%s", within);
	cr_assert_eq(baton_resource_resume(&own), 0);
	end();
}

static void await_in_dump(const char *words)
{
	do {
		sched_yield();
		dump(within, sizeof(within));
	} while (!strstr(within, words));
}

Test(stuck, in_a_dump_names_have_no_control_characters, .timeout = 10)
{
	begin(NULL);
	baton_resource_init(&resource, NAMED("a\x1b[2J\nb\x7f"));
	joins();
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	post();
	await_in_dump("a?[2J?b?");
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	end();
}

static sem_t shared_gates[2];

static void *shares_until_told(void *arg)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	MUST(baton_hold_shared(arg, &hold) == 0);
	gate_open(&shared_gates[0]);
	gate_pass(&shared_gates[1]);
	MUST(baton_release_shared(&hold) == 0);
	return NULL;
}

static void expect_readers(const char *line)
{
	char text[2000];

	dump(text, sizeof(text));
	if (line)
		cr_assert_not_null(strstr(text, line), "%s", text);
	else
		cr_assert_null(strstr(text, "readers at work"), "%s", text);
}

/* One leads, two join, and one is granted. */
Test(stuck, a_dump_says_how_many_readers_are_at_work, .timeout = 10)
{
	struct baton_readers readers = BATON_READERS_INIT(&resource);
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	struct occupant occupant;
	pthread_t threads[3];

	begin(NULL);
	joins();
	gate_init(&shared_gates[0]);
	gate_init(&shared_gates[1]);
	occupy(&occupant, &resource);
	threads[0] = thread_start(shares_until_told, &readers);
	release(&occupant);
	gate_pass(&shared_gates[0]);
	for (int i = 1; i < 3; i++) {
		threads[i] = thread_start(shares_until_told, &readers);
		gate_pass(&shared_gates[0]);
	}
	expect_readers("\n  readers at work in \"topic\": 3\n");
	cr_assert_eq(baton_hold_shared(&readers, &hold), 0);
	expect_readers("\n  readers at work in \"topic\": 4\n");
	cr_assert_eq(baton_release_shared(&hold), 0);
	expect_readers("\n  readers at work in \"topic\": 3\n");
	for (int i = 0; i < 3; i++)
		gate_open(&shared_gates[1]);
	for (int i = 0; i < 3; i++)
		thread_join(threads[i]);
	expect_readers(NULL);
	end();
	baton_readers_deinit(&readers);
}

Test(stuck, in_a_dump_each_lane_has_what_waits_there, .timeout = 10)
{
	static const struct baton_label low = {.lane = 1};
	const struct baton_call_options options = {.fn = nothing, .label = &low};
	struct baton_lane array[8];
	struct baton_lanes lanes;

	begin(NULL);
	baton_lanes_init(&lanes, array, 8, NULL);
	baton_resource_set_lanes(&resource, &lanes);
	joins();
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_post_with(&resource, &options), 0);
	await_in_dump("  lane 1: 3 tasks wait, the oldest since ");
	cr_assert_null(strstr(strstr(within, "  lane 1: ") + 1, "  lane "), "%s", within);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	end();
}

static void *wait_for_a_future(void *arg)
{
	cr_assert_eq(baton_future_wait(arg), 0);
	return NULL;
}

static int succeed(struct baton_task *task)
{
	(void)task;
	return 0;
}

static struct baton_detached token = BATON_DETACHED_INIT;

static int detaches(struct baton_task *task)
{
	return baton_detach(&token, BATON_DETACH_COUNTED);
}

static void *awaits(void *arg)
{
	MUST(baton_resource_await(&resource) == 0);
	return arg;
}

Test(stuck, in_a_dump_an_await_for_a_task_that_has_detached_itself, .timeout = 10)
{
	struct baton_task task = BATON_TASK_INIT(detaches, NULL);
	char text[2000];
	pthread_t waiter;

	begin(NULL);
	joins();
	cr_assert_eq(baton_submit(&resource, &task), 0);
	cr_assert_eq(baton_resource_close(&resource), 0);
	waiter = thread_start(awaits, NULL);
	/* Ended by the waiter's sleep. */
	do {
		baton_board_refresh(board);
		dump(text, sizeof(text));
	} while (!strstr(text, "for a task of"));
	cr_assert(strstr(text, "for a task of \"topic\", which has none that waits or runs: a task "
	                       "has detached itself, and nobody has completed it"),
	          "%s", text);
	cr_assert_eq(baton_detached_complete(&token, 0, NULL), 0);
	thread_join(waiter);
	baton_board_leave(board, &resource);
	baton_board_destroy(board);
}

Test(stuck, in_a_dump_a_wait_for_a_task_that_nobody_submits, .timeout = 10)
{
	static struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task;
	pthread_t waiter;

	begin(NULL);
	joins();
	waiter = thread_start(wait_for_a_future, &future);
	await_in_dump(" s for a task that is not submitted, or for several\n");
	baton_task_init(&task, succeed, &future);
	cr_assert_eq(baton_submit(&resource, &task), 0);
	thread_join(waiter);
	end();
}

Test(stuck, a_watchdog_without_a_function_reports_to_stderr, .timeout = 10)
{
	struct baton_watchdog_options options = {.limit_ns = 20000000, .every_ns = 2000000};
	const char wanted[] = "baton: stuck: the tasks of \"topic\" ";
	struct baton_watchdog *watchdog;
	char words[sizeof(wanted)] = "";
	int pipes[2];

	begin(NULL);
	joins();
	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(dup2(pipes[1], STDERR_FILENO), STDERR_FILENO);
	options.board = board;
	cr_assert_eq(baton_watchdog_create(&options, &watchdog), 0);
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	post();
	cr_assert_gt(read(pipes[0], words, sizeof(words) - 1), 0);
	cr_assert_str_eq(words, wanted);
	baton_watchdog_destroy(watchdog);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	end();
}
