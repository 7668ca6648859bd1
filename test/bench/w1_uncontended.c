/* SPDX-License-Identifier: MIT */
/*
 * W1: one thread. What a task costs on an idle resource, in each of the ways to submit it; and what
 * it costs to leave one at a busy resource. The body adds one to a counter beside the lock or
 * resource. A mutex's user writes it between lock and unlock; a second line calls it by pointer, as
 * baton has to.
 */
#include "w1.h"

#include "combine.h"
#include "hot.h"
#include "locks.h"
#include "peers/peer.h"
#include "team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton.h>
#include <baton/inline.h>
#include <baton/stats.h>

#define BATCH 16U

struct locked {
	uint64_t counter;
	struct lock lock;
};

struct combined {
	uint64_t counter;
	union {
		struct cc_synch cc;
		struct flat flat;
		struct oyama oyama;
	};
};

static struct locked locked[3] __attribute__((aligned(64)));
struct w1_subject w1_subject __attribute__((aligned(64)));

static struct baton_resource_stats counts;
static struct baton_task tasks[BATCH];
static struct baton_task *task_pointers[BATCH];

/* Not const, so that the compiler cannot know where it goes. */
static void (*volatile body_pointer)(struct locked *locked);

unsigned w1_chunks(void)
{
	return bench_options.quick ? 120 : 480;
}

int w1_count_task(struct baton_task *task)
{
	w1_subject.counter++;
	return 0;
}

static void *count_call(void *arg)
{
	struct w1_subject *mine = arg;

	mine->counter++;
	return NULL;
}

static void count_locked(struct locked *mine)
{
	mine->counter++;
}

void w1_begin(const struct baton_resource_config *config)
{
	baton_resource_init(&w1_subject.resource, config);
	w1_subject.counter = 0;
}

void w1_check(uint64_t counter, uint64_t expected)
{
	if (counter != expected) {
		fprintf(stderr, "W1: %llu tasks instead of %llu\n", (unsigned long long)counter,
		        (unsigned long long)expected);
		abort();
	}
}

