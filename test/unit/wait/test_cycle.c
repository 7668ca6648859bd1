/* SPDX-License-Identifier: MIT */
/* Cycles of waits over several resources and threads: one wait is refused, and can name them. */
#include "support.h"

#include <baton/epoch.h>

#define RING_MAX 20

/* Thread i holds resource i, and waits for resource i + 1, when all of them hold theirs. */
struct ring {
	struct baton_resource resources[RING_MAX];
	struct baton_future futures[RING_MAX];
	struct step steps[RING_MAX];
	struct journal journals[RING_MAX];
	char names[RING_MAX][24];
	struct baton_resource_config configs[RING_MAX];
	int count;
	int timed; /* this one waits with a deadline; -1: none */
	bool calls;
	atomic_int holding;
	atomic_int refused;
	atomic_int timed_out;
	atomic_int called;
	size_t length;
	struct baton_deadlock_link links[BATON_DEADLOCK_MAX];
};

struct member {
	struct ring *ring;
	int index;
};

static void *count_call(void *arg)
{
	struct ring *ring = arg;

	atomic_fetch_add(&ring->called, 1);
	return ring;
}

static int wait_for_next(struct ring *ring, int own)
{
	int next = (own + 1) % ring->count;
	uint64_t deadline = deadline_in_ms(100);

	if (ring->calls)
		return baton_call(&ring->resources[next], count_call, ring, NULL);
	step_init(&ring->steps[own], &ring->journals[next], own, &ring->futures[own]);
	MUST(baton_submit(&ring->resources[next], &ring->steps[own].task) == 0);
	return baton_future_wait_until(&ring->futures[own],
	                               own == ring->timed ? deadline : BATON_FOREVER);
}

static void *hold_and_wait(void *arg)
{
	struct member *member = arg;
	struct ring *ring = member->ring;
	int status;

	atomic_fetch_add(&ring->holding, 1);
	until_at_least(&ring->holding, ring->count);
	status = wait_for_next(ring, member->index);
	if (status == -EDEADLK) {
		ring->length = baton_deadlock_cycle(ring->links, BATON_DEADLOCK_MAX);
		if (ring->length <= BATON_DEADLOCK_MAX)
			MUST(baton_held(ring->links[ring->length - 1].resource));
		/* The names have left alone what else the thread's record holds. */
		MUST(!baton_epoch_inside());
		MUST(baton_epoch_enter() == 0);
		baton_epoch_leave();
		atomic_fetch_add(&ring->refused, 1);
	} else if (status == -ETIMEDOUT) {
		atomic_fetch_add(&ring->timed_out, 1);
	} else {
		MUST(status == 0);
	}
	return NULL;
}

static void *member_main(void *arg)
{
	struct member *member = arg;

	MUST(baton_call(&member->ring->resources[member->index], hold_and_wait, member, NULL) == 0);
	return NULL;
}

static void ring_run(struct ring *ring, int count)
{
	struct member members[RING_MAX];
	pthread_t threads[RING_MAX];

	ring->count = count;
	for (int i = 0; i < count; i++) {
		snprintf(ring->names[i], sizeof(ring->names[i]), "resource %d", i);
		ring->configs[i] =
			(struct baton_resource_config)BATON_RESOURCE_CONFIG_NAMED(ring->names[i]);
		baton_resource_init(&ring->resources[i], &ring->configs[i]);
		baton_future_init(&ring->futures[i]);
		members[i] = (struct member){ring, i};
		threads[i] = thread_start(member_main, &members[i]);
	}
	for (int i = 0; i < count; i++)
		thread_join(threads[i]);
	for (int i = 0; i < count; i++) {
		if (!ring->calls)
			cr_assert_eq(baton_future_wait(&ring->futures[i]), 0);
		resource_end(&ring->resources[i]);
	}
}

