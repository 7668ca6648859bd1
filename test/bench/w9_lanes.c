/* SPDX-License-Identifier: MIT */
/*
 * W9: urgent tasks behind a pile of others. One thread runs a resource in which 100,000 tasks of
 * 200 ns are queued; another one submits a control task, waits until it has run, and again. How
 * many tasks, and how long, does it wait? Resources with lanes, without, and what one writes
 * without baton: a mutex and two lists.
 */
#include "harness.h"
#include "histogram.h"
#include "machine.h"
#include "team.h"

#include <baton/all.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "../parts.h"

#define PILE 100000
#define BODY_NS 200
#define PAUSE_NS 20000

enum kind { LANES, AGING, FIFO, LISTS };

struct pile {
	enum kind kind;
	struct stamped *tasks;
	struct stamped control;
	struct machine_work work;
	uint64_t ran; /* tasks of the pile: the runner counts, the other thread looks */
	uint64_t submitted_ns;
	uint64_t submitted_at; /* what had run by then */
	uint32_t controls;     /* done */
	bool over;
	struct histogram waited_tasks;
	struct histogram waited_ns;
	/* baton's */
	struct baton_resource resource;
	struct baton_manual *manual;
	/* the mutex's: the lists' tails are never looked at when their heads are empty */
	pthread_mutex_t mutex;
	struct baton_task *heads[2];
	struct baton_task *tails[2];
};

static struct pile pile;

static int pile_run(struct baton_task *task)
{
	machine_work(pile.work);
	__atomic_store_n(&pile.ran, pile.ran + 1, __ATOMIC_RELAXED);
	return 0;
}

static int control_run(struct baton_task *task)
{
	histogram_add(&pile.waited_tasks, pile.ran - pile.submitted_at);
	histogram_add(&pile.waited_ns, machine_now_ns() - pile.submitted_ns);
	__atomic_store_n(&pile.controls, pile.controls + 1, __ATOMIC_RELEASE);
	return 0;
}

static void lists_push(struct baton_task *task, unsigned list)
{
	(void)pthread_mutex_lock(&pile.mutex);
	task->_next = NULL;
	if (pile.heads[list])
		pile.tails[list]->_next = task;
	else
		pile.heads[list] = task;
	pile.tails[list] = task;
	(void)pthread_mutex_unlock(&pile.mutex);
}

static struct baton_task *lists_pop(void)
{
	struct baton_task *task;
	unsigned list;

	(void)pthread_mutex_lock(&pile.mutex);
	list = pile.heads[0] ? 0 : 1;
	task = pile.heads[list];
	if (task)
		pile.heads[list] = task->_next;
	(void)pthread_mutex_unlock(&pile.mutex);
	return task;
}

static void submit(struct stamped *stamped, unsigned lane)
{
	stamped_init(stamped, lane ? pile_run : control_run, NULL);
	baton_stamp_set_lane(&stamped->stamp, lane);
	if (pile.kind == LISTS)
		lists_push(&stamped->task, lane ? 1 : 0);
	else if (baton_submit(&pile.resource, &stamped->task))
		abort();
}

static void *control_main(void *none)
{
	uint32_t sent = 0;

	team_pin(1);
	while (!__atomic_load_n(&pile.over, __ATOMIC_RELAXED)) {
		uint64_t until = machine_now_ns() + PAUSE_NS;
		unsigned turns = 0;

		while (machine_now_ns() < until)
			(void)sched_yield();
		pile.submitted_at = __atomic_load_n(&pile.ran, __ATOMIC_RELAXED);
		pile.submitted_ns = machine_now_ns();
		submit(&pile.control, 0);
		sent++;
		while (__atomic_load_n(&pile.controls, __ATOMIC_ACQUIRE) != sent)
			team_wait(&turns);
	}
	return NULL;
}

/* Runs what there is: true, if there was something. */
static bool run_some(void)
{
	struct baton_task *task;

	if (pile.kind != LISTS)
		return baton_manual_run(pile.manual, 1);
	task = lists_pop();
	if (task)
		(void)((struct stamped *)(void *)task)->fn(task);
	return task != NULL;
}

static void run(const void *setup, double *values)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	const struct baton_lanes_config aging = {.aging_turns = 16};
	struct baton_lane array[2];
	struct baton_lanes lanes;
	pthread_t thread;
	uint64_t start;

	pile = (struct pile){.kind = *(const enum kind *)setup, .work = machine_work_of(BODY_NS)};
	pile.tasks = calloc(PILE, sizeof(*pile.tasks));
	if (!pile.tasks || baton_manual_create(&pile.manual))
		abort();
	(void)pthread_mutex_init(&pile.mutex, NULL);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(pile.manual);
	baton_resource_init(&pile.resource, &config);
	baton_lanes_init(&lanes, array, 2, pile.kind == AGING ? &aging : NULL);
	if (pile.kind == LANES || pile.kind == AGING)
		baton_resource_set_lanes(&pile.resource, &lanes);
	for (unsigned i = 0; i < PILE; i++)
		submit(&pile.tasks[i], 1);
	team_pin(0);
	start = machine_now_ns();
	if (pthread_create(&thread, NULL, control_main, NULL))
		abort();
	while (pile.ran < PILE)
		(void)run_some();
	values[4] = (double)(machine_now_ns() - start) / PILE;
	__atomic_store_n(&pile.over, true, __ATOMIC_RELAXED);
	/* The last control task may still come. */
	while (pthread_tryjoin_np(thread, NULL))
		(void)run_some();
	while (run_some())
		;
	team_unpin();
	values[0] = (double)histogram_quantile(&pile.waited_tasks, 0.99);
	values[1] = (double)pile.waited_tasks.most;
	values[2] = (double)histogram_quantile(&pile.waited_ns, 0.99) / 1e3;
	values[3] = (double)pile.waited_ns.most / 1e3;
	values[5] = (double)pile.controls;
	if (baton_resource_close(&pile.resource))
		abort();
	baton_manual_destroy(pile.manual);
	(void)pthread_mutex_destroy(&pile.mutex);
	free(pile.tasks);
}

void bench_w9_lanes(void)
{
	static const char *const metrics[] = {
		"tasks before it, p99", "most",          "us, p99", "us, most",
		"ns/task of the pile",  "control tasks", NULL};
	static const enum kind kinds[] = {LANES, AGING, FIFO, LISTS};
	const struct bench_case cases[] = {
		{"baton, 2 lanes", run, &kinds[0]},
		{"baton, 2 lanes, aging 16", run, &kinds[1]},
		{"baton, no lanes", run, &kinds[2]},
		{"mutex and two lists", run, &kinds[3]},
	};
	const struct bench_group group = {
		"W9: control tasks behind 100,000 queued ones",
		metrics,
		cases,
		4,
		0,
		"a task that is running when a control task comes is not interrupted, and counts"};

	bench_group(&group);
}
