/* SPDX-License-Identifier: MIT */
/* fork while other threads of the parent sleep in waits: they are not in the child. */
#include "child.h"
#include "stash.h"

#include <sys/wait.h>

struct sleeper {
	struct baton_future *awaited;
	pthread_t thread;
	atomic_int tid;
	int result;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;

	atomic_store(&sleeper->tid, thread_id());
	sleeper->result = baton_future_wait(sleeper->awaited);
	return NULL;
}

/* Returns when it sleeps. */
static void sleeper_start(struct sleeper *sleeper, struct baton_future *awaited)
{
	memset(sleeper, 0, sizeof(*sleeper));
	sleeper->awaited = awaited;
	sleeper->thread = thread_start(sleeper_main, sleeper);
	until_at_least(&sleeper->tid, 1);
	until_asleep(atomic_load(&sleeper->tid));
}

/* In the parent: its task waits for the executor, and no waiter may help. The child begins it
 * anew. */
static struct baton_resource resource;

/* In the child: the resource is handed off to a busy executor; its waiter must be nudged. */
static int waiter_is_nudged(void)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_future future = BATON_FUTURE_INIT;
	struct journal journal = {0};
	struct occupant occupant;
	struct sleeper sleeper;
	struct stash stash;
	struct step step;

	stash_init(&stash);
	atomic_store(&stash.answer, 1);
	config.executor = &stash.executor;
	config.capture_max = 1;
	baton_resource_init(&resource, &config);
	occupy(&occupant, &resource);
	step_init(&step, &journal, 0, &future);
	if (baton_submit(&resource, &step.task))
		return 1;
	sleeper_start(&sleeper, &future);
	release(&occupant);
	thread_join(sleeper.thread);
	if (sleeper.result || journal.count != 1)
		return 2;
	return pthread_equal(journal.thread[0], sleeper.thread) ? 0 : 3;
}

/* The child's threads take over the records of some that slept first and have gone: the records of
 * those that sleep are found before them by who looks for a sleeper. */
enum { EARLY = 4, LATE = 3 };

Test(fork_sleeper, the_parents_sleepers_take_no_nudge_in_the_child, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_future promise = BATON_PROMISE_INIT, future = BATON_FUTURE_INIT;
	struct sleeper sleepers[EARLY + LATE];
	struct journal journal = {0};
	struct stash stash;
	struct step step;
	int status = 0;
	pid_t child;

	/* ThreadSanitizer allows no new threads after such a fork. */
	if (BATON_TEST_TSAN)
		cr_skip_test("threads after a fork");
	stash_init(&stash);
	config.executor = &stash.executor;
	config.capture_max = BATON_CAPTURE_NONE;
	baton_resource_init(&resource, &config);
	step_init(&step, &journal, 0, &future);
	cr_assert_eq(baton_submit(&resource, &step.task), 0);
	for (int i = 0; i < EARLY + LATE; i++)
		sleeper_start(&sleepers[i], i < EARLY ? &promise : &future);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	for (int i = 0; i < EARLY; i++)
		thread_join(sleepers[i].thread);
	fflush(NULL);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		child_begins();
		_exit(waiter_is_nudged());
	}
	while (waitpid(child, &status, 0) < 0)
		MUST(errno == EINTR);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned)status);
	stash_run(&stash);
	for (int i = 0; i < EARLY + LATE; i++) {
		if (i >= EARLY)
			thread_join(sleepers[i].thread);
		cr_assert_eq(sleepers[i].result, 0);
	}
	resource_end(&resource);
}
