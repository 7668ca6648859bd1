/* SPDX-License-Identifier: MIT */
/*
 * Acquires that do not wait: which thread makes the object, in which order, who is told, and what
 * becomes of a request that is cancelled, refused, or whose object cannot be made.
 */
#include "registered.h"

#include <baton/bound.h>
#include <baton/executor.h>
#include <baton/loop.h>

static struct item *item_of(const struct baton_registry_request *request)
{
	return (struct item *)baton_registry_request_entry(request);
}

static int ask(struct baton_registry *registry, const char *name,
               struct baton_registry_request *request)
{
	return baton_registry_acquire_async(registry, name, strlen(name), request);
}

Test(registry_async, an_object_that_exists_is_there_when_the_call_returns, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct baton_registry_request request = BATON_REGISTRY_REQUEST_INIT;
	struct item *item = get(registry, "a", 1);
	struct occupant occupant;

	occupy(&occupant, baton_registry_resource(registry));
	cr_assert_eq(ask(registry, "a", &request), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_DONE);
	cr_assert_eq(item_of(&request), item);
	release(&occupant);
	put(item);
	cr_assert_eq(find(registry, "a", 1), item, "the request has a reference");
	put(item);
	put(item);
	shop_close(&shop, registry);
}

Test(registry_async, an_idle_registry_makes_the_object_within_the_call, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct baton_registry_request request = BATON_REGISTRY_REQUEST_INIT;

	cr_assert_eq(ask(registry, "a", &request), 0);
	cr_assert_eq(baton_future_status(&request.future), 0);
	cr_assert_eq(find(registry, "a", 1), item_of(&request));
	put(item_of(&request));
	put(item_of(&request));
	/* The same memory, for another request. */
	baton_registry_request_init(&request);
	cr_assert_eq(ask(registry, "", &request), 0);
	put(item_of(&request));
	cr_assert_eq(atomic_load(&shop.made), 2);
	shop_close(&shop, registry);
}

Test(registry_async, requests_wait_for_their_turn_and_the_caller_does_not, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct baton_registry_request requests[3];
	const char *const names[3] = {"a", "b", "a"};
	struct occupant occupant;

	occupy(&occupant, baton_registry_resource(registry));
	for (int i = 0; i < 3; i++) {
		baton_registry_request_init(&requests[i]);
		cr_assert_eq(ask(registry, names[i], &requests[i]), 0);
		cr_assert_eq(baton_future_status(&requests[i].future), -EAGAIN);
		cr_assert_null(item_of(&requests[i]));
	}
	cr_assert_null(find(registry, "a", 1));
	release(&occupant);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_future_status(&requests[i].future), 0);
	cr_assert_eq(item_of(&requests[0]), item_of(&requests[2]));
	cr_assert_neq(item_of(&requests[0]), item_of(&requests[1]));
	for (int i = 0; i < 3; i++)
		put(item_of(&requests[i]));
	shop_close(&shop, registry);
}

/* An event loop's way: the outcome comes as a task of a resource that runs on that loop alone. */
struct look_up {
	struct baton_registry_request request;
	struct baton_continuation then;
	struct baton_task found;
	struct item *item;
};

static int look_up_found(struct baton_task *task)
{
	struct look_up *look_up = baton_container_of(task, struct look_up, found);

	look_up->item = item_of(&look_up->request);
	return 0;
}

Test(registry_async, a_loop_gets_the_object_as_a_task_of_its_own, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct look_up look_up = {.request = BATON_REGISTRY_REQUEST_INIT};
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct baton_loop *loop;
	struct occupant occupant;

	cr_assert_eq(baton_loop_create(&loop), 0);
	config.executor = baton_loop_executor(loop);
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&resource, &config);
	baton_task_init(&look_up.found, look_up_found, NULL);
	baton_continuation_task(&look_up.then, &resource, &look_up.found);
	occupy(&occupant, baton_registry_resource(registry));
	cr_assert_eq(ask(registry, "a", &look_up.request), 0);
	baton_future_then(&look_up.request.future, &look_up.then);
	cr_assert_eq(baton_loop_run(loop, 0), 0, "nothing to do yet");
	release(&occupant);
	cr_assert_null(look_up.item, "only the loop runs it");
	cr_assert_geq(baton_loop_run(loop, 0), 1);
	cr_assert_not_null(look_up.item);
	put(look_up.item);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
	baton_loop_destroy(loop);
	shop_close(&shop, registry);
}

