/* SPDX-License-Identifier: MIT */
/* Functions that are given a window, readers, a watch; see firsts.h. */
#include "firsts.h"

#include <unistd.h>

#include "../parts.h"

/* ---- Windows ---- */

static struct baton_window window = BATON_WINDOW_INIT(&r, 1);
static struct windowed windowed;
static struct windowed later;

static int detach(struct baton_task *task)
{
	return baton_detach(&baton_container_of(task, struct windowed, task)->part.token, 0);
}

/* The second task waits in the window while r is idle. */
static void two_in_the_window(void)
{
	windowed_init(&windowed, &window, detach, NULL);
	windowed_init(&later, &window, run_task, &f);
	MUST(!baton_submit(&r, &windowed.task));
	MUST(!baton_submit(&r, &later.task));
	MUST(!baton_call(&r, run_call, NULL, NULL));
	ran();
}

FIRST(baton_window_init)
{
	baton_window_init(&window, &r, 1);
	two_in_the_window();
	MUST(!baton_detached_complete(&windowed.part.token, 0, NULL));
	ran();
}

FIRST(baton_window_part_init)
{
	two_in_the_window();
	MUST(!baton_detached_complete(&windowed.part.token, 0, NULL));
	ran();
}

FIRST(baton_window_set_lanes)
{
	static struct baton_window_lane lanes[2];

	baton_window_set_lanes(&window, lanes, 2);
	two_in_the_window();
	MUST(!baton_detached_complete(&windowed.part.token, 0, NULL));
	ran();
}

FIRST(baton_window_set_limit)
{
	MUST(!baton_window_set_limit(&window, 1));
	two_in_the_window();
	MUST(!baton_window_set_limit(&window, 2));
	ran();
	MUST(!baton_detached_complete(&windowed.part.token, 0, NULL));
}

FIRST(baton_window_cancel)
{
	MUST(!baton_window_cancel(&window));
	two_in_the_window();
	MUST(!baton_window_cancel(&window));
	MUST(!baton_detached_complete(&windowed.part.token, 0, NULL));
}

FIRST(baton_window_cancel_task)
{
	two_in_the_window();
	MUST(!baton_window_cancel_task(&later.task));
	MUST(!baton_detached_complete(&windowed.part.token, 0, NULL));
}

FIRST(baton_window_in_flight)
{
	MUST(baton_window_in_flight(&window) == 0);
}

FIRST(baton_window_waiting)
{
	MUST(baton_window_waiting(&window) == 0);
}

FIRST(baton_window_deinit)
{
	baton_window_deinit(&window);
}

/* ---- Readers ---- */

static struct baton_readers readers = BATON_READERS_INIT(&r);
static struct read_task reader;

static int read_once(struct baton_task *task)
{
	MUST(baton_reading(&r) && !baton_held(&r));
	MUST(baton_readers_at_work(&readers) <= 1); /* 0: no readers beside it */
	return run_task(task);
}

static void one_reads(void)
{
	read_task_init(&reader, &readers, read_once, &f);
	MUST(!baton_submit(&r, &reader.task));
	ran();
}

FIRST(baton_readers_init)
{
	baton_readers_init(&readers, &r);
	one_reads();
}

FIRST(baton_reader_init)
{
	one_reads();
}

FIRST(baton_readers_at_work)
{
	MUST(baton_readers_at_work(&readers) == 0);
	one_reads();
}

FIRST(baton_reading)
{
	MUST(!baton_reading(&r));
	one_reads();
}

FIRST(baton_readers_deinit)
{
	one_reads();
	baton_readers_deinit(&readers);
}

static void shared_held(uint64_t deadline_ns)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	if (refused(deadline_ns ? baton_hold_shared(&readers, &hold)
	                        : baton_hold_shared_until(&readers, &hold, deadline_ns)))
		return;
	MUST(baton_reading(&r) && !baton_held(&r));
	MUST(!baton_release_shared(&hold));
	one_reads();
}

FIRST(baton_hold_shared)
{
	shared_held(BATON_FOREVER);
}

FIRST(baton_hold_shared_until)
{
	shared_held(0);
}

FIRST(baton_release_shared)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;

	MUST(baton_release_shared(&hold) == -EINVAL);
	shared_held(BATON_FOREVER);
}

/* ---- Published pointers ---- */

static struct baton_published published;

static void reclaim_nothing(struct baton_retired *retired)
{
	(void)retired;
}

FIRST(baton_published_init)
{
	MUST(!baton_published_init(&published, NULL, reclaim_nothing));
}

FIRST(baton_published_replace)
{
	static struct baton_retired object;

	MUST(!baton_published_init(&published, NULL, reclaim_nothing));
	baton_published_replace(&published, &object);
}

FIRST(baton_published_read)
{
	MUST(!baton_published_init(&published, NULL, reclaim_nothing));
	MUST(!baton_epoch_enter());
	MUST(!baton_published_read(&published));
	baton_epoch_leave();
}

FIRST(baton_published_deinit)
{
	MUST(!baton_published_init(&published, NULL, reclaim_nothing));
	baton_published_deinit(&published);
}

/* ---- Watches of descriptors ---- */

static int run_io(struct baton_io *io)
{
	(void)io;
	used();
	return 0;
}

static struct baton_io io = BATON_IO_INIT(&r, run_io);

static void watch(void)
{
	int ends[2];

	MUST(!pipe(ends) && write(ends[1], "x", 1) == 1);
	MUST(!baton_io_start(&io, ends[0], BATON_IO_READ));
	ran();
}

/* The resource is initialised last. */
FIRST(baton_io_init)
{
	static struct baton_resource late;

	memset(&late, 0xA5, sizeof(late));
	baton_io_init(&io, &late, run_io);
	baton_resource_init(&late, NULL);
	watch();
}

FIRST(baton_io_set_dropped)
{
	baton_io_set_dropped(&io, NULL);
	watch();
}

FIRST(baton_io_start)
{
	watch();
}

FIRST(baton_io_stop_then)
{
	MUST(baton_io_stop_then(&io, baton_stopped_complete, &promise).met == BATON_STOP_NOTHING);
	watch();
}

FIRST(baton_io_stop_wait)
{
	MUST(!baton_io_stop_wait(&io));
	watch();
}

FIRST(baton_io_stop_wait_until)
{
	MUST(!baton_io_stop_wait_until(&io, 1));
	watch();
}

FIRST(baton_io_stop)
{
	BATON_IGNORE(baton_io_stop(&io).met);
	watch();
}

FIRST(baton_io_is_active)
{
	MUST(!baton_io_is_active(&io));
}
