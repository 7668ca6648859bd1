/* SPDX-License-Identifier: MIT */
/* Holds of busy resources: the grant, its place among the tasks, and how a wait ends otherwise. */
#include "support.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/hold.h>
#include <baton/hooks.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/suspend.h>

/* A thread that holds a resource, and says so. */
struct holder {
	struct baton_resource *resource;
	struct baton_resource *outer; /* held before; or NULL */
	uint64_t deadline_ns;         /* 0: none */
	atomic_int tid;
	sem_t held;
	sem_t leave;
	int status;
	int released;
	int *counter; /* incremented while held; or NULL */
	pthread_t thread;
};

static void *holder_main(void *arg)
{
	struct holder *holder = arg;
	struct baton_hold outer = BATON_HOLD_INIT;
	struct baton_hold hold = BATON_HOLD_INIT;

	if (holder->outer)
		MUST(baton_hold(holder->outer, &outer) == 0);
	atomic_store(&holder->tid, thread_id());
	holder->status = holder->deadline_ns
	                         ? baton_hold_until(holder->resource, &hold, holder->deadline_ns)
	                         : baton_hold(holder->resource, &hold);
	MUST(baton_held(holder->resource) == !holder->status);
	if (!holder->status && holder->counter)
		++*holder->counter;
	gate_open(&holder->held);
	gate_pass(&holder->leave);
	holder->released = holder->status ? 0 : baton_release(&hold);
	if (holder->outer)
		MUST(baton_release(&outer) == 0);
	return NULL;
}

/* The thread waits, or will soon. */
static void holder_start(struct holder *holder, struct baton_resource *resource)
{
	holder->resource = resource;
	gate_init(&holder->held);
	gate_init(&holder->leave);
	holder->thread = thread_start(holder_main, holder);
	until_at_least(&holder->tid, 1);
}

/* Returns when the thread waits in its turn, asleep: it has stood back before. */
static void until_in_turn(const struct holder *holder)
{
	while (!(__atomic_load_n(&holder->resource->_word, __ATOMIC_RELAXED) >> 3))
		sched_yield();
	until_asleep(holder->tid);
}

static void holder_end(struct holder *holder)
{
	gate_open(&holder->leave);
	thread_join(holder->thread);
}

Test(hold_wait, the_grant_comes_after_the_task_that_runs, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct journal journal = {0};
	struct occupant occupant;
	struct holder holder = {0};
	struct step step;

	occupy(&occupant, &resource);
	holder_start(&holder, &resource);
	until_in_turn(&holder);
	cr_assert_neq(sem_trywait(&holder.held), 0);
	release(&occupant);
	gate_pass(&holder.held);
	cr_assert_eq(holder.status, 0);
	cr_assert_not(baton_resource_is_idle(&resource));
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	cr_assert_eq(journal.count, 0);
	holder_end(&holder);
	cr_assert_eq(holder.released, 0);
	cr_assert_eq(journal.count, 1);
	cr_assert_eq(journal.thread[0], holder.thread);
	resource_end(&resource);
}

Test(hold_wait, a_thread_that_holds_another_resource_waits_with_a_node, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);
	struct occupant occupant;
	struct holder holder = {.outer = &outer};

	occupy(&occupant, &resource);
	holder_start(&holder, &resource);
	until_in_turn(&holder);
	release(&occupant);
	gate_pass(&holder.held);
	cr_assert_eq(holder.status, 0);
	holder_end(&holder);
	resource_end(&resource);
	resource_end(&outer);
}

Test(hold_wait, a_deadline_ends_the_wait_and_takes_nothing, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_hold hold = BATON_HOLD_INIT;
	struct occupant occupant;

	occupy(&occupant, &resource);
	cr_assert_eq(baton_hold_until(&resource, &hold, 0), -ETIMEDOUT);
	/* A deadline in the past leaves nothing in the inbox. */
	cr_assert_eq(resource._word >> 3, 0);
	cr_assert_eq(baton_hold_until(&resource, &hold, deadline_in_ms(20)), -ETIMEDOUT);
	cr_assert_not(baton_held(&resource));
	cr_assert_eq(baton_release(&hold), -EINVAL);
	release(&occupant);
	cr_assert(baton_resource_is_idle(&resource));
	cr_assert_eq(baton_hold_until(&resource, &hold, 0), 0);
	cr_assert_eq(baton_release(&hold), 0);
	resource_end(&resource);
}

Test(hold_wait, cancel_pending_cancels_a_hold_that_waits, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct occupant occupant;
	struct holder holder = {0};

	occupy(&occupant, &resource);
	holder_start(&holder, &resource);
	until_in_turn(&holder);
	cr_assert_eq(baton_resource_cancel_pending(&resource), 0);
	release(&occupant);
	gate_pass(&holder.held);
	cr_assert_eq(holder.status, -ECANCELED);
	holder_end(&holder);
	resource_end(&resource);
}

