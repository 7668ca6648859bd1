/* SPDX-License-Identifier: MIT */
/*
 * Readers: tasks that look at a resource's state and change nothing of it. Readers that follow each
 * other run side by side, on as many threads as there are. An ordinary task, a writer, runs alone:
 * it sees all that the readers before it did, and the readers behind it see all that it did.
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
 *                     | may run beside          | from
 *   submit, cancel    | everything but the two  | any thread
 *   at_work, reading  | everything but the two  | any thread
 *   init, deinit      | nothing                 | the owner
 *
 * Where a reader runs. On an idle resource a reader runs on this thread, as any task does. A
 * baton_submit() that finds readers at work, and no task that waits, runs the reader on this
 * thread, beside them. Behind a task that waits the reader waits, too: no reader overtakes a writer
 * whose submit happens before its own. When a worker of the pool comes to a reader, it takes the
 * readers that follow, up to 31, and other workers help it.
 *
 * Corner cases. Use readers for long looks (W22 in test/bench/README.md tells how long). For
 * look-ups in what seldom changes use a published pointer (published.h): it needs no task, no
 * order, and no atomic operation that other CPUs see.
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

/* How many readers run, or have been taken to run. Thread safety: any thread; a hint. Blocking:
 * never. */
uint32_t baton_readers_at_work(const struct baton_readers *readers) BATON_NONNULL;

/*
 * Does the calling thread run a reader of the resource, or a function that such a reader calls?
 *
 * Thread safety: any thread, about itself. Blocking: never.
 */
bool baton_reading(const struct baton_resource *resource) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
