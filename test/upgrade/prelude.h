/* SPDX-License-Identifier: MIT */
/* What the pieces in forms.txt are given: written for baton 0.2 and for 0.3. */
#ifndef BATON_TEST_UPGRADE_PRELUDE_H
#define BATON_TEST_UPGRADE_PRELUDE_H

#include <baton.h>
#if BATON_VERSION >= BATON_VERSION_OF(0, 3, 0)
#include <baton/admission.h>
#include <baton/all.h>
#include <baton/mainloop.h>
#endif
#include <stddef.h>
#include <time.h>

extern struct baton_resource *resource;
extern struct baton_resource **resources;
extern struct baton_task *task;
extern struct baton_future *future;
extern struct baton_future **futures;
extern struct baton_group *group;
extern struct baton_fan_out *fan_out;
extern struct baton_suspension *suspension, *suspensions;
extern struct baton_timer *timer;
extern struct baton_trigger *trigger;
extern struct baton_io *io;
extern struct baton_source *source;
extern struct baton_window *window;
extern struct baton_windowed *windowed_task;
extern const struct baton_task_type *type;
extern struct baton_pool *pool;
extern struct baton_plain_job *job;
extern struct baton_admission *admission;
extern struct baton_timers *timers;
extern struct baton_manual *manual;
extern struct baton_detached *token;
extern size_t count, index_of;
extern void *arg, *value;
extern int error;
extern struct timespec deadline;
extern uint64_t deadline_ns;

void *fn(void *arg);
void cancelled(void *arg);
int run(struct baton_task *task);
int fires(struct baton_trigger *trigger, uint64_t count);

#endif
