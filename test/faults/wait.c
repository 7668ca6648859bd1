/* SPDX-License-Identifier: MIT */
/*
 * Every form of waiting: it ends when it should, with the right answer, whatever ends its sleeps.
 */
#include "job.h"

#define PROMISES 3
#define IN_TIME_NS 2000000000U

struct promises {
	struct baton_future futures[PROMISES];
	struct baton_future *pointers[PROMISES];
	size_t first; /* completed first */
	size_t count; /* that are completed */
	uint32_t waits;
	int value;
};

static void promises_init(struct promises *promises, size_t first, size_t count)
{
	for (size_t i = 0; i < PROMISES; i++) {
		USE(baton_promise_init(&promises->futures[i]));
		promises->pointers[i] = &promises->futures[i];
	}
	promises->first = first;
	promises->count = count;
	promises->waits = fault_waits();
}

/* Each when somebody is about to sleep. */
static void *complete(void *arg)
{
	struct promises *promises = arg;

	for (size_t i = 0; i < promises->count; i++) {
		struct baton_future *future = &promises->futures[(promises->first + i) % PROMISES];

		until_waiting(promises->waits);
		promises->waits = fault_waits();
		EXPECT(TRY(baton_future_complete(future, 0, &promises->value)) == 0);
	}
	return NULL;
}

static bool is_fulfilled(struct promises *promises, size_t index)
{
	const struct baton_future *future = &promises->futures[index];

	return USE(baton_future_state(future)) == BATON_DONE &&
	       TRY(baton_future_status(future)) == 0 &&
	       USE(baton_future_value(future)) == &promises->value;
}

SCENARIO(wait, one)
{
	struct promises promises;
	pthread_t completer;

	promises_init(&promises, 0, 1);
	completer = thread_start(complete, &promises);
	INSIST(baton_future_wait(&promises.futures[0]), true);
	EXPECT(is_fulfilled(&promises, 0));
	thread_join(completer);
}

SCENARIO(wait, until)
{
	struct promises promises;
	pthread_t completer;

	promises_init(&promises, 0, 1);
	completer = thread_start(complete, &promises);
	INSIST(baton_future_wait_until(&promises.futures[0], in_ms(LONG_MS)), true);
	EXPECT(is_fulfilled(&promises, 0));
	thread_join(completer);
}

SCENARIO(wait, any)
{
	struct promises promises;
	pthread_t completer;
	size_t index = PROMISES;

	promises_init(&promises, 1, 1);
	completer = thread_start(complete, &promises);
	INSIST(baton_future_wait_any_until(promises.pointers, PROMISES, in_ms(LONG_MS), &index),
	       index == PROMISES);
	EXPECT(index == 1);
	EXPECT(is_fulfilled(&promises, 1));
	thread_join(completer);
}

SCENARIO(wait, all)
{
	struct promises promises;
	pthread_t completer;

	promises_init(&promises, 1, 1);
	completer = thread_start(complete, &promises);
	INSIST(baton_future_wait(&promises.futures[1]), true);
	thread_join(completer);
	promises.first = 0;
	promises.waits = fault_waits();
	completer = thread_start(complete, &promises);
	INSIST(baton_future_wait(&promises.futures[0]), true);
	thread_join(completer);
	promises.first = 2;
	promises.waits = fault_waits();
	completer = thread_start(complete, &promises);
	INSIST(baton_future_wait_all_until(promises.pointers, PROMISES, in_ms(LONG_MS)), true);
	for (size_t i = 0; i < PROMISES; i++)
		EXPECT(is_fulfilled(&promises, i));
	thread_join(completer);
}

SCENARIO(wait, over)
{
	struct promises promises;
	uint64_t began_ns = USE(baton_now());
	size_t index = PROMISES;

	promises_init(&promises, 0, 0);
	for (size_t i = 0; i < PROMISES; i++)
		EXPECT(TRY(baton_future_complete(&promises.futures[i], 0, NULL)) == 0);
	EXPECT(TRY(baton_future_wait_any(promises.pointers, PROMISES, &index)) == 0);
	EXPECT(index == 0);
	EXPECT(TRY(baton_future_wait_all_or_cancel(promises.pointers, PROMISES)) == 0);
	EXPECT(USE(baton_after(BATON_FOREVER)) == BATON_FOREVER);
	EXPECT(USE(baton_after(0)) >= began_ns || fault_planned());
}

/* Is this how a wait ends that nobody ends? Not before the deadline, nor long after. */
static bool timed_out(int status, uint64_t deadline_ns, uint64_t started_ns)
{
	uint64_t now_ns = fault_clock_ns();

	if (status == -ENOMEM && fault_planned())
		return true;
	if (status != -ETIMEDOUT)
		return false;
	/* A jump of the clock takes it beyond any deadline. */
	return now_ns >= deadline_ns &&
	       (now_ns - started_ns < IN_TIME_NS || fault_kind_now() == FAULT_CLOCK_AHEAD);
}

