/* SPDX-License-Identifier: MIT */
/*
 * Which waits that can never end are seen (L9): the table of future.h. In each case a thread that
 * holds A waits for B, and what it waits for needs a second thread, which waits for A. Where the
 * library sees that, one of the two waits gets -EDEADLK. Where it does not, both threads sleep
 * until a third one ends what B waits for.
 */
#include "support.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/detach.h>
#include <baton/fan_out.h>
#include <baton/hold.h>
#include <baton/label.h>
#include <baton/registry.h>
#include <baton/suspend.h>

struct scene {
	struct baton_resource *a;
	struct baton_resource *b;
	struct baton_resource plain;
	struct baton_registry *registry;
	struct baton_loop *loop;
	struct baton_resource_config config;
	struct baton_bound bound;
	struct baton_task fill;
	struct baton_task task;
	struct baton_future future;
	struct baton_suspension suspensions[2]; /* of the second thread */
	struct baton_suspension own;
	struct baton_detached token;
	sem_t held;   /* the first thread holds A */
	sem_t stands; /* what B waits for is there */
	atomic_int tids[2];
	int statuses[2];
};

static int rests(struct baton_task *task)
{
	return 0;
}

static void *returns_arg(void *arg)
{
	return arg;
}

/* ---- The first thread's waits, for B or for a future; it holds A ---- */

static void submit(struct scene *scene)
{
	baton_task_init(&scene->task, rests, &scene->future);
	MUST(baton_submit(scene->b, &scene->task) == 0);
}

static int waits(struct scene *scene)
{
	submit(scene);
	return baton_future_wait(&scene->future);
}

static int waits_for_all(struct scene *scene)
{
	struct baton_future done = BATON_PROMISE_INIT;
	struct baton_future *futures[2] = {&done, &scene->future};

	submit(scene);
	MUST(baton_future_complete(&done, 0, NULL) == 0);
	return baton_future_wait_all(futures, 2);
}

static int waits_for_any(struct scene *scene)
{
	struct baton_future *futures[2] = {&scene->future, &scene->future};

	submit(scene);
	return baton_future_wait_any(futures, 2, NULL);
}

static int waits_in_time(struct scene *scene)
{
	const uint64_t deadline = deadline_in_ms(20);

	submit(scene);
	return baton_future_wait_until(&scene->future, deadline);
}

static int calls(struct scene *scene)
{
	return baton_call(scene->b, returns_arg, NULL, NULL);
}

static int calls_with_label(struct scene *scene)
{
	static const struct baton_label label = {.lane = 1};
	const struct baton_call_options options = {.fn = returns_arg, .label = &label};

	return baton_call_with(scene->b, &options, NULL);
}

static int calls_in_time(struct scene *scene)
{
	const struct baton_call_options options = {.fn = returns_arg,
	                                           .timeout_ns = 20 * BATON_MILLISECOND};

	return baton_call_with(scene->b, &options, NULL);
}

static int holds(struct scene *scene)
{
	struct baton_hold hold = BATON_HOLD_INIT;
	int error = baton_hold(scene->b, &hold);

	return error ? error : baton_release(&hold);
}

static int awaits(struct scene *scene)
{
	submit(scene);
	return baton_resource_await(scene->b);
}

static int suspends(struct scene *scene)
{
	int error;

	MUST(baton_resource_suspend(scene->b, &scene->own) == 0);
	error = baton_suspension_wait(&scene->own);
	MUST(baton_resource_resume(&scene->own) == 0);
	return error;
}

static int quiesces(struct scene *scene)
{
	int error = baton_quiesce(&scene->b, 1, &scene->own);

	if (!error)
		MUST(baton_quiesce_end(&scene->own, 1) == 0);
	return error;
}

static int item(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static int fans_out(struct scene *scene)
{
	const struct baton_fan_out_options options = {.fn = item};
	struct baton_fan_out *fan_out;
	int error;

	MUST(baton_fan_out_submit(&scene->b, 1, &options, &fan_out) == 0);
	error = baton_fan_out_wait(fan_out);
	baton_fan_out_unref(fan_out);
	return error;
}

static void bound_init(struct scene *scene)
{
	static const struct baton_bound_config config = {.tasks_max = 1,
	                                                 .policy = BATON_BOUND_WAIT};

	baton_bound_init(&scene->bound, &config);
	baton_resource_set_bound(scene->b, &scene->bound);
}

/* Waits for room. */
static int submits(struct scene *scene)
{
	baton_task_init(&scene->fill, rests, NULL);
	baton_task_init(&scene->task, rests, NULL);
	MUST(baton_submit(scene->b, &scene->fill) == 0);
	return baton_submit(scene->b, &scene->task);
}

static void registry_init(struct scene *scene)
{
	static const struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct baton_registry_entry), NULL, NULL, NULL);

	MUST(baton_registry_create(&options, &scene->registry) == 0);
	scene->b = baton_registry_resource(scene->registry);
}

