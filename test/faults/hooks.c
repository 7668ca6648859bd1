/* SPDX-License-Identifier: MIT */
/*
 * Drain hooks: where there is no memory to hold a completion back the batch ends, and nothing is
 * lost.
 */
#include "scenario.h"

#include <baton/hooks.h>

#define PROBES 30 /* more than two nodes hold */

struct store {
	struct baton_resource resource;
	int begun;
	int ended;
	int entered;
	int committed;
};

struct load {
	struct store *store;
	struct probe *probes;
};

static int begin(struct baton_resource *resource)
{
	struct store *store = baton_container_of(resource, struct store, resource);

	store->begun++;
	return 0;
}

static int end(struct baton_resource *resource)
{
	struct store *store = baton_container_of(resource, struct store, resource);

	store->ended++;
	store->committed = store->entered;
	return 0;
}

static const struct baton_resource_config config = {
	.capture_max = 2 * PROBES,
	.quantum = 2 * PROBES,
	.batch_begin = begin,
	.batch_end = end,
	.delay_completions = true,
};

/* Everything else lies behind this one: one batch, while there is memory. */
static void *submit_all(void *arg)
{
	struct load *load = arg;

	load->store->entered++;
	for (int i = 0; i < PROBES; i++)
		INSIST(baton_submit(&load->store->resource, &load->probes[i].task),
		       probe_untouched(&load->probes[i]));
	EXPECT(TRY(baton_batch_flush()) == 0);
	EXPECT(load->store->committed == 1);
	load->store->entered += PROBES;
	return load;
}

SCENARIO(hooks, held_back)
{
	struct store store = {.begun = 0};
	struct probe probes[PROBES];
	struct load load = {&store, probes};
	void *value = NULL;

	USE(baton_resource_init(&store.resource, &config));
	for (int i = 0; i < PROBES; i++)
		probe_init(&probes[i]);
	INSIST(baton_call(&store.resource, submit_all, &load, &value), value == NULL);
	EXPECT(value == &load);
	for (int i = 0; i < PROBES; i++)
		EXPECT(probe_done(&probes[i]));
	EXPECT(store.begun == store.ended);
	EXPECT(store.begun >= 2);
	EXPECT(store.committed == 1 + PROBES);
	resource_end(&store.resource);
}
