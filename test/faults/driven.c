/* SPDX-License-Identifier: MIT */
/* Failing calls in: the manual executor and the executor of an event loop. */
#include "job.h"

#include <baton/call.h>
#include <baton/label.h>
#include <baton/loop.h>
#include <baton/manual.h>

#include <poll.h>

#define TASKS 3
#define TURNS_MAX 100

struct sender {
	struct baton_executor *executor;
	struct baton_resource *resource;
	struct job jobs[TASKS];
	struct probe probes[TASKS];
};

static void *send(void *arg)
{
	struct sender *sender = arg;

	for (int i = 0; i < TASKS; i++) {
		INSIST(baton_executor_schedule(sender->executor, &sender->jobs[i].plain.job),
		       job_untouched(&sender->jobs[i]));
		INSIST(baton_submit_later(sender->resource, &sender->probes[i].task),
		       probe_untouched(&sender->probes[i]));
	}
	return NULL;
}

static void sender_init(struct sender *sender, struct baton_executor *executor,
                        struct baton_resource *resource)
{
	sender->executor = executor;
	sender->resource = resource;
	for (int i = 0; i < TASKS; i++) {
		job_init(&sender->jobs[i], NULL);
		probe_init(&sender->probes[i]);
	}
}

static bool sender_is(const struct sender *sender, bool (*job_is)(const struct job *job),
                      bool (*probe_is)(const struct probe *probe))
{
	for (int i = 0; i < TASKS; i++)
		if (!job_is(&sender->jobs[i]) || !probe_is(&sender->probes[i]))
			return false;
	return true;
}

SCENARIO(manual, run)
{
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE, .quantum = 1};
	struct baton_resource resource;
	struct sender sender;

	INSIST(baton_manual_create(&manual), !manual);
	config.executor = USE(baton_manual_executor(manual));
	USE(baton_resource_init(&resource, &config));
	sender_init(&sender, config.executor, &resource);
	elsewhere(send, &sender);
	EXPECT(USE(baton_manual_run(manual, 1)));
	EXPECT(USE(baton_manual_run(manual, 0)) == 2 * TASKS - 1);
	EXPECT(!USE(baton_manual_run(manual, 1)));
	EXPECT(sender_is(&sender, job_ran, probe_done));
	resource_end(&resource);
	USE(baton_manual_destroy(manual));
}

/* What is queued is cancelled. */
SCENARIO(manual, destroy)
{
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE, .quantum = 1};
	struct baton_resource resource;
	struct sender sender;

	INSIST(baton_manual_create(&manual), !manual);
	config.executor = USE(baton_manual_executor(manual));
	USE(baton_resource_init(&resource, &config));
	sender_init(&sender, config.executor, &resource);
	elsewhere(send, &sender);
	USE(baton_manual_destroy(manual));
	EXPECT(sender_is(&sender, job_gone, probe_gone));
	config.executor = NULL; /* nobody reads it now */
	resource_end(&resource);
}

/* A waiter that drives its executor itself. */
SCENARIO(manual, wait)
{
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE, .quantum = 1};
	struct baton_resource resource;
	struct sender sender;

	INSIST(baton_manual_create(&manual), !manual);
	config.executor = USE(baton_manual_executor(manual));
	USE(baton_resource_init(&resource, &config));
	sender_init(&sender, config.executor, &resource);
	elsewhere(send, &sender);
	for (int i = 0; i < TASKS; i++)
		INSIST(baton_future_wait(&sender.probes[i].future), true);
	(void)USE(baton_manual_run(manual, 0));
	EXPECT(sender_is(&sender, job_ran, probe_done));
	resource_end(&resource);
	USE(baton_manual_destroy(manual));
}

static bool is_readable(struct baton_loop *loop)
{
	struct pollfd wanted = {USE(baton_loop_fd(loop)), POLLIN, 0};

	return poll(&wanted, 1, 0) == 1;
}

/*
 * As an event loop does it: as long as the descriptor is readable. A thread without memory for its
 * record runs nothing, and loses nothing: so at most TURNS_MAX times.
 */
static void run_loop(struct baton_loop *loop, size_t jobs_max)
{
	for (int i = 0; i < TURNS_MAX && is_readable(loop); i++) {
		size_t count = USE(baton_loop_run(loop, jobs_max));

		EXPECT(jobs_max == 0 || count <= jobs_max);
	}
}

struct looper {
	struct baton_loop *loop;
	struct sender *sender;
	size_t jobs_max;
};

static void *run_sent(void *arg)
{
	struct looper *looper = arg;

	if (looper->jobs_max == 0) {
		INSIST(baton_loop_adopt(looper->loop), true);
		USE(baton_loop_disown(looper->loop));
		INSIST(baton_loop_adopt(looper->loop), true);
	}
	run_loop(looper->loop, looper->jobs_max);
	EXPECT(fault_planned() || !is_readable(looper->loop));
	fault_end();
	run_loop(looper->loop, looper->jobs_max);
	EXPECT(sender_is(looper->sender, job_ran, probe_done));
	return NULL;
}

