/* SPDX-License-Identifier: MIT */
/*
 * The deadline of a token: a timer whose task belongs to a resource inside the deadline. The owner
 * may free token and deadline as soon as the future completes. So the future is completed last, by
 * the finaliser of that resource: by then timer and runner do not touch the deadline any more.
 *
 *   the deadline decides: its function closes the resource, and returns BATON_GONE the
 *   completer decides: it stops the timer. When the timer is gone (at once; or when its
 *                           function, which finds the token decided, has returned), timer_gone
 *                           closes the resource
 *
 * No thread waits: the thread that comes last finishes the token.
 */
#include "module/detach.h"

#include "core/resource.h"
#include "timer/timer.h"

#include <errno.h>

static int finish_last(struct baton_task *last)
{
	struct baton_deadline *deadline = baton_container_of(last, struct baton_deadline, _last);

	baton__token_finish(deadline->_token); /* last touch */
	return 0;
}

static void close_and_finish(struct baton_deadline *deadline)
{
	int error;

	baton_task_init(&deadline->_last, finish_last, NULL);
	error = baton_resource_close_then(&deadline->_resource, &deadline->_last);
	/* The thread has a record, and closes the resource once (detach.decided). */
	BATON_ASSERT(!error);
}

static int deadline_passed(struct baton_timer *timer)
{
	struct baton_deadline *deadline = baton_container_of(timer, struct baton_deadline, _timer);
	struct baton_detached *token = deadline->_token;

	if (baton__token_decide(token))
		return 0;
	token->_status = -ETIMEDOUT;
	token->_value = NULL;
	close_and_finish(deadline);
	return BATON_GONE;
}

static void timer_gone(void *deadline)
{
	close_and_finish((struct baton_deadline *)deadline);
}

BATON_EXPORT void baton_deadline_init(struct baton_deadline *deadline, struct baton_timers *timers)
{
	*deadline = (struct baton_deadline)BATON_DEADLINE_INIT(timers);
}

int baton__deadline_arm(struct baton_deadline *deadline, struct baton_detached *token,
                        uint64_t timeout_ns)
{
	int error;

	deadline->_token = token;
	token->_deadline = deadline;
	baton_resource_init(&deadline->_resource, NULL);
	baton__timer_init(&deadline->_timer, deadline->_timers, &deadline->_resource,
	                  deadline_passed);
	error = baton_timer_arm_after(&deadline->_timer, timeout_ns);
	return error;
}

void baton__deadline_end(struct baton_deadline *deadline)
{
	(void)baton_timer_stop_then(&deadline->_timer, timer_gone, deadline); /* last touch */
}
