/* SPDX-License-Identifier: MIT */
/* The watchdog and the dump: each thing that can be stuck is named, once, with its cause. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/futex.h"
#include "inspect/board.h"

#include <baton/suspend.h>
#include <baton/watchdog.h>

#define MS 1000000U
#define REPORTS_MAX 16

static struct baton_board *board;
static struct baton_watchdog *watchdog;
static struct baton_suspension suspension;

/* What was reported. Written by the watchdog's thread. */
static struct {
	struct baton_stuck stuck;
	char resource[BATON_BOARD_NAME_MAX + 1];
	char message[400];
} reports[REPORTS_MAX];
static atomic_uint reported;
static int dumps_to;

static void report(const struct baton_stuck *stuck, void *arg)
{
	unsigned at = atomic_load(&reported);

	cr_assert_eq(arg, &reported);
	if (dumps_to > 0)
		cr_assert_eq(baton_board_dump(board, dumps_to), 0, "a report may look");
	if (at == REPORTS_MAX)
		return;
	reports[at].stuck = *stuck;
	(void)strcpy(reports[at].resource, stuck->resource);
	(void)strncat(reports[at].message, stuck->message, sizeof(reports[at].message) - 1);
	atomic_store(&reported, at + 1);
}

static void begin(uint64_t limit_ns)
{
	struct baton_watchdog_options options = {
		.limit_ns = limit_ns, .every_ns = 2 * MS, .report = report, .arg = &reported};

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	options.board = board;
	cr_assert_eq(baton_watchdog_create(&options, &watchdog), 0);
}

static void end(void)
{
	baton_watchdog_destroy(watchdog);
	baton_board_destroy(board);
}

static void resource_begin(struct baton_resource *resource, const char *name,
                           const struct baton_resource_config *config)
{
	baton_resource_init(resource, config);
	cr_assert_eq(baton_board_join(board, resource, name, NULL), 0);
}

static void resource_over(struct baton_resource *resource)
{
	cr_assert_eq(baton_resource_close(resource), 0);
	cr_assert_eq(baton_resource_await(resource), 0);
	baton_board_leave(board, resource);
}

static void await_reports(unsigned count)
{
	while (atomic_load(&reported) < count)
		sched_yield();
}

/* Long enough for several looks: nothing is reported twice. */
static void expect_no_more(unsigned count)
{
	uint64_t until = baton__now_ns() + 60 * MS;

	while (baton__now_ns() < until)
		sched_yield();
	cr_assert_eq(atomic_load(&reported), count, "%s", reports[count].message);
}

static void expect(unsigned at, enum baton_stuck_kind kind, const char *resource, const char *words)
{
	cr_assert_eq(reports[at].stuck.kind, kind, "%s", reports[at].message);
	cr_assert_str_eq(reports[at].resource, resource);
	cr_assert_not_null(strstr(reports[at].message, words), "%s", reports[at].message);
	cr_assert_geq(reports[at].stuck.ns, 20 * MS);
}

static void *nothing(void *arg)
{
	return arg;
}

static void *suspend_it(void *arg)
{
	cr_assert_eq(baton_resource_suspend(arg, &suspension), 0);
	return NULL;
}

Test(watchdog, a_forgotten_resume_is_named, .timeout = 10)
{
	struct baton_resource resource;

	dumps_to = open("/dev/null", O_WRONLY | O_CLOEXEC);
	begin(20 * MS);
	resource_begin(&resource, "topic", NULL);
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	await_reports(1);
	expect(0, BATON_STUCK_TASKS, "topic", "is suspended, and nobody has resumed it");
	cr_assert_eq(reports[0].stuck.waiting, 3);
	cr_assert_eq(reports[0].stuck.function, 0);
	expect_no_more(1);
	/* A second time is another one. */
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
	expect_no_more(1);
	cr_assert_eq(baton_call(&resource, suspend_it, &resource, NULL), 0);
	cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	await_reports(2);
	cr_assert_eq(reports[1].stuck.waiting, 1);
	cr_assert_eq(reports[1].stuck.thread, gettid());
	cr_assert_eq(reports[1].stuck.function, (uintptr_t)suspend_it);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	resource_over(&resource);
	end();
}

