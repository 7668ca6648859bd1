/* SPDX-License-Identifier: MIT */
/*
 * A tag names what belongs together across resources: a client, a session. Tasks are stamped with
 * it (baton/labelled.h), and one call cancels everything that was stamped before and has not been
 * entered, wherever it is queued.
 *
 *                           | may run beside      | from
 *   cancel, held            | everything but init | any thread, also inside tasks
 *   stamp_set, _hold_tag    | everything but init | who owns the stamped task
 *
 * Cancelling bumps the tag's generation, which a stamp remembers: a runner that comes to a task
 * whose stamp is of an older generation completes it as cancelled instead of entering it.
 * Source: generation counters against stale references, as in entity systems and timer wheels; the
 * epoch of a disconnect in brokers.
 */
#ifndef BATON_TAG_H
#define BATON_TAG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Embeddable. Tasks stamped with it look at it when they are entered or cancelled, so it must stay
 * until all of them have been: see baton_tag_held, or await the resources that it was used for. 64
 * bits of generation do not come back.
 */
struct baton_tag {
	uint64_t _generation;
	uint64_t _held;
};

#define BATON_TAG_INIT                                                                             \
	{                                                                                          \
		0, 0                                                                               \
	}

void baton_tag_init(struct baton_tag *tag);

/*
 * Cancels what was stamped before: each such task, in whatever resource, queued already or
 * submitted later, completes as cancelled (as baton_future_cancel's does) when its runner comes to
 * it. What is stamped from now on runs.
 *
 * Thread safety: any thread. Blocking: never. Progress: wait-free, one atomic addition, however
 * many tasks there are. Ordering: a task that is entered after this has returned was stamped after
 * it; one that is being entered meanwhile may run. What the caller did before is visible to the
 * cancelled callback, and to who finds the future cancelled.
 */
void baton_tag_cancel(struct baton_tag *tag);

/*
 * How many tasks that were stamped by baton_stamp_hold_tag have neither been entered nor
 * cancelled. 0, and nobody stamps any more: the tag's memory is the caller's again.
 *
 * Thread safety: any thread. Blocking: never. Ordering: what the library did with the tag
 * happens-before the return of 0.
 */
uint64_t baton_tag_held(const struct baton_tag *tag);

#ifdef __cplusplus
}
#endif

#endif
