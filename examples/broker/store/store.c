/* SPDX-License-Identifier: MIT */
/* The store's resource, its transactions, its errors; see store.h. */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton/hooks.h>
#include <baton/pool.h>
#include <baton/resource.h>
#include <baton/timer.h>

#include "common/atomic.h"
#include "common/env.h"
#include "common/log.h"
#include "common/must.h"
#include "store/inside.h"

#define STORE_RETRY_MS 100
#define STORE_BATCH_MAX 65536
#define STORE_BATCH_NS (20 * BATON_MILLISECOND) /* a stream of writes does not delay its commit */
#define STORE_LAZY_NS BATON_SECOND
#define STORE_LAZY_MAX 10000   /* writes of 240 bytes that wait for an urgent one */
#define STORE_LOOK_COMMITS 256 /* commits between two looks at the pages that are free */
#define STORE_FREE_PAGES 1024

struct store {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_pool *pool; /* one thread, which may sleep in a commit */
	struct env *env;
	bool waits;     /* --durability commit */
	uint64_t drawn; /* atomic */
	bool fails;     /* atomic, a hint: the last commit has failed */
	bool refuses;   /* atomic, a hint */
	struct baton_timer lazy;

	/* Under its baton. */
	struct database database;
	bool open;   /* a transaction is open */
	bool urgent; /* and must be committed with this batch */
	bool armed;  /* `lazy` will come */
	int failed;  /* the SQLite code by which the transaction has failed; 0: it has not */
	struct store_write *first; /* the writes of the transaction */
	struct store_write **end;
	size_t count;
	unsigned int commits;
	bool compacting;
};

struct database *store_database(struct store *store)
{
	return &store->database;
}

