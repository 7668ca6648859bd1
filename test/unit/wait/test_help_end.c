/* SPDX-License-Identifier: MIT */
/*
 * A helper enters no task once its own wait is over (L9), by whatever it ended: the task behind may
 * wait for what the waiter does next, or call the resource that the waiter holds.
 */
#include "stash.h"

#include <baton/bound.h>
#include <baton/detach.h>
#include <baton/lane.h>
#include <baton/window.h>

#include "../parts.h"

enum ending {
	RETURNS,   /* the awaited task returns */
	AWAIT,     /* an await of the open resource has been reached */
	CANCEL,    /* baton_resource_cancel_pending */
	DETACHES,  /* the awaited task detaches, and another thread completes the token */
	WINDOW,    /* baton_window_cancel */
	DROPPED,   /* a full bound drops the awaited task */
	HOOKS,     /* the awaited task returns while a batch is open */
	BATCH_END, /* the batch ends that holds the awaited task's completion back */
	ENDINGS
};

/* The action of the task behind. */
enum behind { WAITS, CALLS };

struct play {
	enum ending ending;
	enum behind behind;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_lanes lanes;
	struct baton_lane lane;
	struct baton_bound_config limits;
	struct baton_bound bound;
	struct baton_window window;
	struct baton_task first; /* submits `later`; CANCEL, WINDOW: after it has cancelled */
	struct baton_task own;
	struct windowed windowed;
	struct baton_future future;
	struct baton_detached token;
	struct baton_task later;
	struct baton_future later_future;
	struct baton_future promise;        /* the waiter fulfils it after its wait */
	struct baton_resource *waiters_own; /* the resource whose task waits, or NULL */
	pthread_t waiter;
	pthread_t completer;
	bool waiting;
	bool ended; /* the first batch */
	bool entered_by_helper;
	int awaited; /* what the wait returned */
	int later_result;
};

static int nothing(struct baton_task *task)
{
	return 0;
}

static void *call_nothing(void *arg)
{
	return arg;
}

static int later_run(struct baton_task *task)
{
	struct play *play = baton_container_of(task, struct play, later);

	if (pthread_equal(play->waiter, pthread_self()) && play->waiting) {
		play->entered_by_helper = true;
		return 0;
	}
	if (play->behind == CALLS)
		play->later_result = baton_call(play->waiters_own, call_nothing, NULL, NULL);
	else
		play->later_result = baton_future_wait(&play->promise);
	return 0;
}

static int first_run(struct baton_task *task)
{
	struct play *play = baton_container_of(task, struct play, first);

	if (play->ending == CANCEL)
		MUST(baton_resource_cancel_pending(&play->resource) == 0);
	if (play->ending == WINDOW)
		MUST(baton_window_cancel(&play->window) == 0);
	MUST(baton_submit(&play->resource, &play->later) == 0);
	return 0;
}

static void *complete_main(void *arg)
{
	struct play *play = arg;

	MUST(baton_detached_complete(&play->token, 0, NULL) == 0);
	return NULL;
}

static int own_run(struct baton_task *task)
{
	struct play *play = baton_container_of(task, struct play, own);

	if (play->ending != DETACHES)
		return 0;
	MUST(baton_detach(&play->token, 0) == 0);
	play->completer = thread_start(complete_main, play);
	return 0;
}

static int batch_begins(struct baton_resource *resource)
{
	return 0;
}

static int batch_ends(struct baton_resource *resource)
{
	struct play *play = baton_container_of(resource, struct play, resource);

	if (play->ending == BATCH_END && !play->ended) {
		play->ended = true;
		MUST(baton_submit(resource, &play->later) == 0);
	}
	return 0;
}

static void extend(struct play *play)
{
	play->limits = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	play->limits.policy = BATON_BOUND_DROP_OLDEST;
	play->limits.tasks_max = 1;
	play->limits.tasks_hard = 3;
	baton_bound_init(&play->bound, &play->limits);
	baton_lanes_init(&play->lanes, &play->lane, 1, NULL);
	baton_resource_set_lanes(&play->resource, &play->lanes);
	baton_resource_set_bound(&play->resource, &play->bound);
}

static void play_init(struct play *play, enum ending ending, enum behind behind,
                      struct baton_executor *executor)
{
	memset(play, 0, sizeof(*play));
	play->ending = ending;
	play->behind = behind;
	play->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	play->config.executor = executor;
	if (ending == HOOKS || ending == BATCH_END) {
		play->config.batch_begin = batch_begins;
		play->config.batch_end = batch_ends;
	}
	play->config.delay_completions = ending == BATCH_END;
	baton_resource_init(&play->resource, &play->config);
	if (ending == DROPPED)
		extend(play);
	baton_future_init(&play->future);
	baton_future_init(&play->later_future);
	baton_promise_init(&play->promise);
	baton_task_init(&play->first, first_run, NULL);
	baton_task_init(&play->own, own_run, &play->future);
	baton_task_init(&play->later, later_run, &play->later_future);
	baton_window_init(&play->window, &play->resource, 0);
	windowed_init(&play->windowed, &play->window, nothing, &play->future);
}

