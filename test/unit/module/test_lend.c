/* SPDX-License-Identifier: MIT */
/*
 * Overload with lanes and a bound, counted in steps: the bound holds wherever the runner is, a
 * submitter drops for its own task, and neither waits for the other.
 */
#include "labels.h"
#include "stash.h"

#include <baton/hooks.h>
#include <baton/suspend.h>

#include "../parts.h"

#define MAX 5
#define SUBMITS 60

/* Where the runner is while others submit. */
enum where { IN_A_TASK, IN_A_BATCH, IN_A_CALL, SUSPENDED, QUEUED, WHERES };

struct play {
	struct scene *scene;
	struct stash stash;
	struct baton_suspension suspension;
	pthread_t caller;
	struct mark_step steps[SUBMITS];
};

static int batch_begins(struct baton_resource *resource)
{
	return 0;
}

static int batch_ends(struct baton_resource *resource)
{
	return 0;
}

static void *stays(void *arg)
{
	struct occupant *occupant = arg;

	gate_open(&occupant->entered);
	gate_pass(&occupant->leave);
	return NULL;
}

static void *call_main(void *arg)
{
	struct scene *scene = arg;

	MUST(baton_call(&scene->resource, stays, &scene->occupant, NULL) == 0);
	return NULL;
}

static void begin_with(struct play *play, enum where where, enum baton_bound_policy policy,
                       uint32_t capture_max)
{
	struct scene *scene = scene_create();

	memset(play, 0, sizeof(*play));
	play->scene = scene;
	stash_init(&play->stash);
	scene->config.executor = &play->stash.executor;
	scene->config.capture_max = capture_max;
	if (where == IN_A_BATCH) {
		scene->config.batch_begin = batch_begins;
		scene->config.batch_end = batch_ends;
	}
	scene->limits.policy = policy;
	scene->limits.tasks_max = MAX;
	scene->limits.exempt = 1U << 0;
	scene_begin(scene, 3, true);
	if (where == IN_A_TASK || where == IN_A_BATCH)
		occupy(&scene->occupant, &scene->resource);
	if (where == IN_A_CALL) {
		occupant_init(&scene->occupant, &scene->resource);
		play->caller = thread_start(call_main, scene);
		gate_pass(&scene->occupant.entered);
	}
	if (where == SUSPENDED)
		cr_assert_eq(baton_resource_suspend(&scene->resource, &play->suspension), 0);
}

static void begin(struct play *play, enum where where, enum baton_bound_policy policy)
{
	begin_with(play, where, policy, where == QUEUED ? BATON_CAPTURE_NONE : 1000);
}

/* The runner goes on. */
static void go_on(struct play *play, enum where where)
{
	if (where == IN_A_TASK || where == IN_A_BATCH)
		release(&play->scene->occupant);
	if (where == IN_A_CALL) {
		gate_open(&play->scene->occupant.leave);
		thread_join(play->caller);
	}
	if (where == SUSPENDED)
		cr_assert_eq(baton_resource_resume(&play->suspension), 0);
	stash_run(&play->stash);
}

/* Of the steps 0 to SUBMITS - 1: the oldest went, one for each step that found no room. */
static bool dropped_in_order(const struct scene *scene)
{
	return scene->cancelled.count == SUBMITS - MAX &&
	       journal_counts_up(&scene->cancelled, 0, SUBMITS - MAX);
}

static bool drops_queued(enum baton_bound_policy policy)
{
	return policy == BATON_BOUND_DROP_OLDEST || policy == BATON_BOUND_DROP_LOWEST;
}

/* REFUSE, DROP_NEWEST, DROP_OLDEST, DROP_LOWEST: nobody goes on meanwhile, so none may wait. */
Test(lend, the_bound_holds_at_each_submit_wherever_the_runner_is_stopped, .timeout = 30)
{
	for (int where = 0; where < WHERES; where++)
		for (int policy = 0; policy < BATON_BOUND_WAIT; policy++) {
			struct play play;
			struct baton_resource_stats counts;

			begin(&play, where, policy);
			for (int i = 0; i < SUBMITS; i++) {
				int status;

				mark_step_init(&play.steps[i], play.scene, i, 1, NULL);
				status = mark_step_submit(&play.steps[i], play.scene);
				cr_assert_eq(status, policy == BATON_BOUND_REFUSE && i >= MAX
				                             ? -EAGAIN
				                             : 0);
				counts = resource_counts(&play.scene->stats);
				cr_assert_leq(scene_counts(play.scene).tasks, MAX, "%d %d", where,
				              policy);
				cr_assert_leq(counts.waiting, MAX, "%d %d", where, policy);
			}
			if (drops_queued(policy))
				cr_assert(dropped_in_order(play.scene), "%d %d", where, policy);
			go_on(&play, where);
			cr_assert(journal_counts_up(&play.scene->journal,
			                            drops_queued(policy) ? SUBMITS - MAX : 0, MAX));
			scene_end(play.scene);
		}
}

