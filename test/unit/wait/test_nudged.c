/* SPDX-License-Identifier: MIT */
/* A nudge is for a thread that can help: another one passes it on. */
#include "support.h"

#include <baton/executor.h>

static struct {
	struct baton_resource resources[BATON_HELPING_MAX], last;
	struct baton_resource_config config;
	struct step steps[2];
	struct baton_future futures[2];
	struct baton_manual *manual;
	unsigned depth;
	int status[2];
	atomic_int tids[2];
	sem_t ready[2], go_on[2], helped;
} nudged;

static void *waits_deeply(void *arg)
{
	if (nudged.depth < BATON_HELPING_MAX) {
		MUST(baton_call(&nudged.resources[nudged.depth++], waits_deeply, NULL, NULL) == 0);
		return arg;
	}
	atomic_store(&nudged.tids[0], thread_id());
	nudged.status[0] = baton_future_wait(&nudged.futures[0]);
	gate_pass(&nudged.helped);
	return arg;
}

static void *drives_deeply(void *arg)
{
	MUST(baton_manual_create(&nudged.manual) == 0);
	nudged.config.executor = baton_manual_executor(nudged.manual);
	gate_open(&nudged.ready[0]);
	gate_pass(&nudged.go_on[0]);
	(void)waits_deeply(NULL);
	(void)baton_manual_run(nudged.manual, 0);
	resource_end(&nudged.last);
	baton_manual_destroy(nudged.manual);
	return arg;
}

static void *helps(void *arg)
{
	MUST(baton__thread_attach() == 0);
	gate_open(&nudged.ready[1]);
	gate_pass(&nudged.go_on[1]);
	atomic_store(&nudged.tids[1], thread_id());
	nudged.status[1] = baton_future_wait(&nudged.futures[1]);
	gate_open(&nudged.helped);
	return arg;
}

/* `first`: who begins to use the library first; that says who is nudged. */
static void is_nudged_too_deep(int first)
{
	struct journal journal = {0};
	struct occupant occupant;
	pthread_t threads[2];

	memset(&nudged, 0, sizeof(nudged));
	nudged.config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	nudged.config.capture_max = 1;
	gate_init(&nudged.helped);
	for (int begun = 0; begun < 2; begun++) {
		int i = begun ^ first;

		gate_init(&nudged.ready[i]);
		gate_init(&nudged.go_on[i]);
		threads[i] = thread_start(i ? helps : drives_deeply, NULL);
		gate_pass(&nudged.ready[i]);
		baton_future_init(&nudged.futures[i]);
		step_init(&nudged.steps[i], &journal, i, &nudged.futures[i]);
	}
	for (unsigned i = 0; i < BATON_HELPING_MAX; i++)
		baton_resource_init(&nudged.resources[i], NULL);
	baton_resource_init(&nudged.last, &nudged.config);
	occupy(&occupant, &nudged.last);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(baton_submit(&nudged.last, &nudged.steps[i].task), 0);
		gate_open(&nudged.go_on[i]);
	}
	for (int i = 0; i < 2; i++) {
		until_at_least(&nudged.tids[i], 1);
		until_asleep(atomic_load(&nudged.tids[i]));
	}
	release(&occupant);
	for (int i = 0; i < 2; i++)
		(void)thread_join(threads[i]);
	/* 0: the other one was nudged as well, and was faster. */
	cr_assert(nudged.status[0] == -EDEADLK || nudged.status[0] == 0);
	cr_assert_eq(nudged.status[1], 0);
	for (unsigned i = 0; i < BATON_HELPING_MAX; i++)
		resource_end(&nudged.resources[i]);
}

/* One thread is nudged for a resource that is queued. If it cannot help, it wakes the others. */
Test(nudged, who_is_too_deep_to_help_wakes_another, .timeout = 20)
{
	for (int i = 0; i < scaled(50); i++)
		is_nudged_too_deep(i & 1);
}
