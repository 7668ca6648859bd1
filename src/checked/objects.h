/* SPDX-License-Identifier: MIT */
/* The checks of resources and tasks, for the functions that wrap the public ones. */
#ifndef BATON_SRC_CHECKED_OBJECTS_H
#define BATON_SRC_CHECKED_OBJECTS_H

#include "checked/records.h"
#include "core/config.h"

/* Checks that what a program gives to `call` is an initialised resource, still as it was. */
void baton__checked_resource(struct baton_resource *resource, const char *call);

/* To be called after baton_resource_deinit. */
void baton__checked_deinit(struct baton_resource *resource, const char *call);

/* One more, or one less, suspension of the resource. */
void baton__checked_suspended(struct baton_resource *resource, bool more);

/* Checks that the task has a function, and waits in no resource. */
void baton__checked_idle(const struct baton_resource *resource, const struct baton_task *task,
                         const char *call);

/*
 * The same, and notes that the task waits. Called before the submit: when the submit returns, the
 * task may have run, and its memory may be gone. Returns a number for baton__checked_submitted.
 */
uint64_t baton__checked_submit(struct baton_resource *resource, struct baton_task *task,
                               const char *call);

/* The submit has returned `error`. Touches neither task nor resource. */
void baton__checked_submitted(const struct baton_task *task, uint64_t serial, int error);

#endif
