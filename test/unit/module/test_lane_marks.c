/* SPDX-License-Identifier: MIT */
/* await, cancel_pending, close_then and helpers: each concerns the older tasks of all lanes. */
#include "labels.h"
#include "stash.h"

/* A scene whose executor runs one task per job, when it is told to. */
static struct scene *stepwise(struct stash *stash, uint32_t lanes)
{
	struct scene *scene = scene_create();

	stash_init(stash);
	scene->config.executor = &stash->executor;
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene->config.quantum = 1;
	scene_begin(scene, lanes, false);
	return scene;
}

static void queue_one(struct scene *scene, struct mark_step *step, int number, unsigned lane)
{
	mark_step_init(step, scene, number, lane, NULL);
	MUST(mark_step_submit(step, scene) == 0);
}

struct awaiter {
	struct baton_resource *resource;
	atomic_int tid;
	int result;
};

static void *awaiter_main(void *arg)
{
	struct awaiter *awaiter = arg;

	atomic_store(&awaiter->tid, thread_id());
	awaiter->result = baton_resource_await(awaiter->resource);
	return NULL;
}

/* Returns when the mark is in the inbox. */
static pthread_t await_elsewhere(struct awaiter *awaiter, struct scene *scene)
{
	pthread_t thread;

	awaiter->resource = &scene->resource;
	awaiter->result = -1;
	atomic_init(&awaiter->tid, 0);
	thread = thread_start(awaiter_main, awaiter);
	until_at_least(&awaiter->tid, 1);
	until_asleep(atomic_load(&awaiter->tid));
	return thread;
}

Test(lane_marks, await_waits_for_older_tasks_of_all_lanes_and_no_later_ones, .timeout = 10)
{
	struct stash stash;
	struct scene *scene = stepwise(&stash, 3);
	struct mark_step steps[6];
	struct awaiter awaiter;
	pthread_t thread;

	queue_one(scene, &steps[0], 0, 2);
	queue_one(scene, &steps[1], 1, 0);
	thread = await_elsewhere(&awaiter, scene);
	queue_one(scene, &steps[2], 2, 2);
	queue_one(scene, &steps[3], 3, 1);
	for (int i = 0; i < 2; i++)
		cr_assert(stash_run_one(&stash));
	cr_assert(JOURNAL_IS(&scene->journal, 1, 3));
	/* The lowest one is older. A thread that has looked up for a moment sleeps again. */
	until_asleep(atomic_load(&awaiter.tid));
	cr_assert(stash_run_one(&stash));
	thread_join(thread);
	cr_assert_eq(awaiter.result, 0);
	cr_assert(JOURNAL_IS(&scene->journal, 1, 3, 0));
	stash_run(&stash);
	cr_assert(JOURNAL_IS(&scene->journal, 1, 3, 0, 2));
	scene_end(scene);
}

Test(lane_marks, with_aging_a_stream_of_urgent_tasks_does_not_hold_up_an_await, .timeout = 10)
{
	struct stash stash;
	struct scene *scene = stepwise(&stash, 2);
	enum { STREAM = 12 };
	struct mark_step low, high[STREAM];
	struct awaiter awaiter;
	pthread_t thread;

	scene->aging.aging_turns = 4;
	queue_one(scene, &low, 100, 1);
	thread = await_elsewhere(&awaiter, scene);
	queue_one(scene, &high[0], 0, 0);
	for (int i = 1; i < STREAM; i++) {
		queue_one(scene, &high[i], i, 0);
		cr_assert(stash_run_one(&stash));
	}
	cr_assert_eq(scene->journal.number[4], 100);
	thread_join(thread);
	stash_run(&stash);
	scene_end(scene);
}

