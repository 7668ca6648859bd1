/* SPDX-License-Identifier: MIT */
/*
 * A main loop: sources of work with priorities, timers, descriptors, and idle work, on one thread.
 * For a program that has an event loop of its own (libuv, epoll, a GUI): the program watches one
 * descriptor and one deadline. A library of its own, libbaton-mainloop (pkg-config:
 * baton-mainloop). baton.h does not include this header.
 *
 *	static int repaint(struct baton_source *source) { ...; return 0; }
 *
 *	static const struct baton_source_config repainting = {
 *		.fn = repaint, .kind = BATON_SOURCE_IDLE, .level = BATON_PRIORITY_REPAINT,
 *	};
 *	static struct baton_mainloop loop;
 *	static struct baton_source repainter = BATON_SOURCE_INIT(&loop, &repainting, "repaint");
 *
 *	error = baton_mainloop_init(&loop, NULL);
 *	error = baton_source_start(&repainter);      // from any thread; it then runs once
 *	poll(baton_mainloop_fd(&loop), until baton_mainloop_next(&loop));
 *	ran = baton_mainloop_run(&loop, 10);         // on the loop's thread; below 0: an error
 *
 *                                    | may run beside             | from
 *   source start, start_after, stop, | everything but init,       | any thread, also inside
 *   set_level, is_active             | deinit, init of the same   | the functions of sources
 *   mainloop next, now, stats_read   | everything but init,       | any thread
 *                                    | deinit                     |
 *   run, drain_until, advance_to,    | the calls above            | the owner
 *   pass, depend, undepend, cycle    |                            |
 *   should_yield                     | the calls above            | any; false but for the owner
 *   init, deinit, source init        | nothing                    | the owner
 *
 * The owner is the thread that created the loop, or the last one that called
 * baton_mainloop_adopt().
 *
 * A source runs under the baton of the loop's resource, whose tasks only the owner runs. So sources
 * never overlap, baton_assert_held() holds in them, and tasks that are submitted to
 * baton_mainloop_resource() run between two sources.
 *
 * Corner cases. Times are nanoseconds of CLOCK_MONOTONIC, or of the loop's virtual clock. A
 * deadline from BATON_MAINLOOP_TIME_MAX on, 18 years, never comes.
 *
 * Progress: start, stop and set_level are lock-free. A thread that the system stops inside one
 * of these calls delays that source. A thread that it stops just before the descriptor is made
 * readable also delays the owner's wake for other sources.
 * Source: the scheduler of an office suite (VCL's Task, Idle and Timer); the aging of Unix
 * schedulers; C. A. Crane's leftist heap (1972) for the deadlines.
 */
#ifndef BATON_MAINLOOP_H
#define BATON_MAINLOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/executor.h>
#include <baton/resource.h>
#include <baton/stop.h>
#include <baton/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sources ---- */

struct baton_source;
struct baton__mainloop;
struct baton__dependent;

/*
 * The loop's handle, in the caller's memory. A zeroed handle, or a handle after deinit, is a loop
 * that does not exist: calls with the handle, or with a source that belongs to it, return
 * -ESHUTDOWN.
 */
struct baton_mainloop {
	struct baton__mainloop *_loop;
};

#define BATON_MAINLOOP_INIT                                                                        \
	{                                                                                          \
		NULL                                                                               \
	}

/* The event that makes a source ready. */
enum baton_source_kind {
	BATON_SOURCE_IDLE = 0,   /* runs as soon as no more important source is ready */
	BATON_SOURCE_TIMER = 1,  /* runs when its period has passed since its start */
	BATON_SOURCE_CUSTOM = 2, /* runs when its function `ready` says so */
	/* Both belong to a struct baton_source_fd. */
	BATON_SOURCE_READABLE = 3, /* runs when its descriptor can be read */
	BATON_SOURCE_WRITABLE = 4, /* runs when its descriptor can be written */
};

/* Levels of priority. Lower runs first. Any number from 1 to BATON_PRIORITIES is one; these have
 * names. 0, where a level is asked for: BATON_PRIORITY_DEFAULT. */
