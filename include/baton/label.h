/* SPDX-License-Identifier: MIT */
/*
 * A label says more about a task: its lane (baton/lane.h), its size for a bound in bytes
 * (baton/bound.h), the tag by which the task can be cancelled (baton/tag.h). Timers, triggers,
 * watches of descriptors and tasks of a user's type (baton/task.h) carry their label in a member
 * `stamp`; items of fan-outs, posts, calls and asyncs (baton/call.h) get one by their options.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 * A task goes into any resource with its label. A resource ignores those parts of the label for
 * which it has no lanes or no bound. A task without a stamp pays nothing.
 *
 *	struct publish {
 *		struct baton_task task;
 *		struct baton_stamp stamp;
 *		char text[64];
 *	};
 *
 *	static const struct baton_task_type publish_type = {
 *		.run = publish_run,
 *		.stamp = BATON_TASK_PLACE(struct publish, task, stamp),
 *	};
 *
 *	baton_task_init_of(&publish->task, &publish_type);
 *	baton_stamp_set_lane(&publish->stamp, 3);
 *	baton_stamp_set_tag(&publish->stamp, &session->tag);
 *	error = baton_submit(&topic->resource, &publish->task);
 *
 *                                  | may run beside                   | from
 *   stamp_*                        | everything on other tasks;       | the owner of the stamped
 *                                  | the tag's cancel                 | task
 */
#ifndef BATON_LABEL_H
#define BATON_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/tag.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_LANES_MAX 32

/* A label to copy from. Constant, may be shared; read during the call that it is given to. */
struct baton_label {
	struct baton_tag *tag; /* NULL: none */
	uint64_t bytes;        /* as baton_stamp_set_bytes */
	uint32_t lane;         /* below BATON_LANES_MAX */
	bool hold;             /* as baton_stamp_hold_tag */
};

#define BATON_LABEL_INIT                                                                           \
	{                                                                                          \
		NULL, 0, 0, false                                                                  \
	}

/*
 * The setters change nothing but the stamp. They may be called in any order, and again.
 * Thread safety: the owner of the task, before the task is submitted (a timer: armed; a trigger:
 * fired), in the task's function, or when the task's memory is the caller's again.
 */

/* Copies the whole label; the tag as baton_stamp_set_tag does, or _hold_tag if `hold` is set. */
void baton_stamp_set(struct baton_stamp *stamp, const struct baton_label *label) BATON_NONNULL;

/* Sets the lane: below BATON_LANES_MAX (asserted); 0 is the highest. A lane that the resource does
 * not have means the resource's lowest lane. */
void baton_stamp_set_lane(struct baton_stamp *stamp, unsigned lane) BATON_NONNULL;

/* Sets how much the task counts for a bound in bytes. More than UINT32_MAX counts as UINT32_MAX. */
void baton_stamp_set_bytes(struct baton_stamp *stamp, uint64_t bytes) BATON_NONNULL;

/*
 * Stamps the task with the tag as it is now: a later baton_tag_cancel() cancels the task. The stamp
 * stays after the task has run: a task that is submitted again carries the old stamp, unless it is
 * stamped anew. NULL: no tag.
 */
void baton_stamp_set_tag(struct baton_stamp *stamp, struct baton_tag *tag) BATON_NONNULL_AT(1);

/*
 * As baton_stamp_set_tag(), for one submit: baton_tag_held() counts the task until it is entered or
 * cancelled, and then the stamp has no tag any more. A task that is refused keeps its stamp: submit
 * the task again, or take the stamp away with baton_stamp_set_tag() and NULL.
 */
void baton_stamp_hold_tag(struct baton_stamp *stamp, struct baton_tag *tag) BATON_NONNULL_AT(1);

#ifdef __cplusplus
}
#endif

#endif
