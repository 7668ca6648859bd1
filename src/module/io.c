/* SPDX-License-Identifier: MIT */
/*
 * Watches of descriptors: their runs, starts and stops. See io.h.
 *
 * Invariants:
 * io.task: While QUEUED, RUNNING or TOLD is set, the watch's memory is not given back. After the
 *    step that clears the last of them, or the function's BATON_GONE, nothing is touched.
 * io.handed: Before a thread releases the lock under which it has set QUEUED, the watch is in
 *    baton__io_handings, and stays there until the thread has submitted the task. A stop that finds
 *    the watch there waits for the submit. So a task that is submitted after the stop comes after
 *    the run.
 * io.dropped: Before a thread releases the lock under which it has decided to call `dropped`, the
 *    watch is in io_droppings, and stays there until the function has returned. A stop on another
 *    thread waits for the return: an await of the resource would not. The function may free the
 *    watch, so nothing is touched after the call.
 */
#include "module/io.h"

#include "base/atomic.h"
#include "thread/carried.h"
#include "base/checked.h"
#include "base/refused.h"
#include "thread/thread.h"
#include "core/callback.h"
#include "core/run.h"
#include "core/submit.h"
#include "pool/sole.h"
#include "timer/stop.h"

#include <errno.h>

#define SIDE_MASK ((unsigned)BATON_IO_READ | (unsigned)BATON_IO_WRITE)

uint32_t baton__io_lock;
struct baton__handings baton__io_handings = {.lock = &baton__io_lock};
static struct baton__handings io_droppings = {.lock = &baton__io_lock}; /* io.dropped */

/* Is it time to call the function of stop_then? With the lock. */
static bool owner_waits(const struct baton_io *io)
{
	return (baton__io_state(io) & (BATON__IO_TOLD | BATON__IO_QUEUED | BATON__IO_RUNNING)) ==
	       BATON__IO_TOLD;
}

static int tell_watch(struct baton_task *task)
{
	struct baton_io *io = baton_container_of(task, struct baton_io, _task);
	const struct baton_stopping stopping = io->_stopping;

	baton__sole_begin(&baton__io_lock);
	baton__io_set_state(io, baton__io_state(io) & ~BATON__IO_TOLD);
	baton__sole_end(&baton__io_lock); /* last touch */
	stopping._fn(stopping._arg);
	return 0;
}

/* ---- Runs ---- */

/* Called if the run does not take place. Last touch, unless `dropped` touches the watch. */
static void drop_run(struct baton_io *io, int error)
{
	baton_io_dropped_fn dropped = io->_dropped;
	void *owner = io;
	struct baton__handing list = {.owners = &owner, .count = 1};
	bool due;
	bool told;

	baton__sole_begin(&baton__io_lock);
	due = baton__io_state(io) & BATON__IO_DUE;
	if (due)
		baton__io_deactivate(io);
	baton__io_set_state(io, baton__io_state(io) & ~(BATON__IO_DUE | BATON__IO_QUEUED));
	told = owner_waits(io);
	if (due && dropped)
		baton__handing_begin(&io_droppings, &list);
	baton__sole_end(&baton__io_lock);
	if (told)
		baton__stop_tell(&io->_task, tell_watch);
	if (!due || !dropped)
		return;
	dropped(io, error);
	baton__handing_end(&io_droppings, &list);
}

static void cancelled(struct baton_task *task)
{
	drop_run(baton_container_of(task, struct baton_io, _task), -ECANCELED);
}

static int run_watch(struct baton_task *task);

static const struct baton_task_type io_type = {
	.run = run_watch,
	.cancelled = cancelled,
	.stamp = BATON_TASK_PLACE(struct baton_io, _task, stamp),
	.function = BATON_TASK_PLACE(struct baton_io, _task, _fn),
};

/* The caller has set BATON__IO_QUEUED. */
void baton__io_submit(struct baton_io *io)
{
	struct baton__frame frame;
	int error = baton__thread_attach();

	baton__type_set(&io->_task, &io_type);
	if (!error)
		error = baton__submit(io->_resource, &io->_task,
		                      BATON__SUBMIT_NO_WAIT | BATON__SUBMIT_LATER);
	if (!error)
		return;
	baton__callback_begin(&frame);
	drop_run(io, error);
	baton__callback_end(&frame);
}

/* Called after the function. True: the watch was started while the function ran, and an event has
 * come: the caller submits the task, and ends `list`. *told: the caller tells the owner. */
static bool ran(struct baton_io *io, struct baton__handing *list, bool *told)
{
	bool due;

	baton__sole_begin(&baton__io_lock);
	due = baton__io_state(io) & BATON__IO_DUE;
	baton__io_set_state(io, (baton__io_state(io) & ~BATON__IO_RUNNING) |
	                                (due ? BATON__IO_QUEUED : 0));
	if (due)
		baton__handing_begin(&baton__io_handings, list);
	if ((baton__io_state(io) & (BATON__IO_ACTIVE | BATON__IO_ARMED)) == BATON__IO_ACTIVE)
		baton__io_arm_again(io);
	*told = owner_waits(io);
	baton__sole_end(&baton__io_lock);
	return due;
}

static int run_watch(struct baton_task *task)
{
	struct baton_io *io = baton_container_of(task, struct baton_io, _task);
	void *owner = io;
	struct baton__handing list = {.owners = &owner, .count = 1};
	bool due;
	bool told;

	baton__sole_begin(&baton__io_lock);
	due = baton__io_state(io) & BATON__IO_DUE;
	baton__io_set_state(io, (baton__io_state(io) & ~(BATON__IO_DUE | BATON__IO_QUEUED)) |
	                                (due ? BATON__IO_RUNNING : 0));
	told = owner_waits(io);
	baton__sole_end(&baton__io_lock); /* last touch of a watch that was stopped */
	if (due && io->_fn(io) != BATON_GONE && ran(io, &list, &told)) {
		baton__io_submit(io);
		baton__handing_end(&baton__io_handings, &list);
	}
	if (told)
		baton__stop_tell(&io->_task, tell_watch);
	return due ? 0 : baton__not_to_run();
}

