/* SPDX-License-Identifier: MIT */
/*
 * A watchdog looks at a board, and reports what is stuck: a task that runs for too long, tasks that
 * wait while none runs, a thread that waits for too long. So a forgotten resume, a promise that
 * nobody completes and a loop that nobody runs are named while they last.
 *
 *	const struct baton_watchdog_options options = {.board = board, .limit_ns = BATON_SECOND};
 *
 *	status = baton_watchdog_create(&options, &watchdog);
 *
 *	baton: stuck: the tasks of "topic/7" wait since 1.2 s, 31 of them: the resource is
 *	suspended, and nobody has resumed it
 *
 * The watchdog has a thread of its own, which also refreshes the board (baton_board_refresh()), so
 * that baton-top shows threads and pools.
 */
#ifndef BATON_WATCHDOG_H
#define BATON_WATCHDOG_H

#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/board.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_watchdog;

/* In which way something is stuck. */
enum baton_stuck_kind {
	BATON_STUCK_RUNS,     /* one task of a resource runs, and does not end */
	BATON_STUCK_TASKS,    /* tasks of a resource wait, and none of its tasks runs */
	BATON_STUCK_PROMISE,  /* a thread waits for a promise */
	BATON_STUCK_RESOURCE, /* a thread waits for a task of a resource */
	BATON_STUCK_UNKNOWN,  /* a thread waits for a task that is not submitted, or for several */
};

/* What a watchdog has found. */
struct baton_stuck {
	enum baton_stuck_kind kind;
	/* The name on the board. Empty: the resource is not known, or not on the board. */
	const char *resource;
	uint64_t ns; /* for how long, as far as it is known */
	/* The kernel's id of the thread. TASKS: who has suspended the resource, or detached the
	 * task that holds it; 0: neither, or not known. */
	uint64_t thread;
	/* RUNS: the task's function. TASKS: that in which `thread` has done so; 0: not known. */
	uintptr_t function;
	uint64_t waiting;    /* tasks of the resource that wait */
	const char *message; /* all of that in one line, with the likely cause */
};

/* Read during the call. See "Growth" in resource.h. */
struct baton_watchdog_options {
	struct baton_board *board;
	/* What lasts for longer is reported, once; 0: one second. */
	uint64_t limit_ns;
	/* From one look to the next; 0: a quarter of the limit, at most a second. */
	uint64_t every_ns;
	/*
	 * Called on the watchdog's thread, during a look: it may dump the board, say, and
	 * baton_board_leave() on another thread waits for its end. It must not stop the watchdog.
	 * NULL: `message` goes to stderr.
	 */
	void (*report)(const struct baton_stuck *stuck, void *arg);
	void *arg;
	uint64_t _reserved[4];
};

/*
 * Thread safety: any thread. Blocking: never.
 * Ownership: the board must live until baton_watchdog_destroy() has returned.
 * Errors: no watchdog runs: -EINVAL: there is no board. -ENOMEM. -EAGAIN: no thread can be started.
 * -ECHILD: see thread.h.
 */
BATON_MUST_USE int baton_watchdog_create(const struct baton_watchdog_options *options,
                                         struct baton_watchdog **watchdog) BATON_NONNULL;

/*
 * Ends the watchdog's thread, and frees the watchdog. Thread safety: one thread, once, and not the
 * watchdog's; not in a function that is told of an end (future.h). Both are asserted. Blocking:
 * until a look is over.
 */
void baton_watchdog_destroy(struct baton_watchdog *watchdog) BATON_NONNULL;

/*
 * Asks the watchdog for a trace (board.h) of the next `span_ns` nanoseconds, as `baton-top --trace`
 * does from outside. The trace begins at the watchdog's next look. It is written to `path` at a
 * look after its end, or by baton_watchdog_destroy(). If it cannot be written, the watchdog says so
 * on stderr. For a handler of SIGUSR2, for example:
 *
 *	static void on_signal(int number)
 *	{
 *		BATON_IGNORE(baton_watchdog_trace(watchdog, BATON_SECOND / 2, "/tmp/broker.json"));
 *	}
 *
 * Thread safety: any thread, also in a signal handler. Blocking: never.
 * Ownership: `path` is copied.
 * Errors: no trace will be taken: -EBUSY: one is on, or has been asked for. -ENAMETOOLONG: `path`
 * has more than BATON_WATCHDOG_PATH_MAX bytes. -ECHILD: see thread.h.
 */
#define BATON_WATCHDOG_PATH_MAX 255
BATON_MUST_USE int baton_watchdog_trace(const struct baton_watchdog *watchdog, uint64_t span_ns,
                                        const char *path) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
