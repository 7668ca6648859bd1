/* SPDX-License-Identifier: MIT */
/* A bound whose submitters wait for room: they help, sleep, and end by room, time or a cycle. */
#include "stash.h"

#include <baton/all.h>

#include <stdlib.h>

#include "../parts.h"

#define MAX 4

struct scene {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_bound bound;
	struct baton_bound_config limits;
	struct stash stash;
	struct journal journal;
	struct occupant occupant;
	struct step steps[MAX + 2];
};

/* In a stash that runs nothing, or, with `limit` 0, on the default pool. */
static struct scene *begin(uint64_t timeout_ns, bool stashed)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	MUST(scene);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	stash_init(&scene->stash);
	if (stashed)
		scene->config.executor = &scene->stash.executor;
	scene->limits = (struct baton_bound_config){
		.tasks_max = MAX, .policy = BATON_BOUND_WAIT, .timeout_ns = timeout_ns};
	scene->config.name = "full";
	baton_resource_init(&scene->resource, &scene->config);
	baton_bound_init(&scene->bound, &scene->limits);
	baton_resource_set_bound(&scene->resource, &scene->bound);
	for (int i = 0; i < MAX + 2; i++)
		step_init(&scene->steps[i], &scene->journal, i, NULL);
	return scene;
}

static struct baton_bound_stats counts_of(const struct scene *scene)
{
	struct baton_bound_stats counts;

	baton_bound_stats_read(&scene->bound, &counts);
	return counts;
}

static void end(struct scene *scene)
{
	stash_run(&scene->stash);
	resource_end(&scene->resource);
	cr_assert_eq(counts_of(scene).tasks, 0);
	free(scene);
}

/* As many as may wait. */
static void fill(struct scene *scene)
{
	for (int i = 0; i < MAX; i++)
		cr_assert_eq(baton_submit_later(&scene->resource, &scene->steps[i].task), 0);
	cr_assert_eq(counts_of(scene).tasks, MAX);
}

Test(bound_wait, a_submitter_makes_the_room_itself_where_the_queue_is_not_served, .timeout = 10)
{
	struct scene *scene = begin(0, true);

	fill(scene);
	cr_assert_eq(baton_submit(&scene->resource, &scene->steps[MAX].task), 0);
	cr_assert_geq(scene->journal.count, MAX);
	cr_assert_eq(counts_of(scene).waited, 1);
	cr_assert_eq(counts_of(scene).refused, 0);
	stash_run(&scene->stash);
	cr_assert(journal_counts_up(&scene->journal, 0, MAX + 1));
	end(scene);
}

Test(bound_wait, the_time_is_over_and_the_task_untouched, .timeout = 10)
{
	struct scene *scene = begin(20 * BATON_MILLISECOND, true);
	struct baton_future future = BATON_FUTURE_INIT;
	uint64_t began;

	occupy(&scene->occupant, &scene->resource);
	fill(scene);
	step_init(&scene->steps[MAX], &scene->journal, MAX, &future);
	began = now_ns();
	cr_assert_eq(baton_submit(&scene->resource, &scene->steps[MAX].task), -ETIMEDOUT);
	cr_assert_geq(now_ns() - began, 20 * BATON_MILLISECOND);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	cr_assert_eq(baton_future_cancel(&future), -EINVAL, "bound to nothing");
	cr_assert_eq(counts_of(scene).waited, 1);
	cr_assert_eq(counts_of(scene).refused, 1);
	cr_assert_eq(counts_of(scene).tasks, MAX);
	release(&scene->occupant);
	cr_assert_eq(baton_submit(&scene->resource, &scene->steps[MAX].task), 0);
	cr_assert_eq(baton_future_wait(&future), 0);
	end(scene);
}

Test(bound_wait, a_submit_that_never_waits_is_refused, .timeout = 10)
{
	struct scene *scene = begin(0, true);

	fill(scene);
	cr_assert_eq(baton_try_submit_later(&scene->resource, &scene->steps[MAX].task), -EAGAIN);
	cr_assert_eq(counts_of(scene).waited, 0);
	cr_assert_eq(counts_of(scene).refused, 1);
	stash_run(&scene->stash);
	cr_assert_eq(baton_try_submit_later(&scene->resource, &scene->steps[MAX].task), 0);
	cr_assert_eq(scene->journal.count, MAX);
	stash_run(&scene->stash);
	cr_assert(journal_counts_up(&scene->journal, 0, MAX + 1));
	end(scene);
}

