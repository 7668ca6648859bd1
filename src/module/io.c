/* SPDX-License-Identifier: MIT */
/*
 * Watches of descriptors, and the thread that sleeps in the kernel for all of them.
 *
 * The kernel keeps one entry for each descriptor of an epoll instance, so each side has an instance
 * of its own. Entries are EPOLLONESHOT: an event disarms its entry.
 *
 * A lock, io_lock (sole.h), protects all of this: the states of all watches, the table of owners,
 * the poller. A thread with the lock calls no function of the user, and submits nothing.
 *
 * A watch's state:
 *   ACTIVE   The table names the watch as the owner of a side of its descriptor.
 *   ARMED    The kernel's entry is armed. Only beside ACTIVE.
 *   AGAIN    The entry is armed again after each run.
 *   DUE      A run is wanted. Set by an event; cleared by the run, by stop and by a drop.
 *   QUEUED   The task is with the resource, or about to be submitted (io.handed). Set beside DUE;
 *            cleared by the run, which has no effect unless the watch is DUE, by a drop, and by a
 *            stop on the thread that was about to submit the task.
 *   RUNNING  The function runs.
 *   WRITE    The side.
 *
 * Invariants:
 * io.event: The thread asks the kernel for events and applies them without sleeping, and without
 *    releasing the lock meanwhile; stop removes the kernel's entry with the lock. So no event is
 *    applied to a watch that was stopped.
 * io.owner: The owner of a side is the watch whose entry the kernel has. If the kernel accepts an
 *    entry for a side that has an owner, the owner's descriptor was closed: the owner is active no
 *    more. So stop never removes the entry of another watch. Entries name descriptors, not
 *    watches, so an entry that outlives its descriptor names no memory.
 * io.task: While QUEUED or RUNNING is set, the watch's memory is not given back. After the step
 *    that clears both, or the function's BATON_IO_GONE, nothing is touched.
 * io.handed: Before a thread releases the lock under which it has set QUEUED, the watch is in
 *    `handings`, and stays there until the thread has submitted the task. A stop that finds the
 *    watch in `handings` waits for the submit. So a task that is submitted after the stop comes
 *    after the run.
 * io.dropped: Before a thread releases the lock under which it has decided to call `dropped`, the
 *    watch is in io_droppings, and stays there until the function has returned. A stop on another
 *    thread waits for the return: an await of the resource would not. The function may free the
 *    watch, so nothing is touched after the call.
 */
#include <baton/io.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/refused.h"
#include "thread/thread.h"
#include "core/callback.h"
#include "core/run.h"
#include "core/submit.h"
#include "wait/cycle.h"
#include "pool/sole.h"
#include "pool/start.h"
#include "timer/handing.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ACTIVE 1U
#define ARMED 2U
#define AGAIN 4U
#define DUE 8U
#define QUEUED 16U
#define RUNNING 32U
#define WRITE 64U

#define EVENTS_MAX 64
#define SIDES 2
#define SIDE_MASK ((unsigned)BATON_IO_READ | (unsigned)BATON_IO_WRITE)

static uint32_t io_lock;

static struct baton__handings handings = {.lock = &io_lock};
static struct baton__handings io_droppings = {.lock = &io_lock}; /* io.dropped */

static struct {
	bool started;
	int epolls[SIDES];
	int wake; /* an eventfd: readable when the thread is to end */
	pthread_t thread;
	size_t active;
	struct baton_io *(*owners)[SIDES]; /* by descriptor */
	size_t owner_count;
} poller;

/* Only a thread with the lock writes the state, and the lock orders it; is_active reads it at any
 * time. */
static uint32_t state_of(const struct baton_io *io)
{
	return load_relaxed(&io->_state);
}

static unsigned side_of(const struct baton_io *io)
{
	return state_of(io) & WRITE ? 1 : 0;
}

static void set_state(struct baton_io *io, uint32_t state)
{
	store_relaxed(&io->_state, state);
}

static int control(struct baton_io *io, int operation)
{
	unsigned side = side_of(io);
	struct epoll_event event = {.events = EPOLLONESHOT | (side ? EPOLLOUT : EPOLLIN),
	                            .data.fd = io->fd};

	return epoll_ctl(poller.epolls[side], operation, io->fd, &event) ? -errno : 0;
}

/* Makes the watch inactive. The kernel's entry, if there is one, stays. */
static void disown(struct baton_io *io)
{
	poller.owners[io->fd][side_of(io)] = NULL;
	poller.active--;
	set_state(io, state_of(io) & ~(ACTIVE | ARMED));
}

/* Makes the watch inactive, and removes the kernel's entry. An error: the descriptor is closed, and
 * the kernel has removed the entry. */
static void deactivate(struct baton_io *io)
{
	if (!(state_of(io) & ACTIVE))
		return;
	(void)control(io, EPOLL_CTL_DEL);
	disown(io);
}

