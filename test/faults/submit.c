/* SPDX-License-Identifier: MIT */
/* Failing calls in: submit, submit_later, submit_batch, and in hand-offs. */
#include "scenario.h"

#define BATCH 4
#define DEPTH (BATON_NESTING_MAX + 4)

SCENARIO(submit, idle)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct probe plain;
	struct probe probe;

	probe_init_plain(&plain);
	probe_init(&probe);
	INSIST(baton_submit(&resource, &plain.task), probe_untouched(&plain));
	INSIST(baton_submit(&resource, &probe.task), probe_untouched(&probe));
	EXPECT(probe_done(&plain));
	EXPECT(probe_done(&probe));
	resource_end(&resource);
}

SCENARIO(submit, with_a_future_first)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct probe probe;

	probe_init(&probe);
	INSIST(baton_submit(&resource, &probe.task), probe_untouched(&probe));
	EXPECT(probe_done(&probe));
	resource_end(&resource);
}

struct pair {
	struct baton_resource *resource;
	struct probe plain;
	struct probe probe;
};

static void *submit_one(void *arg)
{
	struct pair *pair = arg;

	INSIST(baton_submit(pair->resource, &pair->probe.task), probe_untouched(&pair->probe));
	return NULL;
}

/* Both may be the first of the process: key and fork handler. */
SCENARIO(submit, on_two_threads)
{
	struct baton_resource resources[2];
	struct pair pairs[2];
	pthread_t other;

	for (int i = 0; i < 2; i++) {
		USE(baton_resource_init(&resources[i], NULL));
		probe_init(&pairs[i].probe);
		pairs[i].resource = &resources[i];
	}
	other = thread_start(submit_one, &pairs[0]);
	(void)submit_one(&pairs[1]);
	thread_join(other);
	for (int i = 0; i < 2; i++) {
		EXPECT(probe_done(&pairs[i].probe));
		resource_end(&resources[i]);
	}
}

SCENARIO(submit, to_a_closed_resource)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct probe probe;
	int status;

	probe_init(&probe);
	EXPECT(TRY(baton_resource_close(&resource)) == 0);
	status = TRY(baton_submit(&resource, &probe.task));
	EXPECT(status == -EPIPE || (status == -ENOMEM && fault_planned()));
	EXPECT(probe_untouched(&probe));
	resource_end(&resource);
}

static void *push_pair(void *arg)
{
	struct pair *pair = arg;

	INSIST(baton_submit(pair->resource, &pair->plain.task), probe_untouched(&pair->plain));
	INSIST(baton_submit(pair->resource, &pair->probe.task), probe_untouched(&pair->probe));
	return NULL;
}

SCENARIO(submit, busy)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct pair pair = {.resource = &resource};
	struct occupant occupant;

	probe_init_plain(&pair.plain);
	probe_init(&pair.probe);
	occupy(&occupant, &resource);
	elsewhere(push_pair, &pair);
	EXPECT(probe_untouched(&pair.plain)); /* not yet */
	leave(&occupant);
	INSIST(baton_future_wait(&pair.probe.future), true);
	EXPECT(probe_done(&pair.plain));
	EXPECT(probe_done(&pair.probe));
	resource_end(&resource);
}

SCENARIO(submit, later)
{
	struct baton_pool *pool = pool_get();
	const struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE,
	                                             .quantum = 1,
	                                             .executor = USE(baton_pool_executor(pool))};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct probe first;
	struct probe second;

	probe_init(&first);
	probe_init_plain(&second);
	INSIST(baton_submit_later(&resource, &first.task), probe_untouched(&first));
	INSIST(baton_submit(&resource, &second.task), probe_untouched(&second));
	INSIST(baton_future_wait(&first.future), true);
	EXPECT(probe_done(&first));
	resource_end(&resource);
	EXPECT(probe_done(&second));
	pool_put(pool);
}

/* The default pool may not come into being. */
SCENARIO(submit, later_to_the_default_pool)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct probe probe;

	probe_init(&probe);
	INSIST(baton_submit_later(&resource, &probe.task), probe_untouched(&probe));
	INSIST(baton_future_wait(&probe.future), true);
	EXPECT(probe_done(&probe));
	resource_end(&resource);
}

struct batch {
	struct baton_resource *resource;
	struct probe probes[BATCH];
	struct baton_task *tasks[BATCH];
};

static void batch_init(struct batch *batch, struct baton_resource *resource)
{
	batch->resource = resource;
	for (int i = 0; i < BATCH; i++) {
		if (i % 2 == 0)
			probe_init(&batch->probes[i]);
		else
			probe_init_plain(&batch->probes[i]);
		batch->tasks[i] = &batch->probes[i].task;
	}
}