SCENARIO(wait, deadlines)
{
	struct promises promises;
	uint64_t deadline;
	size_t index = PROMISES;
	uint64_t started_ns = fault_clock_ns();
	int status;

	promises_init(&promises, 0, 0);
	deadline = in_ms(SHORT_MS);
	status = TRY(baton_future_wait_until(&promises.futures[0], deadline));
	EXPECT(timed_out(status, deadline, started_ns));
	deadline = in_ms(SHORT_MS);
	status = TRY(baton_future_wait_any_until(promises.pointers, PROMISES, deadline, &index));
	EXPECT(timed_out(status, deadline, started_ns));
	EXPECT(index == PROMISES);
	EXPECT(TRY(baton_future_complete(&promises.futures[0], 0, &promises.value)) == 0);
	deadline = in_ms(SHORT_MS);
	status = TRY(baton_future_wait_all_until(promises.pointers, PROMISES, deadline));
	EXPECT(timed_out(status, deadline, started_ns));
	EXPECT(USE(baton_future_state(&promises.futures[1])) == BATON_PENDING);
	deadline = in_ms(SHORT_MS);
	status = TRY(baton_future_wait_all_or_cancel_until(promises.pointers, PROMISES, deadline));
	EXPECT(timed_out(status, deadline, started_ns));
	EXPECT(USE(baton_future_state(&promises.futures[1])) ==
	       (status == -ETIMEDOUT ? BATON_CANCELLED : BATON_PENDING));
}

static void *await_in_vain(void *arg)
{
	uint64_t deadline = in_ms(SHORT_MS);
	uint64_t started_ns = fault_clock_ns();
	int status = TRY(baton_resource_await_until((struct baton_resource *)arg, deadline));

	EXPECT(timed_out(status, deadline, started_ns));
	return NULL;
}

static void *await(void *arg)
{
	INSIST(baton_resource_await_until((struct baton_resource *)arg, in_ms(LONG_MS)), true);
	return NULL;
}

SCENARIO(wait, await)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct occupant occupant;
	pthread_t awaiter;
	uint32_t waits;

	occupy(&occupant, &resource);
	elsewhere(await_in_vain, &resource);
	waits = fault_waits();
	awaiter = thread_start(await, &resource);
	until_waiting(waits);
	leave(&occupant);
	thread_join(awaiter);
	resource_end(&resource);
}

struct pool_wait {
	struct baton_resource *resource;
	struct probe *probe;
	struct baton_plain_job job;
	sem_t over;
};

static void wait_in_job(struct baton_plain_job *job)
{
	struct pool_wait *wait = baton_container_of(job, struct pool_wait, job);

	INSIST(baton_future_wait(&wait->probe->future), true);
	EXPECT(probe_done(wait->probe));
	gate_open(&wait->over);
}

/* A worker waits inside its job for a task of an occupied resource, and so does this thread. */
SCENARIO(wait, in_a_worker)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_pool *pool = pool_get();
	struct occupant occupant;
	struct probe probe;
	struct pool_wait wait = {.resource = &resource, .probe = &probe};
	uint32_t waits;

	probe_init(&probe);
	gate_init(&wait.over);
	USE(baton_plain_job_init(&wait.job, wait_in_job, NULL));
	occupy(&occupant, &resource);
	INSIST(baton_submit(&resource, &probe.task), probe_untouched(&probe));
	waits = fault_waits();
	INSIST(baton_pool_submit(pool, &wait.job), true);
	until_waiting(waits);
	leave(&occupant);
	INSIST(baton_future_wait_until(&probe.future, in_ms(LONG_MS)), true);
	EXPECT(probe_done(&probe));
	gate_pass(&wait.over);
	resource_end(&resource);
	pool_put(pool);
}

/* All workers are in jobs: a thread that waits for a queued resource runs its tasks itself. A wait
 * with a deadline would leave them to the workers. */
SCENARIO(wait, helping)
{
	struct baton_pool *pool = pool_get();
	const struct baton_resource_config config = {
		.capture_max = 1, .quantum = 1, .executor = USE(baton_pool_executor(pool))};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct probe probes[PROMISES];
	struct baton_future *futures[PROMISES];
	struct plug plugs[POOL_WORKERS];

	for (int i = 0; i < POOL_WORKERS; i++)
		plug_in(&plugs[i], pool);
	for (int i = 0; i < PROMISES; i++) {
		probe_init(&probes[i]);
		futures[i] = &probes[i].future;
		INSIST(baton_submit_later(&resource, &probes[i].task), probe_untouched(&probes[i]));
	}
	INSIST(baton_future_wait(futures[0]), true);
	EXPECT(probe_done(&probes[0]));
	INSIST(baton_future_wait_all(futures, PROMISES), true);
	for (int i = 0; i < PROMISES; i++)
		EXPECT(probe_done(&probes[i]));
	for (int i = 0; i < POOL_WORKERS; i++)
		gate_open(&plugs[i].leave);
	resource_end(&resource);
	pool_put(pool);
}

static void *wait_for_own(void *arg)
{
	struct baton_deadlock_link link;

	EXPECT(TRY(baton_resource_await(arg)) == -EDEADLK);
	EXPECT(USE(baton_deadlock_cycle(&link, 1)) == 1 && link.resource == arg);
	return arg;
}

SCENARIO(wait, cycle_of_one)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	void *value = NULL;

	INSIST(baton_call(&resource, wait_for_own, &resource, &value), !value);
	EXPECT(value == &resource);
}
