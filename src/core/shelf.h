/* SPDX-License-Identifier: MIT */
/*
 * The shelf: the baton of a BUSY resource, held by nobody; see shelf.c.
 */
#ifndef BATON_SRC_SHELF_H
#define BATON_SRC_SHELF_H

#include "core/resource.h"
#include "core/marks.h"

/*
 * By the holder, in a task of the resource (perhaps not the innermost one of this thread): when
 * that task returns the runner leaves. At most once per task.
 */
void baton__shelve(struct baton_resource *resource);

/* Takes a shelve of the running task's back, while nobody knows that he is to unshelve. */
void baton__shelve_undo(struct baton_resource *resource);

/*
 * Exactly once per shelve, at any time after it, on any thread that has a record: goes on with the
 * resource, as a captured submitter does; or (`later`, a limit of 0, too deep a stack) gives it to
 * its executor. Touch it no more. Where no executor takes it, it is deferred: who says `later`
 * calls baton__deferred_check() when it may run here.
 */
void baton__unshelve(struct baton_resource *resource, bool later);

/* Shelves an idle resource, whose word that is. False: it is not idle (any more). */
bool baton__shelve_idle(struct baton_resource *resource, uintptr_t idle);

/* Will the holder leave, or stay only because the unsheller has come already? The holder. */
BATON_INLINE bool baton__shelving(const struct baton_resource *resource)
{
	return baton__turn_is_shelving(resource);
}

/* The holder, before it runs the next task. True: it has left: touch the resource no more. */
bool baton__shelf_leave(struct baton__frame *frame, struct baton_resource *resource);

/* Suspend marks: struct baton__awaiter, each told when its suspension has taken effect. */
extern const struct baton__kind baton__suspend_kind;

/* This suspend mark, unlinked, has been cancelled. The holder. */
void baton__suspend_cancelled(struct baton_resource *resource, struct baton_task *mark);

/* The same list, suspend marks first. */
struct baton_task *baton__suspend_marks_first(struct baton_task *list);

/* What a suspend mark completes. */
BATON_INLINE struct baton_future *baton__mark_future(struct baton_task *mark)
{
	return &baton_container_of(mark, struct baton__awaiter, task)->counted.future;
}

#endif
