/* SPDX-License-Identifier: MIT */
/*
 * The public functions of libbaton-checked for what the library allocates: pools, executors and
 * wheels of timers.
 */
#include "checked/plain.h"

#include "checked/owned.h"
#include "checked/records.h"

/* ---- Pools ---- */

BATON_EXPORT int baton_pool_create(const struct baton_pool_options *options,
                                   struct baton_pool **pool)
{
	int error;

	BATON__NEED(pool, "there is no place for the pool");
	error = baton__plain_pool_create(options, pool);
	if (!error) {
		baton__checked_made(*pool, __func__);
		baton__checked_made(baton__plain_pool_executor(*pool), __func__);
	}
	return error;
}

/* The default pool may lie where another pool was. */
BATON_EXPORT int baton_pool_default(struct baton_pool **pool)
{
	int error;

	BATON__NEED(pool, "there is no place for the pool");
	error = baton__plain_pool_default(pool);
	if (!error) {
		baton__checked_made(*pool, __func__);
		baton__checked_made(baton__plain_pool_executor(*pool), __func__);
	}
	return error;
}

BATON_EXPORT int baton_pool_destroy(struct baton_pool *pool)
{
	const struct baton_executor *executor;
	int error;

	baton__checked_owned(pool, __func__);
	executor = baton__plain_pool_executor(pool);
	error = baton__plain_pool_destroy(pool);
	if (!error) {
		baton__checked_ended(pool, __func__);
		baton__checked_ended(executor, __func__);
	}
	return error;
}

BATON_EXPORT struct baton_executor *baton_pool_executor(struct baton_pool *pool)
{
	baton__checked_owned(pool, __func__);
	return baton__plain_pool_executor(pool);
}

BATON_EXPORT size_t baton_pool_workers(const struct baton_pool *pool)
{
	baton__checked_owned(pool, __func__);
	return baton__plain_pool_workers(pool);
}

BATON_EXPORT int baton_pool_submit(struct baton_pool *pool, struct baton_plain_job *job)
{
	baton__checked_owned(pool, __func__);
	BATON__NEED(job && job->_run,
	            "the job has no function: initialise it by BATON_PLAIN_JOB_INIT");
	return baton__plain_pool_submit(pool, job);
}

BATON_EXPORT int baton_pool_shutdown(struct baton_pool *pool)
{
	baton__checked_owned(pool, __func__);
	return baton__plain_pool_shutdown(pool);
}

BATON_EXPORT void baton_pool_stats_read(const struct baton_pool *pool,
                                        struct baton_pool_stats *stats)
{
	baton__checked_owned(pool, __func__);
	baton__plain_pool_stats_read(pool, stats);
}

/* ---- The manual executor and the loop ---- */

BATON_EXPORT int baton_manual_create(struct baton_manual **manual)
{
	int error;

	BATON__NEED(manual, "there is no place for the executor");
	error = baton__plain_manual_create(manual);
	if (!error) {
		baton__checked_made(*manual, __func__);
		baton__checked_made(baton__plain_manual_executor(*manual), __func__);
	}
	return error;
}

BATON_EXPORT void baton_manual_destroy(struct baton_manual *manual)
{
	const struct baton_executor *executor;

	baton__checked_owned(manual, __func__);
	executor = baton__plain_manual_executor(manual);
	baton__plain_manual_destroy(manual);
	baton__checked_ended(manual, __func__);
	baton__checked_ended(executor, __func__);
}

BATON_EXPORT struct baton_executor *baton_manual_executor(struct baton_manual *manual)
{
	baton__checked_owned(manual, __func__);
	return baton__plain_manual_executor(manual);
}

BATON_EXPORT bool baton_manual_run_one(struct baton_manual *manual)
{
	baton__checked_owned(manual, __func__);
	return baton__plain_manual_run_one(manual);
}

BATON_EXPORT size_t baton_manual_run_until_idle(struct baton_manual *manual)
{
	baton__checked_owned(manual, __func__);
	return baton__plain_manual_run_until_idle(manual);
}

BATON_EXPORT int baton_loop_create(struct baton_loop **loop)
{
	int error;

	BATON__NEED(loop, "there is no place for the loop");
	error = baton__plain_loop_create(loop);
	if (!error) {
		baton__checked_made(*loop, __func__);
		baton__checked_made(baton__plain_loop_executor(*loop), __func__);
	}
	return error;
}

BATON_EXPORT void baton_loop_destroy(struct baton_loop *loop)
{
	const struct baton_executor *executor;

	baton__checked_owned(loop, __func__);
	executor = baton__plain_loop_executor(loop);
	baton__plain_loop_destroy(loop);
	baton__checked_ended(loop, __func__);
	baton__checked_ended(executor, __func__);
}

BATON_EXPORT struct baton_executor *baton_loop_executor(struct baton_loop *loop)
{
	baton__checked_owned(loop, __func__);
	return baton__plain_loop_executor(loop);
}

BATON_EXPORT int baton_loop_fd(const struct baton_loop *loop)
{
	baton__checked_owned(loop, __func__);
	return baton__plain_loop_fd(loop);
}

BATON_EXPORT size_t baton_loop_run(struct baton_loop *loop, size_t jobs_max)
{
	baton__checked_owned(loop, __func__);
	return baton__plain_loop_run(loop, jobs_max);
}

/* ---- Wheels ---- */

BATON_EXPORT int baton_timers_create(const struct baton_timers_options *options,
                                     struct baton_timers **timers)
{
	int error;

	BATON__NEED(timers, "there is no place for the wheel");
	error = baton__plain_timers_create(options, timers);
	if (!error)
		baton__checked_made(*timers, __func__);
	return error;
}

BATON_EXPORT int baton_timers_default(struct baton_timers **timers)
{
	int error;

	BATON__NEED(timers, "there is no place for the wheel");
	error = baton__plain_timers_default(timers);
	if (!error)
		baton__checked_made(*timers, __func__);
	return error;
}

BATON_EXPORT int baton_timers_destroy(struct baton_timers *timers)
{
	int error;

	baton__checked_owned(timers, __func__);
	error = baton__plain_timers_destroy(timers);
	if (!error)
		baton__checked_ended(timers, __func__);
	return error;
}

BATON_EXPORT uint64_t baton_timers_now(const struct baton_timers *timers)
{
	baton__checked_owned(timers, __func__);
	return baton__plain_timers_now(timers);
}

BATON_EXPORT int64_t baton_timers_poll(struct baton_timers *timers)
{
	baton__checked_owned(timers, __func__);
	return baton__plain_timers_poll(timers);
}

BATON_EXPORT int64_t baton_timers_advance(struct baton_timers *timers, uint64_t ns)
{
	baton__checked_owned(timers, __func__);
	return baton__plain_timers_advance(timers, ns);
}
