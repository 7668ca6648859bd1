/* SPDX-License-Identifier: MIT */
/* Traces: which events a run leaves, and that one trace is on at a time. */
#include "support.h"

#include <string.h>
#include <unistd.h>

#include "base/futex.h"

#include <baton/board.h>

#include "thread/trace.h"

static struct baton_board *board;
static struct baton_resource resource = BATON_RESOURCE_INIT(&FILE_NAMED("to\"pic"));
static char path[] = "/tmp/baton-test-trace-XXXXXX";
static char *text;

static void begin(void)
{
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	(void)close(fd);
	cr_assert_eq(baton_board_create(NULL, &board), 0);
	cr_assert_eq(baton_board_join(board, &resource, NULL, NULL), 0);
}

static void end(void)
{
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
	baton_board_leave(board, &resource);
	baton_board_destroy(board);
	(void)unlink(path);
	free(text);
}

static void stop(void)
{
	size_t size = 0;
	FILE *file;

	cr_assert_eq(baton_board_trace_stop(board, path), 0);
	file = fopen(path, "r");
	cr_assert_not_null(file);
	free(text);
	text = NULL;
	cr_assert_gt(getdelim(&text, &size, '\0', file), 0);
	(void)fclose(file);
}

/* Longer than what is thinned out. */
static void *a_while(void *arg)
{
	const uint64_t until = baton__now_ns() + BATON__SHORT_NS + 100;

	while (baton__now_ns() < until)
		continue;
	return arg;
}

static unsigned count(const char *words)
{
	unsigned found = 0;

	/* Line by line: under a sanitizer each strstr first measures all that follows. */
	for (char *line = text, *end; line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		for (const char *at = line; (at = strstr(at, words)); at++)
			found++;
		if (end)
			*end++ = '\n';
	}
	return found;
}

static void *nothing(void *arg)
{
	return arg;
}

static struct baton_future promise = BATON_FUTURE_INIT;

static atomic_int waiter_id;

static void *wait_for_promise(void *arg)
{
	atomic_store(&waiter_id, thread_id());
	cr_assert_eq(baton_future_wait(&promise), 0);
	return arg;
}

Test(trace, has_runs_arrows_queues_and_waits, .timeout = 10)
{
	struct occupant occupant;
	pthread_t waiter;

	begin();
	baton_promise_init(&promise);
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	cr_assert_eq(baton_board_trace_start(board), 0);
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	waiter = thread_start(wait_for_promise, NULL);
	occupy(&occupant, &resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	release(&occupant);
	cr_assert_eq(baton_resource_await(&resource), 0);
	until_at_least(&waiter_id, 1);
	until_asleep(atomic_load(&waiter_id));
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	thread_join(waiter);
	stop();
	/* The call, the occupant, three posts; not the call before the trace. */
	cr_assert_eq(count("\"cat\": \"run\", \"name\": \"to\\\"pic\""), 5, "%s", text);
	cr_assert_geq(count("\"ph\": \"s\""), 3);
	cr_assert_eq(count("\"ph\": \"s\""), count("\"ph\": \"f\""));
	cr_assert_eq(count("\"queue of to\\\"pic\", \"args\": {\"tasks\": 3}"), 1);
	cr_assert_eq(count("\"cat\": \"wait\""), count("\"name\": \"wait\""));
	cr_assert_geq(count("\"cat\": \"wait\""), 1);
	cr_assert_geq(count("\"name\": \"thread_name\""), 1);
	/* Another trace begins empty. */
	cr_assert_eq(baton_board_trace_start(board), 0);
	stop();
	cr_assert_eq(count("\"ph\""), 0);
	end();
}

/* A task that was pushed before the trace and one that runs after it: the length of the queue is
 * that of all tasks, and the submit is seen on its thread. */
Test(trace, of_a_long_queue, .timeout = 10)
{
	struct occupant occupant;

	begin();
	occupy(&occupant, &resource);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	cr_assert_eq(baton_board_trace_start(board), 0);
	cr_assert_eq(baton_post(&resource, nothing, NULL), 0);
	stop();
	cr_assert_eq(count("\"ph\": \"s\""), 0);
	cr_assert_eq(count("\"queue of to\\\"pic\", \"args\": {\"tasks\": 6}"), 1, "%s", text);
	cr_assert_eq(count("\"ph\": \"i\""), 1);
	cr_assert_eq(count("\"name\": \"submit to\\\"pic\""), 1, "%s", text);
	release(&occupant);
	end();
}

/* A steal and a hand-off are instants, and each event says what, when and where. */
Test(trace, has_steals_and_hand_offs, .timeout = 10)
{
	static const enum baton__event_kind kinds[] = {BATON__EVENT_STOLE, BATON__EVENT_HANDED_OFF};

	begin();
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0); /* the ring needs a record */
	cr_assert_eq(baton_board_trace_start(board), 0);
	for (int i = 0; i < 2; i++)
		baton__trace(&(struct baton__event){baton__now_ns(), 0, 0,
		                                    baton__event_word(kinds[i], 1)});
	stop();
	cr_assert_eq(count("{\"ph\": \"i\", \"pid\": "), 2, "%s", text);
	cr_assert_eq(count(", \"s\": \"t\", \"name\": \"steal\"}"), 1, "%s", text);
	cr_assert_eq(count(", \"s\": \"t\", \"name\": \"hand-off "), 1, "%s", text);
	end();
}

