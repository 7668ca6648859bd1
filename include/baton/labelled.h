/* SPDX-License-Identifier: MIT */
/*
 * A labelled task is a task with more to say of itself: its lane (baton/lane.h), its size for a
 * bound in bytes (baton/bound.h), the tag under which it can be cancelled (baton/tag.h). It goes
 * wherever a task goes, into any resource: what a resource does not know is ignored there. A
 * windowed task is none: let a labelled one submit the windowed one when it runs.
 *
 *	struct publish {
 *		struct baton_labelled labelled;
 *		char text[64];
 *	};
 *
 *	static int publish_run(struct baton_task *task)
 *	{
 *		struct publish *publish = baton_container_of(task, struct publish, labelled.task);
 *		...
 *	}
 *
 *	baton_labelled_init(&publish->labelled, publish_run, NULL);
 *	baton_labelled_set_lane(&publish->labelled, 3);
 *	baton_labelled_set_tag(&publish->labelled, &session->tag);
 *	baton_submit(&topic->resource, &publish->labelled.task);
 *
 * The setters are the owner's: before the task is submitted, or when its memory is the caller's
 * again. They change nothing but the task and may run in any order, and again.
 */
#ifndef BATON_LABELLED_H
#define BATON_LABELLED_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/resource.h>
#include <baton/tag.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_LANES_MAX 32

struct baton_labelled {
	struct baton_task task; /* first; what is submitted, and what `fn` is given */
	baton_task_fn _fn;
	struct baton_tag *_tag;
	uint64_t _generation;
	uint32_t _bytes;
	uint8_t _lane;
	bool _holds;
};

/* Lane 0, no bytes, no tag. `future` may be NULL. To be submitted as &labelled->task. */
void baton_labelled_init(struct baton_labelled *labelled, baton_task_fn fn,
                         struct baton_future *future);

/* Below BATON_LANES_MAX (asserted); 0 is the highest. A lane that the resource does not have means
 * its lowest. */
void baton_labelled_set_lane(struct baton_labelled *labelled, unsigned lane);

/* What it counts for a bound in bytes. */
void baton_labelled_set_bytes(struct baton_labelled *labelled, uint32_t bytes);

/*
 * Stamps it with the tag as it is now: a baton_tag_cancel from now on cancels it. The stamp stays
 * when the task has run: one that is submitted again carries the old one, or is stamped anew. NULL:
 * no tag.
 */
void baton_labelled_set_tag(struct baton_labelled *labelled, struct baton_tag *tag);

/*
 * As set_tag, for one submit, and counted in baton_tag_held until the task is entered or cancelled,
 * whereupon it has no tag any more. A task that is refused keeps its stamp: submit it again, or
 * take the stamp away with set_tag(NULL).
 */
void baton_labelled_hold_tag(struct baton_labelled *labelled, struct baton_tag *tag);

/* The same for a task from the library. */
struct baton_label {
	struct baton_tag *tag; /* NULL: none */
	uint32_t bytes;
	uint8_t lane; /* below BATON_LANES_MAX */
	bool hold;    /* as hold_tag; not counted if it is run at once */
	/* Called with the post's `arg` when the post is cancelled, see baton_post_or; or NULL. */
	baton_post_cancelled_fn cancelled;
};

#define BATON_LABEL_INIT                                                                           \
	{                                                                                          \
		NULL, 0, 0, false, NULL                                                            \
	}

/*
 * As baton_post_or, with a label, which is stamped now and is the caller's again on return.
 *
 * Errors: as for baton_post; -EINVAL: the lane.
 */
int baton_post_labelled(struct baton_resource *resource, const struct baton_label *label,
                        baton_call_fn fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif
