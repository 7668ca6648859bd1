/* SPDX-License-Identifier: MIT */
/*
 * The list of scenarios, and what they share.
 */
#include "scenario.h"

#include <string.h>

#define STARTED_US 20

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);

static struct scenario *scenarios;
static struct scenario **scenarios_end = &scenarios;

void scenario_register(struct scenario *scenario)
{
	*scenarios_end = scenario;
	scenarios_end = &scenario->next;
}

struct scenario *scenario_first(void)
{
	return scenarios;
}

/* ---- Probes ---- */

void probe_init_plain(struct probe *probe)
{
	atomic_init(&probe->runs, 0);
	atomic_init(&probe->cancelled, 0);
	USE(baton_future_init(&probe->future));
	USE(baton_task_init(&probe->task, probe_run, NULL));
}

void probe_init(struct probe *probe)
{
	probe_init_plain(probe);
	USE(baton_task_init(&probe->task, probe_run, &probe->future));
}

int probe_run(struct baton_task *task)
{
	struct probe *probe = baton_container_of(task, struct probe, task);

	USE(baton_set_result(probe));
	atomic_fetch_add(&probe->runs, 1);
	return 0;
}

void probe_cancelled(struct baton_task *task)
{
	atomic_fetch_add(&baton_container_of(task, struct probe, task)->cancelled, 1);
}

/* Also what no public function shows: the future is bound to no resource, and has no flag set. */
bool probe_untouched(const struct probe *probe)
{
	const struct baton_future *future = &probe->future;

	return probe->task._run == probe_run && !atomic_load(&probe->runs) &&
	       !atomic_load(&probe->cancelled) &&
	       USE(baton_future_state(future)) == BATON_PENDING &&
	       TRY(baton_future_status(future)) == -EAGAIN && !USE(baton_future_value(future)) &&
	       !future->_resource && !future->_continuations &&
	       (!probe->task._future || probe->task._future == future);
}

bool probe_done(const struct probe *probe)
{
	const struct baton_future *future = probe->task._future;

	if (atomic_load(&probe->runs) != 1 || atomic_load(&probe->cancelled))
		return false;
	return !future ||
	       (USE(baton_future_state(future)) == BATON_DONE &&
	        USE(baton_future_is_complete(future)) && TRY(baton_future_status(future)) == 0 &&
	        USE(baton_future_value(future)) == probe);
}

bool probe_gone(const struct probe *probe)
{
	const struct baton_future *future = probe->task._future;

	if (atomic_load(&probe->runs))
		return false;
	if (!future)
		return atomic_load(&probe->cancelled) == 1;
	return USE(baton_future_state(future)) == BATON_CANCELLED &&
	       TRY(baton_future_status(future)) == -ECANCELED && !atomic_load(&probe->cancelled);
}

void *count_up(void *counter)
{
	atomic_fetch_add((atomic_int *)counter, 1);
	return counter;
}

/* ---- Threads ---- */

pthread_t thread_start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	EXPECT(__real_pthread_create(&thread, NULL, run, arg) == 0);
	return thread;
}

void thread_join(pthread_t thread)
{
	EXPECT(pthread_join(thread, NULL) == 0);
}

void elsewhere(void *(*run)(void *), void *arg)
{
	thread_join(thread_start(run, arg));
}

void gate_init(sem_t *gate)
{
	EXPECT(sem_init(gate, 0, 0) == 0);
}

void gate_open(sem_t *gate)
{
	EXPECT(sem_post(gate) == 0);
}

void gate_pass(sem_t *gate)
{
	while (sem_wait(gate) != 0)
		EXPECT(errno == EINTR);
}

static int occupant_run(struct baton_task *task)
{
	struct occupant *occupant = baton_container_of(task, struct occupant, probe.task);

	gate_open(&occupant->entered);
	gate_pass(&occupant->leave);
	occupant->cancel_requested = USE(baton_cancel_requested());
	return probe_run(task);
}

static void *occupant_main(void *arg)
{
	struct occupant *occupant = arg;

	EXPECT(TRY(baton_submit(occupant->resource, &occupant->probe.task)) == 0);
	return NULL;
}

void occupy(struct occupant *occupant, struct baton_resource *resource)
{
	fault_hold();
	probe_init(&occupant->probe);
	USE(baton_task_init(&occupant->probe.task, occupant_run, &occupant->probe.future));
	occupant->resource = resource;
	gate_init(&occupant->entered);
	gate_init(&occupant->leave);
	occupant->thread = thread_start(occupant_main, occupant);
	gate_pass(&occupant->entered);
	fault_release();
}

void leave(struct occupant *occupant)
{
	gate_open(&occupant->leave);
	thread_join(occupant->thread);
	EXPECT(probe_done(&occupant->probe));
}

void until_waiting(uint32_t waits)
{
	while (fault_waits() == waits)
		fault_pause_us(STARTED_US);
}

/* ---- The library's things ---- */

uint64_t in_ms(uint64_t timeout_ms)
{
	return fault_clock_ns() + timeout_ms * 1000000U;
}

void resource_end(struct baton_resource *resource)
{
	int closed = TRY(baton_resource_close(resource));

	EXPECT(closed == 0 || closed == -EALREADY);
	INSIST(baton_resource_await(resource), true);
	USE(baton_resource_deinit(resource));
}

struct baton_pool *pool_get(void)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_pool *pool = NULL;

	options.workers = POOL_WORKERS;
	fault_hold();
	EXPECT(TRY(baton_pool_create(&options, &pool)) == 0);
	fault_release();
	return pool;
}

void pool_put(struct baton_pool *pool)
{
	fault_hold();
	EXPECT(TRY(baton_pool_destroy(pool)) == 0);
	fault_release();
}