static bool batch_is(const struct batch *batch, bool (*what)(const struct probe *probe))
{
	for (int i = 0; i < BATCH; i++)
		if (!what(&batch->probes[i]))
			return false;
	return true;
}

static bool has_not_run(const struct probe *probe)
{
	return !atomic_load(&probe->runs);
}

static void *submit_batch(void *arg)
{
	struct batch *batch = arg;

	INSIST(baton_submit_batch(batch->resource, batch->tasks, BATCH),
	       batch_is(batch, probe_untouched));
	return NULL;
}

SCENARIO(submit, batch)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct batch batch;
	struct occupant occupant;

	batch_init(&batch, &resource);
	elsewhere(submit_batch, &batch);
	EXPECT(batch_is(&batch, probe_done));
	batch_init(&batch, &resource);
	occupy(&occupant, &resource);
	elsewhere(submit_batch, &batch);
	EXPECT(batch_is(&batch, has_not_run)); /* not yet */
	leave(&occupant);
	resource_end(&resource);
	EXPECT(batch_is(&batch, probe_done));
}

SCENARIO(submit, batch_with_limit_0)
{
	const struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE,
	                                             .quantum = 2};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct batch batch;

	batch_init(&batch, &resource);
	(void)submit_batch(&batch);
	for (int i = 0; i < BATCH; i += 2)
		INSIST(baton_future_wait(&batch.probes[i].future), true);
	resource_end(&resource);
	EXPECT(batch_is(&batch, probe_done));
}

SCENARIO(submit, batch_later)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct batch batch;

	batch_init(&batch, &resource);
	INSIST(baton_submit_batch_later(&resource, batch.tasks, BATCH),
	       batch_is(&batch, probe_untouched));
	for (int i = 0; i < BATCH; i += 2)
		INSIST(baton_future_wait(&batch.probes[i].future), true);
	resource_end(&resource);
	EXPECT(batch_is(&batch, probe_done));
}

static int submit_to_itself(struct baton_task *task)
{
	struct pair *pair = baton_container_of(task, struct pair, plain.task);

	EXPECT(USE(baton_current()) == pair->resource);
	EXPECT(USE(baton_held(pair->resource)));
	USE(baton_assert_held(pair->resource));
	EXPECT(TRY(baton_submit(pair->resource, &pair->probe.task)) == 0);
	atomic_fetch_add(&pair->plain.runs, 1);
	return 0;
}

/* Its limit is reached with work left: the default pool takes it, or it goes on without. */
SCENARIO(submit, hand_off)
{
	const struct baton_resource_config config = {
		.capture_max = 1, .quantum = 1, .name = "hand-off"};
	struct baton_resource_stats stats = {0};
	struct baton_resource_stats copy;
	struct baton_resource resource;
	struct pair pair = {.resource = &resource};

	USE(baton_resource_init(&resource, &config));
	USE(baton_resource_set_stats(&resource, &stats));
	EXPECT(*USE(baton_resource_name(&resource)) == 'h');
	probe_init_plain(&pair.plain);
	probe_init(&pair.probe);
	pair.plain.task._run = submit_to_itself;
	INSIST(baton_submit(&resource, &pair.plain.task), !atomic_load(&pair.plain.runs));
	INSIST(baton_future_wait(&pair.probe.future), true);
	resource_end(&resource);
	EXPECT(atomic_load(&pair.plain.runs) == 1);
	EXPECT(probe_done(&pair.probe));
	USE(baton_resource_stats_read(&stats, &copy));
	EXPECT(copy.submitted == 2 && copy.executed == 2 && copy.outstanding == 0);
	EXPECT(copy.handoffs + copy.refused == 1);
}

struct link {
	struct probe probe;
	struct baton_resource resource;
	struct link *next;
};

static int link_run(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, probe.task);

	if (link->next)
		EXPECT(TRY(baton_submit(&link->next->resource, &link->next->probe.task)) == 0);
	atomic_fetch_add(&link->probe.runs, 1);
	return 0;
}

/* Beyond the nesting limit resources go to the default pool, or wait for this thread. */
SCENARIO(submit, nested)
{
	struct link links[DEPTH];

	for (int i = 0; i < DEPTH; i++) {
		probe_init_plain(&links[i].probe);
		links[i].probe.task._run = link_run;
		links[i].next = i + 1 < DEPTH ? &links[i + 1] : NULL;
		USE(baton_resource_init(&links[i].resource, NULL));
	}
	INSIST(baton_submit(&links[0].resource, &links[0].probe.task),
	       !atomic_load(&links[0].probe.runs));
	for (int i = 0; i < DEPTH; i++) {
		resource_end(&links[i].resource);
		EXPECT(atomic_load(&links[i].probe.runs) == 1);
	}
}
