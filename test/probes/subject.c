/* SPDX-License-Identifier: MIT */
/*
 * Comes to each probe once or more, and prints what the probes must tell: a line for each hit, with
 * the probe's name and two arguments in hexadecimal digits; "-" is an argument that only the
 * library knows. With an argument it goes round for ever, for bpftrace.
 */
#include <baton/all.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(condition) ((condition) ? (void)0 : abort())

static bool for_ever;

static void tell(const char *probe, const volatile void *first, const volatile void *second)
{
	if (!for_ever)
		(void)printf("%s %lx %lx\n", probe, (unsigned long)(uintptr_t)first,
		             (unsigned long)(uintptr_t)second);
}

static const void *number(uintptr_t value)
{
	return (const void *)value; // NOLINT(performance-no-int-to-ptr)
}

static int fail(struct baton_task *task)
{
	(void)task;
	return 7;
}

static int nothing(struct baton_task *task)
{
	(void)task;
	return 0;
}

static int ring(struct baton_timer *timer)
{
	(void)timer;
	return 0;
}

/* Two tasks wait for an executor; the first fails, the second has a future. With statistics. */
static void tasks(struct baton_manual *manual, struct baton_resource *resource)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task first = BATON_TASK_INIT(fail, NULL);
	struct baton_task second = BATON_TASK_INIT(nothing, &future);

	MUST(!baton_submit(resource, &first) && !baton_submit(resource, &second));
	tell("hand__off", resource, baton_manual_executor(manual));
	tell("submit", resource, &second);
	(void)baton_manual_run(manual, 0);
	tell("task__begin", resource, &first);
	tell("task__failed", resource, number(7));
	tell("task__end", resource, number(0));
	tell("task__begin", resource, &second);
	tell("future__complete", &future, number(0));
	MUST(baton_future_is_complete(&future));
}

/* A batch that captures its resource, which has statistics. */
static void capture(void)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_task one = BATON_TASK_INIT(nothing, NULL), two = one;
	struct baton_task *const batch[] = {&one, &two};
	struct baton_resource_stats stats = {0};

	baton_resource_set_stats(&resource, &stats);
	MUST(!baton_submit_batch(&resource, batch, 2));
	tell("capture", &resource, number(0));
	MUST(!baton_resource_close(&resource) && !baton_resource_await(&resource));
	tell("close", &resource, number(0)); /* was not busy */
}

/* A plain task that captures its resource, which has lanes. */
static void capture_laned(void)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_task task = BATON_TASK_INIT(nothing, NULL);
	struct baton_lane array[1];
	struct baton_lanes lanes;

	baton_lanes_init(&lanes, array, 1, NULL);
	baton_resource_set_lanes(&resource, &lanes);
	MUST(!baton_submit(&resource, &task));
	tell("capture", &resource, &task);
	MUST(!baton_resource_close(&resource) && !baton_resource_await(&resource));
}

/* One task waits, and is cancelled; there is no room for another one. */
static void refuse(struct baton_manual *manual, const struct baton_resource_config *config)
{
	static const struct baton_bound_config one = {.policy = BATON_BOUND_REFUSE, .tasks_max = 1};
	struct baton_resource resource = BATON_RESOURCE_INIT(config);
	struct baton_task waits = BATON_TASK_INIT(nothing, NULL);
	struct baton_task refused = BATON_TASK_INIT(nothing, NULL);
	struct baton_bound bound = BATON_BOUND_INIT(&one);

	baton_resource_set_bound(&resource, &bound);
	MUST(!baton_submit(&resource, &waits) && baton_submit(&resource, &refused) == -EAGAIN);
	tell("refused", &resource, number((uintptr_t)-EAGAIN));
	MUST(!baton_resource_cancel_pending(&resource) && !baton_resource_close(&resource));
	tell("close", &resource, number(1)); /* was busy */
	(void)baton_manual_run(manual, 0);
	MUST(!baton_resource_await(&resource));
	tell("cancel", &resource, &waits);
}

static int refuse_job(struct baton_executor *executor, struct baton_job *job)
{
	(void)executor;
	(void)job;
	return -ESHUTDOWN;
}

static void refuse_hand_off(void)
{
	static const struct baton_executor_ops ops = {.schedule = refuse_job};
	static struct baton_executor executor = BATON_EXECUTOR_INIT(&ops);
	static const struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE,
	                                                    .executor = &executor};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct baton_task task = BATON_TASK_INIT(nothing, NULL);

	MUST(baton_submit(&resource, &task) == -ESHUTDOWN);
	tell("hand__off__refused", &resource, &executor);
	MUST(!baton_resource_close(&resource) && !baton_resource_await(&resource));
}

