/* SPDX-License-Identifier: MIT */
/*
 * As edges.c, for futures and those who visit their resources.
 */
#include "support.h"

#include "base/atomic.h"
#include "thread/node.h"
#include "thread/thread.h"

static struct sim_topic topic;
static struct sim_note notes[3];
static struct baton_manual *manual;
static int data;

/* ---- What the task did is seen with its end ---- */

static int write_data(struct baton_task *task)
{
	data = 1;
	return 0;
}

static struct baton_future future;
static struct baton_task task;

static void submit_task(void *argument)
{
	/* A thread's first submit takes the long way. */
	sim_require(baton_thread_attach() == 0);
	sim_require(baton_submit(&topic.resource, &task) == 0);
}

SIM_SCENARIO(edge_poll, "[future.final] who polls a future until it is done sees what the task did")
{
	sim_topic_init(&topic, 10, 64, NULL);
	baton_future_init(&future);
	baton_task_init(&task, write_data, &future);
	sim_start(submit_task, NULL);
	if (baton_future_state(&future) == BATON_DONE)
		sim_require(data == 1);
}

/* ---- References ---- */

static void *answer(void *argument)
{
	return argument;
}

static void async_and_drop(void *argument)
{
	struct baton_future *one;

	sim_require(baton_async(&topic.resource, answer, argument, &one) == 0);
	(void)baton_future_state(one);
	baton_future_unref(one);
}

SIM_SCENARIO(edge_drop,
             "[future.reference] the completer frees what has been dropped after its last use")
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topic, 0, 64, baton_manual_executor(manual));
	sim_start(async_and_drop, NULL);
	sim_drive(manual);
	baton_manual_destroy(manual);
}

/* ---- Visitors ---- */

static void init_and_submit(void *argument)
{
	sim_topic_init(&topic, 10, 64, baton_manual_executor(manual));
	sim_require(baton_submit_later(&topic.resource, &task) == 0);
}

static void wait_and_look(void *argument)
{
	sim_require(baton_future_wait(&future) == 0);
	sim_require(data == 1);
}

SIM_SCENARIO(edge_ready,
             "[future.bind] a waiter visits a resource that it has never seen initialised")
{
	sim_require(baton_manual_create(&manual) == 0);
	baton_future_init(&future);
	baton_task_init(&task, write_data, &future);
	sim_start(init_and_submit, NULL);
	sim_start(wait_and_look, NULL);
	sim_drive(manual);
	baton_manual_destroy(manual);
}

static void close_topic(void *argument)
{
	(void)baton_resource_close(&topic.resource);
}

static void wait_a_little(void *argument)
{
	uint64_t deadline = sim_in(2000);

	sim_require(baton_future_wait_until(&future, deadline) <= 0);
}

static void cancel_it(void *argument)
{
	(void)baton_future_cancel(&future);
}

/* Refused, its submitter gives the resource back, whoever has visited it. */
static void refused(void (*visitor)(void *))
{
	int status;

	sim_topic_init(&topic, 10, 64, NULL);
	baton_future_init(&future);
	baton_task_init(&task, write_data, &future);
	sim_start(visitor, NULL);
	sim_start(close_topic, NULL);
	status = baton_submit(&topic.resource, &task);
	sim_require(status == 0 || status == -EPIPE || status == -ECANCELED);
	sim_join(2);
	sim_require(baton_resource_await(&topic.resource) == 0);
	baton_resource_deinit(&topic.resource);
	sim_retire(&topic.resource, sizeof(topic.resource));
	topic.config.capture_max = 5;
}

SIM_SCENARIO(
	edge_refused_waiter,
	"[future.visitor] [future.unbound] a waiter has left a resource that has refused the task")
{
	refused(wait_a_little);
}

SIM_SCENARIO(edge_refused_canceller, "[future.visitor] [future.unbound] the same with a canceller")
{
	refused(cancel_it);
}

/* ---- The owner of an executor sleeps; only a job that is no resource's could go on ---- */

static struct baton_plain_job plain;
static struct baton_future promise;
static uint32_t running;

static void complete_promise(struct baton_plain_job *job)
{
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
}

static void schedule_and_wait(struct sim_note *note)
{
	store_release(&running, 1);
	sim_require(baton_executor_schedule(baton_manual_executor(manual), &plain.job) == 0);
	sim_require(baton_future_wait(&promise) == 0);
}

static void submit_first(void *argument)
{
	sim_require(sim_note_submit(&notes[0]) == 0);
}

SIM_SCENARIO(edge_driven_plain, "[thread.asleep] an owner that sleeps in a wait is told of a job",
             .bound = 3)
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topic, 10, 64, baton_manual_executor(manual));
	baton_promise_init(&promise);
	baton_plain_job_init(&plain, complete_promise, NULL);
	sim_note_init(&notes[0], &topic, false);
	notes[0].body = schedule_and_wait;
	sim_note_init(&notes[1], &topic, true);
	sim_start(submit_first, NULL);
	while (!load_acquire(&running))
		sim_yield();
	sim_require(sim_note_submit(&notes[1]) == 0);
	sim_note_wait(&notes[1]);
	sim_drive(manual);
	baton_manual_destroy(manual);
}