Test(lend, a_task_of_a_higher_lane_takes_the_place_of_one_of_the_lowest, .timeout = 30)
{
	for (int where = 0; where < WHERES; where++) {
		struct play play;

		begin(&play, where, BATON_BOUND_DROP_LOWEST);
		for (int i = 0; i < 2 * MAX + 2; i++) {
			unsigned lane = i < MAX ? 2 : i < 2 * MAX ? 1 : i == 2 * MAX ? 2 : 0;

			mark_step_init(&play.steps[i], play.scene, i, lane, NULL);
			cr_assert_eq(mark_step_submit(&play.steps[i], play.scene), 0);
		}
		/* All of lane 2 went, the last at its own submit. */
		cr_assert(JOURNAL_IS(&play.scene->cancelled, 0, 1, 2, 3, 4, 10), "%d", where);
		go_on(&play, where);
		cr_assert(JOURNAL_IS(&play.scene->journal, 11, 5, 6, 7, 8, 9), "%d", where);
		scene_end(play.scene);
	}
}

Test(lend, a_batch_drops_as_many_as_it_has, .timeout = 10)
{
	for (int where = 0; where < WHERES; where++) {
		struct baton_task *tasks[MAX + 1];
		struct play play;

		begin(&play, where, BATON_BOUND_DROP_OLDEST);
		for (int i = 0; i < 2 * MAX; i++)
			mark_step_init(&play.steps[i], play.scene, i, 1, NULL);
		for (int i = 0; i < MAX; i++)
			cr_assert_eq(mark_step_submit(&play.steps[i], play.scene), 0);
		for (int i = 0; i < MAX - 1; i++)
			tasks[i] = &play.steps[MAX + i].stamped.task;
		cr_assert_eq(baton_submit_batch(&play.scene->resource, tasks, MAX - 1), 0);
		cr_assert(JOURNAL_IS(&play.scene->cancelled, 0, 1, 2, 3));
		cr_assert_eq(scene_counts(play.scene).tasks, MAX);
		go_on(&play, where);
		scene_end(play.scene);
	}
}

Test(lend, a_batch_beyond_the_limit_never_fits, .timeout = 10)
{
	struct baton_task *tasks[MAX + 1];
	struct play play;

	begin(&play, IN_A_TASK, BATON_BOUND_DROP_OLDEST);
	for (int i = 0; i < MAX + 1; i++) {
		mark_step_init(&play.steps[i], play.scene, i, 1, NULL);
		tasks[i] = &play.steps[i].stamped.task;
	}
	cr_assert_eq(baton_submit_batch(&play.scene->resource, tasks, MAX + 1), -EAGAIN);
	cr_assert_eq(scene_counts(play.scene).refused, 1);
	go_on(&play, IN_A_TASK);
	scene_end(play.scene);
}

/* The limit counts tasks that run: neither drops nor looks take their place. */
Test(lend, a_submitter_at_the_bound_of_a_queued_resource_runs_its_share, .timeout = 10)
{
	struct play play;
	struct scene *scene;

	begin_with(&play, IN_A_TASK, BATON_BOUND_DROP_OLDEST, 3);
	scene = play.scene;
	scene->limits.tasks_max = 20;
	for (int i = 0; i < 40; i++) {
		mark_step_init(&play.steps[i], scene, i, 1, NULL);
		cr_assert_eq(mark_step_submit(&play.steps[i], scene), 0);
	}
	cr_assert_eq(scene->cancelled.count, 20);
	release(&scene->occupant); /* hands the resource to the stash after two more tasks */
	cr_assert_eq(scene->journal.count, 2);
	scene->limits.tasks_max = (uint32_t)scene_counts(scene).tasks;
	mark_step_init(&play.steps[40], scene, 40, 1, NULL);
	cr_assert_eq(mark_step_submit(&play.steps[40], scene), 0);
	cr_assert_eq(scene->cancelled.count, 21, "its own place, and no more");
	cr_assert_eq(scene->journal.count, 2 + 3);
	stash_run(&play.stash);
	scene_end(scene);
}

