/* SPDX-License-Identifier: MIT */
/*
 * Wheels: what drives timers (timer.h). A program needs none of its own: the default wheel is there
 * when a timer is first armed. A wheel of one's own has another tick, belongs to an event loop, has
 * a clock that a test moves, or ends before the process does.
 *
 *                         | may run beside            | from
 *   poll, advance, _to    | all but themselves        | one thread at a time
 *   next, now, stats_read | everything but destroy    | any thread
 *   close                 | everything but destroy    | not a timer's function
 *   destroy               | nothing                   | the owner
 */
#ifndef BATON_TIMERS_H
#define BATON_TIMERS_H

#include <stdint.h>

#include <baton/attributes.h>
#include <baton/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What drives a wheel, and which clock it has. */
enum baton_timers_source {
	BATON_TIMERS_THREAD = 0,  /* a thread of its own sleeps until the next deadline */
	BATON_TIMERS_POLL = 1,    /* an event loop: baton_timers_next() and baton_timers_poll() */
	BATON_TIMERS_VIRTUAL = 2, /* its clock is moved by baton_timers_advance(); starts at 0 */
};

/* On which thread the functions of a wheel's timers run. */
enum baton_timers_submit {
	/* THREAD: as LATER, so that no long function holds up the other timers; else as INLINE. */
	BATON_TIMERS_SUBMIT_DEFAULT = 0,
	BATON_TIMERS_SUBMIT_LATER = 1,  /* baton_submit_later(): on the resource's executor */
	BATON_TIMERS_SUBMIT_INLINE = 2, /* baton_submit(): here, if the resource is idle */
};

/* How a wheel is made. */
struct baton_timers_options {
	enum baton_timers_source source; /* what drives the wheel */
	enum baton_timers_submit submit; /* where the timers' functions run */
	/* A tick; rounded down to a power of two, at least 1024. 0: BATON_TIMERS_RESOLUTION.
	 * VIRTUAL: of no effect, deadlines are exact. */
	uint64_t resolution_ns;
	/*
	 * Called for each timer that will not run, unless the timer has a `dropped` of its own.
	 * NULL: only the counters and the errors of arm tell.
	 */
	baton_timer_dropped_fn dropped;
	/*
	 * POLL: called, on the arming thread, when the time that baton_timers_next() last returned
	 * has become too late: wake the loop (write to its eventfd). The function may not call
	 * back.
	 */
	void (*wake)(void *arg);
	void *arg;
	/* The thread's name; NULL: "baton-timers". At most 15 characters are used. */
	const char *name;
	uint64_t _reserved[4];
};

