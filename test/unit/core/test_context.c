/* SPDX-License-Identifier: MIT */
/*
 * enter and leave of a config: around each function that runs under the baton, in pairs that nest,
 * whatever the resource has besides, and on whatever thread it runs.
 */
#include "entries.h"
#include "pool_support.h"

/* ---- Each kind of entry, on each sort of resource ---- */

static const struct baton_resource *inside; /* NULL: in no pair */
static int pairs, ran_at_enter, ran_inside;

static void enter(struct baton_resource *resource)
{
	cr_assert_null(inside, "a pair in a pair");
	cr_assert(baton_held(resource));
	inside = resource;
	ran_at_enter = ran;
}

static void leave(struct baton_resource *resource)
{
	cr_assert_eq(inside, resource);
	cr_assert(baton_held(resource));
	inside = NULL;
	pairs++;
	ran_inside += ran - ran_at_enter;
}

static int submit_call(struct scene *scene)
{
	return baton_call(&scene->resource, count_call, NULL, NULL);
}

static int submit_try_call(struct scene *scene)
{
	return baton_try_call(&scene->resource, count_call, NULL, NULL);
}

static int submit_batch(struct scene *scene)
{
	struct baton_task *task = &scene->task;

	baton_task_init(task, count_run, NULL);
	return baton_submit_batch(&scene->resource, &task, 1);
}

static int submit_failing(struct scene *scene)
{
	return baton_submit(&scene->resource, &scene->last);
}

static const struct kind calls[] = {
	{.name = "call", .submit = submit_call},
	{.name = "try_call", .submit = submit_try_call},
	{.name = "batch", .submit = submit_batch},
};

static int in_hook(struct baton_resource *resource)
{
	cr_assert_eq(inside, resource, "a hook");
	return 0;
}

enum sort { PLAIN, STATIC, STATS, TIMED, HOOKS, HOOKS_STATS, LANES, BOUND, NEVER, SORTS };

static void sort_init(struct scene *scene, enum sort sort)
{
	stash_init(&scene->stash);
	scene->config = (struct baton_resource_config){.executor = &scene->stash.executor,
	                                               .cancelled = count_cancelled,
	                                               .enter = enter,
	                                               .leave = leave};
	if (sort == TIMED)
		scene->config.capture_ns = 1000 * BATON_SECOND;
	if (sort == HOOKS || sort == HOOKS_STATS) {
		scene->config.batch_begin = scene->config.batch_end = in_hook;
		scene->config.delay_completions = true;
	}
	if (sort == NEVER)
		scene->config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&scene->resource, &scene->config);
	if (sort == STATIC)
		scene->resource = (struct baton_resource)BATON_RESOURCE_INIT(&scene->config);
	if (sort == STATS || sort == HOOKS_STATS)
		baton_resource_set_stats(&scene->resource, &scene->stats);
	if (sort == LANES) {
		baton_lanes_init(&scene->lanes, &scene->lane, 1, NULL);
		baton_resource_set_lanes(&scene->resource, &scene->lanes);
	}
	if (sort == BOUND) {
		scene->bound_config.tasks_max = 100;
		baton_bound_init(&scene->bound, &scene->bound_config);
		baton_resource_set_bound(&scene->resource, &scene->bound);
	}
}

static int occupy_run(struct baton_task *task)
{
	struct scene *scene = baton_container_of(task, struct scene, occupant);

	cr_assert_eq(inside, &scene->resource);
	scene->error = scene->kind->submit(scene);
	return 0;
}

/* `busy`: the kind is submitted inside a task of the resource. */
static void try(const struct kind *kind, enum sort sort, bool busy)
{
	static const struct way way = {.capture_max = 10};
	struct scene scene = {.kind = kind, .way = &way, .error = -1};

	ran = told = pairs = ran_inside = 0;
	sort_init(&scene, sort);
	if (busy) {
		baton_task_init(&scene.occupant, occupy_run, NULL);
		cr_assert_eq(baton_submit(&scene.resource, &scene.occupant), 0);
	} else {
		scene.error = kind->submit(&scene);
	}
	while (stash_run_one(&scene.stash))
		continue;
	if (kind->look)
		kind->look(&scene);
	cr_assert_null(inside);
	cr_assert_eq(scene.error, 0, "%s, %d: %d", kind->name, sort, scene.error);
	cr_assert_eq(ran, 1, "%s, %d: ran %d times", kind->name, sort, ran);
	cr_assert_eq(ran_inside, kind->mark ? 0 : 1, "%s, %d, busy %d: outside", kind->name, sort,
	             busy);
	resource_end(&scene.resource);
	cr_assert_eq(baton_tag_held(&scene.tag), 0);
}

