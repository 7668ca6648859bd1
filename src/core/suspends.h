/* SPDX-License-Identifier: MIT */
/*
 * The suspend marks that the holder has found and not met yet. The suspensions of a resource take
 * effect in the order of their marks. Any number of marks may wait, since each suspension waits for
 * the resume of the suspensions before it. To find, to meet or to withdraw a mark takes O(1).
 *
 * Invariants:
 * suspends.first: _list has at most one suspend mark, at its head. This mark is the oldest suspend
 *    mark found. It carries all other suspend marks found, oldest first, in `others`, up to
 *    `others_last`.
 * suspends.index: The _value of a carried suspend mark's future points to the suspend mark before
 *    the carried one. The _value of the first mark's future is not NULL.
 */
#ifndef BATON_SRC_SUSPENDS_H
#define BATON_SRC_SUSPENDS_H

#include "core/list.h"

/*
 * Takes the suspend marks out of the chain, linked oldest first. Returns the marks in the same
 * order; NULL: there are none. `*last`: the last of them.
 */
struct baton_task *baton__suspends_out(struct baton_task **chain, struct baton_task **last);

/* Puts a chain of suspend marks, oldest first, behind the suspend marks that were found earlier. */
void baton__suspends_add(struct baton_resource *resource, struct baton_task *first,
                         struct baton_task *last);

/* The mark has left the head of _list: the first mark that it carries takes its place. */
void baton__suspends_next(struct baton_resource *resource, struct baton_task *mark);

/* Unlinks the carried suspend mark of `future`; `before`: the suspend mark before it. */
struct baton_task *baton__suspends_unlink(struct baton_resource *resource,
                                          struct baton_task *before,
                                          const struct baton_future *future);

#endif
