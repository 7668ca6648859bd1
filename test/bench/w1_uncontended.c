/* SPDX-License-Identifier: MIT */
/*
 * W1: one thread. What a task costs on an idle resource, in each of the ways to submit it; and what
 * it costs to leave one at a busy resource. The body adds one to a counter beside the lock or
 * resource. A mutex's user writes it between lock and unlock; a second line calls it by pointer, as
 * baton has to.
 *
 * Timed in chunks of CHUNK operations, of which the median counts: what else the machine does for a
 * while then does not.
 */
#include "harness.h"
#include "hot.h"
#include "locks.h"
#include "machine.h"
#include "team.h"
#include "watch.h"

#include <pthread.h>
#include <stdlib.h>

#include <baton.h>

#define BATCH 16
#define BURST 1024
#define CHUNK 4096

struct locked {
	uint64_t counter;
	struct lock lock;
};

struct subject {
	uint64_t counter;
	struct baton_resource resource;
};

static struct locked locked[3] __attribute__((aligned(64)));
static struct subject subject __attribute__((aligned(64)));

static const struct baton_resource_config patient = {
	.capture_limit = 2 * BURST,
	.quantum = BATON_QUANTUM,
};

static struct baton_task tasks[BURST];
static struct baton_task *task_pointers[BATCH];

/* Not const, so that the compiler cannot know where it goes. */
static void (*volatile body_pointer)(struct locked *locked);

static struct watch watch;

static unsigned chunks(void)
{
	return bench_options.quick ? 120 : 480;
}

/* Times `operation`, which costs `tasks` of them, and puts ns per task into values[0]. */
#define TIMED(values, tasks, operation)                                                            \
	do {                                                                                       \
		for (unsigned chunk = 0; chunk < chunks(); chunk++) {                              \
			uint64_t began = machine_ticks();                                          \
                                                                                                   \
			for (int i = 0; i < CHUNK / (tasks); i++) {                                \
				operation;                                                         \
			}                                                                          \
			watch_add(&watch, began);                                                  \
		}                                                                                  \
		(values)[0] = watch_end(&watch, CHUNK);                                            \
	} while (0)

static int count_task(struct baton_task *task)
{
	(void)task;
	subject.counter++;
	return 0;
}

static void *count_call(void *arg)
{
	struct subject *mine = arg;

	mine->counter++;
	return NULL;
}

static void count_locked(struct locked *mine)
{
	mine->counter++;
}

static void set_subject(const struct baton_resource_config *config)
{
	baton_resource_init(&subject.resource, NULL, NULL, config, NULL);
	subject.counter = 0;
}

static void check(uint64_t counter, uint64_t expected)
{
	if (counter != expected) {
		fprintf(stderr, "W1: %llu tasks instead of %llu\n", (unsigned long long)counter,
		        (unsigned long long)expected);
		abort();
	}
}

static inline __attribute__((always_inline)) void run_lock(enum lock_kind kind, double *values)
{
	struct locked *mine = &locked[kind];
	struct ck_spinlock_mcs node;

	lock_init(&mine->lock, kind);
	mine->counter = 0;
	TIMED(values, 1, {
		lock_acquire(&mine->lock, kind, &node);
		mine->counter++;
		lock_release(&mine->lock, kind, &node);
	});
	check(mine->counter, (uint64_t)chunks() * CHUNK);
}

static void run_mutex(const void *setup, double *values)
{
	(void)setup;
	run_lock(LOCK_MUTEX, values);
}

static void run_ticket(const void *setup, double *values)
{
	(void)setup;
	run_lock(LOCK_TICKET, values);
}

static void run_mcs(const void *setup, double *values)
{
	(void)setup;
	run_lock(LOCK_MCS, values);
}

