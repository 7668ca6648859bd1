/* SPDX-License-Identifier: MIT */
/*
 * Finds marks and tasks among the entries that wait: in the plain list, _list, and in the inbox
 * behind _list. The holder calls these functions. The time for each entry does not depend on the
 * number of entries that wait.
 *
 * While _list has tasks, new entries stay in the inbox: their place is behind those tasks, and no
 * pointer to the end of _list is kept. A look walks over the entries that are new since the last
 * look. It takes out the marks that are to be obeyed before the next task, and sets LOOKED in each
 * entry that stays. So each entry is walked over once in the inbox, and once when the inbox is
 * taken.
 */
#ifndef BATON_SRC_INBOX_H
#define BATON_SRC_INBOX_H

#include "core/resource.h"

/* Takes the inbox, obeys its cancel marks, and puts the rest behind _list, or into the order of the
 * backlog. */
void baton__take(struct baton_resource *resource);

/*
 * Does what ATTENTION asks for while _list has entries: clears ATTENTION, obeys the inbox's cancel
 * marks, and puts the inbox's suspend marks first in _list, behind the suspend marks found earlier.
 * False: there was nothing to do.
 */
bool baton__look(struct baton_resource *resource);

/* Takes the first entry out of _list. */
struct baton_task *baton__list_pop(struct baton_resource *resource);

/* Unlinks the entry of `future`. `before`: the index of that entry. */
struct baton_task *baton__unlink_behind(struct baton_resource *resource, struct baton_task *before,
                                        const struct baton_future *future);

/* Unlinks the task of `future`, which is CANCELLING. NULL: the task does not wait here. */
struct baton_task *baton__backlog_unlink(struct baton_resource *resource,
                                         struct baton_future *future);

#endif
