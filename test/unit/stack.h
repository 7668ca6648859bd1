/* SPDX-License-Identifier: MIT */
/*
 * Functions that nest on one stack as far as the library lets them: each calls descend(), which
 * goes one level deeper by the way of a table's row. The stack is looked at afterwards.
 */
#ifndef BATON_TEST_UNIT_STACK_H
#define BATON_TEST_UNIT_STACK_H

#include "stash.h"

#include <baton/fan_out.h>
#include <baton/hooks.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/loop.h>
#include <baton/mainloop.h>
#include <baton/manual.h>
#include <baton/registry.h>
#include <baton/stats.h>
#include <baton/suspend.h>

#include <sys/mman.h>

/* The claim of resource.h. */
#if defined(__x86_64__) && !defined(__SSP_STRONG__)
enum { STACK_MAX = 64 * 1024 };
#else
enum { STACK_MAX = 80 * 1024 };
#endif

/* How many levels a row goes down if nothing stops it. */
enum { LEVELS = 3 * BATON_CALLING_MAX };

/* What a function at one level of a row uses to get to the next level. */
struct level {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct baton_task task;
	struct baton_future future;
	struct baton_lanes lanes;
	struct baton_lane lane;
	struct baton_plain_job job;
	struct baton_source source;
	struct baton_suspension suspension;
};

struct way {
	const char *name;
	int (*enter)(struct level *level); /* has descend() called, or returns why not */
	void (*init)(struct level *level);
	struct baton_resource_config *config;
	size_t levels;
	int refusal; /* of one level more */
};

static struct level levels[LEVELS];
static const struct way *way;
static size_t begun; /* so many levels are in use */
static size_t nested;
static size_t deepest;
static int refusal;

static struct stash stash;
static struct baton_manual *manual;
static struct baton_loop *loop;
static struct baton_mainloop mainloop;
static struct baton_registry *registry;
static struct baton_registry_entry *visited;

/* At the bottom: calls that end there use the stack, too. */
static inline void looks_about(void)
{
	static struct baton_future promises[BATON_WAIT_ANY_MAX];
	struct baton_future *futures[BATON_WAIT_ANY_MAX];
	const uint64_t deadline = deadline_in_ms(1);

	for (size_t i = 0; i < BATON_WAIT_ANY_MAX; i++) {
		baton_promise_init(&promises[i]);
		futures[i] = &promises[i];
	}
	MUST(baton_future_wait_any_until(futures, BATON_WAIT_ANY_MAX, deadline, NULL) ==
	     -ETIMEDOUT);
}

/* In a function of the user's: goes one level deeper. */
static inline void descend(void)
{
	int error;

	nested++;
	if (nested > deepest)
		deepest = nested;
	error = begun < LEVELS ? way->enter(&levels[begun++]) : 0;
	if (error && !refusal) {
		refusal = error;
		begun = LEVELS;
		looks_about();
	}
	nested--;
}

static inline void *returns_arg(void *arg)
{
	return arg;
}

static inline void *descends(void *arg)
{
	descend();
	return arg;
}

static inline int task_descends(struct baton_task *task)
{
	descend();
	return 0;
}

static inline int rests(struct baton_task *task)
{
	return 0;
}

static inline void no_init(struct level *level)
{
}

static inline int hook_rests(struct baton_resource *resource)
{
	return 0;
}

static inline int hook_descends(struct baton_resource *resource)
{
	descend();
	return 0;
}

static inline void cancelled_descends(struct baton_task *task)
{
	descend();
}

static inline int object_descends(struct baton_registry_entry *entry, void *arg)
{
	descend();
	return 0;
}

