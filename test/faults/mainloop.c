/* SPDX-License-Identifier: MIT */
/* Failing calls in: the main loop: its creation, dependencies, and starts from another thread. */
#include "job.h"

#include <baton/mainloop.h>

#include <unistd.h>

#define TURNS_MAX 100
#define LOOK_US 100

static unsigned runs;

static int run(struct baton_source *source)
{
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

	EXPECT(TRY(baton_source_start(&world->child)) == 0);
	EXPECT(TRY(baton_source_start(&world->parent)) == 0);
	EXPECT(TRY(baton_source_start(&world->apart)) == 0);
	return NULL;
}

static void begin(struct world *world)
{
	runs = 0;
	world->loop = (struct baton_mainloop)BATON_MAINLOOP_INIT;
	USE(baton_source_init(&world->parent, &world->loop, &config, "parent"));
	baton_source_init(&world->child, &world->loop, &config, "child");
	baton_source_init(&world->apart, &world->loop, &config, "apart");
	INSIST(baton_mainloop_init(&world->loop, NULL), !world->loop._loop);
}

/* Runs while the descriptor says so. */
static void run_loop(struct world *world)
{
	for (int i = 0; i < TURNS_MAX && USE(baton_mainloop_next(&world->loop)) == 0; i++)
		EXPECT(COUNT(baton_mainloop_run(&world->loop, 1)) >= 0);
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
	EXPECT(COUNT(baton_mainloop_deinit(&world.loop)) == 0);
}

static const struct baton_source_config readable = {.fn = run, .kind = BATON_SOURCE_READABLE};

/* Where the kernel or the loop has no memory for a descriptor, the loop tries again later. */
SCENARIO(mainloop, descriptor)
{
	struct baton_source_fd source;
	struct world world;
	int ends[2];

	begin(&world);
	EXPECT(pipe(ends) == 0);
	(void)close(ends[1]);
	USE(baton_source_fd_init(&source, &world.loop, &readable, "descriptor"));
	source.fd = ends[0];
	EXPECT(TRY(baton_source_start(&source.source)) == 0);
	for (int i = 0; i < TURNS_MAX && !runs; i++)
		EXPECT(COUNT(baton_mainloop_run(&world.loop, 1)) >= 0);
	EXPECT(runs || fault_planned());
	fault_end();
	/* Ended by the loop's next try. */
	while (!runs) {
		fault_pause_us(LOOK_US);
		EXPECT(COUNT(baton_mainloop_run(&world.loop, 1)) >= 0);
	}
	EXPECT(COUNT(baton_mainloop_deinit(&world.loop)) == 0);
	(void)close(ends[0]);
}

SCENARIO(mainloop, destroy)
{
	struct world world;

	begin(&world);
	INSIST(baton_source_depend(&world.parent, &world.child), !world.child._dependent);
	INSIST(baton_source_depend(&world.child, &world.apart), !world.apart._dependent);
	elsewhere(start, &world);
	EXPECT(COUNT(baton_mainloop_deinit(&world.loop)) == 3);
}

static int yield_run(struct baton_source *source)
{
	struct world *world = baton_container_of(source, struct world, parent);

	EXPECT(!USE(baton_should_yield()));
	EXPECT(!USE(baton_mainloop_should_yield(&world->loop)));
	EXPECT(TRY(baton_mainloop_pass(&world->loop, 10)) == 0);
	runs++;
	return 0;
}

/* Calls that need neither memory nor a descriptor do as always. */
SCENARIO(mainloop, virtual)
{
	struct baton_future promise;
	static const struct baton_source_config yielding = {.fn = yield_run};
	const struct baton_mainloop_options options = {.deterministic = true};
	struct baton_mainloop_stats stats;
	struct world world;

	runs = 0;
	world.loop = (struct baton_mainloop)BATON_MAINLOOP_INIT;
	EXPECT(TRY(baton_mainloop_fd(&world.loop)) == -ESHUTDOWN);
	baton_source_init(&world.parent, &world.loop, &yielding, "parent");
	baton_source_init(&world.child, &world.loop, &config, "child");
	INSIST(baton_mainloop_init(&world.loop, &options), !world.loop._loop);
	INSIST(baton_source_depend(&world.parent, &world.child), !world.child._dependent);
	EXPECT(TRY(baton_source_depend(&world.child, &world.parent)) < 0);
	(void)USE(baton_mainloop_cycle(&world.loop, NULL, 0));
	EXPECT(USE(baton_source_name(&world.child))[0] == 'c');
	EXPECT(USE(baton_mainloop_fd(&world.loop)) >= 0);
	EXPECT(USE(baton_mainloop_resource(&world.loop)));
	EXPECT(USE(baton_mainloop_executor(&world.loop)));
	EXPECT(TRY(baton_source_start_after(&world.parent, 100)) == 0);
	EXPECT(TRY(baton_source_set_level(&world.child, 4)) == 0);
	EXPECT(TRY(baton_source_start(&world.child)) == 0);
	EXPECT(USE(baton_source_is_active(&world.child)));
	EXPECT(TRY(baton_source_undepend(&world.parent, &world.child)) == 0);
	EXPECT(USE(baton_source_stop(&world.child)).met == BATON_STOP_PREVENTED);
	EXPECT(TRY(baton_source_start(&world.child)) == 0);
	EXPECT(COUNT(baton_mainloop_drain_until(&world.loop, 0)) <= 1);
	EXPECT(COUNT(baton_mainloop_advance_to(&world.loop, 200, 9)) >= 1);
	EXPECT(USE(baton_mainloop_now(&world.loop)) == 200 && runs == 2);
	USE(baton_mainloop_stats_read(&world.loop, &stats));
	EXPECT(stats.runs == 2);
	EXPECT(TRY(baton_source_undepend_all(&world.child)) == 0);
	baton_promise_init(&promise);
	EXPECT(USE(baton_source_stop_then(&world.child, baton_stopped_complete, &promise)).met ==
	       BATON_STOP_NOTHING);
	EXPECT(baton_future_state(&promise) == BATON_DONE);
	EXPECT(TRY(baton_source_stop_wait(&world.child)) == 0);
	EXPECT(TRY(baton_source_stop_wait_until(&world.child, 0)) == 0);
	EXPECT(TRY(baton_mainloop_adopt(&world.loop)) == 0);
	EXPECT(COUNT(baton_mainloop_deinit(&world.loop)) == 0);
}