/* Each is named, and waits for the next one. */
static void assert_named(const struct ring *ring)
{
	cr_assert_eq(ring->length, (size_t)ring->count);
	for (size_t i = 0; i < ring->length; i++) {
		size_t at = (size_t)(ring->links[i].resource - ring->resources);

		cr_assert_lt(at, (size_t)ring->count);
		cr_assert_str_eq(ring->links[i].name, ring->names[at]);
		cr_assert_eq(ring->links[(i + 1) % ring->length].resource,
		             &ring->resources[(at + 1) % (size_t)ring->count]);
	}
}

Test(cycle, of_two_resources_refuses_one_wait, .timeout = 10)
{
	for (int i = 0; i < scaled(50); i++) {
		struct ring ring = {.timed = -1};

		ring_run(&ring, 2);
		cr_assert_eq(atomic_load(&ring.refused), 1);
		assert_named(&ring);
	}
}

Test(cycle, of_three_and_more_refuses_one_wait, .timeout = 10)
{
	for (int count = 3; count <= 5; count++) {
		struct ring ring = {.timed = -1};

		ring_run(&ring, count);
		cr_assert_eq(atomic_load(&ring.refused), 1);
		assert_named(&ring);
	}
}

Test(cycle, of_many_names_the_first, .timeout = 20)
{
	static struct ring ring = {.timed = -1};

	ring_run(&ring, RING_MAX);
	cr_assert_eq(ring.refused, 1);
	cr_assert_eq(ring.length, RING_MAX);
	for (int i = 0; i < BATON_DEADLOCK_MAX; i++)
		cr_assert_str_eq(ring.links[i].name,
		                 ring.names[ring.links[i].resource - ring.resources]);
}

Test(cycle, of_calls_withdraws_one_call, .timeout = 10)
{
	for (int i = 0; i < scaled(50); i++) {
		struct ring ring = {.timed = -1, .calls = true};

		ring_run(&ring, 3);
		cr_assert_eq(atomic_load(&ring.refused), 1);
		cr_assert_eq(atomic_load(&ring.called), 2);
		assert_named(&ring);
	}
}

Test(cycle, with_a_deadline_in_it_is_none, .timeout = 10)
{
	struct ring ring = {.timed = 1};

	ring_run(&ring, 3);
	cr_assert_eq(atomic_load(&ring.refused), 0);
	cr_assert_eq(atomic_load(&ring.timed_out), 1);
}

/* ---- One resource ---- */

static void *wait_for_own(void *arg)
{
	struct baton_resource *resource = arg;
	struct baton_deadlock_link link;

	MUST(baton_call(resource, count_call, NULL, NULL) == -EDEADLK);
	MUST(baton_deadlock_cycle(&link, 1) == 1);
	MUST(link.resource == resource && strcmp(link.name, "a name that is too long") == 0);
	return NULL;
}

Test(cycle, of_one_is_named_too, .timeout = 5)
{
	struct baton_resource resource =
		BATON_RESOURCE_INIT(NAMED("a name that is too long for a link"));

	cr_assert_eq(baton_call(&resource, wait_for_own, &resource, NULL), 0);
	resource_end(&resource);
}

/* ---- Bound while its waiter sleeps ---- */

struct unbound {
	struct baton_resource resource;
	struct baton_future future;
	atomic_int tid;
	int status;
};

static void *wait_for_unbound(void *arg)
{
	struct unbound *unbound = arg;

	atomic_store(&unbound->tid, thread_id());
	unbound->status = baton_future_wait(&unbound->future);
	return NULL;
}

static void *unbound_main(void *arg)
{
	struct unbound *unbound = arg;

	MUST(baton_call(&unbound->resource, wait_for_unbound, unbound, NULL) == 0);
	return NULL;
}

static void is_closed_by(int (*submit)(struct baton_resource *, struct baton_task *))
{
	struct unbound unbound = {.resource = BATON_RESOURCE_INIT(NULL),
	                          .future = BATON_FUTURE_INIT};
	struct journal journal = {0};
	struct step step;
	pthread_t thread = thread_start(unbound_main, &unbound);

	until_at_least(&unbound.tid, 1);
	until_asleep(atomic_load(&unbound.tid));
	step_init(&step, &journal, 0, &unbound.future);
	cr_assert_eq(submit(&unbound.resource, &step.task), 0);
	thread_join(thread);
	cr_assert_eq(unbound.status, -EDEADLK);
	cr_assert_eq(baton_future_wait(&unbound.future), 0);
	resource_end(&unbound.resource);
}

