/* SPDX-License-Identifier: MIT */
/*
 * Watches of descriptors: the thread and its descriptors cannot be had; runs are refused.
 */
#include "scenario.h"

#include <baton/io.h>

#include <unistd.h>

#define LOOK_US 50

struct watch {
	struct baton_io io;
	struct baton_resource resource;
	int ends[2];
	atomic_int runs;
	atomic_int dropped;
	int error;
};

static int run(struct baton_io *io)
{
	atomic_fetch_add(&baton_container_of(io, struct watch, io)->runs, 1);
	return 0;
}

static void dropped(struct baton_io *io, int error)
{
	struct watch *watch = baton_container_of(io, struct watch, io);

	watch->error = error;
	atomic_fetch_add(&watch->dropped, 1);
}

static void begin(struct watch *watch)
{
	EXPECT(pipe(watch->ends) == 0);
	atomic_init(&watch->runs, 0);
	atomic_init(&watch->dropped, 0);
	USE(baton_resource_init(&watch->resource, NULL));
	USE(baton_io_init(&watch->io, &watch->resource, run));
	USE(baton_io_set_dropped(&watch->io, dropped));
	INSIST(baton_io_start(&watch->io, watch->ends[0], BATON_IO_READ),
	       !USE(baton_io_is_active(&watch->io)));
}

static void end(struct watch *watch)
{
	INSIST(baton_io_destroy(), true);
	resource_end(&watch->resource);
	(void)close(watch->ends[0]);
	(void)close(watch->ends[1]);
}

SCENARIO(io, runs)
{
	struct watch watch;

	begin(&watch);
	(void)close(watch.ends[1]);
	watch.ends[1] = -1;
	/* Ended by the library's thread. A run that was refused: then once more. */
	while (!atomic_load(&watch.runs)) {
		if (!atomic_load(&watch.dropped)) {
			fault_pause_us(LOOK_US);
			continue;
		}
		EXPECT(fault_planned());
		fault_end();
		EXPECT(watch.error == -ENOMEM || watch.error == -EAGAIN ||
		       watch.error == -ESHUTDOWN);
		atomic_store(&watch.dropped, 0);
		EXPECT(TRY(baton_io_start(&watch.io, watch.ends[0], BATON_IO_READ)) == 0);
	}
	EXPECT(atomic_load(&watch.runs) == 1);
	end(&watch);
}

SCENARIO(io, stops)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	struct watch watch;

	begin(&watch);
	EXPECT(USE(baton_io_stop(&watch.io)).met == BATON_STOP_PREVENTED);
	EXPECT(USE(baton_io_stop_then(&watch.io, baton_stopped_complete, &promise)).met ==
	       BATON_STOP_NOTHING);
	EXPECT(baton_future_state(&promise) == BATON_DONE);
	EXPECT(TRY(baton_io_stop_wait(&watch.io)) == 0);
	EXPECT(TRY(baton_io_stop_wait_until(&watch.io, 0)) == 0);
	EXPECT(!USE(baton_io_is_active(&watch.io)));
	end(&watch);
	EXPECT(!atomic_load(&watch.runs));
}
