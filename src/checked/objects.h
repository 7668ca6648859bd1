/* SPDX-License-Identifier: MIT */
/* The checks of resources, tasks, timers and waits: what base/checked.h says of each. */
#ifndef BATON_SRC_CHECKED_OBJECTS_H
#define BATON_SRC_CHECKED_OBJECTS_H

#include <baton/timer.h>

#include "base/checked.h"
#include "checked/records.h"

/* A walk looks at so many of a queue's newest tasks. Each task is looked at when entered, too. */
#define LOOKS_MAX 256U

/* objects.c */
void baton__check_init(struct baton_resource *resource, const char *function);
void baton__check_resource(struct baton_resource *resource, const char *function);
void baton__check_deinit(struct baton_resource *resource, const char *function);
void baton__check_left(struct baton_resource *resource);
void baton__check_suspended(struct baton_resource *resource, bool more);
void baton__check_use(struct baton_resource *resource);
void baton__check_hand_off(struct baton_resource *resource, const void *executor);

/* tasks.c */
bool baton__check_submit(struct baton_resource *resource, struct baton_task *const *tasks,
                         size_t count, const char *function, void **checked);
void baton__check_submitted(void *checked, struct baton_resource *resource, int outcome,
                            const char *function, const void *caller);
void baton__check_submits_own(void);
void baton__check_finaliser(struct baton_resource *resource, const struct baton_task *task,
                            const char *function);
void baton__check_enter(struct baton_resource *resource, struct baton_task *task);
void baton__check_drop(struct baton_task *task);
void baton__check_take(struct baton_resource *resource);

/* arming.c. entered: forgets the timer whose first member the task is, if there is one. */
void baton__check_timer_init(struct baton_timer *timer, struct baton_resource *resource, bool given,
                             const char *function);
void baton__check_timer_arm(struct baton_timer *timer, const char *function);
void baton__check_timer_stop(const struct baton_timer *timer, const char *function);
void baton__check_timer_entered(const struct baton_task *task);

/* ends.c */
void baton__check_wait(struct baton_future *future, bool for_ever, const char *function);

#endif
