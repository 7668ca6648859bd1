/* SPDX-License-Identifier: MIT */
/*
 * The carried value: a pointer that goes with the work, across resources and threads: a request's
 * id, a tracing span, a tenant. A thread sets the value; the functions that it has run, wherever
 * they run, find it.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 *	static void on_request(struct request *request)
 *	{
 *		(void)baton_set_carried(request);
 *		error = baton_post(&session->resource, handle, session);
 *		(void)baton_set_carried(NULL);
 *	}
 *
 *	static void *handle(void *session)
 *	{
 *		log_line(baton_carried(), "handles");	// the request, on whichever thread
 *		return NULL;
 *	}
 *
 * Lifetime: baton copies the pointer and nothing else. The value must live until each function that
 * finds it has returned. A program that counts references takes one before each submit, and gives
 * it back in the function, and in the `cancelled` in its place.
 *
 *                      | may run beside | from
 *   set_carried        | everything     | any thread, also inside tasks: for itself
 *   carried            | everything     | any thread, also inside tasks
 *
 * Corner cases. The value travels from the thread, or from the function that finds it,
 *   with posts, asyncs and calls;
 *   with tasks that have a stamp (baton/task.h), from their submit on; as a continuation, from
 *     baton_continuation_task() on;
 *   with timers, from their arm on; with watches of descriptors, from their start on;
 *   with triggers, from the first of the fires that a run answers;
 *   with the items of a fan-out, from its submit on;
 *   with the chunks of a parallel loop.
 * The function finds the value, and so does a `cancelled` in its place. A plain task, and a task of
 * a type without stamp, has no room for the value: its function finds NULL, also where it runs
 * immediately. So does a `cancelled` on a thread for which there is no memory (thread.h). A value
 * that a function sets for itself is not seen by its submitter.
 *
 * The functions that baton calls around a task find NULL: `enter`, `leave`, `failed`, drain hooks,
 * watermarks, finalisers. So do functions that are told of a future's end or of a stop, and the
 * jobs of a pool.
 *
 * Cost: nothing, while the calling thread carries nothing. With a value, posts, asyncs and calls
 * take a longer way, and a queued post has a node of two cache lines.
 */
#ifndef BATON_CARRIED_H
#define BATON_CARRIED_H

#include <baton/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sets the value of the calling thread or, inside a function that baton runs, of that function:
 * what the thread has outside is as before when the function has returned. A function that has set
 * a value sets back what it has found before it returns. NULL: none.
 *
 * Thread safety: any thread, for itself. Blocking: never.
 * Errors: the value is as before: -ENOMEM, -ECHILD (thread.h). Never for NULL.
 */
int baton_set_carried(void *value);

/*
 * The value that the running function, or the thread outside of all functions, carries. NULL: none.
 *
 * Thread safety: any thread. Blocking: never.
 */
void *baton_carried(void);

#ifdef __cplusplus
}
#endif

#endif
