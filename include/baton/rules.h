/* SPDX-License-Identifier: MIT */
/*
 * The rules of admission: which of the waiting tasks may start now, and how long each may run. A
 * pure state machine: it has no clock, no thread, allocates nothing, and decides the same way for
 * the same calls. The tasks of one resource drive it, or one thread.
 *
 * Classes. Each class has a duration and a limit, the fastest class first; by default fast 3 s,
 * medium 10 s, slow 30 s. The limits nest: limit i bounds the running tasks of class i and of all
 * slower classes. Limit 0 bounds all that run; it is the number of backends.
 *
 * Kinds of tasks:
 *   of a class    runs at most the duration of its class.
 *   default       waits as a task of class 0 does. When it starts, it is assigned the slowest class
 *                 whose limits have room, and counts towards these limits. While it runs, it may be
 *                 brought down to a faster class, never below class 0.
 *   interactive   never waits. It runs on a backend that no task of another kind needs, and is
 *                 denied, or halted, when that frees a backend for such a task.
 *
 * Corner cases. The cycle decides after each arrival, finish, change of limits, and tick, while
 * tasks wait; nothing is ignored at its beginning:
 *   1. For each class i from the slowest to class 1, if limit i is reached, and the first waiting
 *      task that is not ignored is of class i or slower: one default of the slowest assigned class
 *      is brought down, if that class is i or slower. If i is the slowest class, the default goes
 *      to the slowest class between i and 0 that has room. If i is another class, or no class
 *      between has room, the default goes to class 0. If limit i is still reached, class i and all
 *      slower classes are ignored.
 *   2. If a task remains and no backend is free for it, all defaults are brought down to class 0.
 *      If more interactive tasks run than `reserve`, one of them is halted, and its backend counts
 *      as free at once. Otherwise all waiting tasks are ignored.
 *   3. If a task remains and a backend is free, the first such task starts, and the cycle begins
 *      again at 1. Otherwise the cycle is over.
 * An interactive task starts if fewer tasks run than limit 0 allows. Otherwise it is denied, and
 * one default of the slowest assigned class is brought down by one class.
 *
 * If more runs than a limit allows (the limits shrank, or a halted task does not stop), defaults
 * are brought down as far as that helps, interactive tasks are halted, and nothing else is stopped.
 * A default that has run longer than its new class allows is told to stop at once, and keeps its
 * backend until it finishes.
 *
 * Estimates. Each waiting task is told, within the call that lets it wait or soon after, at most
 * how long it will wait: the wait that results if each task before it runs as long as it may.
 * A later estimate is never larger, unless limits shrank, a task came back to an old place, a task
 * overran, or a default was brought down that had run longer than class 0 allows. A renewed
 * estimate is told if it moved by more than 5 % of the wait, and at most every 100 ms to each task.
 * After a task has finished early, or was withdrawn, the machine renews the estimates of all
 * waiting tasks: 256 estimates in each tick, and 64 in each other call. Until all are renewed, the
 * machine wants a tick every millisecond. Two renewals are at least 100 ms apart, and at least 50
 * us for each task that waits (5 s while 100,000 wait); an arrival while at most 64 wait renews
 * sooner.
 *
 * Thread safety: none. One thread at a time uses a machine and its entries (a resource's tasks do).
 * Blocking: never. Ownership: machine and entries are the caller's memory. An entry is the
 * machine's from the arrive until it has finished, was withdrawn, or was denied.
 * Cost: a call costs O(classes^2), plus O(1) for each task that it starts, shortens or estimates,
 * however many tasks wait. Bringing down one default walks over defaults that run. arrive_at walks
 * from both ends of its class's waiting tasks to its place.
 * Time: `now_ns` is the time on any clock. A `now_ns` before that of an earlier call counts as the
 * earlier call's.
 */
#ifndef BATON_RULES_H
#define BATON_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_RULES_CLASSES_MAX 8

/* What a task is: the number of its class, 0 the fastest; or one of these. */
#define BATON_RULES_DEFAULT 8U
#define BATON_RULES_INTERACTIVE 9U

/* Which default is brought down, and which interactive task is halted. */
enum baton_rules_policy {
	BATON_RULES_OVERRUN = 0, /* the one that has run longest, and so overruns most */
	BATON_RULES_OLDEST = 1,  /* the one that arrived first */
	BATON_RULES_RANDOM = 2,  /* any, by the seed */
};

/* What becomes of a task that has not finished `grace_ns` after it should have. */
enum baton_rules_stuck {
	BATON_RULES_KEEP = 0, /* it counts as running until it finishes, also if it was halted */
	BATON_RULES_GONE = 1, /* it counts no more */
};

struct baton_rules;

