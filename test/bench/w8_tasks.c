/* SPDX-License-Identifier: MIT */
/*
 * W8: more and more tasks. Waiting: all of them are left at one busy resource, and then run; the
 * capture limit lets one thread do it, so that only the queue grows. Streamed: two threads send
 * them, each with at most 256 under way.
 *
 * A mutex's user has no queue: beside it stands what such a user would write, a list under a mutex.
 */
#include "w8.h"

#include "hot.h"
#include "watch.h"

#include <stdlib.h>
#include <sys/mman.h>

#define BATCH 16U
#define LAPS_TASKS 100000U /* in all laps of a run together, at least */

/* The same size for all: what a task carries of its own is one pointer. */
struct piece {
	union {
		struct baton_task task;
		struct {
			struct piece *next;
			void (*run)(struct piece *piece);
		} listed;
	};
	uint64_t *counter;
};

struct pile {
	struct piece *pieces;
	size_t size; /* of `pieces` */
	size_t count;
	size_t batch; /* 0: post */
	struct baton_task filler;
	uint64_t filled; /* ticks: all are left */
	uint64_t counter __attribute__((aligned(64)));
	struct baton_resource resource;
};

static struct pile pile;

static const struct baton_resource_config patient = {
	.capture_max = UINT32_MAX,
	.quantum = BATON_QUANTUM,
};

static void must(uint64_t counter, uint64_t expected)
{
	if (counter == expected)
		return;
	fprintf(stderr, "W8: %llu tasks ran of %llu\n", (unsigned long long)counter,
	        (unsigned long long)expected);
	abort();
}

static unsigned laps(size_t count)
{
	return count < LAPS_TASKS ? (unsigned)(LAPS_TASKS / count) : 1;
}

static int piece_task(struct baton_task *task)
{
	++*baton_container_of(task, struct piece, task)->counter;
	return 0;
}

static void *piece_posted(void *arg)
{
	++*((struct piece *)arg)->counter;
	return NULL;
}

static void piece_listed(struct piece *piece)
{
	++*piece->counter;
}

/* Has the resource, and leaves the others there. */
static int fill(struct baton_task *task)
{
	struct pile *mine = baton_container_of(task, struct pile, filler);

	if (mine->batch == 0) {
		for (size_t i = 0; i < mine->count; i++)
			if (baton_post(&mine->resource, piece_posted, &mine->pieces[i]))
				abort();
	} else if (mine->batch == 1) {
		for (size_t i = 0; i < mine->count; i++)
			BATON_IGNORE(baton_submit(&mine->resource, &mine->pieces[i].task));
	} else {
		struct baton_task *batch[BATCH];

		for (size_t i = 0; i < mine->count; i += BATCH) {
			size_t n = mine->count - i < BATCH ? mine->count - i : BATCH;

			for (size_t j = 0; j < n; j++)
				batch[j] = &mine->pieces[i + j].task;
			BATON_IGNORE(baton_submit_batch(&mine->resource, batch, n));
		}
	}
	mine->filled = machine_ticks();
	return 0;
}

/* What became of a lap's `count` tasks, for the three metrics. */
struct laps {
	struct watch both;
	struct watch left;
	struct watch run;
};

static void lap_add(struct laps *to, uint64_t began, uint64_t filled)
{
	const uint64_t now = machine_ticks();

	watch_add(&to->both, began);
	watch_add(&to->left, began + (now - filled));
	watch_add(&to->run, filled);
}

static void laps_end(struct laps *of, double count, double *values)
{
	values[0] = watch_end(&of->both, 1) / count;
	values[1] = watch_end(&of->left, 1) / count;
	values[2] = watch_end(&of->run, 1) / count;
}

static void run_waiting(const void *setup, double x, double *values)
{
	static struct laps all;

	pile.count = (size_t)x;
	pile.batch = *(const size_t *)setup;
	baton_resource_init(&pile.resource, &patient);
	for (unsigned lap = 0; lap < laps(pile.count); lap++) {
		uint64_t began;

		pile.counter = 0;
		for (size_t i = 0; i < pile.count; i++) {
			baton_task_init(&pile.pieces[i].task, piece_task, NULL);
			pile.pieces[i].counter = &pile.counter;
		}
		baton_task_init(&pile.filler, fill, NULL);
		began = machine_ticks();
		BATON_IGNORE(baton_submit(&pile.resource, &pile.filler));
		lap_add(&all, began, pile.filled);
		must(pile.counter, pile.count);
	}
	laps_end(&all, x, values);
}

static struct piece *take(pthread_mutex_t *mutex, struct piece **first)
{
	struct piece *piece;

	(void)pthread_mutex_lock(mutex);
	piece = *first;
	if (piece)
		*first = piece->listed.next;
	(void)pthread_mutex_unlock(mutex);
	return piece;
}

static void run_list(const void *setup, double x, double *values)
{
	static struct laps all;
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	size_t count = (size_t)x;

	for (unsigned lap = 0; lap < laps(count); lap++) {
		struct piece *first = NULL;
		struct piece **end = &first;
		struct piece *piece;
		uint64_t began;

		pile.counter = 0;
		for (size_t i = 0; i < count; i++) {
			pile.pieces[i].listed.run = piece_listed;
			pile.pieces[i].counter = &pile.counter;
		}
		began = machine_ticks();
		for (size_t i = 0; i < count; i++) {
			(void)pthread_mutex_lock(&mutex);
			pile.pieces[i].listed.next = NULL;
			*end = &pile.pieces[i];
			end = &pile.pieces[i].listed.next;
			(void)pthread_mutex_unlock(&mutex);
		}
		pile.filled = machine_ticks();
		while ((piece = take(&mutex, &first)))
			piece->listed.run(piece);
		lap_add(&all, began, pile.filled);
		must(pile.counter, count);
	}
	laps_end(&all, x, values);
}

static void waiting(unsigned last)
{
	static const char *const metrics[] = {"ns/task", "ns/push", "ns/run", NULL};
	static const size_t ways[] = {1, BATCH, 0};
	static const struct bench_series series[] = {
		{"list under a mutex", run_list, NULL},
		{"baton submit", run_waiting, &ways[0]},
		{"baton batch of 16", run_waiting, &ways[1]},
		{"baton post", run_waiting, &ways[2]},
	};
	double sizes[8];
	struct bench_sweep sweep = {
		.name = "W8: tasks that wait at one resource",
		.axis = "tasks",
		.xs = sizes,
		.x_count = w8_powers(sizes, 3, last),
		.metrics = metrics,
		.series = series,
		.series_count = 4,
		.note = "left there and run, by one thread",
	};

	if (!bench_wanted(sweep.name))
		return;
	pile.size = (size_t)sizes[sweep.x_count - 1] * sizeof(*pile.pieces);
	pile.pieces =
		mmap(NULL, pile.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pile.pieces == MAP_FAILED) {
		printf("\n%s: left out, no memory for it\n", sweep.name);
		return;
	}
	team_pin(0);
	if (bench_sweep(&sweep))
		w8_exponents(&sweep, "time");
	team_unpin();
	(void)munmap(pile.pieces, pile.size);
}

void bench_w8_tasks(void)
{
	unsigned last = bench_options.deep ? 8 : bench_options.quick ? 5 : 7;

	waiting(last);
	w8_streamed(last);
	w8_concerned(last > 6 ? 6 : last);
	w8_jobs(last > 7 ? 7 : last);
}
