/* SPDX-License-Identifier: MIT */
/*
 * Layer 7: the process-wide pool, created on first use, never torn down.
 *
 * State: `the_pool` goes from NULL to the pool, once. `creator` is the process number of the
 * process one of whose threads is creating it just now, 0 if none: set by that thread's CAS from 0,
 * or from another process's number; cleared by it. A fork's child inherits the number of a creator
 * that does not exist there; it sees that the number is not its own, and takes over.
 */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include <baton/pool.h>

#include "atomic.h"
#include "executor.h"
#include "futex.h"
#include "platform.h"
#include "thread.h"

static struct baton_pool *the_pool;
static uint32_t creator;

/* True: the calling thread is to create the pool. False: somebody has ended creating it. */
static bool begin_creating(void)
{
	uint32_t self = (uint32_t)getpid();
	uint32_t found = load_relaxed(&creator); /* validated by the CAS */

	while (found != self) /* ends with the thread that is creating, or with us */
		/* [G1] acquire: a creator before us may have succeeded; pairs with [G1] below. */
		if (cas_acquire(&creator, &found, self))
			return true;

	struct baton__futex_watch watch = {&creator, self};

	/* [G1] acquire, as above. Ended by the thread that is creating. */
	while (load_acquire(&creator) == self)
		(void)baton__futex_wait(&watch, 1, NULL);
	return false;
}

static int create(struct baton_pool **pool)
{
	int error = 0;

	*pool = load_acquire(&the_pool);
	if (!*pool) {
		error = baton_pool_create(NULL, pool);
		/* [G2] release: the pool; pairs with [G2] in peek. */
		if (!error)
			store_release(&the_pool, *pool);
	}
	/* [G1] release: the_pool; pairs with [G1] in begin_creating. */
	store_release(&creator, 0);
	baton__futex_wake(&creator, INT_MAX);
	return error;
}

static struct baton_pool *peek(void)
{
	/* [G2] acquire: the pool. */
	return load_acquire(&the_pool);
}

BATON_EXPORT int baton_pool_default(struct baton_pool **pool)
{
	struct baton_pool *found = peek();
	int error;

	if (baton__forked())
		return -ECHILD;
	/* Each round waits for another thread's attempt, which failed: then it is our turn to try,
	 * and to say why it fails, unless yet another thread was faster. */
	while (!found) {
		if (begin_creating()) {
			error = create(&found);
			if (error)
				return error;
		} else {
			found = peek();
		}
	}
	*pool = found;
	return 0;
}

struct baton_executor *baton__executor_default(void)
{
	struct baton_pool *pool;

	return baton_pool_default(&pool) ? NULL : baton_pool_executor(pool);
}

struct baton_executor *baton__executor_default_peek(void)
{
	struct baton_pool *pool = baton__forked() ? NULL : peek();

	return pool ? baton_pool_executor(pool) : NULL;
}