/* A task, embedded in the caller's struct. */
struct baton_rules_entry {
	struct baton_rules_entry *_next;
	struct baton_rules_entry *_prev;
	struct baton_rules_entry *_peer_next;
	struct baton_rules_entry *_peer_prev;
	uint64_t _number;
	uint64_t _started;
	uint64_t _end;
	uint64_t _plan_start;
	uint64_t _plan_end;
	uint64_t _told;
	uint64_t _told_at;
	uint32_t _pass;
	uint32_t _kind;
	uint8_t _assigned;
	uint8_t _phase;
};

/* `kind`: the number of a class, BATON_RULES_DEFAULT or BATON_RULES_INTERACTIVE. */
#define BATON_RULES_ENTRY_INIT(kind)                                                               \
	{                                                                                          \
		NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, (kind), 0, 0                       \
	}
void baton_rules_entry_init(struct baton_rules_entry *entry, uint32_t kind) BATON_NONNULL;

/*
 * What the machine decides. Each function is called within a call of the machine, and may not call
 * the machine. NULL: not wanted (`start` must be there).
 *
 *   start      the task starts now, and may run `may_run_ns` (BATON_NEVER: an interactive one,
 *              or one whose duration has no end).
 *   shorten    the running task may run `may_run_ns` from now on; 0: it stops at once.
 *   halt       the interactive task stops at once; its backend is given on.
 *   estimate   the waiting task starts in at most `at_most_ns` (BATON_NEVER: not foreseen).
 *   overrun    the task has not finished `grace_ns` after it should have.
 */
struct baton_rules_events {
	void (*start)(struct baton_rules *rules, struct baton_rules_entry *entry,
	              uint64_t may_run_ns);
	void (*shorten)(struct baton_rules *rules, struct baton_rules_entry *entry,
	                uint64_t may_run_ns);
	void (*halt)(struct baton_rules *rules, struct baton_rules_entry *entry);
	void (*estimate)(struct baton_rules *rules, struct baton_rules_entry *entry,
	                 uint64_t at_most_ns);
	void (*overrun)(struct baton_rules *rules, struct baton_rules_entry *entry);
	void (*_reserved[4])(void);
};

/* The classes, their limits and durations. Copied by baton_rules_init(). */
struct baton_rules_config {
	uint32_t class_count; /* 0: 3 */
	/* Of each class, in order: none is shorter than the one before. All 0: 3 s, 10 s, 30 s
	 * (of 3 classes). */
	uint64_t duration_ns[BATON_RULES_CLASSES_MAX];
	/* Of each class, in order: none is above the one before, none is 0. */
	uint32_t limit[BATON_RULES_CLASSES_MAX];
	uint32_t reserve; /* backends that interactive tasks may always use; less than limit 0 */
	enum baton_rules_policy policy;
	enum baton_rules_stuck stuck;
	uint64_t seed;     /* of the policy RANDOM */
	uint64_t grace_ns; /* how long a task takes to stop, at most; estimates include it */
	uint64_t _reserved[4];
};

