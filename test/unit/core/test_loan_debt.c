/* SPDX-License-Identifier: MIT */
/* Debts (L12): loans of tasks, paid when the stack is unwound, or revoked by a last holder. */
#include "loans.h"

#include <baton/bound.h>

#include <errno.h>
#include <string.h>

struct outer {
	struct baton_task task;
	struct queue *queue;
	int count;
	void (*then)(struct outer *outer);
	sem_t entered;
	sem_t go_on;
};

static int outer_run(struct baton_task *task)
{
	struct outer *outer = baton_container_of(task, struct outer, task);
	int before = atomic_load(&outer->queue->ran);

	put_many(outer->queue, outer->count);
	cr_assert_eq(atomic_load(&outer->queue->ran), before, "nothing of another's in a task");
	if (outer->then)
		outer->then(outer);
	return 0;
}

static void outer_init(struct outer *outer, struct queue *queue, int count)
{
	*outer = (struct outer){.queue = queue, .count = count};
	baton_task_init(&outer->task, outer_run, NULL);
	gate_init(&outer->entered);
	gate_init(&outer->go_on);
}

Test(loan_debt, a_task_pays_when_the_stack_is_unwound, .timeout = 10)
{
	struct baton_resource stage = BATON_RESOURCE_INIT(NULL);
	struct outer outer;
	struct queue queue;

	queue_begin(&queue, 1000);
	outer_init(&outer, &queue, FIRST);
	cr_assert_eq(baton_submit(&stage, &outer.task), 0);
	cr_assert_eq(waiting(&queue), 1000 + (int)FIRST, "it learns first");
	outer_init(&outer, &queue, 1);
	for (int left = 1000 + FIRST; left > 2 * LIMIT;) {
		cr_assert_eq(baton_submit(&stage, &outer.task), 0);
		left -= LIMIT - 1;
		cr_assert_eq(waiting(&queue), left);
	}
	queue_end(&queue);
	resource_end(&stage);
}

Test(loan_debt, a_task_that_submits_often_pays_once_for_each_resource, .timeout = 10)
{
	struct baton_resource stage = BATON_RESOURCE_INIT(NULL);
	struct outer outer;
	struct queue queue;

	queue_begin(&queue, 100);
	put_many(&queue, FIRST);
	outer_init(&outer, &queue, 3);
	cr_assert_eq(baton_submit(&stage, &outer.task), 0);
	cr_assert_eq(waiting(&queue), 100 + (int)FIRST + 3 - LIMIT);
	queue_end(&queue);
	resource_end(&stage);
}

Test(loan_debt, a_task_owes_nothing_where_the_limit_is_0, .timeout = 10)
{
	struct baton_resource stage = BATON_RESOURCE_INIT(NULL);
	struct outer outer;
	struct queue queue;

	queue_begin_limited(&queue, 100, BATON_CAPTURE_NONE);
	outer_init(&outer, &queue, 2 * FIRST);
	cr_assert_eq(baton_submit(&stage, &outer.task), 0);
	cr_assert_eq(waiting(&queue), 100 + 2 * (int)FIRST);
	cr_assert_eq(atomic_load(&queue.stash.returned), 0, "nor is the baton borrowed");
	queue_end(&queue);
	resource_end(&stage);
}

static void then_wait(struct outer *outer)
{
	gate_open(&outer->entered);
	gate_pass(&outer->go_on);
}

struct stage_call {
	struct baton_resource stage;
	struct outer *outer;
};

static void *stage_main(void *arg)
{
	struct stage_call *call = arg;

	thread_forgets();
	baton__self->learnt.loan_skip = 0;
	cr_assert_eq(baton_submit(&call->stage, &call->outer->task), 0);
	return NULL;
}

Test(loan_debt, a_task_that_goes_on_for_ever_keeps_no_closed_resource_alive, .timeout = 10)
{
	struct stage_call call = {.stage = BATON_RESOURCE_INIT(NULL)};
	struct outer outer;
	struct queue queue;
	pthread_t thread;

	queue_begin(&queue, 100);
	outer_init(&outer, &queue, 1);
	outer.then = then_wait;
	call.outer = &outer;
	thread = thread_start(stage_main, &call);
	gate_pass(&outer.entered);
	/* The debtor is still in its task: the last holder revokes the debt. */
	queue_end(&queue);
	memset(&queue.resource, 0xff, sizeof(queue.resource));
	gate_open(&outer.go_on);
	(void)thread_join(thread);
	resource_end(&call.stage);
}

static void then_close(struct outer *outer)
{
	struct entry *late = entry_new(outer->queue, NULL);

	queue_end_waiting(outer->queue);
	cr_assert_eq(baton_submit(&outer->queue->resource, &late->stamped.task), -EPIPE);
	free(late);
}

