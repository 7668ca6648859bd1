/* SPDX-License-Identifier: MIT */
/*
 * Bounded stay (L8, L14) where the work is not found by a submit; and functions that were put off
 * for their depth (src/core/callback.h).
 */
#include "support.h"

#include <baton/window.h>

#include "../parts.h"

/* A closed resource in whose window so many tasks wait. */
enum { TASKS = 1000 };

struct crowd {
	struct baton_manual *manual;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_window window;
	struct member *members;
	size_t ran;
	struct baton_task finaliser;
	bool finalised;
};

struct member {
	struct windowed windowed;
	struct crowd *crowd;
};

static int crowd_run(struct baton_task *task)
{
	baton_container_of(task, struct member, windowed.task)->crowd->ran++;
	return 0;
}

static int crowd_finalise(struct baton_task *task)
{
	baton_container_of(task, struct crowd, finaliser)->finalised = true;
	return 0;
}

/* `limit`: the window's. */
static struct crowd *crowd_of(uint32_t capture_max, uint32_t limit)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	MUST(crowd);
	MUST(baton_manual_create(&crowd->manual) == 0);
	crowd->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	crowd->config.capture_max = capture_max;
	crowd->config.executor = baton_manual_executor(crowd->manual);
	baton_resource_init(&crowd->resource, &crowd->config);
	baton_window_init(&crowd->window, &crowd->resource, limit);
	return crowd;
}

static void crowd_gathers(struct crowd *crowd)
{
	crowd->members = calloc(TASKS, sizeof(*crowd->members));
	MUST(crowd->members);
	for (size_t i = 0; i < TASKS; i++) {
		struct member *member = &crowd->members[i];

		member->crowd = crowd;
		windowed_init(&member->windowed, &crowd->window, crowd_run, NULL);
		cr_assert_eq(baton_submit(&crowd->resource, &member->windowed.task), 0);
	}
	(void)baton_manual_run(crowd->manual, 0);
	cr_assert_eq(crowd->ran, 0);
	/* The runner leaves the finaliser to those who bring what the window waits for. */
	baton_task_init(&crowd->finaliser, crowd_finalise, NULL);
	cr_assert_eq(baton_resource_close_then(&crowd->resource, &crowd->finaliser), 0);
}

static void crowd_end(struct crowd *crowd)
{
	(void)baton_manual_run(crowd->manual, 0);
	cr_assert_eq(crowd->ran, TASKS);
	cr_assert(crowd->finalised);
	baton_window_deinit(&crowd->window);
	baton_manual_destroy(crowd->manual);
	free(crowd->members);
	free(crowd);
}

Test(stay, who_raises_a_window_of_a_closed_resource_stays_within_the_limit, .timeout = 10)
{
	static const uint32_t limits[] = {TASKS, 1};

	for (size_t i = 0; i < 2; i++) {
		struct crowd *crowd = crowd_of(BATON_CAPTURE_MAX, 0);

		crowd_gathers(crowd);
		cr_assert_eq(baton_window_set_limit(&crowd->window, limits[i]), 0);
		cr_assert_gt(crowd->ran, 0);
		cr_assert_leq(crowd->ran, BATON_CAPTURE_MAX);
		crowd_end(crowd);
	}
}

Test(stay, who_raises_a_window_of_a_limit_of_0_runs_nothing, .timeout = 10)
{
	struct crowd *crowd = crowd_of(BATON_CAPTURE_NONE, 0);

	crowd_gathers(crowd);
	cr_assert_eq(baton_window_set_limit(&crowd->window, TASKS), 0);
	cr_assert_eq(crowd->ran, 0);
	crowd_end(crowd);
}

/* In a task of another resource. */
struct inside {
	struct baton_task task;
	struct crowd *crowd;
	size_t ran;
};

static int raises_run(struct baton_task *task)
{
	struct inside *inside = baton_container_of(task, struct inside, task);

	MUST(baton_window_set_limit(&inside->crowd->window, 1) == 0);
	inside->ran = inside->crowd->ran;
	return 0;
}

Test(stay, who_raises_a_window_inside_a_task_runs_one, .timeout = 10)
{
	struct crowd *crowd = crowd_of(BATON_CAPTURE_MAX, 0);
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct inside inside = {BATON_TASK_INIT(raises_run, NULL), crowd, 0};

	crowd_gathers(crowd);
	cr_assert_eq(baton_submit(&other, &inside.task), 0);
	cr_assert_leq(inside.ran, 1);
	resource_end(&other);
	crowd_end(crowd);
}