#define BATON_TIMERS_RESOLUTION (UINT64_C(1) << 20) /* about a millisecond */
#define BATON_TIMERS_OPTIONS_INIT                                                                  \
	{                                                                                          \
		BATON_TIMERS_THREAD, BATON_TIMERS_SUBMIT_DEFAULT, 0, NULL, NULL, NULL, NULL,       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/*
 * Creates a wheel. `options` are copied; NULL: a thread, the defaults.
 * Ownership: end it with baton_timers_destroy().
 * Errors: -ENOMEM, -EAGAIN (no more threads), -EINVAL (no such source or submit).
 */
BATON_MUST_USE int baton_timers_create(const struct baton_timers_options *options,
                                       struct baton_timers **timers) BATON_NONNULL_AT(2);

/*
 * The process-wide wheel, created on first use and never torn down by itself. Arming a timer whose
 * wheel is NULL creates it, too. The wheel has no thread while there is a default pool: a worker of
 * the pool that has nothing else to do sleeps until the next deadline. While all workers are inside
 * tasks, they look at the wheel between their tasks; if none comes within about a millisecond after
 * a deadline, a further thread of the pool runs the wheel. That thread is started when it is first
 * needed, and lives as long as the pool. Without a default pool a thread drives the wheel.
 * Errors: as for create; *timers is untouched.
 */
BATON_MUST_USE int baton_timers_default(struct baton_timers **timers) BATON_NONNULL;

/*
 * Ends the default wheel, if there is one, as baton_timers_destroy() does: for programs whose leak
 * checker wants everything back. Pending timers are dropped. A later use creates another wheel.
 * Call it before baton_pool_default_destroy().
 *
 * Errors: -EBUSY: a timer's run is queued or under way; the wheel is closed. Await the timer's
 * resource, and call again. -EDEADLK, -EBUSY: as baton_timers_close(): nothing happens.
 */
BATON_MUST_USE int baton_timers_default_destroy(void);

/*
 * Closes the wheel: arms are refused from now on (-ESHUTDOWN), and the wheel's thread ends. Pending
 * timers are dropped (see `dropped`), or run immediately: submitted, ahead of their time. Runs in
 * their resources' queues go on, but do not repeat.
 *
 * Thread safety: any thread; not a function that the wheel's driver calls: a timer's, run inline,
 * or `dropped` (-EDEADLK).
 * Blocking: waits for the wheel's thread.
 * Errors: nothing happens: -EALREADY. -EDEADLK. -EBUSY: a poll or advance is under way. -EINVAL:
 * `pending` is neither.
 */
enum baton_timers_pending {
	BATON_TIMERS_DROP = 0,
	BATON_TIMERS_RUN = 1,
};
BATON_MUST_USE int baton_timers_close(struct baton_timers *timers,
                                      enum baton_timers_pending pending) BATON_NONNULL;

/*
 * Closes the wheel (BATON_TIMERS_DROP, if it is not closed yet), and frees it when the last run in
 * a resource's queue has ended.
 *
 * Thread safety: the owner. No other call on the wheel, nor an arm or stop of its timers, is under
 * way or comes later, except from functions of its timers (whose arms are refused): close the
 * wheel, and stop the threads that use it, before. A call found under way is an assertion.
 * Errors: as close, except -EALREADY. -EPERM: it is the default wheel.
 */
BATON_MUST_USE int baton_timers_destroy(struct baton_timers *timers) BATON_NONNULL;

/* The time on the wheel's clock, in ns. Any thread. Blocking: never. */
uint64_t baton_timers_now(const struct baton_timers *timers) BATON_NONNULL;

/*
 * POLL: the time at which baton_timers_poll() should be called next. BATON_NEVER: not before `wake`
 * has been called; or this is a fork's child (thread.h). The time may be too early, never too late.
 * Wheels of other sorts may be asked, too. Thread safety: any thread.
 */
uint64_t baton_timers_next(struct baton_timers *timers) BATON_NONNULL;

/*
 * poll (POLL): submits the timers that have expired by now; returns how many.
 *
 * advance, advance_to (VIRTUAL): move the clock on, and submit the timers that expire on the way,
 * each at its time; return how many. The clock shows a timer's deadline while its task is
 * submitted, so a timer that the task arms anew expires within the same call, if it is due by then.
 * A time before now changes nothing; `advance` saturates.
 *
 * Thread safety: one thread at a time.
 * Errors: -EBUSY: another such call is under way. -EDEADLK: such a call of this thread is under
 * way: a timer's function calls. -EINVAL: the wheel is of another sort. -ESHUTDOWN: the wheel is
 * closed.
 */
BATON_MUST_USE int64_t baton_timers_poll(struct baton_timers *timers) BATON_NONNULL;
BATON_MUST_USE int64_t baton_timers_advance(struct baton_timers *timers,
                                            uint64_t span_ns) BATON_NONNULL;
BATON_MUST_USE int64_t baton_timers_advance_to(struct baton_timers *timers,
                                               uint64_t time_ns) BATON_NONNULL;

/* What a wheel has done since it was created. */
#define BATON_TIMERS_LATE_BUCKETS 24
struct baton_timers_stats {
	uint64_t armed; /* placed in the wheel: arms, save those that only moved a deadline back */
	uint64_t fired; /* expired, and submitted */
	uint64_t cancelled; /* taken out of the wheel without a run: stopped, or disarmed */
	uint64_t refused;   /* runs that the resource refused: closed, or bounded and full */
	uint64_t dropped;   /* when the wheel was closed */
	/* placed again by the wheel: in a finer level, or because the deadline has become later */
	uint64_t moved;
	uint64_t pending; /* in the wheel now */
	uint64_t wakes;   /* the thread's (or loop's) wake-ups by an earlier deadline */
	uint64_t rounds;  /* times that the thread slept, or polls */
	/* Runs by how late they were submitted: [0] less than a microsecond, [n] less than 2^n
	 * microseconds; the last: all others. */
	uint64_t late[BATON_TIMERS_LATE_BUCKETS];
};

/* Copies the counters, each read atomically. Any thread. Blocking: never. */
void baton_timers_stats_read(const struct baton_timers *timers,
                             struct baton_timers_stats *copy) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
