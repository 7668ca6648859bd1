/* SPDX-License-Identifier: MIT */
/* Nesting and bounded stack (L7): inline inside a task, to a bounded depth; endless chains. */
#include "stash.h"

/* A task that submits the next one to its resource, in the middle of its own journal entries. */
struct nest {
	struct baton_task task;
	struct baton_resource *resource;
	struct nest *next;
	struct journal *journal;
	int number;
	int result;
};

static _Thread_local int depth;
static int depth_max;

static int nest_run(struct baton_task *task)
{
	struct nest *nest = baton_container_of(task, struct nest, task);

	depth++;
	depth_max = depth > depth_max ? depth : depth_max;
	if (nest->journal)
		journal_add(nest->journal, nest->number);
	if (nest->next)
		nest->result = baton_submit(nest->next->resource, &nest->next->task);
	if (nest->journal)
		journal_add(nest->journal, -nest->number);
	depth--;
	return 0;
}

static void nests_init(struct nest *nests, struct baton_resource *resources, size_t count,
                       const struct baton_resource_config *config, struct journal *journal)
{
	for (size_t i = 0; i < count; i++) {
		baton_resource_init(&resources[i], config);
		baton_task_init(&nests[i].task, nest_run, NULL);
		nests[i].resource = &resources[i];
		nests[i].next = i + 1 < count ? &nests[i + 1] : NULL;
		nests[i].journal = journal;
		nests[i].number = (int)i + 1;
		nests[i].result = 1;
	}
	nests[count - 1].result = 0;
}

Test(nest, a_submit_inside_a_task_runs_inline, .timeout = 10)
{
	static const int expected[6] = {1, 2, 3, -3, -2, -1};
	struct baton_resource resources[3];
	struct nest nests[3];
	struct journal journal = {0};

	nests_init(nests, resources, 3, NULL, &journal);
	cr_assert_eq(baton_submit(&resources[0], &nests[0].task), 0);
	cr_assert_eq(journal.count, 6);
	for (int i = 0; i < 6; i++)
		cr_assert_eq(journal.number[i], expected[i]);
	for (int i = 0; i < 3; i++)
		resource_end(&resources[i]);
}

Test(nest, a_submit_to_the_own_resource_runs_after_the_task, .timeout = 10)
{
	static const int expected[4] = {1, -1, 2, -2};
	struct baton_resource resources[2];
	struct nest nests[2];
	struct journal journal = {0};

	nests_init(nests, resources, 2, NULL, &journal);
	nests[1].resource = &resources[0];
	cr_assert_eq(baton_submit(&resources[0], &nests[0].task), 0);
	cr_assert_eq(journal.count, 4);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(journal.number[i], expected[i]);
	resource_end(&resources[0]);
	resource_end(&resources[1]);
}

Test(nest, beyond_the_depth_the_resource_goes_to_the_executor_untouched, .timeout = 10)
{
	enum { COUNT = 3 * BATON_NESTING_MAX };
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resources[COUNT];
	struct nest nests[COUNT];
	struct journal journal = {0};
	struct stash stash;

	stash_init(&stash);
	config.executor = &stash.executor;
	nests_init(nests, resources, COUNT, &config, &journal);
	cr_assert_eq(baton_submit(&resources[0], &nests[0].task), 0);
	cr_assert_eq(journal.count, 2 * BATON_NESTING_MAX);
	cr_assert_eq(depth_max, BATON_NESTING_MAX);
	cr_assert_eq(atomic_load(&stash.count), 1);
	stash_run(&stash);
	cr_assert_eq(journal.count, 2 * COUNT);
	cr_assert_leq(depth_max, BATON_NESTING_MAX + 1);
	for (int i = 0; i < COUNT; i++) {
		cr_assert_eq(nests[i].result, 0);
		resource_end(&resources[i]);
	}
}

/* A helper thread submits to the inner resource while the nested task runs. */
struct visit {
	struct baton_task task;
	struct baton_resource *resource;
	struct step *steps;
	size_t count;
	sem_t come;
	sem_t gone;
	int errors;
};