Test(hold_wait, a_hold_that_waits_when_the_resource_is_closed_is_served, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_hold hold = BATON_HOLD_INIT;
	struct occupant occupant;
	struct holder holder = {0};

	occupy(&occupant, &resource);
	holder_start(&holder, &resource);
	until_in_turn(&holder);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_hold(&resource, &hold), -EPIPE);
	release(&occupant);
	gate_pass(&holder.held);
	cr_assert_eq(holder.status, 0);
	cr_assert_eq(baton_resource_await_until(&resource, deadline_in_ms(20)), -ETIMEDOUT);
	holder_end(&holder);
	resource_end(&resource);
}

Test(hold_wait, a_suspended_resource_is_held_when_it_is_resumed, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct holder holder = {0};

	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	holder_start(&holder, &resource);
	until_in_turn(&holder);
	cr_assert_neq(sem_trywait(&holder.held), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	gate_pass(&holder.held);
	cr_assert_eq(holder.status, 0);
	/* A suspension waits for the end of the hold. */
	cr_assert_eq(baton_resource_suspend(&resource, &suspension), 0);
	cr_assert_not(baton_suspension_is_effective(&suspension));
	holder_end(&holder);
	cr_assert(baton_suspension_is_effective(&suspension));
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	resource_end(&resource);
}

Test(hold_wait, a_queued_resource_is_drained_up_to_the_hold, .timeout = 10)
{
	struct baton_loop *loop = NULL;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct baton_hold hold = BATON_HOLD_INIT;
	struct journal journal = {0};
	struct step steps[3];

	cr_assert_eq(baton_loop_create(&loop), 0);
	config.executor = baton_loop_executor(loop);
	baton_resource_init(&resource, &config);
	steps_init(steps, 3, &journal, 0);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_submit_later(&resource, &steps[i].task), 0);
	cr_assert_eq(baton_hold(&resource, &hold), 0);
	cr_assert(journal_counts_up(&journal, 0, 2));
	cr_assert(journal_here(&journal, 1));
	cr_assert_eq(baton_submit(&resource, &steps[2].task), 0);
	/* The job that was left in the queue finds nothing to do. */
	BATON_IGNORE(baton_loop_run(loop, 0));
	cr_assert_eq(journal.count, 2);
	cr_assert_eq(baton_release(&hold), 0);
	BATON_IGNORE(baton_loop_run(loop, 0));
	cr_assert(journal_counts_up(&journal, 0, 3));
	resource_end(&resource);
	baton_loop_destroy(loop);
}

Test(hold_wait, a_full_bound_refuses_a_hold, .timeout = 10)
{
	static const struct baton_bound_config config = {.tasks_max = 1,
	                                                 .policy = BATON_BOUND_REFUSE};
	struct baton_bound bound;
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_hold hold = BATON_HOLD_INIT;
	struct journal journal = {0};
	struct occupant occupant;
	struct step step;

	baton_bound_init(&bound, &config);
	baton_resource_set_bound(&resource, &bound);
	occupy(&occupant, &resource);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	cr_assert_eq(baton_hold(&resource, &hold), -EAGAIN);
	release(&occupant);
	cr_assert_eq(baton_hold(&resource, &hold), 0);
	cr_assert_eq(baton_release(&hold), 0);
	resource_end(&resource);
}

static void *times_ten(void *arg)
{
	*(int *)arg *= 10;
	return NULL;
}

Test(hold_wait, in_a_resource_with_lanes_it_is_of_lane_0, .timeout = 10)
{
	struct baton_lane array[2];
	struct baton_lanes lanes;
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct occupant occupant;
	const struct baton_label low = {.lane = 1};
	int counter = 0;
	struct holder holder = {.counter = &counter};

	baton_lanes_init(&lanes, array, 2, NULL);
	baton_resource_set_lanes(&resource, &lanes);
	occupy(&occupant, &resource);
	cr_assert_eq(baton_post_with(&resource,
	                             &(struct baton_call_options){
					     .fn = times_ten, .arg = &counter, .label = &low}),
	             0);
	holder_start(&holder, &resource);
	until_in_turn(&holder);
	release(&occupant);
	gate_pass(&holder.held);
	cr_assert_eq(counter, 1);
	holder_end(&holder);
	cr_assert_eq(counter, 10);
	resource_end(&resource);
}

Test(hold_wait, statistics_count_one_executed_task, .timeout = 10)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct occupant occupant;
	struct holder holder = {0};

	baton_resource_set_stats(&resource, &stats);
	occupy(&occupant, &resource);
	holder_start(&holder, &resource);
	until_in_turn(&holder);
	release(&occupant);
	gate_pass(&holder.held);
	holder_end(&holder);
	cr_assert_eq(resource_counts(&stats).executed, 2);
	cr_assert_eq(resource_counts(&stats).submitted, 2);
	resource_end(&resource);
}

/* ---- Hooks and context ---- */

static char log_text[64];
static atomic_size_t log_length;
static pthread_t log_thread[64];
static int begin_status;

static int note(char letter)
{
	size_t at = atomic_fetch_add(&log_length, 1);

	MUST(at + 1 < sizeof(log_text));
	log_thread[at] = pthread_self();
	log_text[at] = letter;
	return 0;
}

static int batch_begin(struct baton_resource *resource)
{
	MUST(baton_held(resource));
	note('b');
	return begin_status;
}

