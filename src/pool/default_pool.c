/* SPDX-License-Identifier: MIT */
/*
 * The process-wide pool, created on first use, destroyed only on request.
 *
 * A thread that has default_pool_lock changes `the_pool` from NULL to the pool and back. `the_pool`
 * points to the pool until the pool's last thread has ended: tasks find the pool until then.
 */
#include <baton/pool.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/platform.h"
#include "thread/thread.h"
#include "core/executor.h"
#include "wait/cycle.h"
#include "pool/sole.h"
#include "pool/pool.h"

#include <errno.h>
#include <stdlib.h>

static struct baton_pool *the_pool;
static uint32_t default_pool_lock;

static struct baton_pool *peek(void)
{
	/* [default_pool.made] acquire: the pool; pairs with [default_pool.made] in
	 * create_default_pool */
	return load_acquire(&the_pool);
}

/* The calling thread has the lock, and there is no default pool. */
static int create_default_pool(struct baton_pool **pool)
{
	int error = baton__pool_create(NULL, &baton__default_alarm, pool);

	if (error)
		return error;
	(*pool)->is_default = true;
	/* [default_pool.made] release: the pool; pairs with [default_pool.made] in peek */
	store_release(&the_pool, *pool);
	baton__alarm_open(&baton__default_alarm, &(*pool)->executor);
	return 0;
}

BATON_EXPORT int baton_pool_default(struct baton_pool **pool)
{
	BATON__NEED(pool, "there is no place for the pool");

	struct baton_pool *found = peek();
	int error = 0;

	if (baton__forked())
		return -ECHILD;
	if (!found) {
		baton__sole_begin(&default_pool_lock);
		found = peek();
		if (!found)
			error = create_default_pool(&found);
		baton__sole_end(&default_pool_lock);
	}
	if (!error)
		*pool = found;
	return error;
}

BATON_EXPORT int baton_pool_default_destroy(void)
{
	const struct baton__mate *mate = baton__mate_current();
	struct baton_pool *pool;
	int error;

	if (baton__forked())
		return -ECHILD;
	if ((mate && mate->pool->is_default) || baton__must_not_wait())
		return -EDEADLK;
	error = baton__thread_attach(); /* as in baton_pool_shutdown */
	if (error)
		return error;
	baton__sole_begin(&default_pool_lock);
	pool = peek();
	if (pool)
		error = baton__alarm_bar(&baton__default_alarm);
	if (pool && !error) {
		baton__pool_end(pool);
		/* Relaxed: the store publishes nothing. */
		store_relaxed(&the_pool, NULL);
		free(pool);
	}
	baton__sole_end(&default_pool_lock);
	return error;
}

static struct baton_executor *executor(void)
{
	struct baton_pool *pool;

	return baton_pool_default(&pool) ? NULL : baton_pool_executor(pool);
}

static struct baton_executor *executor_if_any(void)
{
	struct baton_pool *pool = baton__forked() ? NULL : peek();

	return pool ? baton_pool_executor(pool) : NULL;
}

const struct baton__default_executor baton__default_executor = {
	.get = executor,
	.peek = executor_if_any,
};
