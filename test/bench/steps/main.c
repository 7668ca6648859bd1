/* SPDX-License-Identifier: MIT */
/*
 * The instructions of the hot paths, each counted by single steps of a child: exact, and the same
 * on a loaded machine, in a virtual machine and without the CPU's counters. The library is as it is
 * installed. A count is the difference between many and few operations. The empty task or function
 * and the loop around the operation are part of the count.
 *
 * Ends with status 1 if a path takes more instructions than allowed. The limits are those of gcc 12
 * on x86-64 with optimisation; other compilers' counts are only printed.
 */
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <baton.h>
#include <baton/inline.h>
#include <baton/stats.h>

#include "../cxx/ways.h"

#define FEW 32U
#define MANY 96U

#if defined(__x86_64__) && defined(__OPTIMIZE__) && __GNUC__ == 12 && !defined(__clang__)
#define JUDGED true
#else
#define JUDGED false
#endif

static const struct baton_resource_config patient = {
	.capture_max = 2 * MANY,
	.quantum = BATON_QUANTUM,
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct baton_resource resource;
static struct baton_resource_stats stats;
static struct baton_task tasks[MANY];
static struct baton_future futures[MANY];
static volatile unsigned counter;

static __attribute__((noinline)) int count_task(struct baton_task *task)
{
	counter++;
	return 0;
}

static __attribute__((noinline)) void *count(void *arg)
{
	counter++;
	return arg;
}

static void lock(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		(void)pthread_mutex_lock(&mutex);
		counter++;
		(void)pthread_mutex_unlock(&mutex);
	}
}

static void submit(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		BATON_IGNORE((baton_submit)(&resource, &tasks[i]));
}

static void submit_inlined(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		BATON_IGNORE(baton_submit_inline(&resource, &tasks[i]));
}

static void submit_future(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		BATON_IGNORE((baton_submit)(&resource, &tasks[i]));
}

static void call(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		BATON_IGNORE((baton_call)(&resource, count, NULL, NULL));
}

static void call_inlined(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		BATON_IGNORE(baton_call_inline(&resource, count, NULL, NULL));
}

static void hold_and_release(unsigned n)
{
	struct baton_hold hold = BATON_HOLD_INIT;

	for (unsigned i = 0; i < n; i++) {
		BATON_IGNORE((baton_hold)(&resource, &hold));
		counter++;
		BATON_IGNORE((baton_release)(&hold));
	}
}

static void hold_inlined(unsigned n)
{
	struct baton_hold hold = BATON_HOLD_INIT;

	for (unsigned i = 0; i < n; i++) {
		BATON_IGNORE(baton_hold_inline(&resource, &hold));
		counter++;
		BATON_IGNORE(baton_release_inline(&hold));
	}
}

static void post(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		BATON_IGNORE(baton_post(&resource, count, NULL));
}

static void call_from_cxx(unsigned n)
{
	cxx_call_of_c(&resource, n);
}

static void call_cxx(unsigned n)
{
	cxx_call(&resource, n);
}

static void call_cxx_value(unsigned n)
{
	cxx_call_value(&resource, n);
}

static void post_cxx(unsigned n)
{
	cxx_post(&resource, n);
}

#define AS_BASE UINT_MAX

static const struct path {
	const char *name;
	void (*way)(unsigned n);
	unsigned limit; /* 0: none; AS_BASE: not more than the last row with the limit 0 */
	bool busy;      /* the resource is held by the thread itself */
	bool counted;   /* with statistics */
	bool futures;
} paths[] = {
	{"pthread_mutex", lock, 0, false, false, false},
	{"submit, idle, inlined", submit_inlined, 41, false, false, false},
	{"call, idle, inlined", call_inlined, 37, false, false, false},
	{"hold, idle, inlined", hold_inlined, 44, false, false, false},
	{"hold, idle", hold_and_release, 60, false, false, false},
	{"submit, idle", submit, 47, false, false, false},
	{"call, idle", call, 51, false, false, false},
	{"post, idle", post, 47, false, false, false},
	{"submit, idle, caller's future", submit_future, 75, false, false, true},
	{"submit, idle, statistics", submit, 124, false, true, false},
	{"call, idle, statistics", call, 136, false, true, false},
	{"submit, busy", submit, 52, true, false, false},
	{"submit, busy, inlined", submit_inlined, 67, true, false, false},
	{"call, idle, inlined, C++: baton_call_inline()", call_from_cxx, 0, false, false, false},
	{"call, idle, C++: call(lambda)", call_cxx, AS_BASE, false, false, false},
	{"call, idle, C++: call(lambda), a value", call_cxx_value, AS_BASE, false, false, false},
	{"post, idle, C++: post(lambda)", post_cxx, AS_BASE, false, false, false},
};

/* ---- In the child ---- */

struct holder {
	struct baton_task task;
	const struct path *path;
	unsigned count;
};

static void marked(const struct path *path, unsigned count_of)
{
	(void)raise(SIGSTOP); /* single steps begin here */
	path->way(count_of);
	_exit(0);
}

static int hold_and_run(struct baton_task *task)
{
	struct holder *holder = baton_container_of(task, struct holder, task);

	marked(holder->path, holder->count);
	return 0;
}

static void run(const struct path *path, unsigned count_of)
{
	struct holder holder = {BATON_TASK_INIT(hold_and_run, NULL), path, count_of};

	baton_resource_init(&resource, &patient);
	if (path->counted)
		baton_resource_set_stats(&resource, &stats);
	for (unsigned i = 0; i < MANY; i++) {
		baton_future_init(&futures[i]);
		baton_task_init(&tasks[i], count_task, path->futures ? &futures[i] : NULL);
	}
	/* The thread has a record, and lazily bound functions are bound. */
	BATON_IGNORE((baton_call)(&resource, count, NULL, NULL));
	lock(1);
	if (path->busy)
		BATON_IGNORE((baton_submit)(&resource, &holder.task));
	else
		marked(path, count_of);
}

/* ---- In the parent ---- */

/* Instructions until the child exits; 0: it cannot be traced. */
static unsigned long steps(const struct path *path, unsigned count_of)
{
	unsigned long number = 0;
	int status;
	pid_t child = fork();

	if (child < 0)
		return 0;
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(0);
		run(path, count_of);
		_exit(0);
	}
	/* Ends with the child. */
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		number++;
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL))
			break;
	}
	return number;
}

int main(void)
{
	unsigned failures = 0;
	double base = 0;

	printf("instructions of the hot paths: measured/allowed per task\n");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const struct path *path = &paths[i];
		unsigned long few = steps(path, FEW);
		unsigned long many = steps(path, MANY);
		double measured = (double)(many - few) / (MANY - FEW);
		double limit = path->limit == AS_BASE ? base : path->limit;
		bool judged = JUDGED && path->limit;
		bool pass = measured <= limit;

		if (few < FEW || many <= few) {
			printf("%-58s no child can be traced here: not counted\n", path->name);
			continue;
		}
		printf("%-58s %6.1f", path->name, measured);
		if (judged)
			printf("/%-4.0f %s", limit, pass ? "PASS" : "FAIL");
		printf("\n");
		if (!path->limit)
			base = measured;
		failures += judged && !pass;
	}
	return failures ? 1 : 0;
}