enum baton_priority {
	BATON_PRIORITY_HIGHEST = 1,
	BATON_PRIORITY_DEFAULT = 2,
	BATON_PRIORITY_HIGH_IDLE = 3,
	BATON_PRIORITY_RESIZE = 4,
	BATON_PRIORITY_REPAINT = 5,
	BATON_PRIORITY_POST_PAINT = 6,
	BATON_PRIORITY_DEFAULT_IDLE = 7,
	BATON_PRIORITY_LOWEST = 8,
};
#define BATON_PRIORITIES 16

#define BATON_MAINLOOP_TIME_MAX ((UINT64_C(1) << 59) - 1)

/*
 * A source's function. Returns 0, or BATON_GONE: the function has freed the source (stop.h). A
 * negative errno counts in `failed` of the statistics.
 *
 * A source that is not `again` is inactive before its function runs. So the function may start its
 * own source again.
 */
typedef int (*baton_source_fn)(struct baton_source *source);

/*
 * CUSTOM: is the source ready at the time `now_ns`? 0: yes. BATON_NEVER: no; ask in the next round.
 * Other values: no; ask again when so many ns have passed. Called once a round, under the baton of
 * the loop's resource; also before the time that it has asked for: after a start, a change of the
 * priority, or the end of a dependency. It may start and stop other sources. It may not free a
 * source, or run the loop (-EDEADLK).
 *
 * BATON_NEVER does not make the host run the loop: the source is asked when the loop runs for
 * another reason. So a source that becomes ready by itself answers with a time. If a thread makes
 * the source ready, the thread starts the source again: a start wakes the loop, which asks.
 */
typedef uint64_t (*baton_source_ready_fn)(struct baton_source *source, uint64_t now_ns);

/* What sources of one sort share. Must outlive them. Growth: see resource.h. */
struct baton_source_config {
	baton_source_fn fn;
	enum baton_source_kind kind;
	bool again;                  /* started again after each run, until it is stopped */
	uint32_t level;              /* of priority; at most BATON_PRIORITIES */
	uint64_t period_ns;          /* TIMER */
	baton_source_ready_fn ready; /* CUSTOM */
	uint64_t _reserved[4];
};

/* A place in the loop's lists; a member of a source. Its members are private. */
struct baton_source_link {
	struct baton_source_link *_next; /* in a list; in the heap of deadlines: left, right, up */
	struct baton_source_link *_prev;
	struct baton_source_link *_up;
};

/*
 * A source of a main loop; a member of what it is for. Ownership: stop.h has the rule of memory.
 */
struct baton_source {
	uint64_t _state;
	struct baton_source *_posted;
	struct baton_source_link _link;
	struct baton_mainloop *_loop;
	const struct baton_source_config *_config;
	const char *_name;
	struct baton__dependent *_dependent;
	uint64_t _due;
	uint64_t _order;
	uint32_t _set_level;
	uint8_t _rank;
	uint8_t _place;
	uint8_t _level;
	uint8_t _watched;
	struct baton_stopping _stopping;
	struct baton_task _last;
};

/* A source that is not active. `name`: for messages; must outlive the source; may be NULL. */
#define BATON_SOURCE_INIT(loop, config, name)                                                      \
	{                                                                                          \
		0, NULL, {NULL, NULL, NULL}, (loop), (config), (name), NULL, 0, 0, 0, 0, 0, 0, 0,  \
			{NULL, NULL},                                                              \
		{                                                                                  \
			NULL, NULL, NULL                                                           \
		}                                                                                  \
	}
void baton_source_init(struct baton_source *source, struct baton_mainloop *loop,
                       const struct baton_source_config *config, const char *name)
	BATON_NONNULL_AT(1, 2);

