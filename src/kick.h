/* SPDX-License-Identifier: MIT */
/*
 * Layer 5: kicks: what is to be done under the baton although it is no task; and what goes with
 * them, visitors that take the baton over, windowed tasks.
 */
#ifndef BATON_SRC_KICK_H
#define BATON_SRC_KICK_H

#include "resource.h"

/*
 * Has `mark`'s function called once under the baton, of a closed resource as well, and not before
 * what was submitted earlier (with lanes: as soon as the inbox is sorted). It is no task: neither
 * counted in the statistics nor cancelled; it counts for the limits of the stay, as does what it
 * puts before _list. The caller has a record, and keeps the resource from being released for good:
 * it holds the baton, or a visit. May run anything.
 */
void baton__kick(struct baton_resource *resource, struct baton_task *mark);

/*
 * The same of a resource that is not closed before the kick has run. The caller needs no visit: the
 * push is the last touch of the resource.
 */
void baton__kick_open(struct baton_resource *resource, struct baton_task *mark);

/* A visitor that has pushed something: if the runner has left to the visitors, it goes on here. */
void baton__visit_look(struct baton_resource *resource);

/* A visitor takes the baton that the runner has left to the visitors; false: it is not there. */
bool baton__leaving_undone(struct baton_resource *resource);

/* As baton__visit_end, but runs nothing: true: it was the last visit, the caller is the holder. */
bool baton__visit_end_only(struct baton_resource *resource);

/*
 * Windowed tasks (layer 7 defines these), recognised by their run function. keeps: under the baton:
 * true: its window is full and has taken the task. drop: it is cancelled instead of being run.
 */
int baton__windowed_run(struct baton_task *task);
bool baton__windowed_keeps(struct baton_task *task);
void baton__windowed_drop(struct baton_task *task);

#endif
