/* SPDX-License-Identifier: MIT */
/*
 * Calls whose task is the library's: post, async, call. At most 16 of them, each of which runs once
 * if it was accepted, unless something was cancelled.
 */
#ifndef BATON_SIM_POSTS_H
#define BATON_SIM_POSTS_H

#include <baton.h>

#include <stdbool.h>

void sim_post(struct baton_resource *resource);
/* `wait`: for its value, or else the future is dropped at once. */
void sim_async(struct baton_resource *resource, bool wait);
void sim_call(struct baton_resource *resource, bool try);

/* From inside a task of the resource, where it can but fail: baton_call's status. */
int sim_call_inside(struct baton_resource *resource);

/* One whose call nobody counts. */
void *sim_nothing(void *argument);

/* What was accepted may have been cancelled; nobody is told of these. */
void sim_posts_cancelled(void);

void sim_check_posts(void);

#endif
