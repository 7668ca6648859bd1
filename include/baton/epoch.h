/* SPDX-License-Identifier: MIT */
/*
 * Epochs let a thread read a structure without a lock while another thread takes parts out of it
 * and frees them. A reader is in a section. A part is freed after every section that might have
 * found the part is over. The mechanism is Concurrency Kit's ck_epoch. This header adds what
 * ck_epoch leaves to its users: which thread has which record, and when memory is reclaimed.
 *
 * A thread's record is made at its first section, and passes at its exit to a later thread. Records
 * hold no garbage. Garbage lies in a limbo. A limbo is used by one thread at a time, the thread
 * that changes the structure: for example the holder of a resource's baton.
 *
 *                    | may run beside                   | from
 *   enter, leave     | everything                       | any thread, also inside tasks
 *   retire, poll     | sections, other limbos' calls    | one at a time per limbo (a baton)
 *   limbo_destroy    | sections, other limbos' calls    | the owner, outside sections
 *
 * Source: Fraser, Practical lock-freedom (2004); Concurrency Kit's ck_epoch.
 */
#ifndef BATON_EPOCH_H
#define BATON_EPOCH_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * enter: begins a section of this thread. What the thread finds by acquire loads from here on stays
 * until the section's end, even if another thread retires it. Sections nest. Keep sections short:
 * while a section lasts, no memory that is retired during the section is freed, in any limbo of the
 * process. Do not wait in a section, nor run a task that may run other threads' tasks: the checked
 * library stops a call, a hold and each wait in a section. A thread does not end in a section
 * (asserted). leave: ends the section.
 *
 * Thread safety: any thread. Blocking: never.
 * Progress: wait-free, one atomic read-modify-write; a thread's first section allocates.
 * Errors: -ENOMEM, -ECHILD: see thread.h.
 */
BATON_MUST_USE int baton_epoch_enter(void);
void baton_epoch_leave(void);

/* Is the calling thread in a section? */
bool baton_epoch_inside(void);

/* A member of what is retired. baton uses it from the retire until `reclaim` is called. */
struct baton_retired {
	void *_function;
	void *_next;
};

typedef void (*baton_reclaim_fn)(struct baton_retired *retired);

struct baton_limbo;

/*
 * Creates a limbo: a list of objects that wait until no reader can see them.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: end it with baton_limbo_destroy().
 * Errors: -ENOMEM.
 */
BATON_MUST_USE int baton_limbo_create(struct baton_limbo **limbo) BATON_NONNULL;

/*
 * A later poll of this limbo calls `reclaim` on its own thread, or on this thread if it is the one
 * that polls, when no section is left that began before this call.
 * Before this call, take the object out of the structure, so that no reader that begins a section
 * later finds the object.
 *
 * Blocking: never.
 * Ownership: the object is the limbo's until `reclaim` has it.
 */
void baton_limbo_retire(struct baton_limbo *limbo, struct baton_retired *retired,
                        baton_reclaim_fn reclaim) BATON_NONNULL;

/*
 * Calls `reclaim` for the objects that no thread can read any more; returns the number of objects
 * that are left. If no thread is in a section, all objects are reclaimed. Otherwise those are
 * reclaimed that were retired before the oldest section began, though some of them may need one
 * more poll. So a thread that polls once for each of its changes holds the garbage of the changes
 * that were made during one section. A thread that is stopped in a section delays no thread, but
 * memory grows until it goes on.
 *
 * Blocking: never. Cost: a look at each thread's record.
 * Ordering: all that readers did in their sections happens-before the call of `reclaim`.
 */
size_t baton_limbo_poll(struct baton_limbo *limbo) BATON_NONNULL;

/* Waits until the sections that could read the remaining objects have ended, reclaims these
 * objects, and frees the limbo. */
void baton_limbo_destroy(struct baton_limbo *limbo) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
