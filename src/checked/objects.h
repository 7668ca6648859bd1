/* SPDX-License-Identifier: MIT */
/* The checks of resources and tasks, for the functions that wrap the public ones. */
#ifndef BATON_SRC_CHECKED_OBJECTS_H
#define BATON_SRC_CHECKED_OBJECTS_H

#include "checked/records.h"

/* A program gives the resource to `call`: is it a resource, and the one that it was? */
void baton__checked_resource(struct baton_resource *resource, const char *call);

/* The same for baton_resource_init, before it; and for _deinit, after it. */
void baton__checked_init(struct baton_resource *resource, const char *call);
void baton__checked_deinit(struct baton_resource *resource, const char *call);

/* One more, or one less, suspension of the resource. */
void baton__checked_suspended(struct baton_resource *resource, bool more);

/* Can the task be entered, and does it wait nowhere? */
void baton__checked_idle(const struct baton_resource *resource, const struct baton_task *task,
                         const char *call);

/*
 * The same, and notes that the task waits. Called before the submit, since the task may run, and
 * its memory be gone, when that returns. Returns a number for the call of submitted.
 */
uint64_t baton__checked_submit(struct baton_resource *resource, struct baton_task *task,
                               const char *call);

/* The submit has returned `error`. Touches neither task nor resource. */
void baton__checked_submitted(const struct baton_task *task, uint64_t serial, int error);

#endif