/* ---- Runs ---- */

/* Called if the run does not take place. Last touch, unless `dropped` touches the watch. */
static void drop_run(struct baton_io *io, int error)
{
	baton_io_dropped_fn dropped = io->_dropped;
	void *owner = io;
	struct baton__handing list = {.owners = &owner, .count = 1};
	bool due;

	baton__sole_begin(&io_lock);
	due = state_of(io) & DUE;
	if (due)
		deactivate(io);
	set_state(io, state_of(io) & ~(DUE | QUEUED));
	if (due && dropped)
		baton__handing_begin(&io_droppings, &list);
	baton__sole_end(&io_lock);
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

/* The caller has set QUEUED. */
static void submit_watch(struct baton_io *io)
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
 * come: the caller submits the task, and ends `list`. */
static bool ran(struct baton_io *io, struct baton__handing *list)
{
	bool due;

	baton__sole_begin(&io_lock);
	due = state_of(io) & DUE;
	set_state(io, (state_of(io) & ~RUNNING) | (due ? QUEUED : 0));
	if (due)
		baton__handing_begin(&handings, list);
	if ((state_of(io) & (ACTIVE | ARMED)) == ACTIVE) {
		/* An error: the descriptor is closed, and its number may be another file's. */
		if (control(io, EPOLL_CTL_MOD))
			disown(io);
		else
			set_state(io, state_of(io) | ARMED);
	}
	baton__sole_end(&io_lock);
	return due;
}

static int run_watch(struct baton_task *task)
{
	struct baton_io *io = baton_container_of(task, struct baton_io, _task);
	void *owner = io;
	struct baton__handing list = {.owners = &owner, .count = 1};
	bool due;

	baton__sole_begin(&io_lock);
	due = state_of(io) & DUE;
	set_state(io, (state_of(io) & ~(DUE | QUEUED)) | (due ? RUNNING : 0));
	baton__sole_end(&io_lock); /* last touch of a watch that was stopped */
	if (!due)
		return baton__not_to_run();
	if (io->_fn(io) != BATON_IO_GONE && ran(io, &list)) {
		submit_watch(io);
		baton__handing_end(&handings, &list);
	}
	return 0;
}

/* ---- The thread ---- */

/* Handles an event of the watch. True: the caller submits the watch's task. */
static bool event(struct baton_io *io)
{
	bool busy = state_of(io) & (QUEUED | RUNNING);

	set_state(io, (state_of(io) & ~ARMED) | DUE | (busy ? 0 : QUEUED));
	if (!(state_of(io) & AGAIN))
		deactivate(io);
	return !busy;
}

/* Takes events of one side, and submits their runs. */
static void take_events(unsigned side)
{
	struct epoll_event events[EVENTS_MAX];
	void *watches[EVENTS_MAX];
	struct baton__handing list = {.owners = watches};
	int count;

	baton__sole_begin(&io_lock);
	count = epoll_wait(poller.epolls[side], events, EVENTS_MAX, 0);
	for (int i = 0; i < count; i++) {
		/* io.owner: the entry may be that of a closed descriptor that has a duplicate; then
		 * another watch, or none, has the number. */
		struct baton_io *io = poller.owners[events[i].data.fd][side];

		if (io && event(io))
			watches[list.count++] = io;
	}
	if (list.count)
		baton__handing_begin(&handings, &list);
	baton__sole_end(&io_lock);
	if (!list.count)
		return;
	/* io.task: the watches are QUEUED. */
	for (; list.at < list.count; list.at++)
		if (watches[list.at])
			submit_watch(watches[list.at]);
	baton__handing_end(&handings, &list);
}

static void *poller_main(void *unused)
{
	struct pollfd fds[SIDES + 1] = {{poller.epolls[0], POLLIN, 0},
	                                {poller.epolls[1], POLLIN, 0},
	                                {poller.wake, POLLIN, 0}};

	(void)unused;
	(void)pthread_setname_np(pthread_self(), "baton-io");
	baton__signals_open();
	/* Ended by destroy. */
	while (!fds[SIDES].revents) {
		if (poll(fds, SIDES + 1, -1) < 0) /* EINTR; ENOMEM passes */
			continue;
		for (unsigned side = 0; side < SIDES; side++)
			if (fds[side].revents)
				take_events(side);
	}
	baton__thread_detach();
	return NULL;
}

static void close_all(void)
{
	for (unsigned side = 0; side < SIDES; side++)
		if (poller.epolls[side] >= 0)
			(void)close(poller.epolls[side]);
	if (poller.wake >= 0)
		(void)close(poller.wake);
}

/* With the lock. */
static int start_poller(void)
{
	sigset_t before;
	int error = 0;

	poller.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (unsigned side = 0; side < SIDES; side++)
		poller.epolls[side] = epoll_create1(EPOLL_CLOEXEC);
	if (poller.wake < 0 || poller.epolls[0] < 0 || poller.epolls[1] < 0)
		error = -errno;
	baton__fork_losses_add(1);
	baton__signals_block(&before);
	if (!error)
		error = -pthread_create(&poller.thread, NULL, poller_main, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	poller.started = !error;
	if (error) {
		baton__fork_losses_add(-1);
		close_all();
	}
	return error;
}

/* Makes room in the table for an open descriptor. With the lock. */
static int make_room(int fd)
{
	size_t count = poller.owner_count ? poller.owner_count : 64;
	void *grown;

	if ((size_t)fd < poller.owner_count)
		return 0;
	while (count <= (size_t)fd)
		count *= 2;
	grown = calloc(count, sizeof(*poller.owners));
	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < poller.owner_count; i++)
		for (unsigned side = 0; side < SIDES; side++)
			((struct baton_io * (*)[SIDES]) grown)[i][side] = poller.owners[i][side];
	free(poller.owners);
	poller.owners = grown;
	poller.owner_count = count;
	return 0;
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

/* With the lock; the watch is not active. */
static int activate(struct baton_io *io, int fd, unsigned how)
{
	const int before_fd = io->fd;
	const uint32_t before = state_of(io);
	int error = poller.started ? 0 : start_poller();

	if (error)
		return error;
	io->fd = fd;
	set_state(io, (state_of(io) & ~(AGAIN | WRITE)) | (how & BATON_IO_AGAIN ? AGAIN : 0) |
	                      (how & BATON_IO_WRITE ? WRITE : 0));
	/* Ask the kernel first: the table does not grow for the number of a closed descriptor. The
	 * lock keeps the entry's events away until the watch is its owner. */
	error = control(io, EPOLL_CTL_ADD);
	if (error)
		goto undo;
	error = make_room(fd);
	if (error) {
		(void)control(io, EPOLL_CTL_DEL);
		goto undo;
	}
	if (poller.owners[fd][side_of(io)])
		disown(poller.owners[fd][side_of(io)]); /* io.owner */
	poller.owners[fd][side_of(io)] = io;
	poller.active++;
	set_state(io, state_of(io) | ACTIVE | ARMED);
	return 0;
undo:
	io->fd = before_fd;
	set_state(io, before);
	return error;
}

BATON_EXPORT int baton_io_start(struct baton_io *io, int fd, unsigned how)
{
	unsigned side = how & SIDE_MASK;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (how & ~(SIDE_MASK | BATON_IO_AGAIN) || !side || side == SIDE_MASK)
		return baton__refused("baton_io_start: how is not READABLE or WRITABLE, and AGAIN");
	if (!io->_fn || !io->_resource)
		return baton__refused("baton_io_start: the watch has no function or resource");
	baton__sole_begin(&io_lock);
	error = state_of(io) & ACTIVE ? -EALREADY : activate(io, fd, how);
	baton__sole_end(&io_lock);
	return error;
}

BATON_EXPORT int baton_io_stop(struct baton_io *io)
{
	bool withdrawn = false;
	int busy;

	if (baton__forked())
		return 0;
	baton__sole_begin(&io_lock);
	/* Wait first: `dropped` may start the watch again. */
	(void)baton__handing_await(&io_droppings, io, &withdrawn);
	deactivate(io);
	set_state(io, state_of(io) & ~DUE);
	if (state_of(io) & QUEUED)
		(void)baton__handing_await(&handings, io, &withdrawn);
	if (withdrawn)
		set_state(io, state_of(io) & ~QUEUED);
	busy = state_of(io) & (QUEUED | RUNNING) ? 1 : 0;
	baton__sole_end(&io_lock);
	return busy;
}

BATON_EXPORT bool baton_io_is_active(const struct baton_io *io)
{
	return state_of(io) & ACTIVE; /* a hint */
}

BATON_EXPORT int baton_io_destroy(void)
{
	uint64_t one = 1;
	int error = 0;
	bool ends;

	if (baton__forked())
		return -ECHILD;
	if (baton__must_not_wait())
		return -EDEADLK;
	baton__sole_begin(&io_lock);
	if (poller.started && pthread_equal(poller.thread, pthread_self()))
		error = -EDEADLK;
	else if (poller.active)
		error = -EBUSY;
	ends = !error && poller.started;
	if (ends) {
		/* The poller's thread may wait for the lock: join it after releasing the lock. */
		poller.started = false;
		/* EAGAIN: `wake` is readable already. */
		while (write(poller.wake, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	}
	baton__sole_end(&io_lock);
	if (!ends)
		return error;
	(void)pthread_join(poller.thread, NULL);
	baton__fork_losses_add(-1);
	close_all();
	free(poller.owners);
	poller.owners = NULL;
	poller.owner_count = 0;
	return 0;
}