Test(watchdog, a_loop_that_nobody_runs_is_named, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_manual *manual = NULL;
	struct baton_resource resource;

	begin(20 * MS);
	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	config.capture_max = BATON_CAPTURE_NONE;
	resource_begin(&resource, "session", &config);
	cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	await_reports(1);
	expect(0, BATON_STUCK_TASKS, "session", "nobody runs that loop");
	cr_assert(baton_manual_run(manual, 1));
	expect_no_more(1);
	resource_over(&resource);
	baton_manual_destroy(manual);
	end();
}

static struct baton_future promise;

static void *wait_for_promise(void *arg)
{
	cr_assert_eq(baton_future_wait(&promise), 0);
	return arg;
}

static void *call_waiting(void *arg)
{
	cr_assert_eq(baton_call(arg, wait_for_promise, NULL, NULL), 0);
	return NULL;
}

static void *call_nothing(void *arg)
{
	cr_assert_eq(baton_call(arg, nothing, NULL, NULL), 0);
	return NULL;
}

/* The order in which one look finds things is open. */
static unsigned find(enum baton_stuck_kind kind)
{
	unsigned at = 0;

	while (at < atomic_load(&reported) && reports[at].stuck.kind != kind)
		at++;
	cr_assert_lt(at, atomic_load(&reported));
	return at;
}

Test(watchdog, a_promise_its_task_and_who_waits_for_that_are_named, .timeout = 10)
{
	struct baton_resource resource;
	pthread_t waiter, second;
	char maker[64];
	unsigned at;

	(void)pthread_setname_np(pthread_self(), "the maker");
	begin(20 * MS);
	baton_promise_init(&promise);
	resource_begin(&resource, "stuck", NULL);
	waiter = thread_start(call_waiting, &resource);
	await_reports(2);
	at = find(BATON_STUCK_PROMISE);
	expect(at, BATON_STUCK_PROMISE, "", "in a task of \"stuck\", waits since");
	expect(at, BATON_STUCK_PROMISE, "", "a promise that nobody has completed; thread ");
	(void)snprintf(maker, sizeof(maker), "; thread %d (the maker) has made it", gettid());
	expect(at, BATON_STUCK_PROMISE, "", maker);
	at = find(BATON_STUCK_RUNS);
	expect(at, BATON_STUCK_RUNS, "stuck", "runs a task of \"stuck\" since");
	cr_assert_eq(reports[at].stuck.function, (uintptr_t)wait_for_promise);
	cr_assert_eq(reports[at].stuck.thread, reports[find(BATON_STUCK_PROMISE)].stuck.thread);
	second = thread_start(call_nothing, &resource);
	await_reports(3);
	expect(find(BATON_STUCK_RESOURCE), BATON_STUCK_RESOURCE, "stuck", "a task of \"stuck\"");
	expect_no_more(3);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	thread_join(waiter);
	thread_join(second);
	expect_no_more(3);
	resource_over(&resource);
	end();
}

Test(watchdog, what_goes_on_is_not_reported, .timeout = 10)
{
	struct baton_resource resource;
	uint64_t until;

	/* So long that this thread has the CPU in between, on a busy machine, too. */
	begin(1000 * MS);
	until = baton__now_ns() + 2500 * MS;
	resource_begin(&resource, "busy", NULL);
	while (baton__now_ns() < until)
		cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	cr_assert_eq(atomic_load(&reported), 0, "%s", reports[0].message);
	resource_over(&resource);
	end();
}

Test(watchdog, a_line_that_serves_another_resource_begins_anew, .timeout = 10)
{
	struct baton_resource resource;

	begin(20 * MS);
	for (unsigned i = 1; i <= 2; i++) {
		resource_begin(&resource, i == 1 ? "first" : "second", NULL);
		cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
		cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
		await_reports(i);
		cr_assert_str_eq(reports[i - 1].resource, i == 1 ? "first" : "second");
		cr_assert_eq(baton_resource_resume(&suspension), 0);
		resource_over(&resource);
	}
	end();
}