/* A run and a wait are spans, in microseconds. */
Test(trace, has_the_lengths_of_runs_and_waits, .timeout = 10)
{
	uint64_t began, took;
	const char *at;
	double us;

	begin();
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0); /* the ring needs a record */
	cr_assert_eq(baton_board_trace_start(board), 0);
	baton__trace(&(struct baton__event){baton__now_ns(), 0, 0,
	                                    baton__event_word(BATON__EVENT_RAN, 1234567)});
	baton__trace(&(struct baton__event){baton__now_ns(), 0, 0,
	                                    baton__event_word(BATON__EVENT_WAITED, 89)});
	stop();
	cr_assert_eq(count(", \"dur\": 1234.567, \"cat\": \"run\""), 1, "%s", text);
	cr_assert_eq(count(", \"dur\": 0.089, \"cat\": \"wait\""), 1, "%s", text);
	cr_assert_eq(baton_board_trace_start(board), 0);
	began = baton__now_ns();
	cr_assert_eq(baton_call(&resource, a_while, NULL, NULL), 0);
	took = baton__now_ns() - began;
	stop();
	at = strstr(text, "\"dur\": ");
	us = at ? strtod(at + strlen("\"dur\": "), NULL) : 0;
	cr_assert(us * 1000 >= BATON__SHORT_NS && us * 1000 <= (double)took + 1, "%f: %s", us,
	          text);
	end();
}

/* The first job of two workers: the jobs that it submits are all run by the other one. */
static uint32_t jobs_run;

static void a_job(struct baton_plain_job *job)
{
	(void)job;
	(void)__atomic_add_fetch(&jobs_run, 1, __ATOMIC_RELEASE);
}

static struct baton_pool *pool;

static void submit_and_stay(struct baton_plain_job *job)
{
	struct baton_executor *executor = baton_pool_executor(pool);
	static struct baton_plain_job jobs[8];

	(void)job;
	for (size_t i = 0; i < 8; i++) {
		baton_plain_job_init(&jobs[i], a_job, NULL);
		cr_assert_geq(baton_executor_schedule(executor, &jobs[i].job), 0);
	}
	while (__atomic_load_n(&jobs_run, __ATOMIC_ACQUIRE) < 8)
		(void)sched_yield();
}

Test(trace, has_what_a_pools_workers_steal_and_when_they_sleep, .timeout = 30)
{
	struct baton_pool_options options = {.workers = 2};
	struct baton_pool_stats stats;
	struct baton_plain_job job;

	begin();
	cr_assert_eq(baton_board_trace_start(board), 0);
	cr_assert_eq(baton_pool_create(&options, &pool), 0);
	do {
		(void)sched_yield();
		baton_pool_stats_read(pool, &stats);
	} while (stats.parked < 2);
	baton_plain_job_init(&job, submit_and_stay, NULL);
	cr_assert_geq(baton_executor_schedule(baton_pool_executor(pool), &job.job), 0);
	cr_assert_eq(baton_pool_destroy(pool),
	             0); /* runs all jobs, and wakes the worker that sleeps */
	stop();
	cr_assert_geq(count("\"name\": \"steal\""), 1, "%s", text);
	cr_assert_geq(count("\"name\": \"parked\""), 1, "%s", text);
	end();
}

