/* SPDX-License-Identifier: MIT */
/*
 * A scenario uses the library, and must come to its end whatever fails on the way: it tries refused
 * calls again (INSIST), and checks that nothing is lost. Each cycle of a scenario runs on a thread
 * that is new to baton. Below: what scenarios share (probes, threads, an occupant, deadlines).
 *
 * Scenarios call nothing that is wrapped (fault.h): threads are started by thread_start.
 */
#ifndef BATON_TEST_FAULTS_SCENARIO_H
#define BATON_TEST_FAULTS_SCENARIO_H

#include "contract.h"
#include "fault.h"

#include <baton/executor.h>
#include <baton/future.h>
#include <baton/manual.h>
#include <baton/pool.h>
#include <baton/resource.h>
#include <baton/stats.h>
#include <baton/task.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

struct scenario {
	struct scenario *next;
	const char *name; /* group/what */
	void (*run)(void);
};

void scenario_register(struct scenario *scenario);
struct scenario *scenario_first(void);

#define SCENARIO(group, what)                                                                      \
	static void scenario_##group##_##what(void);                                               \
	__attribute__((constructor)) static void register_##group##_##what(void)                   \
	{                                                                                          \
		static struct scenario scenario = {NULL, #group "/" #what,                         \
		                                   scenario_##group##_##what};                     \
                                                                                                   \
		scenario_register(&scenario);                                                      \
	}                                                                                          \
	static void scenario_##group##_##what(void)

/* A task that counts its runs. The value of its future is the probe. */
struct probe {
	struct baton_task task;
	struct baton_future future;
	atomic_int runs;
	atomic_int cancelled; /* counted by probe_cancelled */
};

/* init: with the probe's future. init_plain: without a future. */
void probe_init(struct probe *probe);
void probe_init_plain(struct probe *probe);

int probe_run(struct baton_task *task);

/* For struct baton_resource_config. */
void probe_cancelled(struct baton_task *task);

/* untouched: is as before the submit. done: has run once. gone: was cancelled once. In the last two
 * cases the future says so, too. */
bool probe_untouched(const struct probe *probe);
bool probe_done(const struct probe *probe);
bool probe_gone(const struct probe *probe);

/* A function for call, post and async: increments the atomic_int `counter`, and returns it. */
void *count_up(void *counter);

/* Starts and joins a thread that is none of the library's. */
pthread_t thread_start(void *(*run)(void *), void *arg);
void thread_join(pthread_t thread);

/* Calls `run` on another thread, and waits for its end. */
void elsewhere(void *(*run)(void *), void *arg);

/* A gate. Any thread opens it, once. */
void gate_init(sem_t *gate);
void gate_open(sem_t *gate);
void gate_pass(sem_t *gate);

/* A thread that holds a resource from occupy to leave. Its start has no faults. */
struct occupant {
	struct probe probe;
	struct baton_resource *resource;
	sem_t entered;
	sem_t leave;
	pthread_t thread;
	bool cancel_requested; /* at the end */
};

void occupy(struct occupant *occupant, struct baton_resource *resource);
void leave(struct occupant *occupant);

/* Returns when a thread has begun a futex wait since fault_waits() returned `waits`. */
void until_waiting(uint32_t waits);

/* A deadline by the library's clock. Valid until the thread's next call. */
uint64_t in_ms(uint64_t timeout_ms);
#define LONG_MS 60000U
#define SHORT_MS 5U

/* Closes the resource, and awaits its end. */
void resource_end(struct baton_resource *resource);

/* Creates and destroys a pool, without faults. */
#define POOL_WORKERS 2
struct baton_pool *pool_get(void);
void pool_put(struct baton_pool *pool);

#endif