static void run_mutex_pointer(const void *setup, double *values)
{
	struct locked *mine = &locked[LOCK_MUTEX];
	void (*body)(struct locked *);

	(void)setup;
	body_pointer = count_locked;
	body = body_pointer;
	lock_init(&mine->lock, LOCK_MUTEX);
	TIMED(values, 1, {
		(void)pthread_mutex_lock(&mine->lock.mutex);
		body(mine);
		(void)pthread_mutex_unlock(&mine->lock.mutex);
	});
}

static void run_submit(const void *setup, double *values)
{
	struct baton_task task = BATON_TASK_INIT(count_task, NULL);

	(void)setup;
	set_subject(NULL);
	TIMED(values, 1, (void)baton_submit(&subject.resource, &task));
	check(subject.counter, (uint64_t)chunks() * CHUNK);
}

static void run_submit_future(const void *setup, double *values)
{
	struct baton_future future;
	struct baton_task task = BATON_TASK_INIT(count_task, &future);

	(void)setup;
	set_subject(NULL);
	TIMED(values, 1, {
		future = (struct baton_future)BATON_FUTURE_INIT;
		(void)baton_submit(&subject.resource, &task);
	});
	check(subject.counter, (uint64_t)chunks() * CHUNK);
}

static void run_call(const void *setup, double *values)
{

	(void)setup;
	set_subject(NULL);
	TIMED(values, 1, (void)baton_call(&subject.resource, count_call, &subject, NULL));
	check(subject.counter, (uint64_t)chunks() * CHUNK);
}

static void run_post(const void *setup, double *values)
{

	(void)setup;
	set_subject(NULL);
	TIMED(values, 1, (void)baton_post(&subject.resource, count_call, &subject));
	check(subject.counter, (uint64_t)chunks() * CHUNK);
}

static void run_async(const void *setup, double *values)
{

	(void)setup;
	set_subject(NULL);
	TIMED(values, 1, {
		struct baton_future *future;

		if (baton_async(&subject.resource, count_call, &subject, &future) == 0)
			baton_future_unref(future);
	});
	check(subject.counter, (uint64_t)chunks() * CHUNK);
}

static void run_batch(const void *setup, double *values)
{
	static const struct baton_resource_config sixteen = {
		.capture_limit = BATCH,
		.quantum = BATON_QUANTUM,
	};

	(void)setup;
	for (int i = 0; i < BATCH; i++) {
		baton_task_init(&tasks[i], count_task, NULL);
		task_pointers[i] = &tasks[i];
	}
	set_subject(&sixteen);
	TIMED(values, BATCH, (void)baton_submit_batch(&subject.resource, task_pointers, BATCH));
	check(subject.counter, (uint64_t)chunks() * CHUNK);
}

/* With the default limit each batch ends in a hand-off: several are kept under way. */
static void run_batch_default(const void *setup, double *values)
{
	double rates[BENCH_METRICS_MAX];

	hot_async_run(setup, rates);
	values[0] = 1000 / rates[0];
}

static const struct hot_async batch_default = {.threads = 1, .batch = BATCH};

/* A burst left at a resource that this very thread holds: ns per push, and for running it. */
struct burst {
	struct baton_task task;
	size_t batch;
	uint64_t pushed; /* when */
};

static int burst_run(struct baton_task *task)
{
	struct burst *burst = baton_container_of(task, struct burst, task);
	struct baton_task *pointers[BURST];
	uint64_t start;

	for (size_t i = 0; i < BURST; i++)
		pointers[i] = &tasks[i];
	start = machine_ticks();
	if (burst->batch == 1)
		for (size_t i = 0; i < BURST; i++)
			(void)baton_submit(&subject.resource, pointers[i]);
	else
		for (size_t i = 0; i < BURST; i += burst->batch)
			(void)baton_submit_batch(&subject.resource, pointers + i, burst->batch);
	watch_add(&watch, start);
	burst->pushed = machine_ticks();
	return 0;
}