static void *call_and_tell(void *arg)
{
	char *expected = arg;

	(void)sprintf(expected, "\"tid\": %d, ", gettid());
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	return NULL;
}

/* A later thread adopts the record, and the ring, of a thread that has ended. */
Test(trace, each_event_has_the_thread_that_has_written_it, .timeout = 20)
{
	char expected[3][32];

	begin();
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(baton_board_trace_start(board), 0);
		for (int i = 0; i < 3; i++)
			thread_join(thread_start(call_and_tell, expected[i]));
		stop();
		cr_assert_eq(count("\"cat\": \"run\""), 3);
		for (int i = 0; i < 3; i++)
			cr_assert_eq(count(expected[i]), 1, "%s: %s", expected[i], text);
	}
	end();
}

static void *call_often(void *arg)
{
	for (unsigned i = 0; i < BATON__EVENTS_MAX - 1; i++)
		cr_assert_eq(baton_call(&resource, a_while, NULL, NULL), 0);
	return call_and_tell(arg);
}

/* The event that says who writes has been overwritten. */
Test(trace, also_when_the_ring_is_full, .timeout = 20)
{
	char expected[2][32];

	begin();
	cr_assert_eq(baton_board_trace_start(board), 0);
	thread_join(thread_start(call_and_tell, expected[0]));
	thread_join(thread_start(call_often, expected[1]));
	stop();
	cr_assert_eq(count(expected[0]), 0);
	cr_assert_eq(count(expected[1]), BATON__EVENTS_MAX - 1);
	end();
}

Test(trace, of_many_events_each_thread_keeps_the_last_ones, .timeout = 20)
{
	begin();
	cr_assert_eq(baton_board_trace_start(board), 0);
	for (unsigned i = 0; i < BATON__EVENTS_MAX + 10; i++)
		cr_assert_eq(baton_call(&resource, a_while, NULL, NULL), 0);
	stop();
	cr_assert_eq(count("\"cat\": \"run\""), BATON__EVENTS_MAX - 1);
	end();
}

/* Does the thread write a run that begins now? If so, the run lasts for `ns`. */
static bool run_for(uint64_t ns)
{
	const struct baton__event event = {baton__now_ns(), 0, 0,
	                                   baton__event_word(BATON__EVENT_RAN, ns)};

	if (!baton__trace_run_begins())
		return false;
	baton__trace_run(&event, ns);
	return true;
}

Test(trace, of_short_runs_in_a_row_few_are_kept, .timeout = 20)
{
	begin();
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0); /* the ring needs a record */
	cr_assert_eq(baton_board_trace_start(board), 0);
	for (int round = 0; round < 2; round++) {
		/* A long run begins anew. */
		cr_assert(run_for(BATON__SHORT_NS));
		for (unsigned i = 0; i < BATON__SHORT_ALL; i++)
			cr_assert(run_for(BATON__SHORT_NS - 1));
		for (unsigned i = 1; i <= 2 * BATON__SHORT_EVERY; i++)
			cr_assert_eq(run_for(10), i % BATON__SHORT_EVERY == 0);
		while (!run_for(BATON__SHORT_NS))
			continue;
	}
	stop();
	cr_assert_eq(count("\"cat\": \"run\""), 2 * (1 + BATON__SHORT_ALL + 2 + 1));
	end();
}

Test(trace, one_is_on_at_a_time, .timeout = 10)
{
	struct baton_board *other;

	begin();
	cr_assert_eq(baton_board_create(NULL, &other), 0);
	cr_assert_eq(baton_board_trace_stop(board, path), -EALREADY);
	cr_assert_eq(baton_board_trace_start(board), 0);
	cr_assert_eq(baton_board_trace_start(board), -EBUSY);
	cr_assert_eq(baton_board_trace_start(other), -EBUSY);
	cr_assert_eq(baton_board_trace_stop(other, path), -EALREADY);
	/* The trace is over, although it could not be written. */
	cr_assert_eq(baton_board_trace_stop(board, "/nowhere/trace"), -ENOENT);
	cr_assert_eq(baton_board_trace_start(other), 0);
	cr_assert_eq(baton_board_trace_stop(other, "/dev/full"), -ENOSPC);
	baton_board_destroy(other);
	end();
}

/* ---- Names ---- */

static struct baton_board *small;