static int acquires(struct scene *scene)
{
	struct baton_registry_entry *entry;
	int error = baton_registry_acquire(scene->registry, "b", 1, &entry);

	if (!error)
		MUST(baton_registry_unref(entry) == 0);
	return error;
}

static int waits_for_future(struct scene *scene)
{
	return baton_future_wait(&scene->future);
}

static int waits_for_any_future(struct scene *scene)
{
	struct baton_future *futures[2] = {&scene->future, &scene->future};

	return baton_future_wait_any(futures, 2, NULL);
}

/* ---- What B, or the future, waits for: each call ends when it has had A ---- */

static void stand(struct scene *scene)
{
	/* Publishes what the third thread ends. */
	atomic_store(&scene->tids[1], thread_id());
	gate_open(&scene->stands);
	gate_pass(&scene->held);
}

static int calls_a(struct scene *scene)
{
	stand(scene);
	return baton_call(scene->a, returns_arg, NULL, NULL);
}

static void *calls_a_inside(void *arg)
{
	struct scene *scene = arg;

	scene->statuses[1] = calls_a(scene);
	return NULL;
}

static int holds_b(struct scene *scene)
{
	MUST(baton_call(scene->b, calls_a_inside, scene, NULL) == 0);
	return scene->statuses[1];
}

static int holds_b_by_a_hold(struct scene *scene)
{
	struct baton_hold hold = BATON_HOLD_INIT;
	int error;

	MUST(baton_hold(scene->b, &hold) == 0);
	error = calls_a(scene);
	MUST(baton_release(&hold) == 0);
	return error;
}

static int quiesces_both(struct scene *scene)
{
	struct baton_resource *both[2] = {scene->a, scene->b};
	int error;

	MUST(scene->b < scene->a); /* so B is suspended first */
	stand(scene);
	error = baton_quiesce(both, 2, scene->suspensions);
	if (!error)
		MUST(baton_quiesce_end(scene->suspensions, 2) == 0);
	return error;
}

static int suspends_b(struct scene *scene)
{
	MUST(baton_resource_suspend(scene->b, scene->suspensions) == 0);
	MUST(baton_suspension_wait(scene->suspensions) == 0);
	return calls_a(scene);
}

static void resumes_b(struct scene *scene)
{
	MUST(baton_resource_resume(scene->suspensions) == 0);
}

static int makes_promise(struct scene *scene)
{
	baton_promise_init(&scene->future);
	return calls_a(scene);
}

static void completes(struct scene *scene)
{
	MUST(baton_future_complete(&scene->future, 0, NULL) == 0);
}

static int detaches(struct baton_task *task)
{
	struct scene *scene = baton_container_of(task, struct scene, task);

	MUST(baton_detach(&scene->token, 0) == 0);
	return 0;
}

static int makes_token(struct scene *scene)
{
	baton_task_init(&scene->task, detaches, &scene->future);
	MUST(baton_submit(scene->b, &scene->task) == 0);
	return calls_a(scene);
}

static void completes_token(struct scene *scene)
{
	MUST(baton_detached_complete(&scene->token, 0, NULL) == 0);
}

static int drives_loop(struct scene *scene)
{
	MUST(baton_loop_create(&scene->loop) == 0);
	MUST(baton_loop_adopt(scene->loop) == 0);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.executor = baton_loop_executor(scene->loop);
	scene->config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(scene->b, &scene->config);
	return calls_a(scene);
}

static void drives_it(struct scene *scene)
{
	MUST(baton_loop_run(scene->loop, 0) > 0);
}

/* ---- The table ---- */

struct obstacle {
	const char *name;
	bool of_b; /* of the resource, which is not idle then; false: of the future */
	int (*stands)(struct scene *scene);
	void (*ends)(struct scene *scene); /* by a third thread; NULL: is seen */
};

static const struct obstacle of_resource[] = {
	{"held by a thread that calls", true, holds_b, NULL},
	{"held by a hold", true, holds_b_by_a_hold, NULL},
	{"suspended by a quiesce", true, quiesces_both, NULL},
	{"suspended", true, suspends_b, resumes_b},
};

static const struct obstacle of_future[] = {
	{"a promise", false, makes_promise, completes},
	{"a detached completion", false, makes_token, completes_token},
};

static const struct obstacle of_executor[] = {
	{"queued for a loop whose thread waits", false, drives_loop, drives_it},
};

struct wait {
	const char *name;
	int (*wait)(struct scene *scene);
	void (*init)(struct scene *scene); /* NULL: nothing */
	bool timed;
};