/*
 * A source that runs when a descriptor is ready: its config's kind is READABLE or WRITABLE. The
 * calls on sources take `&source_fd.source`. `fd` is the caller's to set while the source is not
 * active; `fd` may have any number of sources, of any loops.
 *
 * The loop asks the kernel once a round; baton_mainloop_fd() is readable while a descriptor is
 * ready that a source waits for. A descriptor that has an error or was hung up is readable and
 * writable: read() and write() tell the function what happened. A source that is `again`, and
 * leaves data unread, runs again in the next round. start_after: the descriptor is watched from
 * then on. A source that a dependency holds back does not watch. On a virtual clock no descriptor
 * is ready.
 *
 * Stop the source on the owner's thread before you close its descriptor. (The function of a source
 * that is not `again` may close the descriptor without a stop.) If a descriptor is closed while a
 * source waits for it, the source stays active, and may run when the number belongs to another
 * file; while a duplicate of the descriptor is open, baton_mainloop_fd() may be readable for
 * nothing. A start with a descriptor that is closed, or that belongs to a regular file, makes the
 * source ready, as poll() does. If the kernel has no memory for a descriptor, the loop tries again
 * every 10 ms.
 */
struct baton_source_fd {
	struct baton_source source;
	int fd;
	int _fd;
};

#define BATON_SOURCE_FD_INIT(loop, config, name, fd)                                               \
	{                                                                                          \
		BATON_SOURCE_INIT(loop, config, name), (fd), 0                                     \
	}
/* `fd` is -1. */
void baton_source_fd_init(struct baton_source_fd *source, struct baton_mainloop *loop,
                          const struct baton_source_config *config, const char *name)
	BATON_NONNULL_AT(1, 2);
const char *baton_source_name(const struct baton_source *source) BATON_NONNULL;

/*
 * start: the source becomes active. An IDLE is ready immediately, a TIMER after its period, a
 * CUSTOM when its function says so, a READABLE or WRITABLE when its descriptor is. start_after: the
 * same after a delay, once; the runs that follow by `again` have the config's period. BATON_NEVER:
 * the source is active, and never ready. The source runs on the owner's thread.
 *
 * Thread safety: any thread. Of several starts at once one takes effect.
 * Blocking: never.
 * Ownership: the source's memory is the loop's until its function is entered (`again`: until it is
 * stopped), see baton_source_stop().
 * Ordering: what the caller did before is visible to the run.
 * Errors: the source is as it was:
 *   -ESHUTDOWN  the loop does not exist (any more).
 *   -EINVAL     the config has no function, or a kind or level that does not exist; a CUSTOM has no
 *               `ready`; a TIMER that is `again` has the period 0; the delay, or the period, is
 *               more than BATON_MAINLOOP_TIME_MAX (and not BATON_NEVER).
 *   -EBADF      a READABLE or WRITABLE has no descriptor: `fd` is negative.
 *
 * Corner cases. A start of an active source begins its wait anew; the source still runs once. Its
 * deadline counts from the new start. A ready source that the new start makes ready at once keeps
 * its place in the order of its priority, and so does a source whose deadline stays the same. A
 * source whose function is running runs once more after the function has returned.
 *
 * Sources of one priority run in the order in which they became ready; deadlines of one time, in
 * the order of their starts. A source whose deadline passes while another source's function runs
 * becomes ready when the loop looks at its clock: after that function, or in should_yield.
 *
 * Cost: two atomic operations, and one system call for the first start that the owner must be woken
 * for; none while the owner runs the loop, or comes early enough by itself. On the owner's thread
 * one atomic operation.
 */
BATON_MUST_USE int baton_source_start(struct baton_source *source) BATON_NONNULL;
BATON_MUST_USE int baton_source_start_after(struct baton_source *source,
                                            uint64_t delay_ns) BATON_NONNULL;

/*
 * Stops the source: it will not run until it is started again. What the stop met: stop.h. On the
 * owner's thread stop is final, and meets NOTHING, PREVENTED or RUNNING. On another thread it meets
 * QUEUED or RUNNING, since the owner must come to the source first.
 *
 * The function of stop_then is called on the owner's thread, in a task of the
 * loop's resource, or, after NOTHING and PREVENTED, within the call; stop_wait on another thread
 * waits until the owner has run the loop. (A bound of the loop's resource may refuse the task of
 * stop_then, and must not drop it: asserted.)
 *
 * Thread safety: any thread. Blocking: stop_wait alone waits.
 * Ownership: stop.h has the rule of memory. The memory of a source that has dependencies is the
 * loop's until they are ended; stop_then and stop_wait end them.
 * Errors: stop_wait: those of stop.h and of baton_call_with(); -EPIPE: the
 * loop's resource is closed, and the owner must stop the source; -ECANCELED: a cancel of the
 * resource's queued tasks has ended the wait. A wait that has failed does not touch the source
 * later: the owner may stop and free it. stop_then: if the loop's resource refuses the task, `met`
 * is the negative error (EPIPE: BATON_STOP_CLOSED), and no function is called. Where the loop does
 * not exist, a stop meets NOTHING.
 */