Test(registry_async, a_continuation_may_be_there_before_an_object_that_exists, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct look_up look_up = {.request = BATON_REGISTRY_REQUEST_INIT};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct item *item = get(registry, "a", 1);

	baton_task_init(&look_up.found, look_up_found, NULL);
	baton_continuation_task(&look_up.then, &resource, &look_up.found);
	baton_future_then(&look_up.request.future, &look_up.then);
	cr_assert_eq(ask(registry, "a", &look_up.request), 0);
	cr_assert_eq(look_up.item, item);
	put(item);
	put(item);
	resource_end(&resource);
	shop_close(&shop, registry);
}

Test(registry_async, a_cancelled_request_makes_nothing, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct baton_registry_request first = BATON_REGISTRY_REQUEST_INIT;
	struct baton_registry_request second = BATON_REGISTRY_REQUEST_INIT;
	struct occupant occupant;

	cr_assert_eq(baton_future_cancel(&first.future), -EINVAL, "it has not begun");
	occupy(&occupant, baton_registry_resource(registry));
	cr_assert_eq(ask(registry, "a", &first), 0);
	cr_assert_eq(ask(registry, "b", &second), 0);
	cr_assert_eq(baton_future_cancel(&first.future), 0);
	release(&occupant);
	cr_assert_eq(baton_future_state(&first.future), BATON_CANCELLED);
	cr_assert_null(item_of(&first));
	cr_assert_null(find(registry, "a", 1));
	cr_assert_eq(baton_future_cancel(&second.future), -EALREADY);
	put(item_of(&second));
	cr_assert_eq(atomic_load(&shop.made), 1);
	shop_close(&shop, registry);
}

Test(registry_async, cancel_pending_cancels_the_requests_that_wait, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct baton_registry_request request = BATON_REGISTRY_REQUEST_INIT;
	struct occupant occupant;

	occupy(&occupant, baton_registry_resource(registry));
	cr_assert_eq(ask(registry, "a", &request), 0);
	cr_assert_eq(baton_resource_cancel_pending(baton_registry_resource(registry)), 0);
	release(&occupant);
	cr_assert_eq(baton_future_status(&request.future), -ECANCELED);
	cr_assert_eq(atomic_load(&shop.made), 0);
	shop_close(&shop, registry);
}

Test(registry_async, what_init_says_is_the_status, .timeout = 5)
{
	struct shop shop = {.init_error = -EACCES};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct baton_registry_request request = BATON_REGISTRY_REQUEST_INIT;

	cr_assert_eq(ask(registry, "a", &request), 0);
	cr_assert_eq(baton_future_state(&request.future), BATON_FAILED);
	cr_assert_eq(baton_future_status(&request.future), -EACCES);
	cr_assert_null(item_of(&request));
	cr_assert_null(find(registry, "a", 1));
	shop_close(&shop, registry);
}

static int batch_fails(struct baton_resource *resource)
{
	return -EIO;
}

Test(registry_async, a_failing_batch_leaves_the_reference_to_the_caller, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), item_init, item_deinit, &shop);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_registry_request request = BATON_REGISTRY_REQUEST_INIT;
	struct baton_registry *registry;

	config.batch_end = batch_fails;
	config.delay_completions = true;
	options.config = &config;
	cr_assert_eq(baton_registry_create(&options, &registry), 0);
	cr_assert_eq(ask(registry, "a", &request), 0);
	cr_assert_eq(baton_future_status(&request.future), -EIO);
	cr_assert_eq(find(registry, "a", 1), item_of(&request));
	put(item_of(&request));
	put(item_of(&request));
	shop_close(&shop, registry);
}

/* The object ends, or has lost its name, while the request waits for its turn. */
Test(registry_async, a_request_behind_the_end_of_an_object_makes_another, .timeout = 5)
{
	for (int way = 0; way < 3; way++) {
		struct shop shop = {0};
		struct baton_registry *registry = shop_open(&shop, NULL);
		struct baton_registry_request request = BATON_REGISTRY_REQUEST_INIT;
		struct item *old = get(registry, "a", 1);
		struct occupant occupant, inside;

		if (way == 2) /* its last task has not run: it is closed, and not finalised */
			occupy(&inside, &old->entry.resource);
		occupy(&occupant, baton_registry_resource(registry));
		if (way == 1)
			cr_assert_eq(baton_registry_remove(&old->entry), 0);
		else
			put(old);
		cr_assert_eq(ask(registry, "a", &request), 0);
		cr_assert_eq(baton_future_status(&request.future), -EAGAIN, "way %d", way);
		release(&occupant);
		cr_assert_eq(baton_future_status(&request.future), 0);
		cr_assert_eq(atomic_load(&shop.made), 2);
		cr_assert_eq(atomic_load(&shop.ended), way == 0 ? 1 : 0);
		put(item_of(&request));
		if (way == 1)
			put(old);
		if (way == 2)
			release(&inside);
		shop_close(&shop, registry);
	}
}