/* The same without statistics: the end has the status. */
static void plain_task(struct baton_manual *manual, const struct baton_resource_config *config)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(config);
	struct baton_task task = BATON_TASK_INIT(fail, NULL);

	MUST(!baton_submit(&resource, &task));
	(void)baton_manual_run(manual, 0);
	tell("task__begin", &resource, &task);
	tell("task__failed", &resource, number(7));
	tell("task__end", &resource, number(7));
	MUST(!baton_resource_close(&resource) && !baton_resource_await(&resource));
}

static void timer(struct baton_manual *manual, struct baton_resource *resource)
{
	struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL};
	struct baton_timers *timers;
	struct baton_timer one;

	MUST(!baton_timers_create(&options, &timers));
	baton_timer_init(&one, timers, resource, ring);
	MUST(!baton_timer_arm_after(&one, 1) && baton_timers_advance(timers, 1000000000) == 1);
	(void)baton_manual_run(manual, 0);
	tell("timer__run", &one, resource);
	MUST(!baton_timers_destroy(timers));
}

/* Does the main thread sleep, in the kernel's eyes? */
static bool main_sleeps(void)
{
	FILE *file = fopen("/proc/self/stat", "re");
	char stat[64] = "", state = 0;

	MUST(file && fgets(stat, sizeof(stat), file));
	(void)fclose(file);
	(void)sscanf(stat, "%*d (%*[^)]) %c", &state);
	return state == 'S';
}

static void *complete(void *promise)
{
	while (!main_sleeps())
		(void)sched_yield();
	MUST(!baton_future_complete(promise, 5, NULL));
	return NULL;
}

static void wait_for_promise(void)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, complete, &promise));
	MUST(!baton_future_wait(&promise) && baton_future_status(&promise) == 5);
	MUST(!pthread_join(thread, NULL));
	tell("wait__begin", &promise, number(1));
	tell("wait__end", &promise, number(1)); /* complete */
	tell("future__complete", &promise, number(5));
}

/* A job of one worker waits for another job in that worker's queue: the other worker steals it. */
static struct baton_pool *pool;
static atomic_int ran;

static void last(struct baton_plain_job *job)
{
	(void)job;
	atomic_store(&ran, 1);
}

static struct baton_plain_job inner = BATON_PLAIN_JOB_INIT(last, NULL);

static void first(struct baton_plain_job *job)
{
	(void)job;
	MUST(!baton_pool_submit(pool, &inner));
	while (!atomic_load(&ran))
		(void)sched_yield();
}

static void steal(void)
{
	struct baton_plain_job outer = BATON_PLAIN_JOB_INIT(first, NULL);
	struct baton_pool_options options = {.workers = 2};
	struct baton_pool_stats stats;

	MUST(!baton_pool_create(&options, &pool));
	atomic_store(&ran, 0);
	do {
		(void)sched_yield();
		baton_pool_stats_read(pool, &stats);
	} while (stats.parked < options.workers);
	MUST(!baton_pool_submit(pool, &outer));
	while (!atomic_load(&ran))
		(void)sched_yield();
	MUST(!baton_pool_destroy(pool));
	tell("schedule", pool, &outer);
	tell("steal", pool, number(1));
	if (!for_ever)
		(void)printf("park %lx -\nunpark %lx -\nwake - 0\nwake - 1\n",
		             (unsigned long)(uintptr_t)pool, (unsigned long)(uintptr_t)pool);
}

int main(int argc, char **argv)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	static struct baton_resource_stats stats;
	static struct baton_resource resource;
	struct baton_manual *manual;

	(void)argv;
	for_ever = argc > 1;
	MUST(!baton_manual_create(&manual));
	config.executor = baton_manual_executor(manual);
	config.capture_max = BATON_CAPTURE_NONE;
	config.name = "probed";
	baton_resource_init(&resource, &config);
	baton_resource_set_stats(&resource, &stats);
	do {
		tasks(manual, &resource);
		plain_task(manual, &config);
		capture();
		capture_laned();
		refuse(manual, &config);
		refuse_hand_off();
		timer(manual, &resource);
		wait_for_promise();
		steal();
	} while (for_ever);
	return 0;
}