BATON_MUST_USE struct baton_stopped baton_source_stop(struct baton_source *source) BATON_NONNULL;
BATON_MUST_USE struct baton_stopped baton_source_stop_then(struct baton_source *source,
                                                           baton_stopped_fn stopped, void *arg)
	BATON_NONNULL_AT(1, 2);
BATON_MUST_USE int baton_source_stop_wait(struct baton_source *source) BATON_NONNULL;
BATON_MUST_USE int baton_source_stop_wait_until(struct baton_source *source,
                                                uint64_t deadline_ns) BATON_NONNULL;

/*
 * Changes the level of its priority. A source that is ready goes to the end of its new level; if it
 * has that level already, it keeps its place.
 *
 * Thread safety: any thread. Blocking: never.
 * Errors: nothing happens: -EINVAL: the level is above BATON_PRIORITIES. -ESHUTDOWN.
 */
BATON_MUST_USE int baton_source_set_level(struct baton_source *source,
                                          uint32_t level) BATON_NONNULL;

/*
 * Is the source active? A source is active from its start until it is stopped; or, if it is not
 * `again`, until its function is entered. A source that a dependency holds back is active.
 *
 * Thread safety: any thread; the answer is true of one moment. Blocking: never.
 */
bool baton_source_is_active(const struct baton_source *source) BATON_NONNULL;

/*
 * depend: the child does not run while the parent is active or runs. A child that becomes ready
 * meanwhile waits, and is active; when its last such parent is stopped, or has run, the child goes
 * on as if it were started at that moment (a deadline counts from the child's own start). A running
 * child goes on.
 *
 * undepend: ends the dependency. undepend_all: ends all dependencies of the source. BATON_GONE,
 * stop_then and stop_wait end them, too.
 *
 * Thread safety: the owner. Blocking: never.
 * Errors: nothing happens:
 *   -ELOOP     the parent depends, through others maybe, on the child: see
 *              baton_mainloop_cycle().
 *   -EXDEV     the two sources belong to different loops.
 *   -EEXIST    the child depends on the parent already. undepend: -ENOENT: there is no such
 *              dependency.
 *   -EPERM     the caller is not the owner. -ESHUTDOWN. -ENOMEM.
 * Cost: depend looks at the dependencies above the parent and below the child, in turn, until
 * either side has no more. So trees of n sources cost some n log n steps, in any order.
 */
BATON_MUST_USE int baton_source_depend(struct baton_source *parent,
                                       struct baton_source *child) BATON_NONNULL;
BATON_MUST_USE int baton_source_undepend(struct baton_source *parent,
                                         struct baton_source *child) BATON_NONNULL;
BATON_MUST_USE int baton_source_undepend_all(struct baton_source *source) BATON_NONNULL;

/* ---- The loop ---- */

/* Zero is the default of every member. Growth: see resource.h. */
struct baton_mainloop_options {
	const char *name; /* of the loop's resource, for messages; must outlive the loop */
	/*
	 * The clock is virtual: it starts at 0, and baton_mainloop_advance_to() moves it. The same
	 * starts give the same order of runs. The input probe is not asked.
	 */
	bool deterministic;
	/*
	 * 0: strict: a source never runs while a more important one is ready. n: at most every n-th
	 * run is out of that order, for the source that has been ready for longest. So no source
	 * starves.
	 */
	uint32_t aging;
	uint64_t slice_ns; /* of baton_mainloop_should_yield(). 0: BATON_MAINLOOP_SLICE */
	/*
	 * Asked before an IDLE runs: does the host have input of one of these kinds? Then the idle
	 * does not run, and the run ends with the descriptor readable: the host serves its input
	 * first. NULL: there is no input. The probe may not call the loop.
	 */
	bool (*any_input)(void *arg, uint32_t kinds);
	uint32_t input_kinds; /* given to any_input. 0: all */
	/* Called by deinit for each source that is still active, which then no longer is. */
	void (*still_active)(void *arg, struct baton_source *source);
	void *arg;
	uint64_t _reserved[4];
};