static void store_sleep(unsigned int milliseconds)
{
	const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- Transactions ---- */

static int store_begin(struct store *store)
{
	const int status = database_run(&store->database, DATABASE_BEGIN, NULL);

	store->open = status == 0;
	return status;
}

/* Ends a transaction that has failed; SQLite may have ended it already. */
static void store_roll_back(struct store *store)
{
	(void)database_run(&store->database, DATABASE_ROLLBACK, NULL);
	store->open = false;
}

/* Applies the writes of a transaction that has failed again. */
static int store_apply_again(struct store *store)
{
	int status = store_begin(store);

	for (struct store_write *write = store->first; write != NULL && status == 0;
	     write = write->next)
		status = write->apply(store, write);
	return status;
}

static int store_commit(struct store *store)
{
	int status = store->failed;

	if (status == 0)
		status = database_run(&store->database, DATABASE_COMMIT, NULL);
	if (status != 0)
		return status;
	store->open = false;
	store->commits++;
	return 0;
}

/*
 * Frees the writes without a `done`. A write with one is freed by its `done`, which is called when
 * this batch has ended.
 */
static void store_forget_writes(struct store *store)
{
	struct store_write *next = store->first, *write;

	while ((write = next) != NULL) {
		next = write->next;
		if (write->done == NULL)
			free(write);
	}
	if (store->count > STORE_LAZY_MAX)
		trim_note(&store->env->trim);
	store->count = 0;
	store->first = NULL;
	store->end = &store->first;
	store->urgent = false;
	store->failed = 0;
}

/* Tries again until the transaction is committed, or the broker shuts down. */
static int store_insist(struct store *store)
{
	int status = store->failed;
	unsigned int waited = 0;

	while (status != 0) {
		store_relaxed(&store->fails, true); /* before the log says so */
		if (waited == 0)
			log_event(LOG_LEVEL_ERROR, "store_waits",
			          log_text("file", store->env->options.store),
			          log_text("reason", database_error(&store->database)),
			          log_text("then", "nothing is acknowledged meanwhile"));
		store_roll_back(store);
		if (load_relaxed(&store->env->ending) && waited > 0)
			return -EIO;
		store_sleep(STORE_RETRY_MS);
		waited += STORE_RETRY_MS;
		store_relaxed(&store->refuses, waited >= STORE_PATIENCE_MS);
		status = store->failed = store_apply_again(store);
		if (status == 0)
			status = store_commit(store);
	}
	store_relaxed(&store->fails, false);
	store_relaxed(&store->refuses, false);
	if (waited > 0)
		log_event(LOG_LEVEL_WARNING, "store_goes_on",
		          log_text("file", store->env->options.store));
	return 0;
}

/* Gives free pages back to the file system, some in each transaction. */
static void store_compact(struct store *store)
{
	if (store->commits % STORE_LOOK_COMMITS == 0)
		store->compacting =
			database_number(&store->database, DATABASE_FREE_PAGES) > STORE_FREE_PAGES;
	if (store->compacting)
		store->failed = database_run(&store->database, DATABASE_COMPACT, NULL);
}

/* ---- Drain hooks ---- */

static int store_batch_begin(struct baton_resource *resource)
{
	struct store *store = baton_container_of(resource, struct store, resource);

	if (store->open)
		return 0;
	if (!store->waits)
		store_sleep(limit_of(store->env, batch_ms)); /* gathers what comes meanwhile */
	store->failed = store_begin(store);
	return 0;
}

static int store_batch_end(struct baton_resource *resource)
{
	struct store *store = baton_container_of(resource, struct store, resource);
	int status;

	if (!store->urgent && store->failed == 0) {
		if (!store->armed && store->first != NULL)
			store->armed = baton_timer_arm_after(&store->lazy, STORE_LAZY_NS) == 0;
		return 0;
	}
	if (store->failed == 0)
		store_compact(store);
	store->failed = store_commit(store);
	status = store_insist(store);
	store_forget_writes(store);
	return status;
}

static int store_run_lazy(struct baton_timer *timer)
{
	struct store *store = baton_container_of(timer, struct store, lazy);

	store->armed = false;
	store->urgent = store->first != NULL;
	return 0;
}

/* ---- Writes ---- */

static int store_run(struct baton_task *task)
{
	struct store_write *write = baton_container_of(task, struct store_write, task);
	struct store *store = write->store;

	write->next = NULL;
	*store->end = write;
	store->end = &write->next;
	store->count++;
	store->urgent = store->urgent || write->done != NULL || store->count > STORE_LAZY_MAX;
	if (store->failed == 0)
		store->failed = write->apply(store, write);
	return 0;
}

static void store_tell(void *arg)
{
	struct store_write *write = arg;

	write->done(write, baton_future_status(&write->future) == 0);
}

void store_submit(struct store *store, struct store_write *write)
{
	int status;

	write->store = store;
	if (write->done != NULL) {
		baton_future_init(&write->future);
		baton_continuation_function(&write->then, store_tell, write);
		baton_future_then(&write->future, &write->then);
	}
	baton_task_init(&write->task, store_run, write->done != NULL ? &write->future : NULL);
	status = baton_submit(&store->resource, &write->task);
	if (status == 0)
		return;
	must(status == -EPIPE ? 0 : status, "submit to the store");
	if (write->done != NULL)
		write->done(write, false);
	else
		free(write);
}

uint64_t store_draw(struct store *store, uint64_t count)
{
	return add_relaxed(&store->drawn, count) + 1; /* a number, which orders nothing */
}

bool store_waits(const struct store *store)
{
	return store != NULL && (store->waits || load_relaxed(&store->fails));
}

bool store_refuses(const struct store *store)
{
	return store != NULL && load_relaxed(&store->refuses);
}

/* ---- Start and shutdown ---- */

int store_open(struct env *env, struct store **opened)
{
	const struct broker_options *options = &env->options;
	struct baton_pool_options pool = BATON_POOL_OPTIONS_INIT;
	struct store *store = must_alloc(sizeof(*store));
	int status = database_open(&store->database, options->store,
	                           strcmp(options->durability, "none") != 0);

	if (status != 0) {
		free(store);
		return status;
	}
	store->env = env;
	store->waits = strcmp(options->durability, "commit") == 0;
	store->drawn = (uint64_t)database_number(&store->database, DATABASE_READ_LAST);
	store->end = &store->first;
	pool.workers = 1;
	pool.name = "store";
	must(baton_pool_create(&pool, &store->pool), "start the store's thread");
	store->config = (struct baton_resource_config){
		.capture_max = BATON_CAPTURE_NONE,
		.quantum = STORE_BATCH_MAX,
		.batch_ns = STORE_BATCH_NS,
		.batch_begin = store_batch_begin,
		.batch_end = store_batch_end,
		.delay_completions = true,
		.executor = baton_pool_executor(store->pool),
		.name = "store",
	};
	baton_resource_init(&store->resource, &store->config);
	env_reveal(env, &store->resource, NULL);
	baton_timer_init(&store->lazy, env->timers, &store->resource, store_run_lazy);
	*opened = store;
	return 0;
}

void store_stop(struct store *store)
{
	if (store == NULL)
		return;
	must(baton_resource_close(&store->resource), "close the store");
	must(baton_resource_await(&store->resource), "end of the store");
	BATON_IGNORE(baton_timer_stop(&store->lazy).met);
	must(baton_pool_destroy(store->pool), "end the store's thread");
	env_hide(store->env, &store->resource);
	if (store->open && store_commit(store) != 0)
		log_event(LOG_LEVEL_ERROR, "store_failed",
		          log_text("file", store->env->options.store),
		          log_text("reason", database_error(&store->database)));
	store_forget_writes(store);
	database_close(&store->database);
}

void store_destroy(struct store *store)
{
	free(store);
}
