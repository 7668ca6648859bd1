/* SPDX-License-Identifier: MIT */
/*
 * Helping, and the end of a visit: a thread that did not capture the resource takes the baton.
 */
#ifndef BATON_SRC_HELP_H
#define BATON_SRC_HELP_H

#include "core/drain.h"

/*
 * What a visitor may do. help: true if it took the baton of the queued resource and did something
 * with it: within the budget, and up to the end of its wait. `last_look`: before the caller sleeps.
 * unlink: true if it took the baton and unlinked the cancelled task; the visit is then
 * over, and the future is not to be touched.
 */
bool baton__help(struct baton_resource *resource, struct baton__budget *budget, bool last_look);
bool baton__unlink(struct baton_resource *resource, struct baton_future *future,
                   uint32_t generation);

/* Gives a borrowed baton back (turn.h), or goes on as the runner; pops the frame. */
void baton__give_back(struct baton__frame *frame, struct baton_resource *resource);

/*
 * A counted visit is over: the last visitor may have to go on as the runner. This may run anything,
 * and enters executors (thread.h, T4).
 */
void baton__visit_end(struct baton_resource *resource);

/* Ends a visit; `generation`: from visit. True: it had been counted, see baton__visit_end. */
bool baton__leave(struct baton_future *future, struct baton_resource *resource,
                  uint32_t generation);

/* A visitor that has pushed something: if the runner has left to the visitors, it goes on here. */
void baton__visit_look(struct baton_resource *resource);

#endif
