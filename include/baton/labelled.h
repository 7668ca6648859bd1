/* SPDX-License-Identifier: MIT */
/*
 * A label says more of a task: its lane (baton/lane.h), its size for a bound in bytes
 * (baton/bound.h), the tag under which it can be cancelled (baton/tag.h). Tasks of every sort carry
 * one: labelled and windowed tasks, timers, triggers and tasks of a type of the user's in a member
 * `stamp`; items of fan-outs, posts, calls and asyncs are given one by their options. A task goes
 * into any resource with its label: what a resource does not know is ignored there. A task without
 * a label pays nothing.
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
 *	baton_stamp_set_lane(&publish->labelled.stamp, 3);
 *	baton_stamp_set_tag(&publish->labelled.stamp, &session->tag);
 *	baton_submit(&topic->resource, &publish->labelled.task);
 */
#ifndef BATON_LABELLED_H
#define BATON_LABELLED_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <baton/resource.h>
#include <baton/tag.h>
#include <baton/task.h>
#include <baton/task_type.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_LANES_MAX 32

/* What is to be said of a task. Constant, may be shared; read during the call it is given to. */
struct baton_label {
	struct baton_tag *tag; /* NULL: none */
	uint32_t bytes;
	uint8_t lane; /* below BATON_LANES_MAX */
	bool hold;    /* as baton_stamp_hold_tag */
};

#define BATON_LABEL_INIT                                                                           \
	{                                                                                          \
		NULL, 0, 0, false                                                                  \
	}

/*
 * The label that a task carries. Zero: lane 0, no bytes, no tag.
 *
 * The setters are the owner's: before the task is submitted (a timer: armed; a trigger: fired), in
 * its function, or when its memory is the caller's again. They change nothing but the stamp and may
 * run in any order, and again.
 */
struct baton_stamp {
	struct baton_tag *_tag;
	uint64_t _generation;
	uint32_t _bytes;
	uint8_t _lane;
	bool _holds;
};

#define BATON_STAMP_INIT                                                                           \
	{                                                                                          \
		NULL, 0, 0, 0, false                                                               \
	}

/* All that the label says; stamped with its tag as that is now. The lane as in set_lane. */
void baton_stamp_set(struct baton_stamp *stamp, const struct baton_label *label);

/* Below BATON_LANES_MAX (asserted); 0 is the highest. A lane that the resource does not have means
 * its lowest. */
void baton_stamp_set_lane(struct baton_stamp *stamp, unsigned lane);

/* What the task counts for a bound in bytes. */
void baton_stamp_set_bytes(struct baton_stamp *stamp, uint32_t bytes);

/*
 * Stamps with the tag as it is now: a baton_tag_cancel from now on cancels the task. The stamp
 * stays when the task has run: one that is submitted again carries the old one, or is stamped anew.
 * NULL: no tag.
 */
void baton_stamp_set_tag(struct baton_stamp *stamp, struct baton_tag *tag);

/*
 * As set_tag, for one submit, and counted in baton_tag_held until the task is entered or cancelled,
 * whereupon it has no tag any more. A task that is refused keeps its stamp: submit it again, or
 * take the stamp away with set_tag(NULL).
 */
void baton_stamp_hold_tag(struct baton_stamp *stamp, struct baton_tag *tag);

/*
 * A task with a label, a function of its own and nothing else. `cancelled` may be set after init:
 * it is then told instead of the config's, as a task type's is (baton/task_type.h).
 */
struct baton_labelled {
	struct baton_task task; /* what is submitted, and what the function is given */
	struct baton_stamp stamp;
	baton_task_cancelled_fn cancelled;
	baton_task_fn _fn;
	struct baton_future *_future;
};

/* Lane 0, no bytes, no tag. `future` may be NULL. To be submitted as &labelled->task. */
void baton_labelled_init(struct baton_labelled *labelled, baton_task_fn fn,
                         struct baton_future *future);

/* A function instead of a task, and what is to be said of it. Zero members are the defaults. */
struct baton_call_options {
	baton_call_fn fn;
	void *arg;
	const struct baton_label *label;   /* NULL: none */
	baton_post_cancelled_fn cancelled; /* a post's, as in baton_post_or; or NULL */
	const struct timespec *deadline;   /* a call's, see there; NULL: none */
	uint64_t _reserved[4];
};

/*
 * As baton_post_or, baton_async and baton_call, with a label. It is stamped now; a tag that is to
 * be held is not counted if the function is run at once. A call whose tag is cancelled before its
 * function is entered returns -ECANCELED.
 *
 * A call whose deadline passes before its function is entered is withdrawn: it returns -ETIMEDOUT,
 * and the function will not run. A function that has been entered is waited for, since it may use
 * the caller's memory. An idle resource runs the function at once, whatever the deadline. As in all
 * waits with a deadline, the caller does not help (baton_future_wait()).
 *
 * Errors: as there; -EINVAL: the lane, or a malformed deadline.
 */
int baton_post_with(struct baton_resource *resource, const struct baton_call_options *options);
int baton_async_with(struct baton_resource *resource, const struct baton_call_options *options,
                     struct baton_future **future);
int baton_call_with(struct baton_resource *resource, const struct baton_call_options *options,
                    void **value);

#ifdef __cplusplus
}
#endif

#endif
