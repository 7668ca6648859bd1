/* SPDX-License-Identifier: MIT */
/*
 * W19: a task of four operations that completes, or fails at the end and takes them back: with an
 * undo log whose entries lie in the task, with entries of the library's, and undone by hand with
 * gotos. The difference to the latter is what the log costs.
 */
#include "harness.h"
#include "machine.h"
#include "watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/all.h>

#define OPERATIONS 4
#define CHUNK 1024U

struct work {
	struct baton_task logged;
	struct baton_task plain;
	struct baton_undo undos[OPERATIONS];
	uint64_t *balance;
	int status;
	bool allocate;
};

static struct {
	struct baton_resource resource;
	uint64_t balance;
} subject __attribute__((aligned(64)));

static int take_back(struct baton_undo *undo)
{
	subject.balance--;
	return 0;
}

static int take_back_at(void *balance)
{
	--*(uint64_t *)balance;
	return 0;
}

static int run_log(struct baton_task *task)
{
	struct work *work = baton_container_of(task, struct work, logged);
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	for (int i = 0; i < OPERATIONS; i++) {
		if (work->allocate) {
			int error = baton_undo_log_add(&log, take_back_at, work->balance);

			if (error)
				return baton_undo_log_end(&log, error);
		} else {
			baton_undo_log_push(&log, &work->undos[i], take_back);
		}
		++*work->balance;
	}
	return baton_undo_log_end(&log, work->status);
}

/* Each operation by itself, as if it could fail. */
static int run_gotos(struct baton_task *task)
{
	struct work *work = baton_container_of(task, struct work, plain);
	volatile uint64_t *balance = work->balance;

	++*balance;
	++*balance;
	++*balance;
	++*balance;
	if (!work->status)
		return 0;
	--*balance;
	--*balance;
	--*balance;
	--*balance;
	return work->status;
}

struct contender {
	const char *name;
	bool by_hand;
	bool allocate;
};

static const struct contender contenders[] = {
	{"by hand", true, false},
	{"baton undo log", false, false},
	{"baton undo log, allocated", false, true},
};

#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static void run(const struct contender *mine, int status, double *values)
{
	static struct watch watch;
	struct work work = {.balance = &subject.balance, .status = status};
	struct baton_task *task = mine->by_hand ? &work.plain : &work.logged;
	unsigned chunks = bench_options.quick ? 100 : 400;

	work.allocate = mine->allocate;
	baton_resource_init(&subject.resource, NULL);
	subject.balance = 0;
	baton_task_init(&work.logged, run_log, NULL);
	baton_task_init(&work.plain, run_gotos, NULL);
	for (unsigned chunk = 0; chunk < chunks; chunk++) {
		uint64_t began = machine_ticks();

		for (unsigned i = 0; i < CHUNK; i++)
			BATON_IGNORE(baton_submit(&subject.resource, task));
		watch_add(&watch, began);
	}
	values[0] = watch_end(&watch, CHUNK);
	if (subject.balance != (status ? 0 : (uint64_t)chunks * CHUNK * OPERATIONS)) {
		fprintf(stderr, "W19: a trace is left\n");
		abort();
	}
}

static void run_done(const void *setup, double *values)
{
	run(setup, 0, values);
}

static void run_undone(const void *setup, double *values)
{
	run(setup, -EIO, values);
}

void bench_w19_undo(void)
{
	static const char *const metrics[] = {"ns per task", NULL};
	struct bench_case done[CONTENDERS];
	struct bench_case undone[CONTENDERS];
	const struct bench_group groups[] = {
		{"W19: undo, 4 operations that succeed", metrics, done, CONTENDERS, 0, NULL},
		{"W19: undo, 4 operations that are taken back", metrics, undone, CONTENDERS, 0,
	         NULL},
	};

	for (size_t i = 0; i < CONTENDERS; i++) {
		done[i] = (struct bench_case){contenders[i].name, run_done, &contenders[i]};
		undone[i] = (struct bench_case){contenders[i].name, run_undone, &contenders[i]};
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		bench_group(&groups[i]);
}