/* What a stay does in a flood: tasks alone, since the flood has been dropped by then. */
Test(lend, a_stay_after_a_flood_runs_tasks_and_drops_none, .timeout = 10)
{
	struct play play;
	struct scene *scene;

	begin_with(&play, IN_A_TASK, BATON_BOUND_DROP_LOWEST, 1 + MAX);
	scene = play.scene;
	for (int i = 0; i < SUBMITS; i++) {
		mark_step_init(&play.steps[i], scene, i, 1 + (unsigned)i % 2, NULL);
		cr_assert_eq(mark_step_submit(&play.steps[i], scene), 0);
	}
	cr_assert_eq(scene->cancelled.count, SUBMITS - MAX);
	release(&scene->occupant);
	cr_assert_eq(scene->journal.count, MAX);
	cr_assert_eq(scene->cancelled.count, SUBMITS - MAX);
	stash_run(&play.stash);
	scene_end(scene);
}

/* ---- The runner comes back while a submitter drops ---- */

static struct scene *meeting;
static bool held_in_cancelled;

/* Called by the submitter: lets the runner end its task, and waits until its thread is free. */
static void meets_runner(struct baton_task *task)
{
	held_in_cancelled = baton_held(&meeting->resource);
	mark_step_cancelled(task);
	release(&meeting->occupant);
}

static void meet(bool hooked)
{
	struct play play;

	begin(&play, hooked ? IN_A_BATCH : IN_A_TASK, BATON_BOUND_DROP_OLDEST);
	meeting = play.scene;
	meeting->config.cancelled = meets_runner;
	for (int i = 0; i <= MAX; i++) {
		mark_step_init(&play.steps[i], meeting, i, 1, NULL);
		cr_assert_eq(mark_step_submit(&play.steps[i], meeting), 0);
	}
	/* The runner's thread has gone, and this thread has handed the resource on. */
	cr_assert_not(held_in_cancelled);
	cr_assert(JOURNAL_IS(&meeting->cancelled, 0));
	cr_assert_eq(meeting->journal.count, 0);
	cr_assert_eq(atomic_load(&play.stash.count), 1);
	stash_run(&play.stash);
	cr_assert(journal_counts_up(&meeting->journal, 1, MAX));
	scene_end(meeting);
}

Test(lend, a_runner_that_comes_back_meanwhile_does_not_wait, .timeout = 10)
{
	meet(false);
	meet(true);
}

/* ---- What is called for a dropped task nests as a submit does ---- */

#define RING 20

static struct play ring[RING];
static int nested;
static int deepest;

/* The step of one resource was dropped: drops that of the next resource. */
static void drops_next(struct baton_task *task)
{
	struct mark_step *step = baton_container_of(task, struct mark_step, stamped.task);

	mark_step_cancelled(task);
	if (++nested > deepest)
		deepest = nested;
	if (step->number + 1 < RING) {
		struct play *next = &ring[step->number + 1];

		MUST(mark_step_submit(&next->steps[1], next->scene) == 0);
	}
	nested--;
}

static void drop_around(enum where where)
{
	nested = deepest = 0;
	for (int i = 0; i < RING; i++) {
		begin(&ring[i], where, BATON_BOUND_DROP_OLDEST);
		ring[i].scene->limits.tasks_max = 1;
		ring[i].scene->config.cancelled = drops_next;
		mark_step_init(&ring[i].steps[0], ring[i].scene, i, 1, NULL);
		mark_step_init(&ring[i].steps[1], ring[i].scene, i, 1, NULL);
		cr_assert_eq(mark_step_submit(&ring[i].steps[0], ring[i].scene), 0);
	}
	cr_assert_eq(mark_step_submit(&ring[0].steps[1], ring[0].scene), 0);
	for (int i = 0; i < RING; i++) {
		cr_assert_eq(ring[i].scene->cancelled.count, 1, "%d", i);
		go_on(&ring[i], where);
		cr_assert_eq(ring[i].scene->journal.count, 1);
		scene_end(ring[i].scene);
	}
	cr_assert_leq(deepest, BATON_NESTING_MAX);
}

Test(lend, drops_that_call_for_further_drops_do_not_deepen_the_stack, .timeout = 10)
{
	drop_around(QUEUED);
	drop_around(SUSPENDED);
	drop_around(IN_A_TASK);
}

/* ---- Between two tasks the runner has the queue ---- */

struct between {
	struct occupant occupant;
	struct scene *scene;
	struct mark_step step;
	int result; /* of its submit */
};

/* A watermark's function, which submits where there is no room. */
static void high_stays(struct baton_resource *resource, void *arg)
{
	struct between *between = arg;

	(void)stays(&between->occupant);
	between->result = mark_step_submit(&between->step, between->scene);
}