#define BATON_MAINLOOP_SLICE (50 * BATON_MILLISECOND)

/*
 * Creates a loop; the calling thread is its owner. `options` are copied; NULL: the defaults.
 * adopt: the calling thread becomes the owner; nothing of the loop may be under way.
 *
 * Errors: -ENOMEM, -ENOSPC, -EMFILE, -ENFILE. -EINVAL: the slice is more than
 * BATON_MAINLOOP_TIME_MAX.
 * adopt: -ESHUTDOWN; see thread.h.
 */
BATON_MUST_USE int baton_mainloop_init(struct baton_mainloop *loop,
                                       const struct baton_mainloop_options *options)
	BATON_NONNULL_AT(1);
BATON_MUST_USE int baton_mainloop_adopt(struct baton_mainloop *loop) BATON_NONNULL;

/*
 * Ends the loop: runs the tasks that are queued on its resource, then makes every source that is
 * still active inactive, and names it to `still_active`. Returns the number of these sources.
 * Active sources, and sources with dependencies, must still be there.
 *
 * Thread safety: the owner; no call on the loop or its sources is under way. A later one returns
 * -ESHUTDOWN.
 * Blocking: as baton_resource_await().
 * Errors: nothing happens: -EDEADLK: called from inside the loop's run. -EPERM: the caller is not
 * the owner. -ESHUTDOWN. Those of baton_resource_await(): the loop's resource is closed.
 */
BATON_MUST_USE int64_t baton_mainloop_deinit(struct baton_mainloop *loop) BATON_NONNULL;

/*
 * The loop's resource, and the executor that lets other resources' tasks run on the owner's thread
 * (with BATON_CAPTURE_NONE; see loop.h). NULL: the loop does not exist.
 *
 * To show the loop on a board (board.h), join the resource after init. Before deinit, close and
 * await the resource, and let it leave. The board shows the functions of the sources.
 */
struct baton_resource *baton_mainloop_resource(const struct baton_mainloop *loop) BATON_NONNULL;
struct baton_executor *baton_mainloop_executor(const struct baton_mainloop *loop) BATON_NONNULL;

/*
 * For the host loop. fd: a descriptor to poll, readable when the loop should be run. next: the time
 * at which it should be run at the latest, if the descriptor does not become readable before; 0: at
 * once; BATON_NEVER: not before. Between two runs starts and stops make the descriptor readable at
 * most once, however many they are. Only two sorts of calls do so: a call that makes the loop's
 * next deadline an earlier one, and a start of a source for a descriptor. A run that comes too
 * early runs nothing.
 *
 * Thread safety: any thread. Blocking: never.
 * Errors: fd: -ESHUTDOWN: the loop does not exist; next then returns BATON_NEVER.
 */
int baton_mainloop_fd(const struct baton_mainloop *loop) BATON_NONNULL;
uint64_t baton_mainloop_next(const struct baton_mainloop *loop) BATON_NONNULL;

/* The time on the loop's clock; 0: the loop does not exist. Any thread. Blocking: never. */
uint64_t baton_mainloop_now(const struct baton_mainloop *loop) BATON_NONNULL;