/* ---- API ---- */

BATON_EXPORT void baton_io_init(struct baton_io *io, struct baton_resource *resource,
                                baton_io_fn fn)
{
	BATON__NEED(io, "the watch is NULL");
	BATON__NEED(resource, "the resource is NULL: a watch runs as a task of a resource");
	*io = (struct baton_io)BATON_IO_INIT(resource, fn);
}

BATON_EXPORT void baton_io_set_dropped(struct baton_io *io, baton_io_dropped_fn dropped)
{
	io->_dropped = dropped;
}

BATON_EXPORT int baton_io_start(struct baton_io *io, int fd, unsigned how)
{
	unsigned side = how & SIDE_MASK;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (how & ~(SIDE_MASK | BATON_IO_AGAIN) || !side || side == SIDE_MASK)
		return BATON__ANSWER(io->_resource,
		                     baton__refused("baton_io_start: how is not BATON_IO_READ or "
		                                    "BATON_IO_WRITE, with or without "
		                                    "BATON_IO_AGAIN"));
	if (!io->_fn || !io->_resource)
		return BATON__ANSWER(
			io->_resource,
			baton__refused("baton_io_start: the watch has no function or resource"));
	baton__sole_begin(&baton__io_lock);
	if (baton__io_state(io) & BATON__IO_TOLD)
		error = -EBUSY;
	else
		error = baton__io_state(io) & BATON__IO_ACTIVE ? -EALREADY
		                                               : baton__io_activate(io, fd, how);
	/* The poller takes no event before the lock is released. Relaxed: an earlier run may read
	 * it. */
	if (!error)
		store_relaxed(&io->stamp._carried, baton__carried());
	baton__sole_end(&baton__io_lock);
	return error;
}

/* Stops the watch, and returns what the stop has met. With the lock, which is released while the
 * thread waits for another one. */
static enum baton_stop stop_watch(struct baton_io *io)
{
	bool wanted = false;
	bool withdrawn;

	/* Ends: another round follows a start by another thread during the wait. */
	do {
		/* Wait first: `dropped` may start the watch again. */
		(void)baton__handing_await(&io_droppings, io, &withdrawn);
		wanted = wanted || baton__io_state(io) & BATON__IO_ACTIVE;
		baton__io_deactivate(io);
		baton__io_set_state(io, baton__io_state(io) & ~BATON__IO_DUE);
		withdrawn = false;
		if (baton__io_state(io) & BATON__IO_QUEUED)
			(void)baton__handing_await(&baton__io_handings, io, &withdrawn);
		if (withdrawn)
			baton__io_set_state(io, baton__io_state(io) & ~BATON__IO_QUEUED);
		wanted = wanted || withdrawn;
	} while (baton__io_state(io) & BATON__IO_ACTIVE);
	if (baton__io_state(io) & BATON__IO_QUEUED)
		return BATON_STOP_QUEUED;
	if (baton__io_state(io) & BATON__IO_RUNNING)
		return BATON_STOP_RUNNING;
	if (baton__io_state(io) & BATON__IO_TOLD)
		return BATON_STOP_QUEUED; /* its function is about to be called */
	return wanted ? BATON_STOP_PREVENTED : BATON_STOP_NOTHING;
}

static enum baton_stop stop_locked(void *io)
{
	enum baton_stop met;

	baton__sole_begin(&baton__io_lock);
	met = stop_watch((struct baton_io *)io);
	baton__sole_end(&baton__io_lock);
	return met;
}

BATON_EXPORT struct baton_stopped baton_io_stop(struct baton_io *io)
{
	BATON__NEED(io, "the watch is NULL");

	if (baton__forked())
		return baton__stopped(BATON_STOP_CHILD);
	return baton__stopped(stop_locked(io));
}

BATON_EXPORT int baton_io_stop_wait(struct baton_io *io)
{
	BATON__NEED(io, "the watch is NULL");
	return baton__stop_wait(io, stop_locked, io->_resource, BATON_FOREVER);
}

BATON_EXPORT int baton_io_stop_wait_until(struct baton_io *io, uint64_t deadline_ns)
{
	BATON__NEED(io, "the watch is NULL");
	return baton__stop_wait(io, stop_locked, io->_resource, deadline_ns);
}

BATON_EXPORT struct baton_stopped baton_io_stop_then(struct baton_io *io, baton_stopped_fn stopped,
                                                     void *arg)
{
	BATON__NEED(io, "the watch is NULL");
	BATON__NEED(stopped, "the function is NULL");

	enum baton_stop met;
	bool told;

	if (baton__forked())
		return baton__stopped(BATON_STOP_CHILD);
	baton__sole_begin(&baton__io_lock);
	met = stop_watch(io);
	BATON_REQUIRE(!(baton__io_state(io) & BATON__IO_TOLD),
	              "stop_then was called for this watch already: one at a time");
	io->_stopping = (struct baton_stopping){stopped, arg};
	baton__io_set_state(io, baton__io_state(io) | BATON__IO_TOLD);
	told = owner_waits(io);
	baton__sole_end(&baton__io_lock); /* last touch, unless `told`: the run tells */
	if (told)
		baton__stop_tell(&io->_task, tell_watch);
	return baton__stopped(met);
}

BATON_EXPORT bool baton_io_is_active(const struct baton_io *io)
{
	return baton__io_state(io) & BATON__IO_ACTIVE; /* a hint */
}