/* A token is complete, and lets the other tasks in the window start. */
struct held {
	struct windowed windowed;
	int detached;
};

static int held_run(struct baton_task *task)
{
	struct held *held = baton_container_of(task, struct held, windowed.task);

	held->detached = baton_detach(&held->windowed.part.token, 0);
	return 0;
}

struct acks {
	struct baton_task task;
	struct held *held;
	struct crowd *crowd;
	size_t ran;
};

static int acks_run(struct baton_task *task)
{
	struct acks *acks = baton_container_of(task, struct acks, task);

	MUST(baton_detached_complete(&acks->held->windowed.part.token, 0, NULL) == 0);
	acks->ran = acks->crowd->ran;
	return 0;
}

Test(stay, who_completes_a_token_inside_a_task_runs_one, .timeout = 10)
{
	struct crowd *crowd = crowd_of(BATON_CAPTURE_MAX, 1);
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct held held;
	struct acks acks = {BATON_TASK_INIT(acks_run, NULL), &held, crowd, 0};

	windowed_init(&held.windowed, &crowd->window, held_run, NULL);
	cr_assert_eq(baton_submit(&crowd->resource, &held.windowed.task), 0);
	cr_assert_eq(held.detached, 0);
	crowd_gathers(crowd);
	cr_assert_eq(baton_submit(&other, &acks.task), 0);
	cr_assert_leq(acks.ran, 1);
	resource_end(&other);
	crowd_end(crowd);
}

/* ---- Put off ---- */

/* Captures within captures; the innermost completes a promise for which a refused task waits. */
struct deep {
	struct baton_task task;
	struct baton_resource resource;
	struct deep *inner;
	struct baton_future *first;
	struct baton_future *second;
	int completed;
	int waited;
};

static int deep_run(struct baton_task *task)
{
	struct deep *deep = baton_container_of(task, struct deep, task);

	if (deep->inner)
		deep->completed = baton_submit(&deep->inner->resource, &deep->inner->task);
	else
		deep->completed = baton_future_complete(deep->first, 0, NULL);
	if (deep->second)
		deep->waited = baton_future_wait(deep->second);
	return 0;
}

struct refused {
	struct baton_task task;
	struct baton_future *second;
	int told;
};

static void refused_told(struct baton_task *task)
{
	struct refused *refused = baton_container_of(task, struct refused, task);

	refused->told++;
	MUST(baton_future_complete(refused->second, 0, NULL) == 0);
}

Test(stay, who_waits_for_what_was_put_off_calls_it, .timeout = 10)
{
	/* At the depth where it is put off, further up, and not at all. */
	for (size_t waiter = 0; waiter <= BATON_NESTING_MAX; waiter++) {
		struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
		struct baton_resource closed;
		struct baton_future first = BATON_PROMISE_INIT;
		struct baton_future second = BATON_PROMISE_INIT;
		struct refused refused = {BATON_TASK_INIT(NULL, NULL), &second, 0};
		struct baton_continuation continuation;
		struct deep deep[BATON_NESTING_MAX];

		config.cancelled = refused_told;
		baton_resource_init(&closed, &config);
		cr_assert_eq(baton_resource_close(&closed), 0);
		baton_continuation_task(&continuation, &closed, &refused.task);
		baton_future_then(&first, &continuation);
		for (size_t i = 0; i < BATON_NESTING_MAX; i++) {
			deep[i] = (struct deep){.first = &first};
			deep[i].inner = i + 1 < BATON_NESTING_MAX ? &deep[i + 1] : NULL;
			deep[i].second = i == waiter ? &second : NULL;
			baton_task_init(&deep[i].task, deep_run, NULL);
			baton_resource_init(&deep[i].resource, NULL);
		}
		cr_assert_eq(baton_submit(&deep[0].resource, &deep[0].task), 0);
		cr_assert_eq(refused.told, 1, "before the outermost submit returns");
		cr_assert_eq(baton_future_state(&second), BATON_DONE);
		for (size_t i = 0; i < BATON_NESTING_MAX; i++) {
			cr_assert_eq(deep[i].completed, 0);
			cr_assert_eq(deep[i].waited, 0);
			resource_end(&deep[i].resource);
		}
		resource_end(&closed);
	}
}
