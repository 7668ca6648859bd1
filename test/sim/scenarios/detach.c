/* SPDX-License-Identifier: MIT */
/*
 * Detached completion: complete, deadline, cancel, the resource's end and a held queue against one
 * another. A token is given back when its future is complete: who touches it after that is wrong.
 */
#include "script.h"

#include <baton/detach.h>
#include <baton/timers.h>

#include "base/atomic.h"

#define TICK 1024U

static struct sim_note *const detached = &sim_script_stage.notes[0];
static struct baton_detached token = BATON_DETACHED_INIT;
static struct baton_deadline deadline;
static struct baton_timers *timers; /* NULL: no deadline */
static unsigned flags;
static uint32_t told;        /* the token is known */
static unsigned completions; /* that have succeeded */

SIM_VERB(counted, SIM_OK)
{
	flags = BATON_DETACH_COUNTED;
	return 0;
}

SIM_VERB(hold, SIM_OK)
{
	flags = BATON_DETACH_EXCLUSIVE;
	return 0;
}

static void destroy_timers(void)
{
	sim_require(baton_timers_destroy(timers) == 0);
}

/* Complete, or the deadline: one of the two. */
static void one_has_won(void)
{
	bool late = timers && !completions;

	if (baton_future_state(&detached->future) == BATON_CANCELLED)
		return;
	sim_require(completions == !late);
	sim_require(baton_future_status(&detached->future) == (late ? -ETIMEDOUT : 0));
	sim_require(baton_future_value(&detached->future) == (late ? NULL : &flags));
	detached->status = late ? -ETIMEDOUT : 0;
}

SIM_VERB(timers, SIM_OK)
{
	static const struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL};

	sim_require(baton_timers_create(&options, &timers) == 0);
	baton_deadline_init(&deadline, timers);
	sim_script_before_close(one_has_won);
	sim_script_after_close(destroy_timers);
	return 0;
}

SIM_VERB(advance, SIM_OK)
{
	sim_require(baton_timers_advance(timers, (uint64_t)2 * TICK) >= 0);
	return 0;
}

SIM_VERB(detach, SIM_OK)
{
	int status = baton_detach(&token, flags);

	store_release(&told, 1);
	sim_script_before_close(one_has_won);
	return status;
}

/* The token's memory may have been given back then; `told` has not. */
SIM_VERB(detach_within, SIM_OK)
{
	int status = baton_detach_within(&token, flags, TICK, &deadline);

	store_release(&told, 1);
	return status;
}

/* -ECANCELED: the task was cancelled before it was entered. */
SIM_VERB(until_told, SIM_OK)
{
	while (!load_acquire(&told)) {
		if (baton_future_state(&detached->future) == BATON_CANCELLED)
			return load_acquire(&told) ? 0 : -ECANCELED;
		sim_yield();
	}
	return 0;
}

SIM_UNSEEN static void count(void)
{
	completions++;
}

SIM_VERB(complete, SIM_OK)
{
	int status;

	if (sim_verb_until_told(NULL, 0))
		return 0;
	status = baton_detached_complete(&token, 0, &flags);
	if (!status)
		count();
	return status;
}

SIM_VERB(give_back_token, SIM_OK)
{
	sim_retire(&token, sizeof(token));
	return 0;
}

SIM_VERB(give_back_deadline, SIM_OK)
{
	sim_retire(&deadline, sizeof(deadline));
	return 0;
}

/* The note is looked at when its function has detached, and all threads have ended. */
SIM_SCRIPT(detach_complete, 0, "the waiter sees what the completer did, and has the memory back",
           "bare; futures a | a: detach"
           "| A: submit a | B: until_told; write; complete"
           "| until_complete a; written; give_back_token")

SIM_SCRIPT(detach_complete_twice, 0, "of two completers one succeeds",
           "bare; futures a | a: detach"
           "| A: complete = ok already | B: complete = ok already | submit a")

SIM_SCRIPT(detach_cancel, 0, "a cancel beside the detach and the completion: it never fails",
           "bare; futures a | a: detach"
           "| A: cancel a = ok already running early | submit a; complete; is_complete a")

SIM_SCRIPT(detach_cancel_entered, 0,
           "who cancels what has been entered is never told that it was not submitted",
           "bare; futures a | a: detach"
           "| A: until_told; cancel a = running already | B: complete | attach; submit a")

SIM_SCRIPT(detach_cancel_queued, 0,
           "who cancels what was submitted before is never told that it was not",
           "queued a | a: detach | A: cancel a | drive; complete")

/* ---- The deadline ---- */

/* The completer may still be about to look at the token's state. */
SIM_SCRIPT(detach_deadline, 2,
           "complete beside the deadline: one of the two; then the memory is back",
           "bare; timers; futures a; submit a | a: detach_within"
           "| A: complete = ok already | B: advance"
           "| until_complete a; give_back_deadline; join; give_back_token")

SIM_SCRIPT(detach_deadline_arming, 2, "the deadline passes while it is armed",
           "bare; timers; futures a | a: detach_within"
           "| A: advance"
           "| submit a; join; advance; until_complete a; give_back_deadline; give_back_token")

SIM_SCRIPT(detach_deadline_close, 2, "counted: the finaliser comes after complete, or the deadline",
           "bare; counted; timers; futures a; submit a | a: detach_within"
           "| A: complete = ok already | B: close_then"
           "| advance; join; give_back_deadline; give_back_token")

/* ---- The resource's end ---- */

SIM_SCRIPT(detach_counted_close, 0, "counted: the finaliser comes after the completion",
           "bare; counted; futures a; submit a | a: detach | A: complete | B: close_then")

SIM_SCRIPT(detach_counted_await, 0, "counted: await on a closed resource waits for it",
           "bare; counted; futures a; submit a | a: detach"
           "| A: complete | close; end; is_complete a")

/* The token's completer may not release the resource, which is in this thread's queue then. */
SIM_SCRIPT(detach_counted_driven, 0, "counted, limit 0: who drives the executor awaits",
           "limit 0; counted; futures a; submit a; run_one | a: detach"
           "| A: complete | close; await; is_complete a")

SIM_SCRIPT(detach_counted_driven_beside, 1, "the same, beside an await with a deadline",
           "limit 0; counted; futures a; submit a; run_one | a: detach"
           "| A: complete | close | B: await 3000 = ok late | await; is_complete a")

SIM_SCRIPT(detach_counted_driven_final, 0, "the same with a finaliser",
           "limit 0; stays; counted; futures a; submit a; run_one | a: detach"
           "| A: complete | close_then; await; is_complete a")

/* ---- A held queue ---- */

SIM_SCRIPT(detach_hold, 2,
           "held: what is submitted meanwhile runs after the completion, and sees what it did",
           "bare; hold; futures a; submit a"
           "| a: detach | b: is_complete a; written | c: is_complete a; written"
           "| A: until_told; write; complete | B: submit b | submit c")

SIM_SCRIPT(detach_hold_deadline, 1, "held: the deadline lets it go, too",
           "hold; timers; futures a; submit a | a: detach_within"
           "| A: complete = ok already | B: submit b | advance")
