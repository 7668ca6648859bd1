/* SPDX-License-Identifier: MIT */
/*
 * W8: what something takes of memory, in a process that does nothing else (bench --probe): one that
 * has measured before has memory to give for which it did not ask just now. Counted is anonymous
 * memory that is present, at the moment when the things are all there.
 */
#include "w8.h"

#include "locks.h"
#include "machine.h"
#include "team.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <baton.h>

#define POSTS 1000U /* of each thread */
#define STREAM 256U /* posts under way */
#define THREADS_MAX 64U

static size_t probe_size;
static double before;

static void tell(void)
{
	printf("%.0f\n", machine_memory_bytes() - before);
}

static void *nothing(void *arg)
{
	return arg;
}

static int task_run(struct baton_task *task)
{
	return 0;
}

static const struct baton_resource_config patient = {
	.capture_max = UINT32_MAX,
	.quantum = BATON_QUANTUM,
};

static struct baton_resource resource;

static void *submit_all(void *arg)
{
	struct baton_task *tasks = calloc(probe_size, sizeof(*tasks));

	if (!tasks)
		abort();
	for (size_t i = 0; i < probe_size; i++) {
		baton_task_init(&tasks[i], task_run, NULL);
		BATON_IGNORE(baton_submit(&resource, &tasks[i]));
	}
	tell();
	return arg;
}

static void *post_all(void *arg)
{
	for (size_t i = 0; i < probe_size; i++)
		if (baton_post(&resource, nothing, NULL))
			abort();
	if (!arg)
		tell();
	return arg;
}

static void waiting_submitted(void)
{
	BATON_IGNORE(baton_call(&resource, submit_all, NULL, NULL));
}

static void waiting_posted(void)
{
	BATON_IGNORE(baton_call(&resource, post_all, NULL, NULL));
}

static void *post_some(void *arg)
{
	for (size_t i = 0; i < STREAM; i++)
		if (baton_post(&resource, nothing, NULL))
			abort();
	return arg;
}

/* Posted from inside a task, so that each has a node of the library's. */
static void streamed(void)
{
	for (size_t i = 0; i < probe_size; i += STREAM)
		BATON_IGNORE(baton_call(&resource, post_some, NULL, NULL));
	tell();
}

static void drained(void)
{
	BATON_IGNORE(baton_call(&resource, post_all, &resource, NULL));
	tell();
}

static void idle_mutexes(void)
{
	pthread_mutex_t *mutexes = calloc(probe_size, sizeof(*mutexes));

	if (!mutexes)
		abort();
	for (size_t i = 0; i < probe_size; i++) {
		(void)pthread_mutex_init(&mutexes[i], NULL);
		(void)pthread_mutex_lock(&mutexes[i]);
		(void)pthread_mutex_unlock(&mutexes[i]);
	}
	tell();
}

static void idle_resources(void)
{
	struct baton_resource *resources = calloc(probe_size, sizeof(*resources));

	if (!resources)
		abort();
	for (size_t i = 0; i < probe_size; i++) {
		baton_resource_init(&resources[i], NULL);
		BATON_IGNORE(baton_call(&resources[i], nothing, NULL, NULL));
	}
	tell();
}

static pthread_barrier_t used;

static void *lock_once(void *arg)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	(void)pthread_mutex_lock(&mutex);
	(void)pthread_mutex_unlock(&mutex);
	(void)pthread_barrier_wait(&used);
	(void)pthread_barrier_wait(&used);
	return arg;
}

static void *submit_once(void *arg)
{
	struct baton_task task = BATON_TASK_INIT(task_run, NULL);
	struct baton_resource own;

	baton_resource_init(&own, &patient);
	BATON_IGNORE(baton_submit(&own, &task));
	(void)pthread_barrier_wait(&used);
	(void)pthread_barrier_wait(&used);
	return arg;
}

static void *post_own(void *arg)
{
	struct baton_resource *own = arg;

	for (unsigned i = 0; i < POSTS; i++)
		if (baton_post(own, nothing, NULL))
			abort();
	return arg;
}

static void *post_many(void *arg)
{
	struct baton_resource own;

	baton_resource_init(&own, &patient);
	BATON_IGNORE(baton_call(&own, post_own, &own, NULL));
	(void)pthread_barrier_wait(&used);
	(void)pthread_barrier_wait(&used);
	return arg;
}

static void threads(void *(*way)(void *))
{
	pthread_t ids[THREADS_MAX];

	if (probe_size > THREADS_MAX)
		abort();
	(void)pthread_barrier_init(&used, NULL, (unsigned)probe_size + 1);
	for (size_t i = 0; i < probe_size; i++)
		if (pthread_create(&ids[i], NULL, way, NULL))
			abort();
	(void)pthread_barrier_wait(&used);
	tell();
	(void)pthread_barrier_wait(&used);
	for (size_t i = 0; i < probe_size; i++)
		(void)pthread_join(ids[i], NULL);
}

static void threads_lock(void)
{
	threads(lock_once);
}

static void threads_submit(void)
{
	threads(submit_once);
}

static void threads_post(void)
{
	threads(post_many);
}

static const struct probe {
	const char *name;
	void (*measure)(void);
} probes[] = {
	{"waiting-submitted", waiting_submitted},
	{"waiting-posted", waiting_posted},
	{"streamed", streamed},
	{"drained", drained},
	{"mutexes", idle_mutexes},
	{"resources", idle_resources},
	{"threads-lock", threads_lock},
	{"threads-submit", threads_submit},
	{"threads-post", threads_post},
};

int w8_probe(const char *kind, unsigned long size)
{
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (strcmp(probes[i].name, kind) != 0 || size == 0)
			continue;
		probe_size = size;
		team_be_multithreaded();
		baton_resource_init(&resource, &patient);
		(void)machine_memory_bytes(); /* has its buffer */
		before = machine_memory_bytes();
		probes[i].measure();
		return 0;
	}
	return 2;
}