Test(loan_debt, a_task_may_close_and_await_what_it_owes, .timeout = 10)
{
	struct baton_resource stage = BATON_RESOURCE_INIT(NULL);
	struct outer outer;
	struct queue queue;

	queue_begin(&queue, 100);
	put_many(&queue, FIRST);
	outer_init(&outer, &queue, 1);
	outer.then = then_close;
	cr_assert_eq(baton_submit(&stage, &outer.task), 0);
	resource_end(&stage);
}

static struct queue *target;

static int put_run(struct baton_task *task)
{
	baton__self->learnt.loan_skip = 0;
	cr_assert_eq(put(target), 0);
	return 0;
}

static void then_owe(struct outer *outer)
{
	baton__self->learnt.loan_skip = 0;
	cr_assert_eq(put(outer->queue), 0);
}

/* Or a payment could go on for ever. */
Test(loan_debt, a_task_that_a_payment_runs_owes_nothing, .timeout = 10)
{
	struct baton_resource stage = BATON_RESOURCE_INIT(NULL);
	struct baton_task putting = BATON_TASK_INIT(put_run, NULL);
	struct queue queue, other;
	struct outer outer;

	queue_begin(&other, 100);
	queue_begin(&queue, 1);
	target = &other;
	outer_init(&outer, &queue, 0);
	outer.then = then_owe;
	cr_assert_eq(baton_submit(&queue.resource, &putting), 0);
	cr_assert_eq(baton_submit(&stage, &outer.task), 0);
	cr_assert_eq(waiting(&queue), 0, "paid");
	cr_assert_eq(waiting(&other), 101);
	queue_end(&queue);
	queue_end(&other);
	resource_end(&stage);
}

static struct queue many[BATON__DEBTS_MAX + 1];

static void then_owe_many(struct outer *outer)
{
	for (int i = 0; i <= BATON__DEBTS_MAX; i++) {
		baton__self->learnt.loan_skip = 0;
		cr_assert_eq(put(&many[i]), 0);
	}
}

Test(loan_debt, a_task_owes_to_so_many_resources_at_most_and_pays_each_of_them, .timeout = 10)
{
	struct baton_resource stage = BATON_RESOURCE_INIT(NULL);
	struct outer outer;

	for (int i = 0; i <= BATON__DEBTS_MAX; i++)
		queue_begin(&many[i], 100);
	/* The payment makes room for as many debts again. */
	for (int left = 101; left > 80; left -= LIMIT - 1) {
		outer_init(&outer, &many[0], 0);
		outer.then = then_owe_many;
		cr_assert_eq(baton_submit(&stage, &outer.task), 0);
		for (int i = 0; i < BATON__DEBTS_MAX; i++)
			cr_assert_eq(waiting(&many[i]), left - LIMIT, "queue %d", i);
	}
	cr_assert_eq(waiting(&many[BATON__DEBTS_MAX]), 103, "one too many");
	for (int i = 0; i <= BATON__DEBTS_MAX; i++)
		queue_end(&many[i]);
	resource_end(&stage);
}

static int nothing(struct baton_task *task)
{
	(void)task;
	return 0;
}

struct bounded {
	struct baton_task outer;
	struct baton_resource *resource;
	struct baton_task accepted;
	struct baton_task refused;
};

static int submit_one_too_many(struct baton_task *task)
{
	struct bounded *bounded = baton_container_of(task, struct bounded, outer);

	baton__self->learnt.loan_skip = 0;
	cr_assert_eq(baton_submit(bounded->resource, &bounded->accepted), 0);
	cr_assert_eq(baton_submit(bounded->resource, &bounded->refused), -EAGAIN);
	return 0;
}

Test(loan_debt, of_a_submit_that_is_refused_is_dropped, .timeout = 10)
{
	const struct baton_bound_config limits = {.tasks_max = 2};
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource stage = BATON_RESOURCE_INIT(NULL);
	struct baton_resource resource;
	struct baton_bound bound;
	struct baton_task first;
	struct bounded bounded = {.resource = &resource};
	struct stash stash;

	stash_init(&stash);
	config.executor = &stash.executor;
	baton_resource_init(&resource, &config);
	baton_bound_init(&bound, &limits);
	baton_resource_set_bound(&resource, &bound);
	thread_forgets();
	baton_task_init(&first, nothing, NULL);
	baton_task_init(&bounded.accepted, nothing, NULL);
	baton_task_init(&bounded.refused, nothing, NULL);
	baton_task_init(&bounded.outer, submit_one_too_many, NULL);
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	cr_assert_eq(baton_submit(&resource, &first), 0);
	cr_assert_eq(baton_resource_resume_later(&suspension), 0);
	cr_assert_eq(atomic_load(&stash.count), 1);
	cr_assert_eq(baton_submit(&stage, &bounded.outer), 0);
	stash_run(&stash);
	/* Ends only if no debt keeps it. */
	resource_end(&resource);
	resource_end(&stage);
}
