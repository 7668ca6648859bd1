/* SPDX-License-Identifier: MIT */
/* Which of the threads that sleep in waits are nudged. */
#include "fixture.h"

#include "base/atomic.h"
#include "thread/thread.h"

/* A thread that sleeps until its future is complete. */
struct sleeper {
	struct baton_future *future;
	_Atomic(struct baton__thread *) record;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;

	MUST(baton__thread_attach() == 0);
	atomic_store(&sleeper->record, baton__self);
	MUST(baton_future_wait(sleeper->future) == 0);
	return NULL;
}

/* Returns when the sleeper can be nudged. */
static pthread_t sleeper_start(struct sleeper *sleeper, struct baton_future *future)
{
	pthread_t thread;

	*sleeper = (struct sleeper){.future = future};
	thread = thread_start(sleeper_main, sleeper);
	while (!atomic_load(&sleeper->record) ||
	       !load_seq_cst(&atomic_load(&sleeper->record)->asleep))
		sched_yield();
	return thread;
}

static uint32_t nudges(const struct sleeper *sleeper)
{
	return load_relaxed(&atomic_load(&sleeper->record)->nudge);
}

Test(thread, a_nudge_for_all_leaves_asleep_who_can_help_no_resource, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT, future = BATON_FUTURE_INIT;
	struct sleeper of_promise, of_task;
	uint32_t before[2];
	pthread_t threads[2];

	occupy(&fix.occupant, &fix.resource);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	threads[0] = sleeper_start(&of_promise, &promise);
	threads[1] = sleeper_start(&of_task, &future);
	before[0] = nudges(&of_promise);
	before[1] = nudges(&of_task);
	baton__thread_nudge_all();
	cr_assert_eq(nudges(&of_promise), before[0]);
	cr_assert_eq(nudges(&of_task), before[1] + 1);
	cr_assert_eq(baton_future_complete(&promise, 0, NULL), 0);
	release(&fix.occupant);
	for (int i = 0; i < 2; i++)
		thread_join(threads[i]);
	fixture_end();
}