static void *visit_main(void *arg)
{
	struct visit *visit = arg;

	gate_pass(&visit->come);
	for (size_t i = 0; i < visit->count; i++)
		visit->errors += baton_submit(visit->resource, &visit->steps[i].task) != 0;
	gate_open(&visit->gone);
	return NULL;
}

static int visit_run(struct baton_task *task)
{
	struct visit *visit = baton_container_of(task, struct visit, task);

	gate_open(&visit->come);
	gate_pass(&visit->gone);
	return 0;
}

struct through {
	struct baton_task task;
	struct baton_resource *resource;
	struct baton_task *inner;
	struct journal *journal;
	size_t seen;
};

static int through_run(struct baton_task *task)
{
	struct through *through = baton_container_of(task, struct through, task);

	BATON_IGNORE(baton_submit(through->resource, through->inner));
	through->seen = through->journal->count;
	return 0;
}

static void others_go_to_the_executor(struct baton_future *future)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource outer, inner;
	struct journal journal = {0};
	struct step steps[3];
	struct visit visit = {.task = BATON_TASK_INIT(visit_run, future),
	                      .resource = &inner,
	                      .steps = steps,
	                      .count = 3};
	struct through through = {BATON_TASK_INIT(through_run, NULL), &inner, &visit.task, &journal,
	                          9};
	struct stash stash;
	pthread_t thread;

	stash_init(&stash);
	gate_init(&visit.come);
	gate_init(&visit.gone);
	config.executor = &stash.executor;
	baton_resource_init(&outer, &config);
	baton_resource_init(&inner, &config);
	steps_init(steps, 3, &journal, 0);
	thread = thread_start(visit_main, &visit);
	cr_assert_eq(baton_submit(&outer, &through.task), 0);
	thread_join(thread);
	cr_assert_eq(visit.errors, 0);
	cr_assert_eq(through.seen, 0, "the outer task is not kept by others' work");
	cr_assert_eq(journal.count, 0);
	cr_assert_eq(atomic_load(&stash.count), 1);
	stash_run(&stash);
	cr_assert(journal_counts_up(&journal, 0, 3));
	resource_end(&outer);
	resource_end(&inner);
}

Test(nest, others_tasks_found_in_a_nested_capture_go_to_the_executor, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;

	others_go_to_the_executor(NULL);
	others_go_to_the_executor(&future);
}

/* Chains: task i submits task i + 1 to the next resource, or a continuation does. */
enum { CHAIN = 1000000 };

struct chain {
	struct baton_pool *pool;
	struct baton_resource_config config;
	struct baton_resource *resources;
	struct nest *nests;
	size_t count;
	int error;
};

static void *chain_main(void *arg)
{
	struct chain *chain = arg;

	chain->error = baton_submit(&chain->resources[0], &chain->nests[0].task);
	return NULL;
}

static void chain_of(size_t stack_size, void *(*run)(void *), size_t count)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct chain chain = {.config = BATON_RESOURCE_CONFIG_INIT, .count = count};

	options.workers = 2;
	options.stack_size = stack_size;
	cr_assert_eq(baton_pool_create(&options, &chain.pool), 0);
	chain.config.executor = baton_pool_executor(chain.pool);
	chain.resources = calloc(count, sizeof(*chain.resources));
	chain.nests = calloc(count, sizeof(*chain.nests));
	MUST(chain.resources && chain.nests);
	nests_init(chain.nests, chain.resources, count, &chain.config, NULL);
	thread_run_on(stack_size, run, &chain);
	cr_assert_eq(chain.error, 0);
	cr_assert_eq(baton_pool_destroy(chain.pool), 0);
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(chain.nests[i].result, 0);
	free(chain.nests);
	free(chain.resources);
}

Test(nest, a_chain_through_a_million_resources_on_8_mib, .timeout = 20)
{
	chain_of(8 * 1024 * 1024, chain_main, (size_t)scaled(CHAIN));
}

Test(nest, a_chain_through_a_million_resources_on_64_kib, .timeout = 20)
{
	chain_of(small_stack(), chain_main, (size_t)scaled(CHAIN));
}