#define BATON_RULES_CONFIG_INIT                                                                    \
	{                                                                                          \
		0, {0}, {0}, 0, BATON_RULES_OVERRUN, BATON_RULES_KEEP, 0, 0,                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* The tasks of one kind: those that run, by their start, then those that wait, by number. */
struct baton_rules_line {
	struct baton_rules_entry *_first;
	struct baton_rules_entry *_last;
	struct baton_rules_entry *_waiting;
	struct baton_rules_entry *_planned;
	uint32_t _running;
};

/* The entries of one sort; a member of a machine. Its members are private. */
struct baton_rules_peers {
	struct baton_rules_entry *_first;
	struct baton_rules_entry *_last;
	uint32_t _count;
};

/* How far the plan has looked at one limit. */
struct baton_rules_level {
	uint64_t _at;
	uint32_t _busy;
	uint32_t _ghosts;
	uint64_t _ghosts_end;
	struct baton_rules_entry *_started[BATON_RULES_CLASSES_MAX + 1];
	struct baton_rules_entry *_ended[BATON_RULES_CLASSES_MAX + 1];
};

/* The machine. Its members are private. It is the caller's memory, and must not move. */
struct baton_rules {
	const struct baton_rules_events *_events;
	struct baton_rules_config _config;
	struct baton_rules_line _lines[BATON_RULES_CLASSES_MAX + 1];
	struct baton_rules_peers _assigned[BATON_RULES_CLASSES_MAX];
	struct baton_rules_peers _interactive;
	struct baton_rules_peers _halted;
	struct baton_rules_level _levels[BATON_RULES_CLASSES_MAX];
	uint32_t _busy[BATON_RULES_CLASSES_MAX];
	uint32_t _lost_busy[BATON_RULES_CLASSES_MAX];
	uint64_t _numbers;
	uint64_t _now;
	uint64_t _random;
	uint64_t _planned_at;
	uint64_t _waiting;
	uint32_t _pass;
	uint32_t _valid_from;
	uint8_t _plan;
	bool _stale;
	bool _late;
};

/*
 * Begins a machine without tasks. `config` is copied; `events` lives as long as the machine.
 * Errors: -EINVAL: more than 8 classes; a duration is 0, or shorter than the one before; the limits
 * do not nest; the reserve is not below limit 0; no such policy; no function `start`.
 */
BATON_MUST_USE int baton_rules_init(struct baton_rules *rules,
                                    const struct baton_rules_config *config,
                                    const struct baton_rules_events *events) BATON_NONNULL;

/*
 * A task arrives, behind all that wait. It starts within the call, or waits, or is denied (an
 * interactive one).
 *
 * arrive_at: the task has an arrival number already, and waits at its old place: its backend was
 * lost, or another machine knew it. Tasks that arrive later have higher numbers.
 *
 * Ownership: the entry is the machine's until it has finished, was withdrawn, or was denied.
 * Errors: the entry is untouched: -EAGAIN: denied. -EALREADY: it has arrived, and is not over.
 * -EINVAL: no such class. arrive_at: also -EINVAL: an interactive task, or the number UINT64_MAX
 * (no later arrival could have a higher one). -EEXIST: a task of its kind waits with that number.
 */
BATON_MUST_USE int baton_rules_arrive(struct baton_rules *rules, struct baton_rules_entry *entry,
                                      uint64_t now_ns) BATON_NONNULL;
BATON_MUST_USE int baton_rules_arrive_at(struct baton_rules *rules, struct baton_rules_entry *entry,
                                         uint64_t number, uint64_t now_ns) BATON_NONNULL;

/* A task that another machine started: its arrival number, its start, and its class. */
struct baton_rules_run {
	uint64_t number;
	uint64_t started_ns;
	uint32_t assigned; /* of a default; otherwise of no effect */
};

/*
 * A task runs already: for a machine that is rebuilt from a record. Restore the tasks that run;
 * then arrive_at those that wait. If more run than the limits allow: see baton_rules_set_limits().
 * Errors: the entry is untouched: -EALREADY, -EINVAL as for arrive; -EINVAL: no such class is
 * assigned, the number is UINT64_MAX, or the start lies in the future.
 */
BATON_MUST_USE int baton_rules_restore(struct baton_rules *rules, struct baton_rules_entry *entry,
                                       const struct baton_rules_run *run,
                                       uint64_t now_ns) BATON_NONNULL;

/*
 * A task that was started is over, whatever ended it; the entry is the caller's again. To be called
 * also for a task that was halted, or has overrun.
 * Errors: -EINVAL: the entry is not running.
 */
BATON_MUST_USE int baton_rules_finish(struct baton_rules *rules, struct baton_rules_entry *entry,
                                      uint64_t now_ns) BATON_NONNULL;

/*
 * A task that waits will not run; the entry is the caller's again.
 * Errors: -EINPROGRESS: the task runs, or was halted: stop it, and call finish. -EINVAL: the entry
 * has not arrived.
 */
BATON_MUST_USE int baton_rules_withdraw(struct baton_rules *rules, struct baton_rules_entry *entry,
                                        uint64_t now_ns) BATON_NONNULL;

/*
 * Changes the limits, `limits` as many as there are classes. If more runs than a new limit allows,
 * no task of a class is stopped: defaults are brought down as far as that helps, interactive ones
 * are halted, and nothing starts above the limit.
 * Errors: nothing happens: -EINVAL as for init.
 */
BATON_MUST_USE int baton_rules_set_limits(struct baton_rules *rules, const uint32_t *limits,
                                          uint32_t reserve, uint64_t now_ns) BATON_NONNULL_AT(1);

/*
 * Time has passed: looks for tasks that overrun, runs the cycle, and renews estimates. Returns when
 * it wants to be called next (BATON_NEVER: not at all); `next` tells the same after other calls.
 */
uint64_t baton_rules_tick(struct baton_rules *rules, uint64_t now_ns) BATON_NONNULL;
uint64_t baton_rules_next(const struct baton_rules *rules) BATON_NONNULL;

/*
 * At most how long the task waits from the last call's `now_ns` on: 0 if it does not wait.
 * BATON_NEVER: that is not known (yet).
 */
uint64_t baton_rules_estimate(const struct baton_rules *rules,
                              const struct baton_rules_entry *entry) BATON_NONNULL;

/* waiting: how many tasks wait. running: how many tasks that run count towards the limit of this
 * class (class 0: all that run, interactive tasks included). */
uint64_t baton_rules_waiting(const struct baton_rules *rules) BATON_NONNULL;
uint32_t baton_rules_running(const struct baton_rules *rules, uint32_t class_number) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
