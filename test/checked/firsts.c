/* SPDX-License-Identifier: MIT */
/*
 * What the checked library must not stop; see firsts.h. The program is linked to the ordinary
 * library; LD_LIBRARY_PATH gives it the checked one.
 *
 *	firsts                 every program, with each sort of resource; the last line counts them
 *	firsts FUNCTION SORT   one of them, here
 */
#include "firsts.h"

#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRSTS_MAX 200

static struct first {
	const char *function;
	void (*program)(void);
} firsts[FIRSTS_MAX];
static size_t count;

struct baton_resource r = BATON_RESOURCE_INIT(NULL);
struct baton_resource other = BATON_RESOURCE_INIT(NULL);
struct baton_task t = BATON_TASK_INIT(run_task, NULL);
struct baton_future f = BATON_FUTURE_INIT;
struct baton_future promise = BATON_PROMISE_INIT;
struct baton_continuation c;
static sem_t uses;

/* r is zeroed memory; has a config by which a task runs here; or one by which the pool runs it. */
static const struct baton_resource_config configs[] = {
	BATON_RESOURCE_CONFIG_NAMED("zeroed"),
	BATON_RESOURCE_CONFIG_NAMED("here"),
	{.capture_max = BATON_CAPTURE_NONE, .name = "pool"},
};
#define SORTS (sizeof(configs) / sizeof(*configs))

void firsts_add(const char *function, void (*program)(void))
{
	if (count == FIRSTS_MAX)
		abort();
	firsts[count++] = (struct first){function, program};
}

struct baton_timers *wheel(void)
{
	static const struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL};
	static struct baton_timers *timers;

	if (!timers)
		MUST(!baton_timers_create(&options, &timers));
	return timers;
}

static void *count_call(void *arg)
{
	return arg;
}

void used(void)
{
	int error = baton_post(&r, count_call, NULL);

	MUST(!error || error == -EPIPE);
	MUST(!baton_resource_cancel_pending(&r));
	sem_post(&uses);
}

void ran(void)
{
	while (sem_wait(&uses))
		;
}

int run_task(struct baton_task *task)
{
	(void)task;
	used();
	return 0;
}

void *run_call(void *arg)
{
	used();
	return arg;
}

/* Ends r as a program does. */
static void end(void)
{
	int error = baton_resource_close(&r);

	MUST(!error || error == -EALREADY);
	MUST(!baton_resource_await(&r));
	baton_resource_deinit(&r);
}

static void make(const struct first *first, size_t sort)
{
	(void)alarm(120);
	if (sem_init(&uses, 0, 0))
		abort();
	if (sort)
		r = (struct baton_resource)BATON_RESOURCE_INIT(&configs[sort]);
	first->program();
	end();
	exit(0);
}

/* True: the program has come to its end. */
static bool made(const struct first *first, size_t sort)
{
	int status = -1;
	pid_t child;

	(void)fflush(stdout);
	child = fork();
	if (child == 0)
		make(first, sort);
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	if (status)
		printf("%s, %s: status %d\n", first->function, configs[sort].name, status);
	return status == 0;
}

int main(int argc, char **argv)
{
	size_t failed = 0;

	for (size_t i = 0; i < count; i++)
		if (argc == 1)
			for (size_t sort = 0; sort < SORTS; sort++)
				failed += !made(&firsts[i], sort);
		else if (argc > 2 && strcmp(argv[1], firsts[i].function) == 0)
			make(&firsts[i], strtoul(argv[2], NULL, 10) % SORTS);
	if (argc == 1)
		printf("[====] Synthesis: Tested: %zu | Passing: %zu | Failing: %zu\n",
		       SORTS * count, SORTS * count - failed, failed);
	return failed > 0;
}
