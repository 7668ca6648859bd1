/* SPDX-License-Identifier: MIT */
/*
 * The ordinary library's functions that libbaton-checked wraps. The Makefile takes the names from
 * this file: in the checked library the ordinary baton_x is called baton__plain_x, also where the
 * library itself calls it, so that only a program's calls are checked.
 */
#ifndef BATON_SRC_CHECKED_PLAIN_H
#define BATON_SRC_CHECKED_PLAIN_H

#include <baton/bound.h>
#include <baton/group.h>
#include <baton/labelled.h>
#include <baton/lane.h>
#include <baton/pool.h>
#include <baton/resource.h>
#include <baton/suspend.h>
#include <baton/timer.h>
#include <baton/trigger.h>
#include <baton/window.h>

#define PLAIN(name) extern __typeof__(baton_##name) baton__plain_##name

/* baton/resource.h, baton/labelled.h */
PLAIN(submit);
PLAIN(submit_later);
PLAIN(submit_batch);
PLAIN(call);
PLAIN(try_call);
PLAIN(call_with);
PLAIN(post);
PLAIN(post_or);
PLAIN(post_with);
PLAIN(async);
PLAIN(async_with);
PLAIN(resource_init);
PLAIN(resource_deinit);
PLAIN(resource_set_stats);
PLAIN(resource_close);
PLAIN(resource_close_then);
PLAIN(resource_cancel_pending);
PLAIN(resource_await);

/* baton/future.h */
PLAIN(future_wait);
PLAIN(future_init);
PLAIN(promise_init);
PLAIN(continuation_task);
PLAIN(future_then);

/* baton/executor.h, baton/pool.h */
PLAIN(pool_create);
PLAIN(pool_default);
PLAIN(pool_destroy);
PLAIN(pool_executor);
PLAIN(pool_workers);
PLAIN(pool_submit);
PLAIN(pool_shutdown);
PLAIN(pool_stats_read);
PLAIN(manual_create);
PLAIN(manual_destroy);
PLAIN(manual_executor);
PLAIN(manual_run_one);
PLAIN(manual_run_until_idle);
PLAIN(loop_create);
PLAIN(loop_destroy);
PLAIN(loop_executor);
PLAIN(loop_fd);
PLAIN(loop_run);

/* baton/timer.h */
PLAIN(timers_create);
PLAIN(timers_default);
PLAIN(timers_destroy);
PLAIN(timers_now);
PLAIN(timers_poll);
PLAIN(timers_advance);
PLAIN(timer_init);
PLAIN(timer_arm_after);
PLAIN(timer_arm_at);
PLAIN(timer_arm_every);
PLAIN(timer_arm_again_after);
PLAIN(timer_stop);
PLAIN(timer_stop_then);
PLAIN(timer_stop_wait);

/* baton/lane.h, baton/bound.h, baton/trigger.h, baton/suspend.h */
PLAIN(lanes_init);
PLAIN(resource_set_lanes);
PLAIN(resource_set_bound);
PLAIN(trigger_init);
PLAIN(trigger_fire);
PLAIN(resource_suspend);
PLAIN(resource_suspend_lower);
PLAIN(resource_resume);
PLAIN(resource_resume_later);

#endif
