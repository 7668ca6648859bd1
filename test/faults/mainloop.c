/* SPDX-License-Identifier: MIT */
/*
 * The main loop: its creation, dependencies, and starts from another thread.
 */
#include "job.h"

#include <baton/mainloop.h>

#define TURNS_MAX 100

static unsigned runs;

static int run(struct baton_source *source)
{
	(void)source;
	runs++;
	return 0;
}

static const struct baton_source_config config = {.fn = run};

struct world {
	struct baton_mainloop loop;
	struct baton_source parent;
	struct baton_source child;
	struct baton_source apart;
};

static void *start(void *arg)
{
	struct world *world = arg;

	EXPECT(USE(baton_source_start(&world->child)) == 0);
	EXPECT(USE(baton_source_start(&world->parent)) == 0);
	EXPECT(USE(baton_source_start(&world->apart)) == 0);
	return NULL;
}

static void begin(struct world *world)
{
	runs = 0;
	world->loop = (struct baton_mainloop)BATON_MAINLOOP_INIT;
	baton_source_init(&world->parent, &world->loop, &config, "parent");
	baton_source_init(&world->child, &world->loop, &config, "child");
	baton_source_init(&world->apart, &world->loop, &config, "apart");
	INSIST(baton_mainloop_create(&world->loop, NULL), !world->loop._loop);
}

/* Runs while the descriptor says so. */
static void run_loop(struct world *world)
{
	for (int i = 0; i < TURNS_MAX && USE(baton_mainloop_next(&world->loop)) == 0; i++)
		EXPECT(USE(baton_mainloop_run(&world->loop, 1)) >= 0);
}

SCENARIO(mainloop, run)
{
	struct world world;

	begin(&world);
	INSIST(baton_source_depend(&world.parent, &world.child), !world.child._dependent);
	elsewhere(start, &world);
	run_loop(&world);
	fault_end();
	run_loop(&world);
	EXPECT(runs == 3);
	EXPECT(USE(baton_mainloop_destroy(&world.loop)) == 0);
}

SCENARIO(mainloop, destroy)
{
	struct world world;

	begin(&world);
	INSIST(baton_source_depend(&world.parent, &world.child), !world.child._dependent);
	INSIST(baton_source_depend(&world.child, &world.apart), !world.apart._dependent);
	elsewhere(start, &world);
	EXPECT(USE(baton_mainloop_destroy(&world.loop)) == 3);
}
