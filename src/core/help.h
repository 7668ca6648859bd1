/* SPDX-License-Identifier: MIT */
/*
 * Helping, and the end of a visit: a visitor takes the baton of a resource that it did not capture.
 */
#ifndef BATON_SRC_HELP_H
#define BATON_SRC_HELP_H

#include "core/drain.h"

/*
 * What a visitor may do with a queued resource.
 * help: borrows the baton, and drains within the limits that the caller has set, up to the end of
 * the caller's wait. True: something was done. `last_look`: the caller is about to sleep.
 * unlink: borrows the baton, and unlinks the cancelled task of `future`. True: the visit is over,
 * and the caller does not touch the future any more. False: the resource was not queued.
 */
bool baton__help(struct baton_resource *resource, struct baton__stay *stay, bool last_look);
bool baton__unlink(struct baton_resource *resource, struct baton_future *future,
                   uint32_t generation);

/* Gives a borrowed baton back (turn.h), or continues as the runner. Pops the frame. */
void baton__give_back(struct baton__stay *stay);

/*
 * Ends a counted visit. If the runner has left, its last visitor continues as the runner: the call
 * may run anything, and may enter executors (thread.touch, thread.h).
 */
void baton__visit_end(struct baton_resource *resource);

/*
 * Ends a visit. `generation`: from baton__future_visit(). True: the visit was counted, and
 * baton__visit_end() was called for it.
 */
bool baton__leave(struct baton_future *future, struct baton_resource *resource,
                  uint32_t generation);

/* A visitor has pushed a kick: if the runner has left, the visitor continues in its place. */
void baton__visit_look(struct baton_resource *resource);

/*
 * Continues the drain, as a captured submitter does; or hands the resource off: with `later`, a
 * capture limit of 0, or too deep a stack. Called exactly once per shelve, at any time after the
 * shelve, by any thread that has a record. The caller touches the resource no more. If no executor
 * takes the resource, it is deferred: a caller that passes `later` calls baton__deferred_check()
 * when the resource may run here.
 */
void baton__unshelve(struct baton_resource *resource, bool later);

#endif
