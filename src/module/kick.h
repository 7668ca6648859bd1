/* SPDX-License-Identifier: MIT */
/* Kicks: functions that run under the baton although they are no tasks. */
#ifndef BATON_SRC_KICK_H
#define BATON_SRC_KICK_H

#include "core/resource.h"

/*
 * Calls the function of `mark` once, under the baton of the resource, which may be closed. The kick
 * runs after all tasks that were submitted earlier; with lanes, as soon as the inbox is sorted. A
 * kick is no task: the statistics do not count it, and a cancel of the queued tasks leaves it
 * alone. The limits of the stay count the kick, and the tasks that the kick puts before _list.
 *
 * The caller has a record. It holds the baton or a visit, so that the resource is not released for
 * good. The call may run any function of the user's.
 */
void baton__kick(struct baton_resource *resource, struct baton_task *mark);

/*
 * The same for a resource that, until the kick has run, is open or is kept from its release by
 * suspended lanes. The caller needs no visit: its last touch of the resource is the push.
 */
void baton__kick_open(struct baton_resource *resource, struct baton_task *mark);

/*
 * As baton__kick_open; if this thread becomes the holder, the tasks run on the executor. The caller
 * then calls baton__deferred_check().
 */
void baton__kick_later(struct baton_resource *resource, struct baton_task *mark);

#endif
