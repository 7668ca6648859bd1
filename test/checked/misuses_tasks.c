/* SPDX-License-Identifier: MIT */
/* Misuses of tasks and functions. */
#include "misuses.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

struct baton_resource topic = BATON_RESOURCE_INIT(&FILE_NAMED("topic/7"));
struct baton_resource other = BATON_RESOURCE_INIT(&FILE_NAMED("topic/8"));
struct baton_task second;

int nothing(struct baton_task *task)
{
	return 0;
}

void *call_nothing(void *arg)
{
	return arg;
}

/* Runs `run` as a task of topic/7, so that what it submits to topic/7 waits. */
static void in_task(baton_task_fn run)
{
	static struct baton_task outer;

	baton_task_init(&outer, run, NULL);
	BATON_IGNORE(baton_submit(&topic, &outer));
}

/* ---- Tasks ---- */

static int submit_twice(struct baton_task *task)
{
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, &second));
	BATON_IGNORE(baton_submit(&topic, &second));
	return 0;
}

void submitted_twice(void)
{
	in_task(submit_twice);
}

/* Allowed: the task has run when it is submitted again. */
void again_with_statistics(void)
{
	static struct baton_resource_stats stats;

	baton_resource_set_stats(&topic, &stats);
	baton_task_init(&second, nothing, NULL);
	for (int i = 0; i < 3; i++)
		BATON_IGNORE((baton_submit)(&topic, &second));
}

static int submit_elsewhere(struct baton_task *task)
{
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit_later(&topic, &second));
	BATON_IGNORE(baton_submit(&other, &second));
	return 0;
}

void submitted_to_two(void)
{
	in_task(submit_elsewhere);
}

static int batch_twice(struct baton_task *task)
{
	struct baton_task *const tasks[] = {&second, &second};

	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit_batch(&topic, tasks, 2));
	return 0;
}

void twice_in_a_batch(void)
{
	in_task(batch_twice);
}

/* The second page of a batch's array, which cannot be read at first. */
static void *second_page;
static sem_t within;
static sem_t used;

/* The submit has come to the second page, and goes on when another thread has used topic/7. */
static void use_within(int signal)
{
	sem_post(&within);
	(void)sem_wait(&used);
	if (mprotect(second_page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ))
		_exit(1);
}

static void *use_topic(void *arg)
{
	(void)sem_wait(&within);
	if (baton_call(&topic, call_nothing, NULL, NULL))
		_exit(1);
	sem_post(&used);
	return NULL;
}

/* Allowed: a thread uses an idle resource while another thread looks at the tasks of a batch. */
void used_within_a_batch(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	const size_t count = 2 * size / sizeof(struct baton_task *);
	struct baton_task *tasks = calloc(count, sizeof(*tasks));
	struct baton_task **batch =
		mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	if (!tasks || batch == MAP_FAILED || sem_init(&within, 0, 0) || sem_init(&used, 0, 0) ||
	    signal(SIGSEGV, use_within) == SIG_ERR ||
	    pthread_create(&thread, NULL, use_topic, NULL))
		_exit(1);
	for (size_t i = 0; i < count; i++) {
		baton_task_init(&tasks[i], nothing, NULL);
		batch[i] = &tasks[i];
	}
	second_page = batch + count / 2;
	if (mprotect(second_page, size, PROT_NONE) || baton_submit_batch(&topic, batch, count))
		_exit(1);
	(void)pthread_join(thread, NULL);
	free(tasks);
}

static int change_task(struct baton_task *task)
{
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, &second));
	memset(&second, 0xA5, sizeof(second));
	return 0;
}

void changed_while_queued(void)
{
	in_task(change_task);
}

static int zero_task(struct baton_task *task)
{
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, &second));
	memset(&second, 0, sizeof(second));
	return 0;
}

void zeroed_while_queued(void)
{
	in_task(zero_task);
}

static int free_task(struct baton_task *task)
{
	struct baton_task *freed = malloc(sizeof(*freed));

	baton_task_init(freed, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, freed));
	free(freed);
	return 0;
}

void freed_while_queued(void)
{
	in_task(free_task);
}

void task_without_function(void)
{
	struct baton_task task = BATON_TASK_INIT(NULL, NULL);

	BATON_IGNORE(baton_submit(&topic, &task));
}

void type_without_function(void)
{
	static const struct baton_task_type type;
	struct baton_task task = BATON_TASK_INIT_OF(&type);

	BATON_IGNORE(baton_submit(&topic, &task));
}

void null_task(void)
{
	struct baton_task *volatile task = NULL;

	BATON_IGNORE((baton_submit)(&topic, task));
}

void null_resource(void)
{
	struct baton_resource *volatile resource = NULL;

	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE((baton_submit)(resource, &second));
}

static int close_with_queued(struct baton_task *task)
{
	baton_task_init(&second, nothing, NULL);
	BATON_IGNORE(baton_submit(&topic, &second));
	BATON_IGNORE(baton_resource_close_then(&topic, &second));
	return 0;
}

void finaliser_that_waits(void)
{
	in_task(close_with_queued);
}

void continuation_without_function(void)
{
	struct baton_task task = BATON_TASK_INIT(NULL, NULL);
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuation;

	baton_continuation_task(&continuation, &topic, &task);
	baton_future_then(&promise, &continuation);
	(void)baton_future_complete(&promise, 0, NULL);
}

void continuation_uninitialised(void)
{
	struct baton_continuation continuation = {NULL, NULL, NULL, NULL};
	struct baton_future promise = BATON_PROMISE_INIT;

	baton_future_then(&promise, &continuation);
}

static void waits(void *promise)
{
	BATON_IGNORE(baton_future_wait(promise));
}

static void calls(void *resource)
{
	BATON_IGNORE(baton_call(resource, call_nothing, NULL, NULL));
}

static void tell(baton_told_fn fn, void *arg)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct baton_continuation continuation;

	baton_continuation_function(&continuation, fn, arg);
	baton_future_then(&promise, &continuation);
	(void)baton_future_complete(&promise, 0, NULL);
}

void told_function_waits(void)
{
	struct baton_future promise = BATON_PROMISE_INIT;

	tell(waits, &promise);
}

void told_function_calls(void)
{
	tell(calls, &topic);
}

/* ---- Functions ---- */

static baton_call_fn volatile no_function;

void call_null(void)
{
	BATON_IGNORE((baton_call)(&topic, no_function, NULL, NULL));
}

void post_null(void)
{
	BATON_IGNORE(baton_post(&topic, no_function, NULL));
}

void async_null(void)
{
	struct baton_future *future;

	(void)!baton_async(&topic, no_function, NULL, &future);
}