Test(lane_marks, a_second_await_waits_for_its_own, .timeout = 10)
{
	struct stash stash;
	struct scene *scene = stepwise(&stash, 2);
	struct awaiter first, second;
	struct mark_step steps[3];
	pthread_t threads[2];

	queue_one(scene, &steps[0], 0, 1);
	threads[0] = await_elsewhere(&first, scene);
	queue_one(scene, &steps[1], 1, 1);
	threads[1] = await_elsewhere(&second, scene);
	cr_assert(stash_run_one(&stash));
	thread_join(threads[0]);
	cr_assert_eq(thread_state(atomic_load(&second.tid)), 'S');
	queue_one(scene, &steps[2], 2, 1);
	cr_assert(stash_run_one(&stash));
	thread_join(threads[1]);
	cr_assert_eq(scene->journal.count, 2);
	stash_run(&stash);
	cr_assert(journal_counts_up(&scene->journal, 0, 3));
	scene_end(scene);
}

/* Steps 0 and 1 come before an await, 2 and 3 after it. `mask`: those that are cancelled. */
static void cancel_around_an_await(unsigned mask, uint32_t epoch)
{
	struct stash stash;
	struct scene *scene = stepwise(&stash, 2);
	struct baton_future futures[4];
	struct mark_step steps[4];
	struct awaiter awaiter;
	pthread_t thread = 0;
	int older = 2;
	int left = 4;

	scene->lanes._epoch = epoch;
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			thread = await_elsewhere(&awaiter, scene);
		mark_step_init(&steps[i], scene, i, 1, &futures[i]);
		MUST(mark_step_submit(&steps[i], scene) == 0);
	}
	for (int i = 3; i >= 0; i--) {
		if (!(mask & 1U << i))
			continue;
		cr_assert_eq(baton_future_cancel(&futures[i]), 0);
		older -= i < 2;
		left--;
		cr_assert_eq(scene->lanes._older, older, "%x", mask);
	}
	for (; older > 0; older--, left--)
		cr_assert(stash_run_one(&stash));
	/* The await's mark is behind the last one of them. */
	cr_assert(left == 0 || stash_run_one(&stash));
	stash_run(&stash);
	thread_join(thread);
	cr_assert_eq(awaiter.result, 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(baton_future_state(&futures[i]),
		             mask & 1U << i ? BATON_CANCELLED : BATON_DONE);
	scene_end(scene);
}

Test(lane_marks, an_await_counts_what_is_cancelled_before_it_and_not_behind_it, .timeout = 20)
{
	/* The epoch begins again at 0 after the greatest number. */
	static const uint32_t epochs[] = {0, UINT32_MAX - 1, UINT32_MAX};

	for (size_t i = 0; i < sizeof(epochs) / sizeof(*epochs); i++)
		for (unsigned mask = 0; mask < 16; mask++)
			cancel_around_an_await(mask, epochs[i]);
}

Test(lane_marks, cancel_pending_cancels_the_older_ones_of_all_lanes, .timeout = 10)
{
	struct stash stash;
	struct scene *scene = stepwise(&stash, 3);
	struct mark_step steps[7];

	for (int i = 0; i < 4; i++)
		queue_one(scene, &steps[i], i, (unsigned)i % 3);
	cr_assert(stash_run_one(&stash));
	queue_one(scene, &steps[4], 4, 1);
	cr_assert_eq(baton_resource_cancel_pending(&scene->resource), 0);
	queue_one(scene, &steps[5], 5, 2);
	queue_one(scene, &steps[6], 6, 0);
	stash_run(&stash);
	cr_assert(JOURNAL_IS(&scene->journal, 0, 6, 5));
	cr_assert(JOURNAL_IS(&scene->cancelled, 3, 1, 2, 4));
	scene_end(scene);
}

Test(lane_marks, an_await_between_two_cancels_is_answered, .timeout = 10)
{
	struct stash stash;
	struct scene *scene = stepwise(&stash, 2);
	struct awaiter awaiter;
	struct mark_step steps[3];
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		queue_one(scene, &steps[i], i, 1);
	cr_assert_eq(baton_resource_cancel_pending(&scene->resource), 0);
	thread = await_elsewhere(&awaiter, scene);
	cr_assert_eq(baton_resource_cancel_pending(&scene->resource), 0);
	queue_one(scene, &steps[2], 2, 1);
	stash_run(&stash);
	thread_join(thread);
	cr_assert_eq(awaiter.result, 0);
	cr_assert(JOURNAL_IS(&scene->journal, 2));
	scene_end(scene);
}