/* ---- Who drives a loop is known by what it has published ---- */

static struct baton_loop *loop;
static struct baton_plain_job jobs[2];
static uint32_t ran;

static void count_job(struct baton_plain_job *job)
{
	data++;
	(void)add_relaxed(&ran, 1);
}

static void run_loop(void *argument)
{
	sim_require(baton_loop_adopt(loop) == 0);
	while (load_relaxed(&ran) < 2)
		if (!baton_loop_run(loop, 0))
			sim_yield();
	baton_loop_destroy(loop);
	sim_require(data == 2);
}

SIM_SCENARIO(edge_loop,
             "[driven.job] [driven.owner] a loop is told of jobs as soon as it has an owner")
{
	sim_require(baton_loop_create(&loop) == 0);
	sim_start(run_loop, NULL);
	for (int i = 0; i < 2; i++) {
		baton_plain_job_init(&jobs[i], count_job, NULL);
		sim_require(baton_executor_schedule(baton_loop_executor(loop), &jobs[i].job) == 0);
	}
}

static struct baton_plain_job own_jobs[2];

/* In one turn after the other: what it gathers itself, and what others have sent. */
static void run_gathering_loop(void *argument)
{
	sim_require(baton_loop_adopt(loop) == 0);
	for (int i = 0; i < 2; i++) {
		baton_loop_gather(loop);
		baton_plain_job_init(&own_jobs[i], count_job, NULL);
		sim_require(baton_executor_schedule(baton_loop_executor(loop), &own_jobs[i].job) ==
		            0);
		if (i == 0)
			(void)baton_loop_run_gathered(loop);
		else
			(void)baton_loop_run(loop, 0);
	}
	while (load_relaxed(&ran) < 4)
		if (!baton_loop_run(loop, 0))
			sim_yield();
	baton_loop_destroy(loop);
	sim_require(data == 4);
}

static void start_gathering_loop(void)
{
	sim_start(run_gathering_loop, NULL);
	for (int i = 0; i < 2; i++) {
		baton_plain_job_init(&jobs[i], count_job, NULL);
		sim_require(baton_executor_schedule(baton_loop_executor(loop), &jobs[i].job) == 0);
	}
}

SIM_SCENARIO(edge_loop_gathers,
             "[driven.job] a loop that gathers its own jobs loses none of the others'")
{
	sim_require(baton_loop_create(&loop) == 0);
	start_gathering_loop();
}

SIM_SCENARIO(edge_loop_disowned, "a former owner of a loop does not gather for its successor")
{
	sim_require(baton_loop_create(&loop) == 0);
	sim_require(baton_loop_adopt(loop) == 0);
	baton_loop_disown(loop);
	start_gathering_loop();
}

/* ---- Cancelling what is queued does not wait for the executor ---- */

SIM_SCENARIO(edge_cancel_queued, "a task of a queued resource is unlinked by who cancels it")
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topic, 0, 64, baton_manual_executor(manual));
	for (int i = 0; i < 3; i++) {
		sim_note_init(&notes[i], &topic, true);
		sim_require(sim_note_submit(&notes[i]) == 0);
	}
	for (int i = 2; i >= 0; i--) {
		sim_require(baton_future_cancel(&notes[i].future) == 0);
		sim_require(baton_future_state(&notes[i].future) == BATON_CANCELLED);
		sim_note_over(&notes[i]);
	}
	baton_manual_destroy(manual);
}

SIM_SCENARIO(edge_cancel_job, "what is in a job that is cancelled is cancelled, the inbox too")
{
	sim_require(baton_manual_create(&manual) == 0);
	sim_topic_init(&topic, 0, 64, baton_manual_executor(manual));
	for (int i = 0; i < 3; i++) {
		sim_note_init(&notes[i], &topic, true);
		sim_require(sim_note_submit(&notes[i]) == 0);
	}
	baton_manual_destroy(manual);
	for (int i = 0; i < 3; i++)
		sim_require(baton_future_state(&notes[i].future) == BATON_CANCELLED);
}

/* ---- A batch keeps its order ---- */

static struct baton_task batch[3];
static int order;

static int check_batch(struct baton_task *one)
{
	sim_require(one == &batch[order]);
	order++;
	return 0;
}

static void submit_batch(void *argument)
{
	struct baton_task *const list[] = {&batch[0], &batch[1], &batch[2]};

	for (int i = 0; i < 3; i++)
		baton_task_init(&batch[i], check_batch, NULL);
	sim_require(baton_submit_batch(&topic.resource, list, 3) == 0);
}

SIM_SCENARIO(edge_batch, "L2: a batch runs in its order, pushed or captured")
{
	sim_topic_init(&topic, 10, 64, NULL);
	baton_task_init(&task, write_data, NULL);
	sim_start(submit_batch, NULL);
	submit_task(NULL);
	sim_join_all();
	sim_require(order == 3);
}
