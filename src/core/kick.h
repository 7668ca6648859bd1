/* SPDX-License-Identifier: MIT */
/*
 * Kicks: functions that run under the baton although they are no tasks; and their
 * companions: visitors that take the baton over, and windowed tasks.
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

/* A visitor that has pushed something: if the runner has left to the visitors, it goes on here. */
void baton__visit_look(struct baton_resource *resource);

/*
 * Windowed tasks (module/window.c defines these), recognised by their run function. keeps: under
 * the baton: true: its window is full and has taken the task. drop: it is cancelled instead of
 * being run.
 */
int baton__windowed_run(struct baton_task *task);
bool baton__windowed_keeps(struct baton_task *task);
void baton__windowed_drop(struct baton_task *task);

#endif
