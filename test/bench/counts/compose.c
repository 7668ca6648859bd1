/* SPDX-License-Identifier: MIT */
/*
 * What triggers, groups, fan-outs and undo logs pay, on idle resources and on one thread.
 */
#include "counters.h"

#include <errno.h>
#include <stdlib.h>

#include <baton/all.h>

#define ROUNDS 64
#define ITEMS 64
#define UNDOS 4

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
static struct baton_resource many[ITEMS];
static struct baton_resource *pointers[ITEMS];
static struct baton_group group = BATON_GROUP_INIT;
static struct baton_pool *one_worker;

static int no_run(struct baton_trigger *trigger, uint64_t fires)
{
	return 0;
}

static struct baton_trigger trigger = BATON_TRIGGER_INIT(&resource, no_run);

static void fire(void)
{
	for (int i = 0; i < ROUNDS; i++)
		BATON_IGNORE(baton_trigger_fire(&trigger));
}

static void enter_and_leave(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		baton_group_enter(&group);
		baton_group_leave(&group);
	}
}

static int no_item(struct baton_resource *mine, void *arg, size_t index)
{
	return 0;
}

static void fan_out(void)
{
	struct baton_fan_out_options options = {.fn = no_item};
	struct baton_fan_out *all;

	if (baton_fan_out_submit(pointers, ITEMS, &options, &all))
		return;
	if (baton_fan_out_wait(all))
		abort();
	baton_fan_out_unref(all);
}

static int no_undo(void *arg)
{
	return 0;
}

static int fail(struct baton_task *task)
{
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	for (int i = 0; i < UNDOS; i++)
		BATON_IGNORE(baton_undo_log_add(&log, no_undo, NULL));
	return baton_undo_log_end(&log, -EIO);
}

static void undo(void)
{
	struct baton_task task = BATON_TASK_INIT(fail, NULL);

	for (int i = 0; i < ROUNDS; i++)
		BATON_IGNORE(baton_submit(&resource, &task));
}

static int no_chunk(void *arg, size_t begin, size_t end)
{
	return 0;
}

/* Chunks of 1,000 indices: more than a quarter of what is left. */
static void loops(void)
{
	for (int i = 0; i < ROUNDS; i++)
		if (baton_parallel_for(one_worker, 3000, 1000, no_chunk, NULL))
			abort();
}

/* A request to one resource, whose answer is a task of another one, in three ways. */
static struct baton_resource asker;
static struct baton_future answered;
static struct baton_continuation then;
static struct baton_detached token;

static int no_answer(struct baton_task *task)
{
	return 0;
}

static int detach(struct baton_task *task)
{
	return baton_detach(&token, 0);
}

static void hops(void)
{
	struct baton_task task;

	for (int i = 0; i < ROUNDS; i++) {
		baton_task_init(&task, no_answer, NULL);
		BATON_IGNORE(baton_submit(&resource, &task));
		baton_task_init(&task, no_answer, NULL);
		BATON_IGNORE(baton_submit(&asker, &task));
	}
}

static void promises(void)
{
	struct baton_task task = BATON_TASK_INIT(no_answer, NULL);
	struct baton_task answer = BATON_TASK_INIT(no_answer, NULL);

	for (int i = 0; i < ROUNDS; i++) {
		baton_promise_init(&answered);
		baton_continuation_task(&then, &asker, &answer);
		baton_future_then(&answered, &then);
		BATON_IGNORE(baton_submit(&resource, &task));
		baton_future_complete(&answered, 0, NULL);
	}
}

static void detached(void)
{
	struct baton_task task = BATON_TASK_INIT(detach, &answered);
	struct baton_task answer = BATON_TASK_INIT(no_answer, NULL);

	for (int i = 0; i < ROUNDS; i++) {
		baton_future_init(&answered);
		baton_continuation_task(&then, &asker, &answer);
		BATON_IGNORE(baton_submit(&resource, &task));
		baton_future_then(&answered, &then);
		BATON_IGNORE(baton_detached_complete(&token, 0, NULL));
	}
}

static void row(const char *path, struct counts limit, void (*way)(void), double tasks)
{
	struct bench_counts before;

	way(); /* fills the caches */
	before = counts_now();
	way();
	counts_row(path, limit, counts_since(&before, tasks));
}

/* The fire that submits, at a resource that this thread holds, and then those that coalesce. */
static void *fire_busy(void *cost)
{
	struct bench_counts before;

	BATON_IGNORE(baton_trigger_fire(&trigger));
	before = counts_now();
	fire();
	*(struct counts *)cost = counts_since(&before, ROUNDS);
	return NULL;
}

void counts_compose(void)
{
	const struct baton_pool_options options = {.workers = 1};
	struct counts coalesced = {0, 0, 0};

	for (int i = 0; i < ITEMS; i++) {
		baton_resource_init(&many[i], NULL);
		pointers[i] = &many[i];
	}
	row("trigger, fired and run, idle", (struct counts){4, 0, 0}, fire, ROUNDS);
	BATON_IGNORE(baton_call(&resource, fire_busy, &coalesced, NULL));
	counts_row("trigger, coalesced", (struct counts){1, 0, 0}, coalesced);
	row("group, enter and leave", (struct counts){2, 0, 0}, enter_and_leave, ROUNDS);
	/* And for all of them: the countdown's future, two references. */
	row("fan-out over 64, idle, per item", (struct counts){3 + 5.0 / ITEMS, 1.0 / ITEMS, 0},
	    fan_out, ITEMS);
	row("task with 4 undone, library's memory", (struct counts){2, 0, 0}, undo, ROUNDS);
	row("request and answer, two hops", (struct counts){4, 0, 0}, hops, ROUNDS);
	row("request and answer, a promise", (struct counts){10, 0, 0}, promises, ROUNDS);
	row("request and answer, detached", (struct counts){11, 0, 0}, detached, ROUNDS);
	if (baton_pool_create(&options, &one_worker))
		abort();
	row("parallel loop without help, per chunk", (struct counts){1, 0, 0}, loops, 3 * ROUNDS);
	if (baton_pool_destroy(one_worker))
		abort();
}