static void run_burst(const void *setup, double *values)
{
	static struct watch drain;
	struct burst burst = {.batch = *(const size_t *)setup};

	baton_task_init(&burst.task, burst_run, NULL);
	for (size_t i = 0; i < BURST; i++)
		baton_task_init(&tasks[i], count_task, NULL);
	set_subject(&patient);
	for (unsigned i = 0; i < chunks(); i++) {
		(void)baton_submit(&subject.resource, &burst.task);
		watch_add(&drain, burst.pushed);
	}
	check(subject.counter, (uint64_t)chunks() * BURST);
	values[0] = watch_end(&watch, BURST);
	values[1] = watch_end(&drain, BURST);
}

/* Another thread holds the resource and looks at a word of its own until it is told to leave. */
struct holder {
	struct baton_task task;
	pthread_t id;
	bool holding __attribute__((aligned(64)));
	bool leave __attribute__((aligned(64)));
};

static int holder_run(struct baton_task *task)
{
	struct holder *holder = baton_container_of(task, struct holder, task);
	unsigned turns = 0;

	__atomic_store_n(&holder->holding, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&holder->leave, __ATOMIC_ACQUIRE))
		team_wait(&turns);
	return 0;
}

static void *holder_main(void *argument)
{
	struct holder *holder = argument;

	team_pin(1);
	(void)baton_submit(&subject.resource, &holder->task);
	return NULL;
}

static void run_held(const void *setup, double *values)
{
	int bursts = bench_options.quick ? 50 : 200;

	(void)setup;
	set_subject(&patient);
	for (int b = 0; b < bursts; b++) {
		struct holder holder = {.task = BATON_TASK_INIT(holder_run, NULL)};
		unsigned turns = 0;
		uint64_t start;

		for (size_t i = 0; i < BURST; i++)
			baton_task_init(&tasks[i], count_task, NULL);
		if (pthread_create(&holder.id, NULL, holder_main, &holder))
			abort();
		while (!__atomic_load_n(&holder.holding, __ATOMIC_ACQUIRE))
			team_wait(&turns);
		start = machine_ticks();
		for (size_t i = 0; i < BURST; i++)
			(void)baton_submit(&subject.resource, &tasks[i]);
		watch_add(&watch, start);
		__atomic_store_n(&holder.leave, true, __ATOMIC_RELEASE);
		(void)pthread_join(holder.id, NULL);
	}
	values[0] = watch_end(&watch, BURST);
	check(subject.counter, (uint64_t)bursts * BURST);
}

void bench_w1_uncontended(void)
{
	static const char *const metrics[] = {"ns/task", NULL};
	static const char *const burst_metrics[] = {"push, ns/task", "run it, ns/task", NULL};
	static const size_t one = 1;
	static const size_t sixteen = BATCH;
	static const struct bench_case idle[] = {
		{"pthread_mutex", run_mutex, NULL},
		{"pthread_mutex, body by pointer", run_mutex_pointer, NULL},
		{"CK ticket lock", run_ticket, NULL},
		{"CK MCS lock", run_mcs, NULL},
		{"baton submit", run_submit, NULL},
		{"baton submit, caller's future", run_submit_future, NULL},
		{"baton call", run_call, NULL},
		{"baton post", run_post, NULL},
		{"baton async", run_async, NULL},
		{"baton batch of 16, limit 16", run_batch, NULL},
		{"baton batch of 16, limit 10", run_batch_default, &batch_default},
	};
	static const struct bench_case busy[] = {
		{"pthread_mutex (idle)", run_mutex, NULL},
		{"baton submit, inside a task", run_burst, &one},
		{"baton batch of 16, inside a task", run_burst, &sixteen},
		{"baton submit, another holds it", run_held, NULL},
	};
	static const struct bench_group groups[] = {
		{"W1: one thread, an idle resource", metrics, idle, sizeof(idle) / sizeof(idle[0]),
	         0, "limit 10: the rest of each batch is handed off; 16 batches under way"},
		{"W1: one thread, a busy resource", burst_metrics, busy,
	         sizeof(busy) / sizeof(busy[0]), 0, NULL},
	};

	team_pin(0);
	bench_group(&groups[0]);
	bench_group(&groups[1]);
	team_unpin();
}