static struct baton_resource_config plain = BATON_RESOURCE_CONFIG_NAMED("plain");
static struct baton_resource_config timed = BATON_RESOURCE_CONFIG_NAMED("timed");
static struct baton_resource_config begins = BATON_RESOURCE_CONFIG_NAMED("begins");
static struct baton_resource_config ends = BATON_RESOURCE_CONFIG_NAMED("ends");
static struct baton_resource_config holds = BATON_RESOURCE_CONFIG_NAMED("holds");
static struct baton_resource_config queued = BATON_RESOURCE_CONFIG_NAMED("queued");
static struct baton_resource_config driven = BATON_RESOURCE_CONFIG_NAMED("driven");

static inline bool alone(struct baton_executor *executor)
{
	return true;
}

static const struct baton_executor_ops alone_ops = {.schedule = stash_schedule, .alone = alone};

static inline void configure(void)
{
	struct baton_registry_options options = BATON_REGISTRY_OPTIONS_INIT(
		sizeof(struct baton_registry_entry), object_descends, NULL, NULL);

	timed.capture_ns = 1000000000;
	begins.batch_begin = hook_descends;
	ends.batch_end = hook_descends;
	holds.batch_end = hook_rests;
	holds.delay_completions = true;
	queued.cancelled = cancelled_descends;
	plain.executor = timed.executor = begins.executor = &stash.executor;
	ends.executor = holds.executor = queued.executor = &stash.executor;
	stash_init(&stash);
	stash.executor._ops = &alone_ops;
	MUST(baton_manual_create(&manual) == 0);
	MUST(baton_loop_create(&loop) == 0);
	MUST(baton_loop_adopt(loop) == 0);
	MUST(baton_mainloop_init(&mainloop, NULL) == 0);
	begun = LEVELS;
	MUST(baton_registry_create(&options, &registry) == 0);
	MUST(baton_registry_acquire(registry, "visited", 7, &visited) == 0);
	driven.executor = baton_manual_executor(manual);
	driven.capture_max = BATON_CAPTURE_NONE;
}

static inline void clean_up(void)
{
	begun = LEVELS;
	for (size_t i = 0; i < LEVELS; i++)
		BATON_IGNORE(baton_resource_resume_later(&levels[i].suspension));
	stash_run(&stash);
	(void)baton_manual_run(manual, 0);
	(void)baton_loop_run(loop, 0);
	BATON_IGNORE(baton_mainloop_run(&mainloop, LEVELS));
	for (size_t i = 0; i < LEVELS; i++)
		resource_end(&levels[i].resource);
	MUST(baton_registry_unref(visited) == 0);
	MUST(baton_registry_destroy(registry) == 0);
	MUST(baton_mainloop_deinit(&mainloop) >= 0);
	baton_loop_destroy(loop);
	baton_manual_destroy(manual);
}

static inline void *row_main(void *arg)
{
	configure();
	for (size_t i = 0; i < LEVELS; i++) {
		memset(&levels[i], 0, sizeof(levels[i]));
		baton_resource_init(&levels[i].resource, way->config);
		way->init(&levels[i]);
	}
	begun = nested = deepest = 0;
	refusal = 0;
	descend();
	clean_up();
	return NULL;
}

/* Runs `run` on a large stack. Returns how much of it was used. */
static inline size_t stack_of(void *(*run)(void *))
{
	const size_t size = 4 * 1024 * 1024;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;
	size_t untouched = 0;

	MUST(stack != MAP_FAILED);
	MUST(pthread_attr_init(&attributes) == 0);
	MUST(pthread_attr_setstack(&attributes, stack, size) == 0);
	MUST(pthread_create(&thread, &attributes, run, NULL) == 0);
	thread_join(thread);
	pthread_attr_destroy(&attributes);
	while (untouched < size && !stack[untouched])
		untouched++;
	MUST(munmap(stack, size) == 0);
	return size - untouched;
}

/* An unoptimised build takes more. */
static inline bool is_small(size_t used)
{
#ifdef __OPTIMIZE__
	return BATON_TEST_SANITIZED || used <= STACK_MAX;
#else
	return true;
#endif
}

#endif