static int submit_a_batch(struct baton_resource *resource, struct baton_task *task)
{
	return baton_submit_batch(resource, &task, 1);
}

static int nothing(struct baton_task *task)
{
	(void)task;
	return 0;
}

/* Nobody waits for the last task of the batch. */
static int submit_before_another(struct baton_resource *resource, struct baton_task *task)
{
	static struct baton_task last;
	struct baton_task *const tasks[] = {task, &last};

	baton_task_init(&last, nothing, NULL);
	return baton_submit_batch(resource, tasks, 2);
}

Test(cycle, is_closed_by_a_submit_to_the_resource_that_the_sleeper_holds, .timeout = 10)
{
	is_closed_by(baton_submit);
	is_closed_by(baton_submit_later);
	is_closed_by(submit_a_batch);
	is_closed_by(submit_before_another);
}

/* ---- Any, all, promises, cancelled ---- */

struct pair {
	struct baton_resource resources[2];
	struct baton_future futures[2];
	struct step steps[2];
	struct journal journals[2];
	struct baton_future promise;
	atomic_int holding;
	atomic_int status[2];
	int tids[2];
	bool all;
	bool cancel;
};

struct half {
	struct pair *pair;
	int index;
};

static void *hold_and_wait_for_two(void *arg)
{
	struct half *half = arg;
	struct pair *pair = half->pair;
	int own = half->index;
	struct baton_future *futures[2] = {&pair->promise, &pair->futures[own]};

	pair->tids[own] = thread_id();
	step_init(&pair->steps[own], &pair->journals[1 - own], own, &pair->futures[own]);
	atomic_fetch_add(&pair->holding, 1);
	until_at_least(&pair->holding, 2);
	MUST(baton_submit(&pair->resources[1 - own], &pair->steps[own].task) == 0);
	if (pair->cancel)
		(void)baton_future_cancel(&pair->futures[own]);
	atomic_store(&pair->status[own], pair->all ? baton_future_wait_all(futures, 2)
	                                           : baton_future_wait_any(futures, 2, NULL));
	return NULL;
}

static void *half_main(void *arg)
{
	struct half *half = arg;

	MUST(baton_call(&half->pair->resources[half->index], hold_and_wait_for_two, half, NULL) ==
	     0);
	return NULL;
}

/* Both wait for each other, and for the promise, which is kept when both are asleep. */
static void pair_run(struct pair *pair)
{
	struct half halves[2];
	pthread_t threads[2];

	baton_promise_init(&pair->promise);
	for (int i = 0; i < 2; i++) {
		baton_resource_init(&pair->resources[i], NULL);
		baton_future_init(&pair->futures[i]);
		halves[i] = (struct half){pair, i};
		threads[i] = thread_start(half_main, &halves[i]);
	}
	until_at_least(&pair->holding, 2);
	if (!pair->all)
		for (int i = 0; i < 2; i++)
			until_asleep(pair->tids[i]);
	cr_assert_eq(baton_future_complete(&pair->promise, 0, NULL), 0);
	for (int i = 0; i < 2; i++)
		thread_join(threads[i]);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(baton_future_wait(&pair->futures[i]), 0);
		resource_end(&pair->resources[i]);
	}
}

Test(cycle, is_none_if_one_of_any_may_come, .timeout = 10)
{
	struct pair pair = {.all = false};

	pair_run(&pair);
	cr_assert_eq(atomic_load(&pair.status[0]), 0);
	cr_assert_eq(atomic_load(&pair.status[1]), 0);
}

/*
 * The first of three waits for the promise alone. The second waits for a task behind the first, or
 * for one behind the third; the third for a task behind the second.
 */