/* The board cannot say that a resource has left, if another one joins before the next look. */
Test(watchdog, between_two_looks_a_line_changes_its_resource, .timeout = 20)
{
	struct baton_watchdog_options options = {
		.limit_ns = 20 * MS, .every_ns = 300 * MS, .report = report, .arg = &reported};
	const struct baton_board_options one = {.resources = 1};
	struct baton_resource first, second;
	uint64_t before;

	cr_assert_eq(baton_board_create(&one, &board), 0);
	options.board = board;
	cr_assert_eq(baton_watchdog_create(&options, &watchdog), 0);
	resource_begin(&first, "first", NULL);
	cr_assert_eq(baton_resource_suspend(&first, &suspension), 0);
	cr_assert_eq(baton_post(&first, nothing, NULL), 0);
	await_reports(1);
	before = baton__now_ns();
	/* The second resource has entered as many tasks as the look has found of the first, and has
	 * tasks that wait, too. */
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	resource_over(&first);
	resource_begin(&second, "second", NULL);
	cr_assert_eq(baton_resource_suspend(&second, &suspension), 0);
	cr_assert_eq(baton_post(&second, nothing, NULL), 0);
	await_reports(2);
	cr_assert_str_eq(reports[1].resource, "second");
	/* It counts from when it was seen; the first resource was seen a look before its report. */
	cr_assert_leq(reports[1].stuck.ns, baton__now_ns() - before);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	resource_over(&second);
	end();
}

Test(watchdog, without_a_board_none_begins, .timeout = 10)
{
	const struct baton_watchdog_options options = {0};

	cr_assert_eq(baton_watchdog_create(&options, &watchdog), -EINVAL);
}

/* Of 20 ms nothing is said; of more than a second it is, soon. */
Test(watchdog, by_default_it_looks_four_times_a_second, .timeout = 10)
{
	struct baton_watchdog_options options = {.report = report, .arg = &reported};
	struct baton_resource resource;

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	options.board = board;
	cr_assert_eq(baton_watchdog_create(&options, &watchdog), 0);
	resource_begin(&resource, "topic", NULL);
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	await_reports(1);
	cr_assert_geq(reports[0].stuck.ns, 1000 * MS);
	cr_assert_lt(reports[0].stuck.ns, 20000 * MS);
	cr_assert_eq(reports[0].stuck.thread, gettid());
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	resource_over(&resource);
	end();
}

static atomic_bool report_is_over;

static void report_slowly(const struct baton_stuck *stuck, void *arg)
{
	report(stuck, arg);
	usleep(50000);
	atomic_store(&report_is_over, true);
}

Test(watchdog, a_stop_waits_for_the_report_that_is_under_way, .timeout = 10)
{
	struct baton_watchdog_options options = {
		.limit_ns = MS, .every_ns = MS, .report = report_slowly, .arg = &reported};
	struct baton_resource resource;

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	options.board = board;
	cr_assert_eq(baton_watchdog_create(&options, &watchdog), 0);
	resource_begin(&resource, "topic", NULL);
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	await_reports(1);
	baton_watchdog_destroy(watchdog);
	cr_assert(atomic_load(&report_is_over));
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	resource_over(&resource);
	baton_board_destroy(board);
}

/* A quarter of an hour would be too long. */
Test(watchdog, by_default_it_looks_once_a_second_whatever_the_limit, .timeout = 10)
{
	struct baton_watchdog_options options = {.limit_ns = 3600U * 1000ULL * MS};

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	options.board = board;
	cr_assert_eq(baton_watchdog_create(&options, &watchdog), 0);
	for (int i = 0; i < 2; i++) {
		const uint64_t last = load_relaxed(&board->file->refreshed_ns);

		while (load_relaxed(&board->file->refreshed_ns) == last)
			(void)sched_yield();
	}
	end();
}