static int finaliser_run(struct baton_task *task)
{
	struct step *step = baton_container_of(task, struct step, task);

	MUST(baton_current() == NULL);
	journal_add(step->journal, step->number);
	return 0;
}

Test(lane_marks, the_finaliser_comes_after_the_lowest, .timeout = 10)
{
	struct scene *scene = scene_create();
	struct mark_step steps[3], late;
	struct step finaliser;

	scene_begin(scene, 3, false);
	step_init(&finaliser, &scene->journal, 9, NULL);
	finaliser.task._run = finaliser_run;
	occupy(&scene->occupant, &scene->resource);
	for (int i = 0; i < 3; i++)
		queue_one(scene, &steps[i], i, (unsigned)(2 - i));
	cr_assert_eq(baton_resource_close_then(&scene->resource, &finaliser.task), 0);
	mark_step_init(&late, scene, 3, 0, NULL);
	cr_assert_eq(mark_step_submit(&late, scene), -EPIPE);
	release(&scene->occupant);
	cr_assert(JOURNAL_IS(&scene->journal, 2, 1, 0, 9));
	free(scene);
}

/* Waits for its future, and so helps. */
static void *helper_main(void *arg)
{
	MUST(baton_future_wait(arg) == 0);
	return NULL;
}

Test(lane_marks, a_helper_goes_by_the_lanes_up_to_its_own, .timeout = 10)
{
	struct stash stash;
	struct scene *scene = scene_create();
	struct baton_future future;
	struct mark_step steps[4];

	stash_init(&stash);
	scene->config.executor = &stash.executor;
	scene_begin(scene, 3, false);
	mark_step_init(&steps[0], scene, 0, 2, NULL);
	cr_assert_eq(baton_submit_later(&scene->resource, &steps[0].stamped.task), 0);
	mark_step_init(&steps[1], scene, 1, 1, &future);
	cr_assert_eq(mark_step_submit(&steps[1], scene), 0);
	queue_one(scene, &steps[2], 2, 0);
	queue_one(scene, &steps[3], 3, 1);
	thread_join(thread_start(helper_main, &future));
	cr_assert(JOURNAL_IS(&scene->journal, 2, 1));
	stash_run(&stash);
	cr_assert(JOURNAL_IS(&scene->journal, 2, 1, 3, 0));
	cr_assert_eq(scene->stats.helped, 1);
	scene_end(scene);
}

static void *pusher_main(void *arg)
{
	struct mark_step *steps = arg;
	struct scene *scene = baton_container_of(steps->journal, struct scene, journal);

	for (int i = 0; i < 100; i++)
		MUST(mark_step_submit(&steps[i], scene) == 0);
	return NULL;
}

Test(lane_marks, under_load_nothing_is_lost_and_each_lane_is_in_order, .timeout = 30)
{
	struct baton_pool *pool = pool_of(2);
	struct scene *scene = scene_create();
	struct mark_step *steps = calloc(400, sizeof(*steps));
	int last[4][3];
	pthread_t threads[4];

	MUST(steps);
	memset(last, -1, sizeof(last));
	scene->config.executor = baton_pool_executor(pool);
	scene->config.capture_max = 3;
	scene_begin(scene, 3, false);
	scene->aging.aging_turns = 5;
	for (int i = 0; i < 400; i++)
		mark_step_init(&steps[i], scene, i, (unsigned)i % 3, NULL);
	for (int i = 0; i < 4; i++)
		threads[i] = thread_start(pusher_main, &steps[i * 100]);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(baton_resource_await(&scene->resource), 0);
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	cr_assert_eq(baton_resource_await(&scene->resource), 0);
	cr_assert_eq(scene->journal.count, 400);
	for (int i = 0; i < 400; i++) {
		int number = scene->journal.number[i];

		cr_assert_lt(last[number / 100][number % 3], number);
		last[number / 100][number % 3] = number;
	}
	scene_end(scene);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	free(steps);
}
