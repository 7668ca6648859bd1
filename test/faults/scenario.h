/* SPDX-License-Identifier: MIT */
/*
 * A scenario is a piece of use of the library that must come to its end whatever fails on the way:
 * it tries again what was refused (INSIST) and checks that nothing is lost. Each cycle of it runs
 * on a thread that is new to baton. And what scenarios share: probes, threads, an occupant,
 * deadlines.
 *
 * Scenarios call nothing that is wrapped (fault.h): threads are started by thread_start.
 */
#ifndef BATON_TEST_FAULTS_SCENARIO_H
#define BATON_TEST_FAULTS_SCENARIO_H

#include "contract.h"
#include "fault.h"

#include <baton/executor.h>
#include <baton/future.h>
#include <baton/pool.h>
#include <baton/resource.h>
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

/* A task that counts its runs; its value is itself. */
struct probe {
	struct baton_task task;
	struct baton_future future;
	atomic_int runs;
	atomic_int cancelled; /* told by probe_cancelled */
};

/* With the probe's future, and without any. */
void probe_init(struct probe *probe);
void probe_init_plain(struct probe *probe);

int probe_run(struct baton_task *task);

/* For struct baton_resource_config. */
void probe_cancelled(struct baton_task *task);

/* As before a submit. Has run once, and said so. Was cancelled once, and said so. */
bool probe_untouched(const struct probe *probe);
bool probe_done(const struct probe *probe);
bool probe_gone(const struct probe *probe);

/* A function for call, post and async: counts in the atomic_int, which is also its value. */
void *count_up(void *counter);

/* A thread that is none of the library's; join it. */
pthread_t thread_start(void *(*run)(void *), void *arg);
void thread_join(pthread_t thread);

/* Runs it on a thread of its own, to its end. */
void elsewhere(void *(*run)(void *), void *arg);

/* A gate: opened once, by anybody. */
void gate_init(sem_t *gate);
void gate_open(sem_t *gate);
void gate_pass(sem_t *gate);

/* Holds a resource, on a thread of its own, from occupy to release. Its start is not faulted. */
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

/* Returns when somebody has begun a futex wait since `waits` was fault_waits(). */
void until_waiting(uint32_t waits);

/* So many milliseconds from now, by the library's clock; good until the thread's next call. */
const struct timespec *in_ms(uint64_t timeout_ms);
#define LONG_MS 60000U
#define SHORT_MS 5U

/* The end of a resource: nothing of it is left. */
void resource_end(struct baton_resource *resource);

/* A pool, and its end, without faults. */
#define POOL_WORKERS 2
struct baton_pool *pool_get(void);
void pool_put(struct baton_pool *pool);

#endif