/* Queues the tasks that are there before the wait. */
static void play_submit(struct play *play)
{
	static const struct {
		enum { NONE, FIRST, OWN, WINDOWED, LATER } tasks[2];
	} queues[ENDINGS] = {
		[RETURNS] = {{FIRST, OWN}},     [AWAIT] = {{FIRST, NONE}},
		[CANCEL] = {{FIRST, OWN}},      [DETACHES] = {{FIRST, OWN}},
		[WINDOW] = {{WINDOWED, FIRST}}, [DROPPED] = {{OWN, LATER}},
		[HOOKS] = {{FIRST, OWN}},       [BATCH_END] = {{OWN, NONE}},
	};
	struct baton_task *const tasks[] = {NULL, &play->first, &play->own, &play->windowed.task,
	                                    &play->later};

	for (size_t i = 0; i < 2; i++) {
		struct baton_task *task = tasks[queues[play->ending].tasks[i]];

		MUST(!task || baton_submit_later(&play->resource, task) == 0);
	}
}

static void play_wait(struct play *play)
{
	play->waiter = pthread_self();
	play->waiting = true;
	play->awaited = play->ending == AWAIT ? baton_resource_await(&play->resource)
	                                      : baton_future_wait(&play->future);
	play->waiting = false;
	MUST(baton_future_complete(&play->promise, 0, NULL) == 0);
}

static void play_end(struct play *play)
{
	cr_assert(!play->entered_by_helper, "%d", play->ending);
	cr_assert_eq(play->awaited, 0, "%d", play->ending);
	cr_assert_eq(baton_future_wait(&play->later_future), 0, "%d", play->ending);
	cr_assert_eq(play->later_result, 0, "%d: %d", play->ending, play->later_result);
	if (play->ending == DETACHES)
		thread_join(play->completer);
	resource_end(&play->resource);
	baton_window_deinit(&play->window);
}

Test(help_end, a_helper_outside_leaves_the_task_behind_to_others, .timeout = 10)
{
	for (int ending = 0; ending < ENDINGS; ending++) {
		struct stash stash;
		struct play play;

		stash_init(&stash);
		play_init(&play, (enum ending)ending, WAITS, &stash.executor);
		play_submit(&play);
		play_wait(&play);
		cr_assert_eq(baton_future_state(&play.later_future), BATON_PENDING, "%d", ending);
		stash_run(&stash);
		play_end(&play);
	}
}

/* A task that follows the awaited task may wait for the waiter, too. */
Test(help_end, a_helper_leaves_the_continuation_of_its_future_to_others, .timeout = 10)
{
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_continuation continuations[2];
	struct baton_resource resources[2];
	struct journal journal = {0};
	struct step steps[3];
	struct stash stash;

	stash_init(&stash);
	config.executor = &stash.executor;
	for (int i = 0; i < 2; i++)
		baton_resource_init(&resources[i], &config);
	step_init(&steps[0], &journal, 0, &futures[0]);
	for (int i = 0; i < 2; i++) {
		step_init(&steps[1 + i], &journal, 1 + i, i ? &futures[1] : NULL);
		baton_continuation_task(&continuations[i], &resources[1], &steps[1 + i].task);
		baton_future_then(&futures[0], &continuations[i]);
	}
	cr_assert_eq(baton_submit_later(&resources[0], &steps[0].task), 0);
	cr_assert_eq(baton_future_wait(&futures[0]), 0);
	cr_assert_eq(journal.count, 1, "its own task, and not what follows");
	stash_run(&stash);
	cr_assert(journal_counts_up(&journal, 0, 3));
	/* Where the executor takes nothing there is only this thread. */
	baton_future_init(&futures[0]);
	baton_future_then(&futures[0], &continuations[0]);
	cr_assert_eq(baton_submit_later(&resources[0], &steps[0].task), 0);
	atomic_store(&stash.answer, -ESHUTDOWN);
	cr_assert_eq(baton_future_wait(&futures[0]), 0);
	cr_assert_eq(journal.count, 5);
	atomic_store(&stash.answer, 0);
	stash_run(&stash);
	resource_end(&resources[0]);
	resource_end(&resources[1]);
}

/* A task on the only worker, whose resource the task behind may call. */
struct asker {
	struct baton_task task;
	struct play *play;
};

static int asker_run(struct baton_task *task)
{
	struct play *play = baton_container_of(task, struct asker, task)->play;

	play_submit(play);
	play_wait(play);
	return 0;
}

static void on_the_only_worker(enum behind behind, uint32_t capture_max)
{
	for (int ending = 0; ending < ENDINGS; ending++) {
		struct baton_pool *pool = pool_of(1);
		struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
		struct baton_resource resource;
		struct asker asker;
		struct play play;

		config.executor = baton_pool_executor(pool);
		config.name = "asker";
		baton_resource_init(&resource, &config);
		play_init(&play, (enum ending)ending, behind, config.executor);
		play.config.capture_max = capture_max;
		play.waiters_own = &resource;
		baton_task_init(&asker.task, asker_run, NULL);
		asker.play = &play;
		cr_assert_eq(baton_submit_later(&resource, &asker.task), 0);
		cr_assert_eq(baton_pool_destroy(pool), 0);
		play_end(&play);
		resource_end(&resource);
	}
}

Test(help_end, the_only_worker_leaves_the_task_that_waits_for_it, .timeout = 10)
{
	on_the_only_worker(WAITS, 10);
	on_the_only_worker(WAITS, BATON_CAPTURE_NONE);
}

Test(help_end, the_only_worker_leaves_the_task_that_calls_it_back, .timeout = 10)
{
	on_the_only_worker(CALLS, 10);
	on_the_only_worker(CALLS, BATON_CAPTURE_NONE);
}
