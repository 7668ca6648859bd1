/* SPDX-License-Identifier: MIT */
/*
 * Chains of 100,000 links on a small stack (L7, L14): a function of the user's that is called at
 * the end of one link begins the next link. Frames that nest take 16 bytes at least, and so 100,000
 * of them fit on neither size of stack below. (A chain of a million tasks is in test_nest.c.)
 */
#ifndef BATON_TEST_UNIT_CHAIN_H
#define BATON_TEST_UNIT_CHAIN_H

#include "support.h"

#include <baton/bound.h>
#include <baton/detach.h>
#include <baton/group.h>
#include <baton/label.h>
#include <baton/trigger.h>
#include <baton/window.h>

#include "../parts.h"

/* A link of a chain of any sort. The next link lies behind it. */
struct link {
	struct baton_resource resource;
	struct baton_task task;
	struct baton_task finaliser;
	struct baton_future future;
	struct baton_continuation continuation;
	struct chain *chain;
	union {
		struct {
			struct baton_window window;
			struct windowed windowed;
		};
		struct {
			struct baton_bound bound;
		};
		struct baton_detached token;
		struct baton_trigger trigger;
		struct baton_group group;
		struct baton_plain_job job;
	};
};

struct chain {
	const struct sort *sort;
	struct baton_pool *pool;
	struct baton_resource_config config;
	struct baton_bound_config bound;
	struct baton_executor executor;
	struct link *links;
	size_t count;
	atomic_size_t ended;
	atomic_int errors;
};

enum { CHAIN_LINKS = 100000 };

static inline struct link *next_of(struct link *link)
{
	return link + 1 < link->chain->links + link->chain->count ? link + 1 : NULL;
}

static inline void expect(struct link *link, bool fine)
{
	if (!fine)
		atomic_fetch_add(&link->chain->errors, 1);
}

/* For each sort of link: its set-up, its beginning, and the test that it is over. */
struct sort {
	const char *name;
	void (*init)(struct link *link);
	void (*begin)(struct link *link);       /* the first link */
	bool (*over)(struct link *link);        /* NULL: counted in `ended` */
	bool (*end)(struct link *link);         /* NULL: nothing is left */
	enum { POOL, KEEPS, REFUSES } executor; /* KEEPS: its jobs are run by hand, at the end */
};

static inline int nothing_run(struct baton_task *task)
{
	return 0;
}

static inline void count_up(struct link *link)
{
	atomic_fetch_add(&link->chain->ended, 1);
}

static inline void resource_of(struct link *link)
{
	baton_resource_init(&link->resource, &link->chain->config);
}

static inline bool cancelled_p(struct link *link)
{
	return baton_future_state(&link->future) == BATON_CANCELLED;
}

/* The jobs that this executor accepts are run by hand, at the end. */
static inline int keep(struct baton_executor *executor, struct baton_job *job)
{
	return 0;
}

static inline int refuse(struct baton_executor *executor, struct baton_job *job)
{
	return -ESHUTDOWN;
}

static const struct baton_executor_ops keeps_ops = {.schedule = keep};
static const struct baton_executor_ops refuses_ops = {.schedule = refuse};

static inline void *begin_main(void *arg)
{
	((struct link *)arg)->chain->sort->begin(arg);
	return NULL;
}

static inline void chain_begin(struct chain *chain, const struct sort *sort, size_t count)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;

	memset(chain, 0, sizeof(*chain));
	chain->sort = sort;
	options.workers = 1;
	options.stack_size = small_stack();
	MUST(baton_pool_create(&options, &chain->pool) == 0);
	baton_executor_init(&chain->executor,
	                    chain->sort->executor == KEEPS ? &keeps_ops : &refuses_ops);
	chain->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	chain->config.executor =
		chain->sort->executor == POOL ? baton_pool_executor(chain->pool) : &chain->executor;
	chain->bound = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	chain->bound.policy = BATON_BOUND_DROP_NEWEST;
	chain->bound.tasks_max = 1;
	chain->count = count;
	chain->links = calloc(count, sizeof(*chain->links));
	MUST(chain->links);
	for (size_t i = 0; i < count; i++)
		chain->links[i].chain = chain;
	/* The next link first. */
	for (size_t i = count; i > 0; i--)
		chain->sort->init(&chain->links[i - 1]);
}

static inline bool chain_end(struct chain *chain)
{
	bool over = true;

	/* The jobs that the pool was given have run. */
	MUST(baton_pool_destroy(chain->pool) == 0);
	for (size_t i = 0; i < chain->count && over && chain->sort->over; i++)
		over = chain->sort->over(&chain->links[i]);
	if (!chain->sort->over)
		over = atomic_load(&chain->ended) == chain->count;
	for (size_t i = 0; i < chain->count && chain->sort->end; i++)
		over = chain->sort->end(&chain->links[i]) && over;
	free(chain->links);
	return over && !atomic_load(&chain->errors);
}

static inline void chains(const struct sort *which, size_t count)
{
	for (const struct sort *sort = which; sort < which + count; sort++) {
		struct chain chain;

		chain_begin(&chain, sort, CHAIN_LINKS);
		thread_run_on(small_stack(), begin_main, &chain.links[0]);
		cr_assert(chain_end(&chain), "%s", sort->name);
	}
}

#define CHAINS(sorts) chains(sorts, sizeof(sorts) / sizeof(*(sorts)))

#endif
