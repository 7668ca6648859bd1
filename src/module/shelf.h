/* SPDX-License-Identifier: MIT */
/* The shelf: the baton of a BUSY resource that no thread holds. See shelf.c. */
#ifndef BATON_SRC_SHELF_H
#define BATON_SRC_SHELF_H

#include "core/awaiter.h"
#include "core/gauge.h"

/*
 * Called by the holder in a task of the resource, which need not be the innermost task of this
 * thread: when that task returns, the runner leaves. At most once per task. As long as no thread
 * has been told to unshelve, the holder may take the shelve back by baton__turn_unwant_shelf().
 *
 * shelve_for: `who` is shown as the thread that will unshelve, not this thread and its task.
 */
void baton__shelve(struct baton_resource *resource, enum baton__who_why why);
void baton__shelve_for(struct baton_resource *resource, const struct baton__who *who);

/* Shelves an idle resource whose word is `idle`. False: the word has changed. */
bool baton__shelve_idle(struct baton_resource *resource, uintptr_t idle);

/*
 * Continues the drain, as a captured submitter does; or hands the resource off: with `later`, or if
 * captures are off (BATON_CAPTURE_NONE), the stack is too deep, or many tasks wait in the inbox.
 * Called exactly once per shelve, at any time after the shelve, by any thread that has a record.
 * The caller touches the resource no more. If no executor takes the resource, it is deferred: a
 * caller that passes `later` calls baton__deferred_check() when the resource may run here.
 */
void baton__unshelve(struct baton_resource *resource, bool later);

/* As baton__unshelve() without `later`, by a thread that has had the resource for what counts as
 * one task. */
void baton__unshelve_held(struct baton_resource *resource);

/*
 * Continues in the place of a holder that has left the resource to this thread (lend.h). Shelves
 * the baton, if the holder's task has asked for that; else continues the drain, as
 * baton__unshelve() with `later` does. Called by the holder, which has no frame.
 */
void baton__unshelve_left(struct baton_resource *resource);

/* Suspend marks. The future of the awaiter completes when the suspension has taken effect. */
struct baton__suspend_mark {
	struct baton__awaiter awaiter;
	struct baton__who who;
};

extern const struct baton__kind baton__suspend_kind;

#endif