Test(watchdog, a_dump_says_what_runs_and_what_waits, .timeout = 10)
{
	struct baton_resource stuck, suspended, idle;
	char text[2000] = "";
	pthread_t waiter;
	int pipes[2];
	ssize_t length;

	cr_assert_eq(baton_board_create(NULL, &board), 0);
	baton_promise_init(&promise);
	resource_begin(&stuck, "stuck", NULL);
	resource_begin(&suspended, "suspended", NULL);
	resource_begin(&idle, "idle", NULL);
	cr_assert_eq(baton_resource_suspend(&suspended, &suspension), 0);
	cr_assert_eq(baton_post(&suspended, nothing, NULL), 0);
	waiter = thread_start(call_waiting, &stuck);
	cr_assert_eq(pipe(pipes), 0);
	while (!strstr(text, "promise")) {
		cr_assert_eq(baton_board_dump(board, pipes[1]), 0);
		length = read(pipes[0], text, sizeof(text) - 1);
		cr_assert_gt(length, 0);
		text[length] = '\0';
	}
	cr_assert_not_null(strstr(text, "1 threads wait\n"));
	cr_assert_not_null(strstr(text, " runs a task of \"stuck\""));
	cr_assert_not_null(strstr(text, "the tasks of \"suspended\" wait"));
	cr_assert_null(strstr(text, "idle"));
	(void)close(pipes[0]);
	(void)signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(baton_board_dump(board, pipes[1]), -EPIPE);
	(void)close(pipes[1]);
	cr_assert_eq(baton_board_dump(board, pipes[1]), -EBADF);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	thread_join(waiter);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	resource_over(&stuck);
	resource_over(&suspended);
	resource_over(&idle);
	baton_board_destroy(board);
}

/* ---- Traces ---- */

#define TRACE "build/test_watchdog.trace"

static void on_signal(int number)
{
	cr_assert_eq(number, SIGUSR2);
	cr_assert_eq(baton_watchdog_trace(watchdog, 20ULL * MS, TRACE), 0);
}

/* Reads the file; the text is freed by the caller. NULL: there is none. */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	(void)getdelim(&text, &size, '\0', file);
	(void)fclose(file);
	return text;
}

/* Waits until the trace that was asked for last is over. */
static void trace_over(void)
{
	while (load_acquire(&board->file->trace.state) != BATON__TRACE_DONE)
		(void)sched_yield();
}

Test(watchdog, a_signal_handler_asks_for_a_trace, .timeout = 10)
{
	struct baton_resource resource;
	char *text;

	(void)unlink(TRACE);
	begin(1000ULL * MS);
	resource_begin(&resource, "traced", NULL);
	(void)signal(SIGUSR2, on_signal);
	cr_assert_eq(raise(SIGUSR2), 0);
	cr_assert_eq(baton_watchdog_trace(watchdog, MS, TRACE), -EBUSY);
	while (load_acquire(&board->file->trace.state) != BATON__TRACE_ON)
		(void)sched_yield();
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	cr_assert_eq(baton_watchdog_trace(watchdog, MS, TRACE), -EBUSY);
	trace_over();
	text = read_file(TRACE);
	cr_assert(text && strstr(text, "\"traced"));
	free(text);
	resource_over(&resource);
	end();
}

Test(watchdog, a_trace_that_cannot_be_written_is_told_of, .timeout = 10)
{
	char path[BATON_WATCHDOG_PATH_MAX + 2], told[200] = "";
	int pipes[2];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	begin(1000ULL * MS);
	cr_assert_eq(baton_watchdog_trace(watchdog, MS, path), -ENAMETOOLONG);
	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(dup2(pipes[1], STDERR_FILENO), STDERR_FILENO);
	cr_assert_eq(baton_watchdog_trace(watchdog, MS, "build"), 0);
	trace_over();
	cr_assert_gt(read(pipes[0], told, sizeof(told) - 1), 0);
	cr_assert_str_eq(told, "baton: trace: build: Is a directory\n");
	path[BATON_WATCHDOG_PATH_MAX] = '\0';
	cr_assert_eq(baton_watchdog_trace(watchdog, MS, path), 0, "the next one is taken");
	end();
}

Test(watchdog, a_trace_is_written_when_the_watchdog_ends, .timeout = 10)
{
	char *text;

	(void)unlink(TRACE);
	begin(1000ULL * MS);
	cr_assert_eq(baton_watchdog_trace(watchdog, 3600ULL * 1000 * MS, TRACE), 0);
	while (load_acquire(&board->file->trace.state) != BATON__TRACE_ON)
		(void)sched_yield();
	end();
	text = read_file(TRACE);
	cr_assert(text && strstr(text, "traceEvents"));
	free(text);
}