static inline __attribute__((always_inline)) void run_lock(enum lock_kind kind, double *values)
{
	struct locked *mine = &locked[kind];
	struct ck_spinlock_mcs node;

	lock_init(&mine->lock, kind);
	mine->counter = 0;
	W1_TIMED(values, w1_chunks(), 1, {
		lock_acquire(&mine->lock, kind, &node);
		mine->counter++;
		lock_release(&mine->lock, kind, &node);
	});
	w1_check(mine->counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_mutex(const void *setup, double *values)
{
	run_lock(LOCK_MUTEX, values);
}

static void run_ticket(const void *setup, double *values)
{
	run_lock(LOCK_TICKET, values);
}

static void run_mcs(const void *setup, double *values)
{
	run_lock(LOCK_MCS, values);
}

static void run_mutex_pointer(const void *setup, double *values)
{
	struct locked *mine = &locked[LOCK_MUTEX];
	void (*body)(struct locked *);

	body_pointer = count_locked;
	body = body_pointer;
	lock_init(&mine->lock, LOCK_MUTEX);
	mine->counter = 0;
	W1_TIMED(values, w1_chunks(), 1, {
		(void)pthread_mutex_lock(&mine->lock.mutex);
		body(mine);
		(void)pthread_mutex_unlock(&mine->lock.mutex);
	});
	w1_check(mine->counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void count_combined(void *argument)
{
	struct combined *mine = argument;

	mine->counter++;
}

static void run_cc(const void *setup, double *values)
{
	static struct combined mine __attribute__((aligned(64)));
	static struct cc_node nodes[2];
	struct cc_node *node = &nodes[1];

	mine.counter = 0;
	cc_init(&mine.cc, &nodes[0]);
	W1_TIMED(values, w1_chunks(), 1, cc_call(&mine.cc, &node, count_combined, &mine));
	w1_check(mine.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_flat(const void *setup, double *values)
{
	static struct combined mine __attribute__((aligned(64)));
	static struct flat_record record;

	mine.counter = 0;
	flat_init(&mine.flat);
	flat_join(&mine.flat, &record);
	W1_TIMED(values, w1_chunks(), 1, flat_call(&mine.flat, &record, count_combined, &mine));
	w1_check(mine.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_oyama(const void *setup, double *values)
{
	static struct combined mine __attribute__((aligned(64)));

	mine.counter = 0;
	oyama_init(&mine.oyama);
	W1_TIMED(values, w1_chunks(), 1, oyama_call(&mine.oyama, count_combined, &mine));
	w1_check(mine.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_submit_inline(const void *setup, double *values)
{
	struct baton_task task = BATON_TASK_INIT(w1_count_task, NULL);

	w1_begin(NULL);
	W1_TIMED(values, w1_chunks(), 1,
	         BATON_IGNORE(baton_submit_inline(&w1_subject.resource, &task)));
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

/* `stats`: the resource's statistics, or NULL. */
static void run_submit(const void *stats, double *values)
{
	struct baton_task task = BATON_TASK_INIT(w1_count_task, NULL);

	w1_begin(NULL);
	if (stats == &counts)
		baton_resource_set_stats(&w1_subject.resource, &counts);
	W1_TIMED(values, w1_chunks(), 1, BATON_IGNORE((baton_submit)(&w1_subject.resource, &task)));
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_submit_future(const void *setup, double *values)
{
	struct baton_future future;
	struct baton_task task = BATON_TASK_INIT(w1_count_task, &future);

	w1_begin(NULL);
	W1_TIMED(values, w1_chunks(), 1, {
		future = (struct baton_future)BATON_FUTURE_INIT;
		BATON_IGNORE((baton_submit)(&w1_subject.resource, &task));
	});
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_submit_and_wait(const void *setup, double *values)
{
	struct baton_future future;
	struct baton_task task = BATON_TASK_INIT(w1_count_task, &future);

	w1_begin(NULL);
	W1_TIMED(values, w1_chunks(), 1, {
		future = (struct baton_future)BATON_FUTURE_INIT;
		if (baton_submit(&w1_subject.resource, &task) || baton_future_wait(&future))
			abort();
	});
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_call(const void *stats, double *values)
{
	w1_begin(NULL);
	if (stats == &counts)
		baton_resource_set_stats(&w1_subject.resource, &counts);
	W1_TIMED(values, w1_chunks(), 1,
	         BATON_IGNORE((baton_call)(&w1_subject.resource, count_call, &w1_subject, NULL)));
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_call_inline(const void *setup, double *values)
{

	w1_begin(NULL);
	W1_TIMED(values, w1_chunks(), 1,
	         BATON_IGNORE(
			 baton_call_inline(&w1_subject.resource, count_call, &w1_subject, NULL)));
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_post(const void *setup, double *values)
{

	w1_begin(NULL);
	W1_TIMED(values, w1_chunks(), 1,
	         BATON_IGNORE(baton_post(&w1_subject.resource, count_call, &w1_subject)));
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_async(const void *setup, double *values)
{
	w1_begin(NULL);
	W1_TIMED(values, w1_chunks(), 1, {
		struct baton_future *future;

		if (baton_async(&w1_subject.resource, count_call, &w1_subject, &future) == 0)
			baton_future_unref(future);
	});
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

static void run_batch(const void *setup, double *values)
{
	static const struct baton_resource_config sixteen = {
		.capture_max = BATCH,
		.quantum = BATON_QUANTUM,
	};

	for (unsigned i = 0; i < BATCH; i++) {
		baton_task_init(&tasks[i], w1_count_task, NULL);
		task_pointers[i] = &tasks[i];
	}
	w1_begin(&sixteen);
	W1_TIMED(values, w1_chunks(), BATCH,
	         BATON_IGNORE(baton_submit_batch(&w1_subject.resource, task_pointers, BATCH)));
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * W1_CHUNK);
}

/* With the default limit each batch ends in a hand-off: several are kept under way. */
static void run_batch_default(const void *setup, double *values)
{
	double rates[BENCH_METRICS_MAX];

	hot_polling_run(setup, rates);
	values[0] = 1000 / rates[0];
}

static const struct hot_async batch_default = {.threads = 1, .batch = BATCH};

#define CASES_MAX 32

/* The group's own cases, and after them those of the peers. */
struct list {
	struct bench_case cases[CASES_MAX];
	char names[CASES_MAX][64];
	size_t count;
};

static void add(struct list *list, const char *name, const char *how,
                void (*run)(const void *, double *), const void *setup)
{
	char *text = list->names[list->count];

	if (list->count == CASES_MAX)
		return;
	(void)snprintf(text, sizeof(list->names[0]), "%s%s", name, how);
	list->cases[list->count++] = (struct bench_case){text, run, setup};
}

static void run_idle(void)
{
	static const char *const metrics[] = {"ns/task", "instructions/task", NULL};
	static struct list list;
	struct bench_group group = {
		.name = "W1: one thread, an idle resource",
		.metrics = metrics,
		.cases = list.cases,
		.note = "limit 10: the rest of each batch is handed off; 16 batches under way; "
			"post, wait: until a worker has run it",
	};

	add(&list, "pthread_mutex", "", run_mutex, NULL);
	add(&list, "pthread_mutex, body by pointer", "", run_mutex_pointer, NULL);
	add(&list, "CK ticket lock", "", run_ticket, NULL);
	add(&list, "CK MCS lock", "", run_mcs, NULL);
	add(&list, "CC-Synch", "", run_cc, NULL);
	add(&list, "flat combining", "", run_flat, NULL);
	add(&list, "Oyama's lock", "", run_oyama, NULL);
	add(&list, "baton submit", "", run_submit, NULL);
	add(&list, "baton submit, inlined", "", run_submit_inline, NULL);
	add(&list, "baton submit", ", statistics", run_submit, &counts);
	add(&list, "baton submit, caller's future", "", run_submit_future, NULL);
	add(&list, "baton submit, future and wait", "", run_submit_and_wait, NULL);
	add(&list, "baton call", "", run_call, NULL);
	add(&list, "baton call, inlined", "", run_call_inline, NULL);
	add(&list, "baton call", ", statistics", run_call, &counts);
	add(&list, "baton post", "", run_post, NULL);
	add(&list, "baton async", "", run_async, NULL);
	add(&list, "baton batch of 16, limit 16", "", run_batch, NULL);
	add(&list, "baton batch of 16, limit 10", "", run_batch_default, &batch_default);
	for (size_t i = 0; peers[i]; i++) {
		if (peers[i]->queue_dispatch)
			add(&list, peers[i]->name, ", inline", w1_peer_dispatch_run, peers[i]);
		if (peers[i]->present && peers[i]->queue_submit != peers[i]->queue_dispatch)
			add(&list, peers[i]->name, ", post, wait", w1_peer_post_run, peers[i]);
	}
	group.case_count = list.count;
	bench_group(&group);
}

static void run_busy(void)
{
	static const char *const metrics[] = {"push, ns/task", "instructions/task",
	                                      "run it, ns/task", NULL};
	static struct list list;
	struct bench_group group = {
		.name = "W1: one thread, a busy resource",
		.metrics = metrics,
		.cases = list.cases,
		.note = "stream: pushed and run, ns/task in all, up to 256 under way",
	};

	add(&list, "pthread_mutex (idle)", "", run_mutex, NULL);
	add(&list, "baton submit, inside a task", "", w1_burst_run, &w1_burst_one);
	add(&list, "baton batch of 16, inside a task", "", w1_burst_run, &w1_burst_batch);
	add(&list, "baton submit, another holds it", "", w1_held_run, NULL);
	for (size_t i = 0; peers[i]; i++)
		if (peers[i]->present)
			add(&list, peers[i]->name, ", stream", w1_peer_stream_run, peers[i]);
	group.case_count = list.count;
	bench_group(&group);
}

void bench_w1_uncontended(void)
{
	team_pin(0);
	run_idle();
	run_busy();
	team_unpin();
}
