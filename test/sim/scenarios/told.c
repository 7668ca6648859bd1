/* SPDX-License-Identifier: MIT */
/* Functions that are told of an end: once each, and nothing that they submit runs inside them. */
#include "script.h"

static struct listener {
	struct baton_future promise;
	struct baton_continuation continuation;
	struct sim_note *submits; /* the function submits this task */
	struct listener *next;    /* the function completes this one's promise */
	unsigned told;
	bool frees;
	int data;
} listeners[2] = {{.promise = BATON_PROMISE_INIT}, {.promise = BATON_PROMISE_INIT}};

static bool inside[SIM_THREADS_MAX]; /* is the thread inside a function? */

static void on_end(void *arg)
{
	struct listener *listener = arg;

	sim_require(!inside[sim_thread()]);
	inside[sim_thread()] = true;
	sim_require(listener->told++ == 0);
	sim_require(listener->data == 1);
	if (listener->submits)
		sim_require(sim_note_submit(listener->submits) == 0);
	if (listener->next) {
		listener->next->data = 1;
		sim_require(baton_future_complete(&listener->next->promise, 0, NULL) == 0);
	}
	inside[sim_thread()] = false;
	sim_retire(&listener->continuation, sizeof(listener->continuation));
	if (listener->frees)
		sim_retire(&listener->promise, sizeof(listener->promise));
}

static void is_told(void)
{
	sim_require(listeners[0].told == 1);
	sim_require(listeners[1].told == (listeners[0].next ? 1 : 0));
}

static void listen(struct listener *listener, struct baton_future *future)
{
	sim_script_before_close(is_told);
	baton_continuation_function(&listener->continuation, on_end, listener);
	baton_future_then(future, &listener->continuation);
}

SIM_VERB(tell, SIM_OK)
{
	listen(&listeners[number], &listeners[number].promise);
	return 0;
}

/* Of the task's future. */
SIM_VERB(tell_of, SIM_OK)
{
	listeners[0].data = 1;
	listen(&listeners[0], &note->future);
	return 0;
}

SIM_VERB(tells_next, SIM_OK)
{
	listeners[0].next = &listeners[1];
	return 0;
}

SIM_VERB(frees, SIM_OK)
{
	listeners[0].frees = true;
	return 0;
}

SIM_VERB(tells_to_submit, SIM_OK)
{
	listeners[0].submits = note;
	return 0;
}

SIM_VERB(untold, SIM_OK)
{
	sim_require(!inside[sim_thread()]);
	return 0;
}

SIM_VERB(answer, SIM_OK)
{
	listeners[number].data = 1;
	return baton_future_complete(&listeners[number].promise, 0, NULL);
}

SIM_SCRIPT(told_beside, 0, "registered beside the end it is told once", "| A: tell 0 | B: answer 0")

SIM_SCRIPT(told_frees, 0, "it frees the future", "frees; tell 0 | A: answer 0")

SIM_SCRIPT(told_next, 1, "it completes a promise, beside the registration there",
           "tells_next; frees; tell 0 | A: answer 0 | B: tell 1")

SIM_SCRIPT(told_submits, 1, "what it submits beside another submitter does not run inside it",
           "tells_to_submit a; tell 0 | a: untold | A: answer 0 | B: submit b")

SIM_SCRIPT(told_submits_alone, 0, "what it submits to an idle resource goes to the executor",
           "tells_to_submit a; tell 0 | a: untold | A: answer 0")

SIM_SCRIPT(told_submits_refused, 0, "with no executor its task runs after it, on its thread",
           "refusing; tells_to_submit a; tell 0 | a: untold | A: answer 0 | B: submit b")

SIM_SCRIPT(told_task, 1, "under the baton it submits to the same resource, beside a submitter",
           "queued a; tells_to_submit b; tell_of a | b: untold | A: submit c | B: wait a")

SIM_SCRIPT(told_cancelled, 1, "of a task that is cancelled while another waits for it",
           "queued a b; tell_of a | A: cancel a = ok running / already | B: wait b")