static void join(struct baton_resource *one, const char *name)
{
	baton_resource_init(one, NULL);
	cr_assert_eq(baton_board_join(small, one, name, NULL), 0);
}

static void runs_and_leaves(struct baton_resource *one, int runs)
{
	for (int i = 0; i < runs; i++)
		cr_assert_eq(baton_post(one, nothing, NULL), 0);
	cr_assert_eq(baton_resource_close(one), 0);
	cr_assert_eq(baton_resource_await(one), 0);
	baton_board_leave(small, one);
}

static unsigned runs_of(const char *name)
{
	char words[64];

	(void)snprintf(words, sizeof(words), "\"cat\": \"run\", \"name\": \"%s\"", name);
	return count(words);
}

/* All of these have the same line, one after the other. */
Test(trace, names_the_resource_that_has_run_not_its_lines_next_owner, .timeout = 10)
{
	const struct baton_board_options one_line = {.resources = 1};
	struct baton_resource alice, bob, carol;
	struct baton_board *other;

	begin();
	cr_assert_eq(baton_board_create(&one_line, &small), 0);
	other = board;
	board = small;
	join(&alice, "alice");
	cr_assert_eq(baton_board_trace_start(small), 0);
	runs_and_leaves(&alice, 5);
	join(&bob, "bob");
	runs_and_leaves(&bob, 2);
	join(&carol, "carol");
	stop();
	cr_assert_eq(runs_of("alice"), 5, "%s", text);
	cr_assert_eq(runs_of("bob"), 2);
	cr_assert_eq(count("carol"), 0);
	/* The names of an earlier trace are gone. */
	cr_assert_eq(baton_board_trace_start(small), 0);
	runs_and_leaves(&carol, 1);
	stop();
	cr_assert_eq(runs_of("carol"), 1);
	cr_assert_eq(count("bob"), 0);
	/* Names that no trace takes. */
	join(&alice, "alice");
	cr_assert_eq(baton_board_trace_start(small), 0);
	runs_and_leaves(&alice, 1);
	baton_board_destroy(small);
	board = other;
	end();
}

/* The first and the last byte of each kind. */
Test(trace, writes_a_question_mark_for_each_byte_of_a_name_that_is_not_printable, .timeout = 10)
{
	struct baton_resource one;

	begin();
	small = board;
	join(&one, "\x01 \x1f~\x7f!\xff");
	cr_assert_eq(baton_board_trace_start(board), 0);
	runs_and_leaves(&one, 1);
	stop();
	cr_assert_eq(runs_of("? ?~?!?"), 1, "%s", text);
	end();
}

Test(trace, names_the_first_65536_resources_that_leave, .timeout = 30)
{
	struct baton_resource one;

	begin();
	small = board;
	cr_assert_eq(baton_board_trace_start(board), 0);
	for (int i = 0; i < 65535; i++) {
		join(&one, "idle");
		runs_and_leaves(&one, 0);
	}
	join(&one, "last");
	runs_and_leaves(&one, 1);
	join(&one, "late");
	runs_and_leaves(&one, 1);
	stop();
	cr_assert_eq(runs_of("last"), 1, "%s", text);
	cr_assert_eq(runs_of("late"), 0);
	cr_assert_eq(count("\"cat\": \"run\", \"name\": \"0x"), 1);
	end();
}

static atomic_int stopped;

static void *come_and_go(void *arg)
{
	while (!atomic_load(&stopped)) {
		struct baton_resource one = BATON_RESOURCE_INIT(NULL);

		if (baton_board_join(board, &one, arg, NULL))
			continue;
		MUST(baton_post(&one, nothing, NULL) == 0);
		MUST(baton_resource_close(&one) == 0);
		MUST(baton_resource_await(&one) == 0);
		baton_board_leave(board, &one);
	}
	return NULL;
}

/* For the sanitizers. */
Test(trace, is_written_while_resources_come_and_go, .timeout = 20)
{
	pthread_t threads[2];

	begin();
	threads[0] = thread_start(come_and_go, "dora");
	threads[1] = thread_start(come_and_go, "emil");
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(baton_board_trace_start(board), 0);
		usleep(2000);
		stop();
		cr_assert_eq(runs_of("0x"), 0, "an address");
	}
	atomic_store(&stopped, 1);
	for (int i = 0; i < 2; i++)
		thread_join(threads[i]);
	end();
}
