/* SPDX-License-Identifier: MIT */
/*
 * Kicks: functions that run under the baton although they are no tasks; and their
 * companions: visitors that take the baton over.
 */
#ifndef BATON_SRC_KICK_H
#define BATON_SRC_KICK_H

#include "core/resource.h"

/*
 * Calls `mark`'s function once under the baton, also of a closed resource, and not before the tasks
 * that were submitted earlier (with lanes: as soon as the inbox is sorted). A kick is no task: it
 * is neither counted in the statistics nor cancelled. It counts for the limits of the stay, as do
 * the tasks that it puts before _list. The caller has a record, and keeps the resource from being
 * released for good by holding the baton, or a visit. May run anything.
 */
void baton__kick(struct baton_resource *resource, struct baton_task *mark);

/*
 * The same for a resource that is not closed before the kick has run. The caller needs no visit:
 * the push is the last touch of the resource.
 */
void baton__kick_open(struct baton_resource *resource, struct baton_task *mark);

#endif