Test(context, each_kind_of_task_runs_inside_and_no_mark_does, .timeout = 10)
{
	for (enum sort sort = PLAIN; sort < SORTS; sort++) {
		for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
			try(&kinds[kind], sort, false);
			try(&kinds[kind], sort, true);
		}
		for (size_t kind = 0; sort != NEVER && kind < sizeof(calls) / sizeof(calls[0]);
		     kind++)
			try(&calls[kind], sort, false);
	}
}

/* ---- What else is inside ---- */

static int fails(struct baton_task *task)
{
	cr_assert_not_null(inside);
	return -EIO;
}

static void failed(struct baton_resource *resource, struct baton_task *task, int status)
{
	cr_assert_eq(inside, resource);
	ran++;
}

Test(context, a_failure_is_told_in_the_pair_of_its_task, .timeout = 5)
{
	static const struct kind failing = {.name = "failing", .submit = submit_failing};

	for (enum sort sort = PLAIN; sort < NEVER; sort++) {
		for (int busy = 0; busy <= 1; busy++) {
			struct scene scene = {.kind = &failing};

			ran = pairs = 0;
			sort_init(&scene, sort);
			scene.config.failed = failed;
			baton_task_init(&scene.last, fails, NULL);
			baton_task_init(&scene.occupant, occupy_run, NULL);
			cr_assert_eq(
				baton_submit(&scene.resource, busy ? &scene.occupant : &scene.last),
				0);
			cr_assert_eq(ran, 1, "%d, %d", sort, busy);
			cr_assert_null(inside);
			resource_end(&scene.resource);
		}
	}
}

static int flushes(struct baton_task *task)
{
	cr_assert_eq(baton_batch_flush(), 0);
	ran++;
	return 0;
}

Test(context, a_flush_calls_the_hooks_in_the_tasks_pair, .timeout = 5)
{
	struct scene scene = {0};

	ran = pairs = 0;
	sort_init(&scene, HOOKS);
	baton_task_init(&scene.last, flushes, NULL);
	cr_assert_eq(baton_submit(&scene.resource, &scene.last), 0);
	cr_assert_eq(ran, 1);
	cr_assert_eq(pairs, 3, "batch_begin, the task, batch_end: %d", pairs);
	resource_end(&scene.resource);
}

static void marked(struct baton_resource *resource, void *arg)
{
	cr_assert_eq(inside, resource);
	ran++;
}

Test(context, watermarks_have_pairs_of_their_own, .timeout = 5)
{
	static const struct kind post = {.name = "post", .submit = submit_plain_post};
	struct scene scene = {.kind = &post};

	ran = 0;
	scene.bound_config.tasks_high = 1;
	scene.bound_config.high = scene.bound_config.low = marked;
	sort_init(&scene, BOUND);
	baton_task_init(&scene.occupant, occupy_run, NULL);
	cr_assert_eq(baton_submit(&scene.resource, &scene.occupant), 0);
	cr_assert_eq(ran, 3, "high, the post, low: %d", ran);
	cr_assert_null(inside);
	resource_end(&scene.resource);
}

static int sees_it_done(struct baton_task *task)
{
	cr_assert_null(inside);
	ran++;
	return 0;
}

/* The continuation is a task of a resource without context. */
Test(context, a_future_completes_after_leave, .timeout = 5)
{
	for (enum sort sort = PLAIN; sort < SORTS; sort++) {
		struct baton_resource other = BATON_RESOURCE_INIT(NULL);
		struct baton_continuation continuation;
		struct baton_task then = BATON_TASK_INIT(sees_it_done, NULL);
		struct scene scene = {0};

		ran = 0;
		sort_init(&scene, sort);
		baton_future_init(&scene.future);
		baton_task_init(&scene.task, count_run, &scene.future);
		baton_continuation_task(&continuation, &other, &then);
		baton_future_then(&scene.future, &continuation);
		cr_assert_eq(baton_submit_later(&scene.resource, &scene.task), 0);
		while (stash_run_one(&scene.stash))
			continue;
		cr_assert_eq(ran, 2, "sort %d", sort);
		resource_end(&scene.resource);
		resource_end(&other);
	}
}

Test(context, either_function_may_be_missing, .timeout = 5)
{
	for (int only = 0; only <= 1; only++) {
		for (int busy = 0; busy <= 1; busy++) {
			static const struct kind post = {.name = "post",
			                                 .submit = submit_plain_post};
			struct scene scene = {.kind = &post};

			ran = 0;
			sort_init(&scene, PLAIN);
			scene.config.enter = only ? NULL : enter;
			scene.config.leave = only ? leave : NULL;
			inside = only ? &scene.resource : NULL;
			if (!busy) {
				cr_assert_eq(submit_plain_post(&scene), 0);
				cr_assert_eq(inside, only ? NULL : &scene.resource);
			}
			inside = NULL;
			resource_end(&scene.resource);
		}
	}
}

