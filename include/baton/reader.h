/* SPDX-License-Identifier: MIT */
/*
 * Readers: tasks and holds that look at a resource's state and change nothing of it. Readers that
 * follow each other run side by side, on as many threads as there are. An ordinary task or hold, a
 * writer, runs alone: it sees all that the readers before it did, and the readers behind it see all
 * that it did.
 *
 * Most look-ups want a published pointer instead (published.h). Readers are for long looks at state
 * that changes in place. A shared hold is for a thread that wants the outcome now, a reader task
 * for one that goes on.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 *	struct topic {
 *		struct baton_resource resource;
 *		struct baton_readers readers; // BATON_READERS_INIT(&topic->resource)
 *	};
 *
 *	struct search {
 *		struct baton_task task;
 *		struct baton_reader reader;
 *		...
 *	};
 *
 *	static const struct baton_task_type search_type = {
 *		.run = search_run,
 *		.reader = BATON_TASK_PLACE(struct search, task, reader),
 *	};
 *
 *	baton_task_init_of(&search->task, &search_type);
 *	baton_reader_init(&search->reader, &topic->readers);
 *	error = baton_submit(&topic->resource, &search->task);
 *
 *                          | may run beside                 | from
 *   submit, cancel         | everything but init, deinit    | any thread
 *   hold_shared, _until    | the same                       | any thread, also inside tasks
 *   release_shared         | the same; nothing on this hold | the thread that holds
 *   at_work, reading       | everything but init, deinit    | any thread
 *   init, deinit           | nothing                        | the owner
 *
 * Where a reader runs. On an idle resource, or beside readers at work where no task waits, a reader
 * runs on this thread. Behind a task that waits the reader waits, too, and runs as any task does:
 * no reader overtakes a writer whose submit happens before its own.
 *
 * Corner cases. A look-up by a published pointer needs no task, no order, and no atomic operation
 * that other CPUs see. W22 in test/bench/README.md tells from which length of a look on readers
 * pay. When a worker of the pool comes to a reader, it takes the readers that follow, up to 31, and
 * other workers help it.
 *
 * Calls and posts have no form for readers. baton_hold_shared(), the function, and
 * baton_release_shared() are such a call: no other thread does better, since the caller itself may
 * run beside the readers at work. A reader that nobody waits for is a task in a struct of the
 * program's.
 *
 * Order. Readers between two writers may begin, end, and complete their futures in any order.
 *
 * Readers run one after the other, as ordinary tasks, where the executor is not a pool (executor.h,
 * `offer`), with BATON_CAPTURE_NONE, and with drain hooks. In a resource with lanes or a bound no
 * reader joins readers at work; those that waited run side by side.
 *
 * In a reader baton_current() is the resource, and baton_held() is false, since other readers run
 * beside it. A reader may submit to any resource, its own included; wait for other resources; set a
 * result; ask whether it is cancelled; suspend or close its resource (which takes effect behind the
 * readers at work); and detach itself, but not with BATON_DETACH_EXCLUSIVE (-EPERM). A reader uses
 * no undo log of its resource (asserted). A wait for a task of the reader's own resource returns
 * -EDEADLK.
 *
 * What a config names runs beside the same of other readers: `enter`, `leave`, `failed` and
 * `cancelled`. Tags, cancels and futures: as of any task. But baton_resource_cancel_pending()
 * cancels no reader that has been taken to run; and a wait for such a reader counts as a wait for
 * the readers at work, when cycles of waits are looked for. Limits: a worker's readers that run
 * together count as one task. Statistics: as of any task; a board shows the function of the first
 * reader.
 *
 * Source: fair reader-writer queues (Mellor-Crummey, Scott 1991); concurrent and barrier blocks of
 * libdispatch's queues.
 */
#ifndef BATON_READER_H
#define BATON_READER_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/hold.h>
#include <baton/resource.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The readers of one resource. Readers of two of these run side by side with their own only. */
struct baton_readers {
	struct baton_resource *_resource;
	void *_party;
	uint32_t _state;
	uint32_t _unused;
	uint64_t _reserved[4];
};

#define BATON_READERS_INIT(resource)                                                               \
	{                                                                                          \
		(resource), NULL, 0, 0,                                                            \
		{                                                                                  \
			0, 0, 0, 0                                                                 \
		}                                                                                  \
	}
