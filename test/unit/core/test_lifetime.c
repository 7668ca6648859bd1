/* SPDX-License-Identifier: MIT */
/* Memory is freed as early as the API allows: AddressSanitizer finds touches that come too late. */
#include "fixture.h"

/* A task, its future, and a continuation that frees them all. */
struct op {
	struct baton_task task;
	struct baton_future future;
	struct baton_continuation continuation;
	struct baton_task end;
	int *state;
};

static int op_end(struct baton_task *task)
{
	struct op *op = baton_container_of(task, struct op, end);

	*op->state = (int)baton_future_state(&op->future);
	free(op);
	return 0;
}

static int op_run(struct baton_task *task)
{
	return 0;
}

Test(lifetime, a_continuation_fired_by_cancel_may_free_the_future, .timeout = 10)
{
	struct baton_resource ends = BATON_RESOURCE_INIT(NULL);
	struct op *op = calloc(1, sizeof(*op));
	int state = BATON_PENDING;

	MUST(op);
	fixture_stash();
	baton_future_init(&op->future);
	baton_task_init(&op->task, op_run, &op->future);
	baton_task_init(&op->end, op_end, NULL);
	op->state = &state;
	baton_continuation_task(&op->continuation, &ends, &op->end);
	baton_future_then(&op->future, &op->continuation);
	cr_assert_eq(baton_submit_later(&fix.resource, &op->task), 0);
	cr_assert_eq(baton_future_cancel(&op->future), 0);
	cr_assert_eq(state, BATON_CANCELLED);
	stash_run(&fix.stash);
	fixture_end();
	resource_end(&ends);
}

/* One thread ends a pool, another destroys it as soon as it sees that. */
struct ending {
	struct baton_pool *pool;
	bool now;
	int result;
	struct baton_job *jobs;
};

static void *ending_main(void *arg)
{
	struct ending *ending = arg;

	ending->result = ending->now ? baton_pool_shutdown_now(ending->pool, &ending->jobs)
	                             : baton_pool_shutdown(ending->pool);
	return NULL;
}

static void destroyed_while_it_is_shut_down(bool now)
{
	for (int round = 0; round < scaled(300); round++) {
		struct ending ending = {.pool = pool_of(4), .now = now, .result = 1};
		pthread_t thread = thread_start(ending_main, &ending);
		int error;

		while ((error = baton_pool_await(ending.pool)) == -EINVAL)
			sched_yield();
		cr_assert_eq(error, 0);
		cr_assert_eq(baton_pool_destroy(ending.pool), 0);
		thread_join(thread);
		cr_assert_eq(ending.result, 0);
		cr_assert_null(ending.jobs);
	}
}

Test(lifetime, a_pool_is_destroyed_beside_a_new_threads_shutdown, .timeout = 20)
{
	destroyed_while_it_is_shut_down(false);
}

Test(lifetime, a_pool_is_destroyed_beside_a_new_threads_shutdown_now, .timeout = 20)
{
	destroyed_while_it_is_shut_down(true);
}