struct self_asking {
	struct baton_registry *registry;
	struct baton_registry_request request;
	int seen; /* the request's status at the end of init */
};

static int ask_for_itself(struct baton_registry_entry *entry, void *arg)
{
	struct self_asking *asking = arg;

	MUST(ask(asking->registry, "a", &asking->request) == 0);
	asking->seen = baton_future_status(&asking->request.future);
	return 0;
}

Test(registry_async, init_may_ask_for_the_name_of_its_own_object, .timeout = 5)
{
	struct self_asking asking = {.request = BATON_REGISTRY_REQUEST_INIT};
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), ask_for_itself, NULL, &asking);
	struct item *item;

	cr_assert_eq(baton_registry_create(&options, &asking.registry), 0);
	item = get(asking.registry, "a", 1);
	cr_assert_eq(asking.seen, -EAGAIN, "behind this init");
	cr_assert_eq(item_of(&asking.request), item);
	put(item);
	put(item);
	cr_assert_eq(baton_registry_destroy(asking.registry), 0);
}

Test(registry_async, a_refused_request_is_as_it_was, .timeout = 5)
{
	static const struct baton_bound_config one = {.tasks_max = 1, .policy = BATON_BOUND_REFUSE};
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct baton_registry_request first = BATON_REGISTRY_REQUEST_INIT;
	struct baton_registry_request second = BATON_REGISTRY_REQUEST_INIT;
	struct baton_bound bound;
	struct occupant occupant;

	cr_assert_eq(baton_registry_acquire_async(registry, "", (size_t)UINT32_MAX + 1, &first),
	             -ENAMETOOLONG);
	baton_bound_init(&bound, &one);
	baton_resource_set_bound(baton_registry_resource(registry), &bound);
	occupy(&occupant, baton_registry_resource(registry));
	cr_assert_eq(ask(registry, "a", &first), 0);
	cr_assert_eq(ask(registry, "b", &first), -EINVAL, "it is under way");
	cr_assert_eq(ask(registry, "b", &second), -EAGAIN, "the bound");
	release(&occupant);
	cr_assert_eq(ask(registry, "b", &second), 0);
	cr_assert_eq(ask(registry, "b", &second), -EINVAL, "it is over");
	cr_assert_neq(item_of(&first), item_of(&second));
	put(item_of(&first));
	put(item_of(&second));
	shop_close(&shop, registry);
}

#define ASKERS 4
#define NAMES 3

struct asker {
	struct baton_registry *registry;
	pthread_t thread;
	uint64_t seed;
	int got, cancelled;
};

/* Asks for a name; sometimes cancels; waits for the outcome, and gives the object back. */
static void ask_and_put(struct asker *asker)
{
	const char name = (char)('a' + rng_below(&asker->seed, NAMES));
	struct baton_registry_request request = BATON_REGISTRY_REQUEST_INIT;
	struct item *item;
	int status;

	MUST(baton_registry_acquire_async(asker->registry, &name, 1, &request) == 0);
	if (rng_below(&asker->seed, 2) == 0)
		(void)baton_future_cancel(&request.future);
	status = baton_future_wait(&request.future);
	MUST(status == 0);
	item = item_of(&request);
	MUST((baton_future_state(&request.future) == BATON_CANCELLED) == !item);
	asker->cancelled += !item;
	if (!item)
		return;
	MUST(item->state == ITEM_ALIVE);
	asker->got++;
	if (rng_below(&asker->seed, 8) == 0)
		(void)baton_registry_remove(&item->entry);
	put(item);
}

static void *asker_main(void *arg)
{
	for (int i = 0; i < scaled(20000); i++)
		ask_and_put(arg);
	return NULL;
}

Test(registry_async, requests_cancels_and_ends_beside_each_other, .timeout = 60)
{
	const uint64_t seed = test_seed();
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct asker askers[ASKERS];

	for (unsigned i = 0; i < ASKERS; i++) {
		askers[i] = (struct asker){.registry = registry, .seed = rng_fork(seed, i)};
		askers[i].thread = thread_start(asker_main, &askers[i]);
	}
	for (unsigned i = 0; i < ASKERS; i++) {
		thread_join(askers[i].thread);
		cr_assert_eq(askers[i].got + askers[i].cancelled, scaled(20000));
	}
	cr_assert_eq(baton_registry_count(registry), 0);
	shop_close(&shop, registry);
}