static bool never(void *arg)
{
	return arg;
}

static void loop_with(size_t jobs_max)
{
	struct baton_loop *loop = NULL;
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE, .quantum = 1};
	struct baton_resource resource;
	struct sender sender;
	struct looper looper = {.sender = &sender, .jobs_max = jobs_max};

	INSIST(baton_loop_create(&loop), !loop);
	looper.loop = loop;
	config.executor = USE(baton_loop_executor(loop));
	USE(baton_resource_init(&resource, &config));
	sender_init(&sender, config.executor, &resource);
	USE(baton_loop_set_should_yield(loop, never, NULL));
	USE(baton_loop_set_signal(loop, NULL, NULL));
	EXPECT(!is_readable(loop) && !USE(baton_loop_is_owner(loop)));
	USE(baton_loop_wake(loop));
	EXPECT(is_readable(loop));
	elsewhere(send, &sender);
	EXPECT(is_readable(loop));
	elsewhere(run_sent, &looper);
	resource_end(&resource);
	USE(baton_loop_destroy(loop));
}

SCENARIO(loop, run)
{
	loop_with(0);
}

SCENARIO(loop, run_two_at_a_time)
{
	loop_with(2);
}

/* What is queued is run. */
SCENARIO(loop, destroy)
{
	struct baton_loop *loop = NULL;
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE, .quantum = 1};
	struct baton_resource resource;
	struct sender sender;

	INSIST(baton_loop_create(&loop), !loop);
	INSIST(baton_loop_adopt(loop), true);
	config.executor = USE(baton_loop_executor(loop));
	USE(baton_resource_init(&resource, &config));
	sender_init(&sender, config.executor, &resource);
	elsewhere(send, &sender);
	USE(baton_loop_destroy(loop));
	EXPECT(sender_is(&sender, job_ran, probe_done));
	config.executor = NULL; /* nobody reads it now */
	resource_end(&resource);
}

/* Whatever fails: the owner's own are gathered and need no signal; those of others get one. */
SCENARIO(loop, gather)
{
	struct baton_loop *loop = NULL;
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE, .quantum = 1};
	struct baton_resource resources[2];
	struct sender own, others;

	INSIST(baton_loop_create(&loop), !loop);
	INSIST(baton_loop_adopt(loop), true);
	config.executor = USE(baton_loop_executor(loop));
	for (int i = 0; i < 2; i++)
		USE(baton_resource_init(&resources[i], &config));
	sender_init(&own, config.executor, &resources[0]);
	sender_init(&others, config.executor, &resources[1]);
	USE(baton_loop_gather(loop));
	(void)send(&own);
	EXPECT(!is_readable(loop));
	elsewhere(send, &others);
	EXPECT(is_readable(loop));
	/* Its jobs, and a task of its resource: a quantum is one, and the rest is for later. */
	EXPECT(USE(baton_loop_run_gathered(loop)) == TASKS + 1);
	run_loop(loop, 0);
	fault_end();
	run_loop(loop, 0);
	EXPECT(sender_is(&own, job_ran, probe_done));
	EXPECT(sender_is(&others, job_ran, probe_done));
	for (int i = 0; i < 2; i++)
		resource_end(&resources[i]);
	USE(baton_loop_destroy(loop));
}

/* ---- An executor of one's own: one job at a time ---- */

struct own {
	struct baton_executor executor;
	struct baton_job *job;
};

static int keep_job(struct baton_executor *executor, struct baton_job *job)
{
	struct own *own = baton_container_of(executor, struct own, executor);

	if (own->job)
		return -EAGAIN;
	own->job = job;
	return 0;
}

static void *count_call(void *called)
{
	++*(int *)called;
	return NULL;
}

SCENARIO(own, run)
{
	static const struct baton_executor_ops ops = {.schedule = keep_job};
	int called = 0, status;
	const struct baton_call_options options = {
		.fn = count_call, .arg = &called, .timeout_ns = SHORT_MS * BATON_MILLISECOND};
	struct own own = {.job = NULL};
	const struct baton_resource_config config = {
		.capture_max = BATON_CAPTURE_NONE, .quantum = 1, .executor = &own.executor};
	struct baton_resource resource;
	struct probe probe;

	USE(baton_executor_init(&own.executor, &ops));
	baton_resource_init(&resource, &config);
	probe_init(&probe);
	INSIST(baton_submit_later(&resource, &probe.task), probe_untouched(&probe) && !own.job);
	EXPECT(own.job && !atomic_load(&probe.runs));
	/* Behind it, and withdrawn: nobody runs the job. */
	status = TRY(baton_call_with(&resource, &options, NULL));
	EXPECT(status == -ETIMEDOUT || (status == -ENOMEM && fault_planned()));
	USE(baton_job_run(own.job));
	EXPECT(!called);
	EXPECT(atomic_load(&probe.runs) == 1);
	resource_end(&resource);
}
