/* SPDX-License-Identifier: MIT */
/*
 * A job for other workers. In a pool that counts jobs (counting.h) it is a job like any other.
 */
#include "pool/offer.h"

#include "base/atomic.h"
#include "pool/pool.h"

#include <errno.h>

int baton__pool_offer(struct baton_pool *pool, struct baton_plain_job *job)
{
	struct baton__worker *worker = pool->counts ? NULL : baton__pool_worker(pool);

	if (!worker)
		return baton_pool_submit(pool, job);
	/* Relaxed: a worker runs what is in its own queues before it ends, whatever the state. */
	if (load_relaxed(&pool->state))
		return -ESHUTDOWN;
	baton__worker_put_back(worker, &job->job);
	(void)baton__pool_notify(pool);
	return 0;
}
