/* SPDX-License-Identifier: MIT */
/*
 * The lanes of a resource, between its inbox and its _list. Only the holder touches them, save the
 * counts, which any thread may read. The functions are entries of a table (core/backlog.h), for
 * resources that have lanes.
 *
 * Invariants:
 * lane.list: _list holds what runs next: one picked or admitted task, or marks that the runner has
 *    reached, or, on a resource just captured, the captured task or mark. _picked is in _list, or
 *    has left _list. The holder looks at the inbox, forgets _picked, and fills the empty _list.
 *    Between two fills only marks come into _list.
 * lane.age: Tasks in the lanes are older than tasks in the inbox. Tasks in _unsorted are older than
 *    tasks that are taken from the inbox later.
 * lane.older: The first _older tasks of each lane were accepted before the marks in _marks; _older
 *    of struct baton_lanes is the sum. These numbers are set when the first mark comes into _marks,
 *    and anew when _marks_later become the _marks. So no mark waits for a task that is sorted after
 *    the numbers were set.
 * lane.busy: Bit n of _busy is set while lane n has tasks.
 * lane.paused: While _paused is above 0 no task of a lower lane is in _list, the resource is not
 *    idle, and marks wait for the lower lanes' admitted tasks, too.
 * lane.admitted: The _value of a future whose task is in _admitted, or has come from there into
 *    _list, is the entry before that task, as in a plain list (list.back_link, core/list.h). The
 *    _value of a list's first entry may name an entry that has gone.
 */
#ifndef BATON_SRC_LANE_H
#define BATON_SRC_LANE_H

#include <baton/lane.h>

#include "core/backlog.h"

/* Makes the resource's gauge, if there is a gauge, count by lanes, if there are lanes. Called by
 * the owner, before the first submit. */
void baton__lanes_show(const struct baton_resource *resource);

/* Sorts a chain taken from the inbox, oldest first. `cancel`: obeys the cancel marks in it. */
void baton__lanes_take(struct baton_resource *resource, struct baton_task *oldest, bool cancel);

/* Keeps a chain accepted together with a capture, unsorted. NULL: forgets that chain. */
void baton__lanes_keep(struct baton_resource *resource, struct baton_task *oldest);

/* Fills the empty _list, after a look at the inbox. False: there is neither task nor mark. */
bool baton__lanes_next(struct baton_resource *resource);

/* Puts the picked task back into its lane, if it has not been entered. */
void baton__lanes_put_back(struct baton_resource *resource);

/* Takes tasks that have waited in a window: they go before all tasks in the lanes. */
void baton__lanes_admit(struct baton_resource *resource, struct baton_task *first,
                        struct baton_task *last);

/* What is there besides _list? */
enum baton__backlog_has baton__lanes_has(const struct baton_resource *resource);

/* Must the resource rest where it would become idle? Yes, while the lower lanes are suspended. */
bool baton__lanes_rest(const struct baton_resource *resource);

/*
 * Called by the holder. pause: from here on the resource runs tasks of lane 0 alone, until as many
 * calls of unpause have come.
 */
void baton__lanes_pause(struct baton_resource *resource);
void baton__lanes_unpause(struct baton_resource *resource);

/* Cancels all tasks; marks stay. */
void baton__lanes_cancel(struct baton_resource *resource);

/* Unlinks the future's task. NULL: the task is not here. */
struct baton_task *baton__lanes_unlink(struct baton_resource *resource,
                                       struct baton_future *future);

#endif
