/* SPDX-License-Identifier: MIT */
/*
 * Functions instead of tasks: what labelled posts and the runner need of them.
 */
#ifndef BATON_SRC_CALL_H
#define BATON_SRC_CALL_H

#include "core/resource.h"

/* Captures an idle resource and runs fn at once, without a task. False: it is not idle. */
bool baton__call_at_once(struct baton_resource *resource, baton_call_fn fn, void *arg);

#endif