static int batch_end(struct baton_resource *resource)
{
	MUST(baton_held(resource));
	return note('e');
}

static void enter(struct baton_resource *resource)
{
	MUST(baton_held(resource));
	note('(');
}

static void leave(struct baton_resource *resource)
{
	MUST(baton_held(resource));
	note(')');
}

static int note_run(struct baton_task *task)
{
	return note('t');
}

static const struct baton_resource_config hooked_config = {
	.batch_begin = batch_begin, .batch_end = batch_end, .enter = enter, .leave = leave};

Test(hold_wait, hooks_and_context_are_called_around_the_hold_on_its_thread, .timeout = 10)
{
	struct baton_resource resource;
	struct baton_task tasks[2] = {BATON_TASK_INIT(note_run, NULL),
	                              BATON_TASK_INIT(note_run, NULL)};
	struct occupant occupant;
	struct holder holder = {0};

	baton_resource_init(&resource, &hooked_config);
	occupy(&occupant, &resource);
	cr_assert_eq(baton_submit(&resource, &tasks[0]), 0);
	holder_start(&holder, &resource);
	until_in_turn(&holder);
	cr_assert_eq(baton_submit(&resource, &tasks[1]), 0);
	release(&occupant);
	gate_pass(&holder.held);
	cr_assert_eq(holder.status, 0);
	/* The occupant's batch has ended before the grant. */
	cr_assert_str_eq(log_text, "(b)()(t)(e)(b)(");
	cr_assert_eq(log_thread[13], holder.thread);
	cr_assert_neq(log_thread[10], holder.thread);
	holder_end(&holder);
	cr_assert_str_eq(log_text, "(b)()(t)(e)(b)()(e)(b)(t)(e)");
	cr_assert_eq(log_thread[17], holder.thread);
	resource_end(&resource);
}

Test(hold_wait, a_batch_begin_that_fails_after_the_grant_gives_the_baton_on, .timeout = 10)
{
	struct baton_resource resource;
	struct occupant occupant;
	struct holder holder = {0};

	baton_resource_init(&resource, &hooked_config);
	occupy(&occupant, &resource);
	holder_start(&holder, &resource);
	until_in_turn(&holder);
	begin_status = -ENOSPC;
	release(&occupant);
	gate_pass(&holder.held);
	cr_assert_eq(holder.status, -ENOSPC);
	cr_assert(baton_resource_is_idle(&resource));
	holder_end(&holder);
	resource_end(&resource);
}

/* ---- Cycles ---- */

Test(hold_wait, two_holds_in_opposite_orders_are_a_cycle_that_is_named, .timeout = 10)
{
	struct baton_resource resources[2] = {BATON_RESOURCE_INIT(NULL), BATON_RESOURCE_INIT(NULL)};
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};
	struct baton_deadlock_link links[2];
	struct holder holder = {.outer = &resources[1]};

	cr_assert_eq(baton_hold(&resources[0], &holds[0]), 0);
	holder_start(&holder, &resources[0]);
	until_in_turn(&holder);
	cr_assert_eq(baton_hold(&resources[1], &holds[1]), -EDEADLK);
	cr_assert_eq(baton_deadlock_cycle(links, 2), 2);
	cr_assert_eq(links[0].resource, &resources[1]);
	cr_assert_eq(links[1].resource, &resources[0]);
	cr_assert_eq(baton_hold_until(&resources[1], &holds[1], deadline_in_ms(10)), -ETIMEDOUT);
	cr_assert_eq(baton_release(&holds[0]), 0);
	gate_pass(&holder.held);
	cr_assert_eq(holder.status, 0);
	holder_end(&holder);
	resource_end(&resources[0]);
	resource_end(&resources[1]);
}

struct cross_call {
	struct baton_resource *target;
	struct baton_resource *from;
	atomic_int tid;
	int status;
};

static void *nothing(void *arg)
{
	return arg;
}

static void *call_across(void *arg)
{
	struct cross_call *cross = arg;

	atomic_store(&cross->tid, thread_id());
	cross->status = baton_call(cross->target, nothing, NULL, NULL);
	return NULL;
}

static void *cross_main(void *arg)
{
	struct cross_call *cross = arg;

	MUST(baton_call(cross->from, call_across, cross, NULL) == 0);
	return NULL;
}

Test(hold_wait, a_hold_and_a_call_are_a_cycle, .timeout = 10)
{
	struct baton_resource resources[2] = {BATON_RESOURCE_INIT(NULL), BATON_RESOURCE_INIT(NULL)};
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};
	struct cross_call cross = {.target = &resources[0], .from = &resources[1]};
	pthread_t thread;

	cr_assert_eq(baton_hold(&resources[0], &holds[0]), 0);
	thread = thread_start(cross_main, &cross);
	until_at_least(&cross.tid, 1);
	until_asleep(cross.tid);
	cr_assert_eq(baton_hold(&resources[1], &holds[1]), -EDEADLK);
	cr_assert_eq(baton_release(&holds[0]), 0);
	thread_join(thread);
	cr_assert_eq(cross.status, 0);
	resource_end(&resources[0]);
	resource_end(&resources[1]);
}
