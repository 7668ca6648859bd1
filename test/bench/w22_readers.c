/* SPDX-License-Identifier: MIT */
/*
 * W22: readers and writers of one state. Each of as many threads as there are CPUs (at least two)
 * reads or writes, at random, one after the other, and waits for the end. The ideal: reads on all
 * threads at once, writes alone, no time beside the bodies.
 */
#include "harness.h"
#include "machine.h"
#include "team.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <baton/all.h>

#define WINDOW_MS 200

enum way { MUTEX, RWLOCK, CALLS, READERS, PUBLISHED };

static struct {
	struct baton_resource resource;
	struct baton_readers readers;
	struct baton_published published;
	pthread_mutex_t mutex;
	pthread_rwlock_t rwlock;
	struct machine_work body;
	enum way way;
	unsigned writes; /* of a hundred */
} shared;

struct visit {
	struct baton_task task;
	struct baton_reader reader;
	struct baton_future *future;
};

static void *body(void *arg)
{
	machine_work(shared.body);
	return arg;
}

static int read_state(struct baton_task *task)
{
	(void)task;
	(void)body(NULL);
	return 0;
}

static const struct baton_task_type visit_type = {
	.run = read_state,
	.future = BATON_TASK_PLACE(struct visit, task, future),
	.reader = BATON_TASK_PLACE(struct visit, task, reader),
};

static void reclaim(struct baton_retired *retired)
{
	free(retired);
}

/* Makes a new object: the body of a write. */
static void *publish(void *arg)
{
	struct baton_retired *object = malloc(sizeof(*object));

	if (!object)
		abort();
	(void)body(NULL);
	baton_published_replace(&shared.published, object);
	return arg;
}

static void wait_for_reader(void)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct visit visit;

	baton_task_init_of(&visit.task, &visit_type);
	baton_reader_init(&visit.reader, &shared.readers);
	visit.future = &future;
	if (baton_submit(&shared.resource, &visit.task) || baton_future_wait(&future))
		abort();
}

static void call_of(baton_call_fn fn)
{
	if (baton_call(&shared.resource, fn, NULL, NULL))
		abort();
}

static void read_once(void)
{
	switch (shared.way) {
	case MUTEX:
		(void)pthread_mutex_lock(&shared.mutex);
		(void)body(NULL);
		(void)pthread_mutex_unlock(&shared.mutex);
		break;
	case RWLOCK:
		(void)pthread_rwlock_rdlock(&shared.rwlock);
		(void)body(NULL);
		(void)pthread_rwlock_unlock(&shared.rwlock);
		break;
	case CALLS:
		call_of(body);
		break;
	case READERS:
		wait_for_reader();
		break;
	case PUBLISHED:
		if (baton_epoch_enter())
			abort();
		(void)baton_published_read(&shared.published);
		(void)body(NULL);
		baton_epoch_leave();
		break;
	}
}

static void write_once(void)
{
	switch (shared.way) {
	case MUTEX:
		read_once();
		break;
	case RWLOCK:
		(void)pthread_rwlock_wrlock(&shared.rwlock);
		(void)body(NULL);
		(void)pthread_rwlock_unlock(&shared.rwlock);
		break;
	case CALLS:
	case READERS:
		call_of(body);
		break;
	case PUBLISHED:
		call_of(publish);
		break;
	}
}

static void visit_state(struct team_member *member)
{
	uint64_t random = 88172645463325252U + member->index;

	while (!team_stopped(member)) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		if (random % 100 < shared.writes)
			write_once();
		else
			read_once();
		team_count(member, 1);
	}
}

struct setting {
	enum way way;
	unsigned writes;
};

static void run(const void *arg, double body_us, double *values)
{
	const struct setting *setting = arg;
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const unsigned threads = cpus > 2 ? (unsigned)cpus : 2;
	const double part = setting->writes / 100.0;
	const double ideal = 1e6 / (body_us * ((1 - part) / threads + part));
	struct team_result result;

	shared.way = setting->way;
	shared.writes = setting->writes;
	shared.body = machine_work_of(body_us * 1000);
	baton_resource_init(&shared.resource, NULL);
	baton_readers_init(&shared.readers, &shared.resource);
	(void)pthread_mutex_init(&shared.mutex, NULL);
	(void)pthread_rwlock_init(&shared.rwlock, NULL);
	if (baton_published_init(&shared.published, NULL, reclaim))
		abort();
	result = team_run(threads, visit_state, NULL, bench_sample_ms(WINDOW_MS), false);
	values[0] = result.per_second / ideal;
	values[1] = result.fairness;
	baton_published_deinit(&shared.published);
	(void)baton_resource_close(&shared.resource);
	if (baton_resource_await(&shared.resource))
		abort();
	baton_readers_deinit(&shared.readers);
}

static void sweep(const char *name, unsigned writes)
{
	static const double bodies[] = {1, 10, 100};
	static const char *const metrics[] = {"of the ideal", "slowest / fastest thread", NULL};
	const struct setting settings[] = {
		{MUTEX, writes},   {RWLOCK, writes},    {CALLS, writes},
		{READERS, writes}, {PUBLISHED, writes},
	};
	const struct bench_series series[] = {
		{"pthread_mutex", run, &settings[0]},
		{"pthread_rwlock", run, &settings[1]},
		{"baton_call", run, &settings[2]},
		{"baton readers", run, &settings[3]},
		{"baton published pointer", run, &settings[4]},
	};
	const struct bench_sweep whole = {
		.name = name,
		.axis = "body, us",
		.xs = bodies,
		.x_count = 3,
		.metrics = metrics,
		.series = series,
		.series_count = 5,
		.baseline = 1,
		.note = "a published pointer's reads and writes overlap: it may exceed the ideal",
	};

	(void)bench_sweep(&whole);
}

void bench_w22_readers(void)
{
	sweep("W22: 90 reads, 10 writes", 10);
	sweep("W22: 99 reads, 1 write", 1);
}
