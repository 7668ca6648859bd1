/* SPDX-License-Identifier: MIT */
/*
 * The thread that sleeps in the kernel for all watches, and the table of their owners. See io.h.
 *
 * The kernel keeps one entry for each descriptor of an epoll instance, so each side has an instance
 * of its own. Entries are EPOLLONESHOT: an event disarms its entry.
 *
 * Invariants:
 * io.event: The thread asks the kernel for events and applies them without sleeping, and without
 *    releasing the lock meanwhile; stop removes the kernel's entry with the lock. So no event is
 *    applied to a watch that was stopped.
 * io.owner: The owner of a side is the watch whose entry the kernel has. If the kernel accepts an
 *    entry for a side that has an owner, the owner's descriptor was closed: the owner is active no
 *    more. So stop never removes the entry of another watch. Entries name descriptors, not
 *    watches, so an entry that outlives its descriptor names no memory.
 */
#include "module/io.h"

#include "thread/thread.h"
#include "wait/cycle.h"
#include "pool/sole.h"
#include "pool/start.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENTS_MAX 64
#define SIDES 2

static struct {
	bool started;
	int epolls[SIDES];
	int wake; /* an eventfd: readable when the thread is to end */
	pthread_t thread;
	size_t active;
	struct baton_io *(*owners)[SIDES]; /* by descriptor */
	size_t owner_count;
} poller;

static unsigned side_of(const struct baton_io *io)
{
	return baton__io_state(io) & BATON__IO_WRITE ? 1 : 0;
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
	baton__io_set_state(io, baton__io_state(io) & ~(BATON__IO_ACTIVE | BATON__IO_ARMED));
}

/* Makes the watch inactive, and removes the kernel's entry. An error: the descriptor is closed, and
 * the kernel has removed the entry. */
void baton__io_deactivate(struct baton_io *io)
{
	if (!(baton__io_state(io) & BATON__IO_ACTIVE))
		return;
	(void)control(io, EPOLL_CTL_DEL);
	disown(io);
}

void baton__io_arm_again(struct baton_io *io)
{
	/* An error: the descriptor is closed, and its number may be another file's. */
	if (control(io, EPOLL_CTL_MOD))
		disown(io);
	else
		baton__io_set_state(io, baton__io_state(io) | BATON__IO_ARMED);
}

/* Handles an event of the watch. True: the caller submits the watch's task. */
static bool event(struct baton_io *io)
{
	bool busy = baton__io_state(io) & (BATON__IO_QUEUED | BATON__IO_RUNNING);

	baton__io_set_state(io, (baton__io_state(io) & ~BATON__IO_ARMED) | BATON__IO_DUE |
	                                (busy ? 0 : BATON__IO_QUEUED));
	if (!(baton__io_state(io) & BATON__IO_AGAIN))
		baton__io_deactivate(io);
	return !busy;
}

/* Takes events of one side, and submits their runs. */
static void take_events(unsigned side)
{
	struct epoll_event events[EVENTS_MAX];
	void *watches[EVENTS_MAX];
	struct baton__handing list = {.owners = watches};
	int count;

	baton__sole_begin(&baton__io_lock);
	count = epoll_wait(poller.epolls[side], events, EVENTS_MAX, 0);
	for (int i = 0; i < count; i++) {
		/* io.owner: the entry may be that of a closed descriptor that has a duplicate; then
		 * another watch, or none, has the number. */
		struct baton_io *io = poller.owners[events[i].data.fd][side];

		if (io && event(io))
			watches[list.count++] = io;
	}
	if (list.count)
		baton__handing_begin(&baton__io_handings, &list);
	baton__sole_end(&baton__io_lock);
	if (!list.count)
		return;
	/* io.task: the watches are BATON__IO_QUEUED. */
	for (; list.at < list.count; list.at++)
		if (watches[list.at])
			baton__io_submit(watches[list.at]);
	baton__handing_end(&baton__io_handings, &list);
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

int baton__io_activate(struct baton_io *io, int fd, unsigned how)
{
	const int before_fd = io->fd;
	const uint32_t before = baton__io_state(io);
	int error = poller.started ? 0 : start_poller();

	if (error)
		return error;
	io->fd = fd;
	baton__io_set_state(io, (baton__io_state(io) & ~(BATON__IO_AGAIN | BATON__IO_WRITE)) |
	                                (how & BATON_IO_AGAIN ? BATON__IO_AGAIN : 0) |
	                                (how & BATON_IO_WRITE ? BATON__IO_WRITE : 0));
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
	baton__io_set_state(io, baton__io_state(io) | BATON__IO_ACTIVE | BATON__IO_ARMED);
	return 0;
undo:
	io->fd = before_fd;
	baton__io_set_state(io, before);
	return error;
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
	baton__sole_begin(&baton__io_lock);
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
	baton__sole_end(&baton__io_lock);
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