/* The executor refuses: this thread must run them all, from the bottom of its stack. */
static void refused_chain_begin(struct chain *chain, struct stash *stash, size_t count)
{
	stash_init(stash);
	atomic_store(&stash->answer, -ESHUTDOWN);
	*chain = (struct chain){.config = BATON_RESOURCE_CONFIG_INIT, .count = count};
	chain->config.executor = &stash->executor;
	chain->resources = calloc(count, sizeof(*chain->resources));
	chain->nests = calloc(count, sizeof(*chain->nests));
	MUST(chain->resources && chain->nests);
	nests_init(chain->nests, chain->resources, count, &chain->config, NULL);
}

static void refused_chain_end(struct chain *chain)
{
	cr_assert_eq(chain->error, 0);
	for (size_t i = 0; i < chain->count; i++) {
		cr_assert_eq(chain->nests[i].result, 0);
		resource_end(&chain->resources[i]);
	}
	free(chain->nests);
	free(chain->resources);
}

Test(nest, a_chain_whose_executor_refuses_on_64_kib, .timeout = 20)
{
	struct chain chain;
	struct stash stash;

	refused_chain_begin(&chain, &stash, (size_t)scaled(CHAIN / 5));
	thread_run_on(small_stack(), chain_main, &chain);
	refused_chain_end(&chain);
}

/* The innermost submits a task that neither it nor an executor may run now, and waits for it. */
struct last {
	struct nest nest;
	struct baton_future future;
	struct baton_resource resource;
	struct step step;
	int results[2];
};

static int last_run(struct baton_task *task)
{
	struct nest *nest = baton_container_of(task, struct nest, task);
	struct last *last = baton_container_of(nest, struct last, nest);

	last->results[0] = baton_submit(&last->resource, &last->step.task);
	last->results[1] = baton_future_wait(&last->future);
	return 0;
}

Test(nest, what_was_put_off_for_its_depth_can_be_waited_for, .timeout = 10)
{
	struct journal journal = {0};
	struct last last = {.future = BATON_FUTURE_INIT, .results = {1, 1}};
	struct chain chain;
	struct stash stash;

	refused_chain_begin(&chain, &stash, BATON_NESTING_MAX);
	baton_resource_init(&last.resource, &chain.config);
	step_init(&last.step, &journal, 0, &last.future);
	baton_task_init(&last.nest.task, last_run, NULL);
	last.nest.resource = &chain.resources[BATON_NESTING_MAX - 1];
	chain.nests[BATON_NESTING_MAX - 2].next = &last.nest;
	chain.error = baton_submit(&chain.resources[0], &chain.nests[0].task);
	resource_end(&last.resource);
	cr_assert_eq(last.results[0], 0);
	cr_assert_eq(last.results[1], 0);
	cr_assert(journal_counts_up(&journal, 0, 1));
	refused_chain_end(&chain);
}

/* The same by continuations: each future's completion submits the next task. */
struct relay {
	struct baton_continuation continuation;
	struct baton_future future;
};

static void *relay_main(void *arg)
{
	struct chain *chain = arg;
	struct relay *relays = calloc(chain->count, sizeof(*relays));
	struct baton_future promise = BATON_PROMISE_INIT;

	MUST(relays);
	for (size_t i = 0; i < chain->count; i++) {
		chain->nests[i].next = NULL;
		chain->nests[i].result = 0;
		baton_future_init(&relays[i].future);
		baton_task_init(&chain->nests[i].task, nest_run, &relays[i].future);
		baton_continuation_task(&relays[i].continuation, &chain->resources[i],
		                        &chain->nests[i].task);
		baton_future_then(i ? &relays[i - 1].future : &promise, &relays[i].continuation);
	}
	chain->error = baton_future_complete(&promise, 0, NULL);
	chain->error += baton_future_wait(&relays[chain->count - 1].future);
	for (size_t i = 0; i < chain->count; i++)
		chain->error += baton_future_state(&relays[i].future) != BATON_DONE;
	free(relays);
	return NULL;
}

Test(nest, a_chain_of_continuations_on_64_kib, .timeout = 20)
{
	chain_of(small_stack(), relay_main, (size_t)scaled(CHAIN / 5));
}
