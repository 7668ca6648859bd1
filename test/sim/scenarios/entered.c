/* SPDX-License-Identifier: MIT */
/*
 * Tasks that their submit enters at once, and their futures, whose state stays PENDING meanwhile
 * (future.entered).
 */
#include "support.h"

static struct sim_topic topic;
static struct sim_note note;
static struct baton_continuation continuation;
static struct baton_resource other = BATON_RESOURCE_INIT(NULL);
static struct baton_task follower;
static unsigned followed;

static void begin(void)
{
	/* A thread's first submit takes the long way. */
	sim_require(baton_thread_attach() == 0);
	sim_topic_init(&topic, 10, 64, NULL);
	sim_note_init(&note, &topic, true);
}

static void end(void)
{
	sim_join_all();
	sim_require(note.fate == SIM_RAN);
	sim_note_over(&note);
	sim_topic_close(&topic);
	sim_settled(&topic);
}

static void look_and_cancel(void *argument)
{
	enum baton_future_state before = baton_future_state(&note.future);
	int result = sim_note_cancel(&note);
	enum baton_future_state after = baton_future_state(&note.future);

	/* -EINVAL: it was not submitted yet. */
	sim_require(result == -EINPROGRESS || result == -EALREADY ||
	            (result == -EINVAL && before == BATON_PENDING));
	if (result != -EINVAL)
		sim_require(after != BATON_PENDING);
	sim_require(after >= before);
}

static void is_running(struct sim_note *entered)
{
	sim_require(baton_future_state(&entered->future) == BATON_RUNNING);
	sim_point();
}

SIM_SCENARIO(entered_cancel, "what is entered at once is running; no cancel decides about it")
{
	begin();
	note.body = is_running;
	sim_start(look_and_cancel, NULL);
	sim_start(look_and_cancel, NULL);
	sim_does_submit(&note);
	end();
}

static void wait_for_it(void *argument)
{
	sim_require(baton_future_wait(&note.future) == 0);
}

static int follow(struct baton_task *task)
{
	followed++;
	return 0;
}

static void chain(void *argument)
{
	baton_task_init(&follower, follow, NULL);
	baton_continuation_task(&continuation, &other, &follower);
	baton_future_then(&note.future, &continuation);
}

SIM_SCENARIO(entered_wait,
             "who sleeps, and who chains, before or during the run is told of its end")
{
	begin();
	sim_start(wait_for_it, NULL);
	sim_start(chain, NULL);
	sim_does_submit(&note);
	sim_join_all();
	sim_require(followed == 1);
	end();
}