static const struct wait for_resource[] = {
	{"wait", waits, NULL, false},
	{"wait for all", waits_for_all, NULL, false},
	{"wait for any", waits_for_any, NULL, false},
	{"wait with a deadline", waits_in_time, NULL, true},
	{"call", calls, NULL, false},
	{"call with a label", calls_with_label, NULL, false},
	{"call with a deadline", calls_in_time, NULL, true},
	{"hold", holds, NULL, false},
	{"await", awaits, NULL, false},
	{"wait for a suspension", suspends, NULL, false},
	{"quiesce", quiesces, NULL, false},
	{"fan-out", fans_out, NULL, false},
	{"submit to a full bound", submits, bound_init, false},
	{"acquire", acquires, registry_init, false},
};

static const struct wait for_driven[] = {
	{"wait", waits, NULL, false},
	{"call", calls, NULL, false},
	{"await", awaits, NULL, false},
};

static const struct wait for_future[] = {
	{"wait", waits_for_future, NULL, false},
	{"wait for any", waits_for_any_future, NULL, false},
};

struct cell {
	struct scene scene;
	const struct wait *wait;
	const struct obstacle *obstacle;
};

static void *holds_a(void *arg)
{
	struct cell *cell = arg;

	gate_open(&cell->scene.held);
	while (cell->obstacle->of_b && baton_resource_is_idle(cell->scene.b))
		sched_yield();
	cell->scene.statuses[0] = cell->wait->wait(&cell->scene);
	return NULL;
}

static void *first_main(void *arg)
{
	struct cell *cell = arg;

	atomic_store(&cell->scene.tids[0], thread_id());
	gate_pass(&cell->scene.stands);
	MUST(baton_call(cell->scene.a, holds_a, cell, NULL) == 0);
	return NULL;
}

static void *second_main(void *arg)
{
	struct cell *cell = arg;

	cell->scene.statuses[1] = cell->obstacle->stands(&cell->scene);
	return NULL;
}

/* Both threads sleep. */
static void end_unseen(struct cell *cell)
{
	for (int i = 0; i < 2; i++) {
		until_at_least(&cell->scene.tids[i], 1);
		until_asleep(atomic_load(&cell->scene.tids[i]));
	}
	cell->obstacle->ends(&cell->scene);
}

static void cell_run(struct cell *cell, struct baton_resource *a)
{
	struct scene *scene = &cell->scene;
	pthread_t threads[2];

	scene->a = a;
	scene->b = &scene->plain;
	baton_resource_init(&scene->plain, NULL);
	baton_future_init(&scene->future);
	gate_init(&scene->held);
	gate_init(&scene->stands);
	if (cell->wait->init)
		cell->wait->init(scene);
	threads[1] = thread_start(second_main, cell);
	threads[0] = thread_start(first_main, cell);
	if (cell->obstacle->ends && !cell->wait->timed)
		end_unseen(cell);
	thread_join(threads[0]);
	thread_join(threads[1]);
	if (cell->obstacle->ends && cell->wait->timed)
		cell->obstacle->ends(scene);
	MUST(baton_resource_await(scene->b) == 0);
	if (scene->registry)
		MUST(baton_registry_destroy(scene->registry) == 0);
	resource_end(&scene->plain);
	if (scene->loop)
		baton_loop_destroy(scene->loop);
}

static void table(const struct wait *waits, size_t count, const struct obstacle *obstacles,
                  size_t obstacles_count)
{
	struct baton_resource a = BATON_RESOURCE_INIT(NULL);

	for (size_t i = 0; i < count * obstacles_count; i++) {
		struct cell *cell = calloc(1, sizeof(*cell));
		const int *statuses = cell->scene.statuses;
		int expected[2] = {0, 0};

		cell->wait = &waits[i / obstacles_count];
		cell->obstacle = &obstacles[i % obstacles_count];
		cell_run(cell, &a);
		if (cell->wait->timed)
			expected[0] = -ETIMEDOUT;
		else if (!cell->obstacle->ends)
			expected[statuses[1] != 0] = -EDEADLK;
		cr_expect(statuses[0] == expected[0] && statuses[1] == expected[1],
		          "%s, %s: %d, %d", cell->wait->name, cell->obstacle->name, statuses[0],
		          statuses[1]);
		free(cell);
	}
	resource_end(&a);
}

#define TABLE(waits, obstacles)                                                                    \
	table(waits, sizeof(waits) / sizeof(*(waits)), obstacles,                                  \
	      sizeof(obstacles) / sizeof(*(obstacles)))

Test(never_ends, a_wait_for_a_resource_is_refused_unless_a_suspension_is_in_between, .timeout = 20)
{
	TABLE(for_resource, of_resource);
}

Test(never_ends, a_wait_for_a_promise_or_a_token_is_not_seen, .timeout = 20)
{
	TABLE(for_future, of_future);
}

Test(never_ends, a_wait_for_a_loop_whose_thread_waits_is_not_seen, .timeout = 20)
{
	TABLE(for_driven, of_executor);
}