struct link {
	struct baton_resource resource;
	struct link *wants[2];
	struct baton_future *promise; /* waited for instead, if `wants` is empty */
	struct baton_future futures[2];
	struct step steps[2];
	struct journal *journals[2];
	struct journal journal;
	atomic_int *turn; /* whose turn it is to wait, when all hold their resources */
	atomic_int *holding;
	int number;
	bool all;
	atomic_int tid;
	int status;
};

static void *link_wait(void *arg)
{
	struct link *link = arg;
	struct baton_future *futures[2] = {link->promise};
	size_t count = link->promise != NULL;

	atomic_fetch_add(link->holding, 1);
	until_at_least(link->turn, link->number);
	for (; count < 2 && link->wants[count]; count++) {
		struct link *wanted = link->wants[count];

		futures[count] = &link->futures[count];
		baton_future_init(futures[count]);
		step_init(&link->steps[count], &wanted->journal, 0, futures[count]);
		MUST(baton_submit(&wanted->resource, &link->steps[count].task) == 0);
	}
	atomic_store(&link->tid, thread_id());
	link->status = link->all ? baton_future_wait_all(futures, count)
	                         : baton_future_wait_any(futures, count, NULL);
	return NULL;
}

static void *link_main(void *arg)
{
	struct link *link = arg;

	MUST(baton_call(&link->resource, link_wait, link, NULL) == 0);
	return NULL;
}

static void wait_in_a_chain(bool all)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct link links[3] = {{.promise = &promise, .all = all},
	                        {.wants = {&links[2], &links[0]}},
	                        {.wants = {&links[1]}}};
	atomic_int turn = 0, holding = 0;
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		baton_resource_init(&links[i].resource, NULL);
		links[i].turn = &turn;
		links[i].holding = &holding;
		links[i].number = i + 1;
		threads[i] = thread_start(link_main, &links[i]);
	}
	until_at_least(&holding, 3);
	for (int i = 0; i < 3; i++) {
		atomic_store(&turn, i + 1);
		until_at_least(&links[i].tid, 1);
		until_asleep(atomic_load(&links[i].tid));
	}
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	for (int i = 0; i < 3; i++) {
		thread_join(threads[i]);
		cr_assert_eq(links[i].status, 0, "%d", i);
	}
	for (int i = 0; i < 3; i++)
		resource_end(&links[i].resource);
}

Test(cycle, is_none_if_the_wait_that_may_end_is_the_last_of_a_chain, .timeout = 10)
{
	wait_in_a_chain(false);
	wait_in_a_chain(true);
}

Test(cycle, is_one_if_one_of_all_cannot_come, .timeout = 10)
{
	struct pair pair = {.all = true};

	pair_run(&pair);
	cr_assert_eq(atomic_load(&pair.status[0]) + atomic_load(&pair.status[1]), -EDEADLK);
}

/* Cancelled, but not to be unlinked before the other one goes on. */
Test(cycle, of_cancelled_futures_is_one, .timeout = 10)
{
	struct pair pair = {.all = true, .cancel = true};

	pair_run(&pair);
	cr_assert_eq(atomic_load(&pair.status[0]) + atomic_load(&pair.status[1]), -EDEADLK);
}

/* ---- Helping comes first ---- */

static void *wait_for_queued(void *arg)
{
	struct baton_resource *queued = arg;
	struct baton_future future = BATON_FUTURE_INIT;
	struct journal journal = {0};
	struct step step;

	step_init(&step, &journal, 0, &future);
	MUST(baton_submit_later(queued, &step.task) == 0);
	MUST(baton_future_wait(&future) == 0);
	return NULL;
}

Test(cycle, is_none_if_the_resource_is_queued, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resources[3];
	struct occupant occupant;

	config.executor = baton_pool_executor(pool);
	for (int i = 0; i < 3; i++)
		baton_resource_init(&resources[i], &config);
	occupy_later(&occupant, &resources[2]);
	cr_assert_eq(baton_call(&resources[0], wait_for_queued, &resources[1], NULL), 0);
	gate_open(&occupant.leave);
	for (int i = 0; i < 3; i++)
		resource_end(&resources[i]);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