/* ---- Nesting, and other threads ---- */

struct topic {
	struct baton_resource resource;
	struct baton_resource_config config;
	const struct topic *outer;
	struct topic *next;
	struct baton_task task;
	struct baton_future future;
	size_t pairs;
	atomic_int wrong;
	bool waits;
};

static _Thread_local const struct topic *current;

static void topic_enter(struct baton_resource *resource)
{
	struct topic *topic = baton_container_of(resource, struct topic, resource);

	topic->outer = current;
	current = topic;
}

static void topic_leave(struct baton_resource *resource)
{
	struct topic *topic = baton_container_of(resource, struct topic, resource);

	topic->wrong += current != topic;
	current = topic->outer;
	topic->pairs++;
}

static void *topic_call(void *arg)
{
	struct topic *topic = arg;

	topic->wrong += current != topic;
	return NULL;
}

static void topic_init(struct topic *topic, struct baton_executor *executor, uint32_t capture_max)
{
	memset(topic, 0, sizeof(*topic));
	topic->config = (struct baton_resource_config){.executor = executor,
	                                               .capture_max = capture_max,
	                                               .enter = topic_enter,
	                                               .leave = topic_leave};
	baton_resource_init(&topic->resource, &topic->config);
}

/* Goes on in the next topic, and comes back to its own. */
static int goes_on(struct baton_task *task)
{
	struct topic *topic = baton_container_of(task, struct topic, task);

	topic->wrong += current != topic;
	if (topic->next) {
		MUST(baton_submit(&topic->next->resource, &topic->next->task) == 0);
		if (topic->waits)
			MUST(baton_future_wait(&topic->next->future) == 0);
	}
	topic->wrong += current != topic;
	return 0;
}

static void nest(struct baton_executor *executor, uint32_t capture_max, bool waits)
{
	enum { DEEP = 5 };
	struct topic topics[DEEP];

	for (int i = 0; i < DEEP; i++) {
		topic_init(&topics[i], executor, i ? capture_max : 0);
		topics[i].waits = waits;
		topics[i].next = i + 1 < DEEP ? &topics[i + 1] : NULL;
		baton_future_init(&topics[i].future);
		baton_task_init(&topics[i].task, goes_on, waits ? &topics[i].future : NULL);
	}
	cr_assert_eq(baton_submit(&topics[0].resource, &topics[0].task), 0);
	if (waits)
		cr_assert_eq(baton_future_wait(&topics[0].future), 0);
	for (int i = 0; i < DEEP; i++) {
		resource_end(&topics[i].resource);
		cr_assert_eq(topics[i].pairs, 1);
		cr_assert_eq(topics[i].wrong, 0);
	}
	cr_assert_null(current);
}

Test(context, pairs_nest_where_tasks_submit, .timeout = 5)
{
	struct stash stash;

	stash_init(&stash);
	nest(&stash.executor, 0, false);
}

Test(context, and_where_a_wait_helps, .timeout = 5)
{
	struct baton_manual *manual = NULL;

	MUST(baton_manual_create(&manual) == 0);
	nest(baton_manual_executor(manual), BATON_CAPTURE_NONE, true);
	nest(baton_manual_executor(manual), 0, true);
	baton_manual_destroy(manual);
}

enum { THREADS = 3, CALLS = 2000 };

struct crowd {
	struct topic topics[2];
	struct baton_pool *pool;
};

static void *calls_both(void *arg)
{
	struct crowd *crowd = arg;

	for (int i = 0; i < CALLS; i++) {
		struct topic *topic = &crowd->topics[i % 2];

		MUST(baton_call(&topic->resource, topic_call, topic, NULL) == 0);
		MUST(baton_post(&topic->resource, topic_call, topic) == 0);
		MUST(current == NULL);
	}
	return NULL;
}

Test(context, pairs_follow_the_baton_over_hand_offs, .timeout = 20)
{
	struct crowd crowd = {.pool = pool_of(2)};
	pthread_t threads[THREADS];

	topic_init(&crowd.topics[0], baton_pool_executor(crowd.pool), 2);
	topic_init(&crowd.topics[1], baton_pool_executor(crowd.pool), BATON_CAPTURE_NONE);
	for (int i = 0; i < THREADS; i++)
		threads[i] = thread_start(calls_both, &crowd);
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	for (int i = 0; i < 2; i++) {
		resource_end(&crowd.topics[i].resource);
		cr_assert_eq(crowd.topics[i].pairs, THREADS * CALLS);
		cr_assert_eq(crowd.topics[i].wrong, 0);
	}
	cr_assert_eq(baton_pool_destroy(crowd.pool), 0);
}
