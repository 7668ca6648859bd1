/* SPDX-License-Identifier: MIT */
/*
 * W1, a busy resource: what it costs to leave a task behind, and to run it later.
 */
#include "w1.h"

#include "team.h"

#include <pthread.h>
#include <stdlib.h>

#define BURST 1024

const size_t w1_burst_one = 1;
const size_t w1_burst_batch = 16;

static const struct baton_resource_config patient = {
	.capture_max = 2 * BURST,
	.quantum = BATON_QUANTUM,
};

static struct baton_task tasks[BURST];
static struct watch watch;

/* A burst left at a resource that this very thread holds: ns per push, and for running it. */
struct burst {
	struct baton_task task;
	size_t batch;
	uint64_t pushed; /* when */
};

static int burst_run(struct baton_task *task)
{
	struct burst *burst = baton_container_of(task, struct burst, task);
	struct baton_task *pointers[BURST];
	uint64_t start;

	for (size_t i = 0; i < BURST; i++)
		pointers[i] = &tasks[i];
	start = machine_ticks();
	if (burst->batch == 1)
		for (size_t i = 0; i < BURST; i++)
			BATON_IGNORE(baton_submit(&w1_subject.resource, pointers[i]));
	else
		for (size_t i = 0; i < BURST; i += burst->batch)
			BATON_IGNORE(baton_submit_batch(&w1_subject.resource, pointers + i,
			                                burst->batch));
	watch_add(&watch, start);
	burst->pushed = machine_ticks();
	return 0;
}

void w1_burst_run(const void *setup, double *values)
{
	static struct watch drain;
	struct burst burst = {.batch = *(const size_t *)setup};

	baton_task_init(&burst.task, burst_run, NULL);
	for (size_t i = 0; i < BURST; i++)
		baton_task_init(&tasks[i], w1_count_task, NULL);
	w1_begin(&patient);
	for (unsigned i = 0; i < w1_chunks(); i++) {
		BATON_IGNORE(baton_submit(&w1_subject.resource, &burst.task));
		watch_add(&drain, burst.pushed);
	}
	w1_check(w1_subject.counter, (uint64_t)w1_chunks() * BURST);
	values[0] = watch_end(&watch, BURST);
	values[2] = watch_end(&drain, BURST);
}

/* Another thread holds the resource and looks at a word of its own until it is told to leave. */
struct holder {
	struct baton_task task;
	pthread_t id;
	bool holding __attribute__((aligned(64)));
	bool leave __attribute__((aligned(64)));
};

static int holder_run(struct baton_task *task)
{
	struct holder *holder = baton_container_of(task, struct holder, task);
	unsigned turns = 0;

	__atomic_store_n(&holder->holding, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&holder->leave, __ATOMIC_ACQUIRE))
		team_wait(&turns);
	return 0;
}

static void *holder_main(void *argument)
{
	struct holder *holder = argument;

	team_pin(1);
	BATON_IGNORE(baton_submit(&w1_subject.resource, &holder->task));
	return NULL;
}

void w1_held_run(const void *setup, double *values)
{
	int bursts = bench_options.quick ? 50 : 200;

	w1_begin(&patient);
	for (int b = 0; b < bursts; b++) {
		struct holder holder = {.task = BATON_TASK_INIT(holder_run, NULL)};
		unsigned turns = 0;
		uint64_t start;

		for (size_t i = 0; i < BURST; i++)
			baton_task_init(&tasks[i], w1_count_task, NULL);
		if (pthread_create(&holder.id, NULL, holder_main, &holder))
			abort();
		while (!__atomic_load_n(&holder.holding, __ATOMIC_ACQUIRE))
			team_wait(&turns);
		start = machine_ticks();
		for (size_t i = 0; i < BURST; i++)
			BATON_IGNORE(baton_submit(&w1_subject.resource, &tasks[i]));
		watch_add(&watch, start);
		__atomic_store_n(&holder.leave, true, __ATOMIC_RELEASE);
		(void)pthread_join(holder.id, NULL);
	}
	values[0] = watch_end(&watch, BURST);
	w1_check(w1_subject.counter, (uint64_t)bursts * BURST);
}