static void stopped_between_tasks(uint32_t hard, int accepted)
{
	struct play play;
	struct between between = {.result = -1};
	struct scene *scene;

	memset(&play, 0, sizeof(play));
	scene = play.scene = scene_create();
	stash_init(&play.stash);
	occupant_init(&between.occupant, &scene->resource);
	between.scene = scene;
	mark_step_init(&between.step, scene, 6, 1, NULL);
	scene->config.executor = &play.stash.executor;
	scene->limits = (struct baton_bound_config){
		.tasks_max = 2,
		.tasks_hard = hard,
		.policy = BATON_BOUND_DROP_OLDEST,
		.tasks_high = 1,
		.high = high_stays,
		.arg = &between,
	};
	scene_begin(scene, 2, true);
	occupy(&scene->occupant, &scene->resource);
	mark_step_init(&play.steps[0], scene, 0, 1, NULL);
	cr_assert_eq(mark_step_submit(&play.steps[0], scene), 0);
	gate_open(&scene->occupant.leave);
	gate_pass(&between.occupant.entered); /* in the runner's look */
	for (int i = 1; i < 6; i++) {
		mark_step_init(&play.steps[i], scene, i, 1, NULL);
		cr_assert_eq(mark_step_submit(&play.steps[i], scene), i < accepted ? 0 : -EAGAIN);
	}
	cr_assert_eq(scene_counts(scene).refused, 6 - accepted);
	gate_open(&between.occupant.leave);
	thread_join(scene->occupant.thread);
	cr_assert_eq(between.result, 0, "the runner's own submit");
	stash_run(&play.stash);
	cr_assert(JOURNAL_IS(&scene->journal, accepted - 1, 6));
	scene_end(scene);
}

Test(lend, where_the_runner_is_stopped_between_two_tasks_a_submit_is_refused, .timeout = 10)
{
	stopped_between_tasks(0, 2);
	stopped_between_tasks(4, 4);
}

/* ---- Under load ---- */

struct pusher {
	struct scene *scene;
	struct mark_step steps[3000];
	unsigned most;
};

static atomic_int over;
static atomic_int pushed;

static int counts_run(struct baton_task *task)
{
	atomic_fetch_add(&over, 1);
	return 0;
}

static void counts_cancelled(struct baton_task *task)
{
	atomic_fetch_add(&over, 1);
}

static void *push(void *arg)
{
	struct pusher *pusher = arg;
	struct scene *scene = pusher->scene;

	for (int i = 0; i < 3000; i++) {
		struct mark_step *step = &pusher->steps[i];
		unsigned waiting;

		mark_step_init(step, scene, i, 1 + (unsigned)i % 2, NULL);
		stamped_init(&step->stamped, counts_run, NULL);
		baton_stamp_set_lane(&step->stamped.stamp, 1 + (unsigned)i % 2);
		if (mark_step_submit(step, scene) == -EAGAIN)
			atomic_fetch_add(&over, 1);
		atomic_fetch_add(&pushed, 1);
		waiting = (unsigned)scene_counts(scene).tasks;
		if (waiting > pusher->most)
			pusher->most = waiting;
	}
	return NULL;
}

Test(lend, under_load_the_bound_holds_and_each_task_is_over_once, .timeout = 30)
{
	static struct pusher pushers[4];
	struct baton_pool *pool = pool_of(2);
	struct scene *scene = scene_create();
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	pthread_t threads[4];

	scene->config.executor = baton_pool_executor(pool);
	scene->config.capture_max = 10;
	scene->limits.policy = BATON_BOUND_DROP_LOWEST;
	scene->limits.tasks_max = 100;
	scene->limits.exempt = 1U << 0;
	scene_begin(scene, 3, true);
	scene->config.cancelled = counts_cancelled;
	for (int i = 0; i < 4; i++) {
		pushers[i].scene = scene;
		threads[i] = thread_start(push, &pushers[i]);
	}
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(baton_resource_suspend(&scene->resource, &suspension), 0);
		cr_assert_eq(baton_suspension_wait(&suspension), 0);
		while (atomic_load(&pushed) < 12000 && scene_counts(scene).tasks < 100)
			(void)sched_yield();
		cr_assert_eq(baton_resource_resume(&suspension), 0);
	}
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	cr_assert_eq(baton_resource_await(&scene->resource), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_leq(pushers[i].most, 100 + 4);
	cr_assert_eq(atomic_load(&over), 12000);
	scene_end(scene);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