static void *submit_last(void *arg)
{
	struct scene *scene = arg;

	return (void *)(intptr_t)baton_submit(&scene->resource, &scene->steps[MAX].task);
}

Test(bound_wait, a_sleeper_is_woken_by_room, .timeout = 10)
{
	struct scene *scene = begin(0, true);
	pthread_t thread;

	occupy(&scene->occupant, &scene->resource);
	fill(scene);
	thread = thread_start(submit_last, scene);
	while (counts_of(scene).waited == 0)
		(void)sched_yield();
	release(&scene->occupant);
	stash_run(&scene->stash);
	cr_assert_eq((intptr_t)thread_join(thread), 0);
	end(scene);
}

static int detaches(struct baton_task *task)
{
	return baton_detach(&baton_container_of(task, struct windowed, task)->part.token, 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec time;

	MUST(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
	return (uint64_t)time.tv_sec * BATON_SECOND + (uint64_t)time.tv_nsec;
}

/* Not at once, which needs no room. */
static void *submit_last_later(void *arg)
{
	struct scene *scene = arg;

	return (void *)(intptr_t)baton_submit_later(&scene->resource, &scene->steps[MAX].task);
}

/* The resource is idle, and full of tasks that wait for a place: nothing can be helped. */
Test(bound_wait, a_submitter_sleeps_while_windows_have_all_the_room, .timeout = 10)
{
	struct scene *scene = begin(100 * BATON_MILLISECOND, true);
	struct windowed windowed[MAX + 1];
	struct baton_window window;
	pthread_t thread;
	uint64_t used;

	baton_window_init(&window, &scene->resource, 1);
	for (int i = 0; i < MAX + 1; i++) {
		windowed_init(&windowed[i], &window, detaches, NULL);
		cr_assert_eq(baton_submit(&scene->resource, &windowed[i].task), 0);
	}
	cr_assert_eq(counts_of(scene).tasks, MAX);
	/* Two that give up leave nothing that the next one stumbles over. */
	used = cpu_ns();
	for (int i = 0; i < 2; i++)
		cr_assert_eq((intptr_t)submit_last_later(scene), -ETIMEDOUT);
	cr_assert_lt(cpu_ns() - used, 20 * BATON_MILLISECOND, "of 200 that it has waited");
	scene->limits.timeout_ns = 0;
	thread = thread_start(submit_last_later, scene);
	while (counts_of(scene).waited < 3)
		(void)sched_yield();
	cr_assert_eq(baton_detached_complete(&windowed[0].part.token, 0, NULL), 0);
	cr_assert_eq((intptr_t)thread_join(thread), 0);
	stash_run(&scene->stash);
	for (int i = 1; i < MAX + 1; i++)
		cr_assert_eq(baton_detached_complete(&windowed[i].part.token, 0, NULL), 0);
	cr_assert_eq(counts_of(scene).dropped, 0);
	end(scene);
	baton_window_deinit(&window);
}

static void *never_called(void *arg)
{
	abort();
}

/* The bound's own wait has no end. */
Test(bound_wait, a_call_waits_for_room_until_its_deadline, .timeout = 10)
{
	struct scene *scene = begin(0, true);
	const struct baton_call_options options = {.fn = never_called,
	                                           .timeout_ns = 20 * BATON_MILLISECOND};

	occupy(&scene->occupant, &scene->resource);
	fill(scene);
	cr_assert_eq(baton_call_with(&scene->resource, &options, NULL), -ETIMEDOUT);
	cr_assert_eq(baton_call_with(&scene->resource, &options, NULL), -ETIMEDOUT, "has passed");
	cr_assert_eq(counts_of(scene).waited, 2);
	cr_assert_eq(counts_of(scene).tasks, MAX);
	release(&scene->occupant);
	stash_run(&scene->stash);
	end(scene);
}

Test(bound_wait, a_close_meanwhile_is_an_error, .timeout = 10)
{
	struct scene *scene = begin(0, true);
	pthread_t thread;

	occupy(&scene->occupant, &scene->resource);
	fill(scene);
	thread = thread_start(submit_last, scene);
	while (counts_of(scene).waited == 0)
		(void)sched_yield();
	cr_assert_eq(baton_resource_close(&scene->resource), 0);
	release(&scene->occupant);
	stash_run(&scene->stash);
	cr_assert_eq((intptr_t)thread_join(thread), -EPIPE);
	cr_assert_eq(baton_resource_await(&scene->resource), 0);
	cr_assert_eq(scene->journal.count, MAX);
	cr_assert_eq(counts_of(scene).tasks, 0);
	free(scene);
}

struct inner {
	struct baton_task task;
	struct scene *scene;
	int result;
};

static int inner_run(struct baton_task *task)
{
	struct inner *inner = baton_container_of(task, struct inner, task);

	fill(inner->scene);
	inner->result = (int)(intptr_t)submit_last(inner->scene);
	return 0;
}

Test(bound_wait, a_task_does_not_wait_for_its_own_resource, .timeout = 10)
{
	struct scene *scene = begin(0, true);
	struct inner inner = {.scene = scene};

	baton_task_init(&inner.task, inner_run, NULL);
	cr_assert_eq(baton_submit(&scene->resource, &inner.task), 0);
	cr_assert_eq(inner.result, -EDEADLK);
	stash_run(&scene->stash);
	cr_assert_eq(scene->journal.count, MAX);
	end(scene);
}

struct crossing {
	struct baton_task task;
	struct scene *own;
	struct scene *other;
	pthread_barrier_t *both_full;
	int result;
};

static int crossing_run(struct baton_task *task)
{
	struct crossing *crossing = baton_container_of(task, struct crossing, task);

	fill(crossing->own);
	(void)pthread_barrier_wait(crossing->both_full);
	crossing->result = (int)(intptr_t)submit_last(crossing->other);
	return 0;
}

static void *crossing_main(void *arg)
{
	struct crossing *crossing = arg;

	return (void *)(intptr_t)baton_submit(&crossing->own->resource, &crossing->task);
}

/* Each of two tasks fills its own resource, and waits for room in the other's. */
static void cross(uint64_t timeout_ns)
{
	struct scene *scenes[2] = {begin(timeout_ns, false), begin(timeout_ns, false)};
	struct crossing crossings[2];
	pthread_barrier_t both_full;
	pthread_t threads[2];

	cr_assert_eq(pthread_barrier_init(&both_full, NULL, 2), 0);
	for (int i = 0; i < 2; i++) {
		crossings[i] = (struct crossing){
			.own = scenes[i], .other = scenes[1 - i], .both_full = &both_full};
		baton_task_init(&crossings[i].task, crossing_run, NULL);
		threads[i] = thread_start(crossing_main, &crossings[i]);
	}
	for (int i = 0; i < 2; i++)
		cr_assert_eq((intptr_t)thread_join(threads[i]), 0);
	cr_assert_eq(crossings[0].result + crossings[1].result, -EDEADLK);
	for (int i = 0; i < 2; i++)
		end(scenes[i]);
}

Test(bound_wait, of_two_tasks_that_wait_for_each_others_room_one_is_refused, .timeout = 10)
{
	cross(0);
}

Test(bound_wait, a_wait_for_ever_is_a_wait_without_a_deadline, .timeout = 5)
{
	cross(BATON_NEVER);
	cross(BATON_NEVER - 1);
}

Test(bound_wait, a_batch_that_never_fits_is_refused_at_once, .timeout = 10)
{
	struct scene *scene = begin(0, true);
	struct baton_task *tasks[MAX + 1];

	for (int i = 0; i <= MAX; i++)
		tasks[i] = &scene->steps[i].task;
	cr_assert_eq(baton_submit_batch(&scene->resource, tasks, MAX + 1), -EAGAIN);
	cr_assert_eq(counts_of(scene).waited, 0);
	cr_assert_eq(baton_submit_batch(&scene->resource, tasks, MAX), 0);
	end(scene);
}

static int ring(struct baton_trigger *trigger, uint64_t fires)
{
	return 0;
}

static int nothing(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

Test(bound_wait, what_the_library_submits_is_refused, .timeout = 10)
{
	struct scene *scene = begin(0, true);
	struct baton_fan_out_options options = {.fn = nothing};
	struct baton_resource *resource = &scene->resource;
	struct baton_future done = BATON_PROMISE_INIT;
	struct baton_future after = BATON_FUTURE_INIT;
	struct baton_continuation continuation;
	struct baton_fan_out *fan_out = NULL;
	struct baton_trigger trigger;
	size_t which;

	occupy(&scene->occupant, resource);
	fill(scene);
	baton_trigger_init(&trigger, resource, ring);
	cr_assert_eq(baton_trigger_fire(&trigger), -EAGAIN);
	step_init(&scene->steps[MAX], &scene->journal, MAX, &after);
	baton_continuation_task(&continuation, resource, &scene->steps[MAX].task);
	baton_future_then(&done, &continuation);
	cr_assert_eq(baton_future_complete(&done, 0, NULL), 0);
	cr_assert_eq(baton_future_state(&after), BATON_CANCELLED);
	cr_assert_eq(baton_fan_out_submit(&resource, 1, &options, &fan_out), 0);
	cr_assert_eq(baton_fan_out_status(fan_out, &which), -EAGAIN);
	baton_fan_out_unref(fan_out);
	cr_assert_eq(counts_of(scene).waited, 0);
	release(&scene->occupant);
	end(scene);
}

/* ---- Under load ---- */

struct producer {
	struct scene *scene;
	atomic_int *ran;
	atomic_int *most;
	int count;
};

struct counted {
	struct baton_task task;
	struct producer *producer;
};

static int counted_run(struct baton_task *task)
{
	struct counted *counted = baton_container_of(task, struct counted, task);

	(void)atomic_fetch_add(counted->producer->ran, 1);
	free(counted);
	return 0;
}

static void *produce(void *arg)
{
	struct producer *producer = arg;

	for (int i = 0; i < producer->count; i++) {
		struct counted *counted = malloc(sizeof(*counted));
		int now;
		int most = atomic_load(producer->most);

		MUST(counted);
		counted->producer = producer;
		baton_task_init(&counted->task, counted_run, NULL);
		if (baton_submit(&producer->scene->resource, &counted->task))
			abort();
		now = (int)counts_of(producer->scene).tasks;
		while (now > most && !atomic_compare_exchange_weak(producer->most, &most, now))
			;
	}
	return NULL;
}

Test(bound_wait, many_submitters_never_exceed_the_bound_and_all_get_through, .timeout = 60)
{
	enum { THREADS = 6, COUNT = 5000 };
	struct scene *scene = begin(0, false);
	struct producer producers[THREADS];
	pthread_t threads[THREADS];
	atomic_int ran = 0;
	atomic_int most = 0;

	for (int i = 0; i < THREADS; i++) {
		producers[i] = (struct producer){scene, &ran, &most, scaled(COUNT)};
		threads[i] = thread_start(produce, &producers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		(void)thread_join(threads[i]);
	cr_assert_leq(atomic_load(&most), MAX);
	cr_assert_eq(counts_of(scene).refused, 0);
	resource_end(&scene->resource);
	cr_assert_eq(atomic_load(&ran), THREADS * scaled(COUNT));
	free(scene);
}

static struct baton_future given_up;

static void *cancel_the_last(void *arg)
{
	struct scene *scene = arg;

	while (counts_of(scene).waited == 0)
		sched_yield();
	return (void *)(intptr_t)baton_future_cancel(&given_up);
}

/* The task is refused, and cancelled: it is over, and has let its tag go. */
Test(bound_wait, a_cancelled_task_that_is_refused_holds_no_tag, .timeout = 20)
{
	struct baton_tag tag = BATON_TAG_INIT;
	struct stamped last;
	intptr_t cancelled;

	do {
		struct scene *scene = begin(200 * BATON_MILLISECOND, true);
		pthread_t canceller;
		int status;

		occupy(&scene->occupant, &scene->resource);
		fill(scene);
		baton_future_init(&given_up);
		stamped_init(&last, step_run, &given_up);
		baton_stamp_hold_tag(&last.stamp, &tag);
		cr_assert_eq(baton_tag_held(&tag), 1);
		canceller = thread_start(cancel_the_last, scene);
		status = baton_submit(&scene->resource, &last.task);
		cancelled = (intptr_t)thread_join(canceller);
		cr_assert_eq(status, cancelled ? -ETIMEDOUT : -ECANCELED);
		cr_assert_eq(baton_tag_held(&tag), cancelled ? 1 : 0);
		baton_stamp_set_tag(&last.stamp, NULL);
		release(&scene->occupant);
		end(scene);
	} while (cancelled); /* too late: the time was over */
}