void baton_readers_init(struct baton_readers *readers,
                        struct baton_resource *resource) BATON_NONNULL;

/* Frees what readers have allocated. Asserts that no reader is at work. Thread safety: the owner,
 * when no reader waits any more: in the resource's finaliser, or after its await. */
void baton_readers_deinit(struct baton_readers *readers) BATON_NONNULL;

/* The part of a task that is a reader. Submit the task to the resource of its `readers`
 * (asserted), by any call. */
struct baton_reader {
	struct baton__part _part;
	struct baton_readers *_readers;
};

/* The task is a reader. Thread safety: the task's owner, after baton_task_init_of(), and before the
 * task is submitted. */
void baton_reader_init(struct baton_reader *reader, struct baton_readers *readers) BATON_NONNULL;

/* How many readers run side by side, or have been taken to run. A hint: a reader that has the baton
 * alone may not be counted, and the runner that lets holds in is counted for a moment. Any thread.
 * Blocking: never. */
uint32_t baton_readers_at_work(const struct baton_readers *readers) BATON_NONNULL;

/* One shared hold. The caller's memory; not to be copied or given back in use. Zero: not in use. */
struct baton_shared_hold {
	struct baton_hold _hold;
	struct baton_readers *_readers;
	struct baton__reading _reading;
	uint64_t _reserved[4];
};

#define BATON_SHARED_HOLD_INIT                                                                     \
	{                                                                                          \
		BATON_HOLD_INIT, NULL, {NULL, NULL},                                               \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/*
 * hold_shared: the calling thread becomes a reader until it releases the hold. It waits while an
 * ordinary task or hold has the resource, or waits for it. hold_shared_until: at most until
 * `deadline_ns` (time.h); a deadline in the past: only where the thread need not wait.
 *
 *	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
 *
 *	if (baton_hold_shared(&topic->readers, &hold))
 *		return 1;
 *	found = find(topic, key);           (on this thread, beside other readers)
 *	return baton_release_shared(&hold);
 *
 * Thread safety: any thread, also inside tasks. Blocking: yes.
 * Ownership: hold, readers and resource must live until the release.
 * Errors: as baton_hold(), baton_hold_until() (hold.h). -EDEADLK also: this thread is a reader of
 * the resource.
 *
 * Corner cases. What hold.h says of a hold is true of a shared hold, too: where it ends, deadlines,
 * cancels, closes, suspensions, bounds, lanes, statistics, a fork's child. Holds of both sorts are
 * released in any order.
 *
 * Inside, baton_current() is the resource, baton_reading() is true and baton_held() is false. There
 * is no way from a shared hold to a hold: inside, a hold, a shared hold, a call or an await of the
 * resource returns -EDEADLK, always. A submit queues its task, also that of a reader.
 *
 * A shared hold of an idle resource costs three atomics, one that joins readers costs two, where
 * the resource has no statistics. Shared holds that wait behind an ordinary task are granted
 * together, up to 32 of them.
 *
 * Where readers run one after the other, a shared hold has the resource alone. baton_held() is
 * false all the same.
 */
BATON_MUST_USE int baton_hold_shared(struct baton_readers *readers,
                                     struct baton_shared_hold *hold) BATON_NONNULL;
BATON_MUST_USE int baton_hold_shared_until(struct baton_readers *readers,
                                           struct baton_shared_hold *hold,
                                           uint64_t deadline_ns) BATON_NONNULL;

/*
 * Ends a shared hold. If this thread is the last reader, it goes on with the resource: up to the
 * capture limit of tasks run here; inside a task or another hold they go to the executor.
 *
 * Thread safety: the thread that holds. Blocking: never (apart from what the tasks that run here
 * do).
 * Errors: as baton_release() (hold.h).
 */
BATON_MUST_USE int baton_release_shared(struct baton_shared_hold *hold) BATON_NONNULL;

/*
 * Does the calling thread run a reader of the resource, or a function that such a reader calls; or
 * has it a shared hold of the resource?
 *
 * Thread safety: any thread, about itself. Blocking: never.
 */
bool baton_reading(const struct baton_resource *resource) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
