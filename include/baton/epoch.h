/* SPDX-License-Identifier: MIT */
/*
 * Epochs let a thread read a structure without a lock while another thread takes parts out of it
 * and frees them. A reader is in a section. A part is freed after every section that might have
 * found the part is over. The mechanism is Concurrency Kit's ck_epoch, with what
 * ck_epoch leaves to its users: who has a record, and who drives it.
 *
 * A thread's record is made at its first section, and passes at its exit to a later thread. Records
 * hold no garbage. Garbage lies in a limbo, which belongs to the thread that changes the structure;
 * where the structure belongs to a resource, to the resource's baton.
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
 * while one lasts, retired memory stays anywhere in the process. Do not wait in a section, nor run
 * a task that may run other threads' tasks. A thread does not end in a section (asserted). leave:
 * ends the section.
 *
 * Thread safety: any thread. Blocking: never.
 * Progress: wait-free, one atomic read-modify-write; a thread's first section allocates.
 * Errors: -ENOMEM, -ECHILD: see thread.h.
 */
BATON_MUST_USE int baton_epoch_enter(void);
void baton_epoch_leave(void);

/* Is the calling thread in a section? */
bool baton_epoch_inside(void);

/* Lies in what is retired: from then until its function is called. */
struct baton_retired {
	void *_function;
	void *_next;
};

typedef void (*baton_reclaim_fn)(struct baton_retired *retired);

struct baton_limbo;

/* Errors: -ENOMEM. */
BATON_MUST_USE int baton_limbo_create(struct baton_limbo **limbo);

/*
 * Has `reclaim` called, by a later poll of this limbo, when no section is left that began before
 * this call. No reader that begins a section from now on may find it any more: it has been taken
 * out of where readers look.
 *
 * Blocking: never.
 */
void baton_limbo_retire(struct baton_limbo *limbo, struct baton_retired *retired,
                        baton_reclaim_fn reclaim);

/*
 * Calls `reclaim` for what nobody can read any more; returns how much is left. Where no thread is
 * in a section that is all; else what was retired before the oldest section began, less what one
 * more poll would find. So who polls once for each change that he makes holds the garbage of the
 * changes made during one section, of any thread's; a thread stopped in a section delays nobody,
 * but memory grows until it goes on.
 *
 * Blocking: never. Cost: a look at each thread's record.
 * Ordering: all that readers did in their sections happens-before the call of `reclaim`.
 */
size_t baton_limbo_poll(struct baton_limbo *limbo);

/* Waits for the sections that hold up what is left, reclaims it, frees. */
void baton_limbo_destroy(struct baton_limbo *limbo);

#ifdef __cplusplus
}
#endif

#endif
