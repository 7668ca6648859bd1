/* SPDX-License-Identifier: MIT */
/*
 * A tag names what belongs together across resources: a client, a session. Tasks are stamped with
 * the tag (baton/label.h). One call then cancels the tasks that were stamped before and have not
 * been entered, in whatever resource they are queued.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 *	baton_task_init_of(&publish->task, &publish_type);
 *	baton_stamp_hold_tag(&publish->stamp, &client->tag);
 *	error = baton_submit(&topic->resource, &publish->task);
 *
 *	baton_tag_cancel(&client->tag);		the client has gone
 *
 *                           | may run beside      | from
 *   cancel, held            | everything but init | any thread, also inside tasks
 *   stamp_set, _hold_tag    | everything but init | the owner of the stamped task
 *   init                    | nothing             | the owner
 *
 * A cancel advances the tag's generation. A stamp remembers the generation of its tag. A runner
 * that comes to a task whose stamp has an older generation completes the task as cancelled instead
 * of entering it.
 *
 * Source: generation counters against stale references, as in entity systems and timer wheels; the
 * epoch of a disconnect in brokers.
 */
#ifndef BATON_TAG_H
#define BATON_TAG_H

#include <stdint.h>

#include <baton/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Embeddable. The library reads the tag when a stamped task is entered or cancelled. So the tag
 * must live until each stamped task has been entered or cancelled: see baton_tag_held(), or await
 * the resources for which the tag was used. 64 bits of generation do not wrap around.
 */
struct baton_tag {
	uint64_t _generation;
	uint64_t _held;
};

#define BATON_TAG_INIT                                                                             \
	{                                                                                          \
		0, 0                                                                               \
	}

void baton_tag_init(struct baton_tag *tag) BATON_NONNULL;

/*
 * Cancels the tasks that were stamped before: each such task, in whatever resource, queued already
 * or submitted later, completes as cancelled when its runner comes to it. A task that is stamped
 * from now on runs.
 *
 * Thread safety: any thread. Blocking: never.
 * Ordering: a task that is entered after this call has returned was stamped after the call; a task
 * that is entered meanwhile may run. What the caller did before is visible to the `cancelled`
 * callback, and to a thread that finds the future cancelled.
 * Progress: wait-free, one atomic addition, however many tasks there are.
 */
void baton_tag_cancel(struct baton_tag *tag) BATON_NONNULL;

/*
 * How many tasks that were stamped by baton_stamp_hold_tag() have neither been entered nor
 * cancelled. After 0, if no thread stamps any more, the tag's memory is the caller's again.
 *
 * Thread safety: any thread. Blocking: never.
 * Ordering: what the library did with the tag happens-before the return of 0.
 */
uint64_t baton_tag_held(const struct baton_tag *tag) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