/*
 * run: one round: asks the kernel about descriptors, and the CUSTOM sources; runs ready sources, at
 * most `sources_max`, until none is ready, and the tasks submitted to the loop's resource and
 * executor. Returns how many sources ran. If work is left, the descriptor becomes readable.
 * `sources_max` 0: no maximum, here and in advance_to. An IDLE that is `again` is always ready:
 * give a maximum then.
 * What other threads start and stop is taken in between two sources. While sources are ready, and n
 * such calls were taken in at once, the next n / 16 sources run before the next look.
 *
 * drain_until: rounds until no source is ready, an idle gives way to input, or the loop's clock has
 * reached `deadline_ns`; it looks at the clock between two sources. If an IDLE is `again`, only the
 * deadline or input ends the call. Returns how many sources ran.
 *
 * Inside a source's function the call is nested: only sources at least as important as the running
 * one run, never a running one, and none of the tasks. Inside a task of the loop's resource: all
 * sources.
 *
 * Thread safety: the owner. Blocking: as the functions do.
 * Errors: nothing runs: -EPERM: the caller is not the owner. -EDEADLK: inside `ready`, or nested
 * BATON_NESTING_MAX deep. -ESHUTDOWN. -EPIPE: the loop's resource has
 * been closed.
 */
BATON_MUST_USE int64_t baton_mainloop_run(struct baton_mainloop *loop,
                                          size_t sources_max) BATON_NONNULL;
BATON_MUST_USE int64_t baton_mainloop_drain_until(struct baton_mainloop *loop,
                                                  uint64_t deadline_ns) BATON_NONNULL;

/*
 * For the deterministic mode. advance_to: runs what is ready, then moves the clock to each deadline
 * up to `time_ns` in turn, and runs what is ready at that time. Ends at `time_ns`; or, when
 * `sources_max` sources have run, at the time of the last of them. Each source runs exactly at its
 * deadline. CUSTOM sources are asked at the start, at each of these times, and at the end. Returns
 * how many sources ran.
 *
 * pass: called in a source's function: moves the clock on, as if the function took so long. Runs
 * nothing.
 *
 * Errors: as run; also -EINVAL: the clock is not virtual; the time has passed, or is more than
 * BATON_MAINLOOP_TIME_MAX. advance_to: -EDEADLK: inside a source or task of the loop.
 */
BATON_MUST_USE int64_t baton_mainloop_advance_to(struct baton_mainloop *loop, uint64_t time_ns,
                                                 size_t sources_max) BATON_NONNULL;
BATON_MUST_USE int baton_mainloop_pass(struct baton_mainloop *loop, uint64_t span_ns) BATON_NONNULL;

/*
 * For long functions: is the running source's slice over, does input wait, or is a more important
 * source ready? The function then returns, and goes on in its next run. False outside of sources.
 * baton_should_yield() tells the same in a source, and is also true while a task waits for the
 * loop's resource or executor. Both ask the kernel about descriptors at most once a millisecond. A
 * call takes in at most 1,024 of the sources that other threads have started.
 *
 * Thread safety: any thread; false on any other than the owner. Blocking: never. No atomic
 * read-modify-write where no other thread has started a source.
 */
bool baton_mainloop_should_yield(struct baton_mainloop *loop) BATON_NONNULL;

/*
 * The names of the sources on the cycle that the last refused dependency (-ELOOP) would have
 * closed, beginning with the parent; each source depends on the next, the last on the first. Copies
 * at most `names_max`, and BATON_MAINLOOP_CYCLE_MAX; returns how many sources are on the cycle. A
 * source without a name: "". Errors: 0: there was none. Thread safety: the owner.
 */
#define BATON_MAINLOOP_CYCLE_MAX 16
size_t baton_mainloop_cycle(const struct baton_mainloop *loop, const char **names, size_t names_max)
	BATON_NONNULL_AT(1);

/* What the loop has done since it was created. */
struct baton_mainloop_stats {
	uint64_t runs;         /* of sources */
	uint64_t failed;       /* of these, returned a negative errno */
	uint64_t rounds;       /* run, drain_until and advance_to: looks at the CUSTOM sources */
	uint64_t wakes;        /* times that the descriptor was made readable, for a source */
	uint64_t gave_way;     /* rounds that ended because an idle gave way to input */
	uint64_t out_of_order; /* runs that aging brought forward */
};

/* Copies the counters, each read atomically. Any thread. Blocking: never. */
void baton_mainloop_stats_read(const struct baton_mainloop *loop,
                               struct baton_mainloop_stats *copy) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
