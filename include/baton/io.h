/* SPDX-License-Identifier: MIT */
/*
 * Descriptors: a task runs on its resource when a descriptor can be read or written. For programs
 * without an event loop of their own: one thread of the library sleeps in the kernel for all
 * watches. (A program that has a loop, libuv say, watches its descriptors there.) The function runs
 * on the executor's thread, or, if the resource is busy, on the runner's thread.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 *	static int session_readable(struct baton_io *io)
 *	{
 *		struct session *session = baton_container_of(io, struct session, readable);
 *
 *		if (read(io->fd, ...) == 0) {	// under the baton of the session's resource
 *			BATON_IGNORE(baton_io_stop(io).met);
 *			close(io->fd);
 *		}
 *		return 0;
 *	}
 *
 *	baton_io_init(&session->readable, &session->resource, session_readable);
 *	error = baton_io_start(&session->readable, fd, BATON_IO_READ | BATON_IO_AGAIN);
 *
 *                     | may run beside                | from
 *   start, stop,      | everything but init, destroy  | any thread, also inside tasks
 *   is_active         |                               |
 *   stop_then         | the same, once                | the same
 *   init, set_dropped | nothing of the same watch     | the owner
 *   io_destroy        | nothing                       | not a worker, not inside a task
 *
 * A watch is for one side of one descriptor. The two sides of a descriptor are independent: each
 * has at most one active watch. A descriptor that has an error or was hung up is readable and
 * writable: read() and write() tell the function what happened.
 *
 * Stop a watch before you close its descriptor. If a watched descriptor is closed, the watch may
 * run once more or not at all. The watch becomes inactive when its function returns, or when
 * another watch is started for the same number.
 *
 * Corner cases. A run is handed to the resource's executor, as by baton_submit_later(), and keeps
 * the order of the resource's tasks. Until the function has returned, the descriptor is not
 * watched: so a watch never has two runs in the queue, and a function that leaves data unread runs
 * again. On baton_mainloop_resource() (mainloop.h) the runs are on the loop's thread, between its
 * sources.
 *
 * Source: libuv's poll handles; EPOLLONESHOT and its re-arming as in Asio's reactor.
 */
#ifndef BATON_IO_H
#define BATON_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/label.h>
#include <baton/resource.h>
#include <baton/stop.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_io;

/*
 * A watch's function: runs as a task of the watch's resource. Returns 0, or BATON_GONE: the
 * function has freed the watch (stop.h).
 */
typedef int (*baton_io_fn)(struct baton_io *io);

/*
 * Called when a run does not take place although no thread has stopped the watch. The watch is not
 * active, and its memory belongs to the called function. `error`: that of baton_submit() if the
 * resource has refused the run (it is closed, its bound is reached): called on the library's
 * thread, or on the thread that has run the watch's function. -ECANCELED if the run was cancelled
 * in the resource's queue.
 *
 * A stop of the watch on another thread waits until the function has returned. So the function must
 * not wait for a thread or a task that may stop the watch. A function that frees the watch sees to
 * it that no other thread uses the watch meanwhile, stop included.
 */
typedef void (*baton_io_dropped_fn)(struct baton_io *io, int error);

/*
 * A watch of a descriptor; a member of what it is for. Ownership: stop.h has the rule of memory.
 */
struct baton_io {
	struct baton_task _task;
	struct baton_resource *_resource;
	baton_io_fn _fn;
	baton_io_dropped_fn _dropped;
	struct baton_stopping _stopping;
	uint32_t _state;
	int fd;                   /* of the last start; -1 before */
	struct baton_stamp stamp; /* the label of its runs, see label.h; yours to set */
};

/*
 * Makes a watch that is not active. `fn` runs as a task of the resource, which must outlive the
 * watch: on the executor's thread, or on the runner's thread.
 *
 * Thread safety: the owner.
 */
#define BATON_IO_INIT(resource, fn)                                                                \
	{                                                                                          \
		{NULL, NULL, NULL}, (resource), (fn), NULL, {NULL, NULL}, 0, -1, BATON_STAMP_INIT  \
	}
void baton_io_init(struct baton_io *io, struct baton_resource *resource,
                   baton_io_fn fn) BATON_NONNULL;

/*
 * Sets the function that is told of runs that do not take place; NULL: none. It is called on the
 * library's thread, or on the runner's thread.
 *
 * Thread safety: the owner, before the first start.
 */
void baton_io_set_dropped(struct baton_io *io, baton_io_dropped_fn dropped) BATON_NONNULL_AT(1);

/* What a watch waits for, and whether it goes on after a run. */
enum baton_io_how {
	BATON_IO_READ = 1,
	BATON_IO_WRITE = 2,
	BATON_IO_AGAIN = 4, /* watched again after each run, until it is stopped */
};

/*
 * Makes the function run when the descriptor can be read (BATON_IO_READ) or written
 * (BATON_IO_WRITE): once, or, with BATON_IO_AGAIN, until stop. A watch that runs once is not active
 * while its function runs: the function may start it again. The first start of a process creates
 * the library's thread.
 *
 * Thread safety: any thread. Blocking: never, save for the start of the thread.
 * Ownership: the watch's memory is baton's until stop says otherwise, or the function runs.
 * Ordering: what the caller did before is visible to the function.
 * Errors: nothing has changed: -EINVAL: not exactly one side, an unknown flag, no function or no
 * resource; -EALREADY: the watch is active; -EEXIST: another watch is active for this side of the
 * descriptor; -EBUSY: stop_then was called, and its function was not called yet; -EBADF;
 * -EPERM: the descriptor is of a file that is always ready (a regular file);
 * -ENOMEM, -ENOSPC, -EMFILE, -ENFILE, -EAGAIN: no room in the kernel, no descriptor, no thread;
 * -ECHILD: a fork's child.
 */
BATON_MUST_USE int baton_io_start(struct baton_io *io, int fd, unsigned how) BATON_NONNULL;

/*
 * Stops the watch: its function is entered no more for the starts until now. What the stop met, and
 * when the memory is the caller's: stop.h. The function of stop_then is called on this thread, or
 * on the runner's thread. An active watch is PREVENTED until an event comes; then it is QUEUED.
 *
 * Thread safety: any thread.
 * Blocking: stop_wait: yes. The others: like a short mutex: they wait while another thread hands
 * over a run of the watch, or calls its `dropped`.
 * Ownership: stop.h has the rule of memory.
 * Errors: stop_wait: -EDEADLK, -ETIMEDOUT, -ECHILD: stop.h.
 */
BATON_MUST_USE struct baton_stopped baton_io_stop(struct baton_io *io) BATON_NONNULL;
struct baton_stopped baton_io_stop_then(struct baton_io *io, baton_stopped_fn stopped, void *arg)
	BATON_NONNULL_AT(1, 2);
BATON_MUST_USE int baton_io_stop_wait(struct baton_io *io) BATON_NONNULL;
BATON_MUST_USE int baton_io_stop_wait_until(struct baton_io *io,
                                            uint64_t deadline_ns) BATON_NONNULL;

/* Is the watch active? A start makes it active; a stop ends that, and, without BATON_IO_AGAIN, the
 * first event. A hint. */
bool baton_io_is_active(const struct baton_io *io) BATON_NONNULL;

/*
 * Ends the library's thread and gives its descriptors and memory back, for programs whose leak
 * checker wants everything back. A later start creates another thread.
 * Errors: -EBUSY: a watch is active; -EDEADLK: from the thread itself; -ECHILD.
 */
BATON_MUST_USE int baton_io_destroy(void);

#ifdef __cplusplus
}
#endif

#endif
