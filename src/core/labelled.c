/* SPDX-License-Identifier: MIT */
/*
 * Labelled tasks: their setters, what the short paths run of them, and those of the library.
 */
#include "core/labelled.h"

#include "base/atomic.h"
#include "core/call.h"
#include "core/stats.h"
#include "thread/node.h"
#include "core/resource.h"

#include <errno.h>

struct post {
	struct baton_labelled labelled;
	baton_call_fn fn;
	baton_post_cancelled_fn cancelled; /* NULL: nobody is told */
	void *arg;
};

_Static_assert(offsetof(struct baton_labelled, task) == 0, "a label is found by its task");
_Static_assert(sizeof(struct baton_labelled) == 56, "part of the ABI");
_Static_assert(sizeof(struct post) <= BATON__NODE_BODY_SIZE, "fits a node");

int baton__labelled_run(struct baton_task *task)
{
	struct baton_labelled *labelled = (struct baton_labelled *)(void *)task;

	/* With a future it has been asked about before that was claimed. */
	if (!task->_future && !baton__label_enter(task)) {
		baton__tell_cancelled(baton__self->top->resource, task);
		return 0;
	}
	return labelled->_fn(task); /* last touch of the task */
}

int baton__post_labelled_run(struct baton_task *task)
{
	struct post *post = baton_container_of(task, struct post, labelled.task);
	baton_call_fn fn = post->fn;
	void *arg = post->arg;

	baton__node_free(post);
	(void)fn(arg);
	return 0;
}

void baton__post_labelled_cancelled(struct baton_task *task)
{
	struct post *post = baton_container_of(task, struct post, labelled.task);
	baton_post_cancelled_fn cancelled = post->cancelled;
	void *arg = post->arg;

	baton__node_free(post);
	if (cancelled)
		cancelled(arg);
}

BATON_EXPORT void baton_labelled_init(struct baton_labelled *labelled, baton_task_fn fn,
                                      struct baton_future *future)
{
	*labelled = (struct baton_labelled){.task = BATON_TASK_INIT(baton__labelled_run, future),
	                                    ._fn = fn};
}

BATON_EXPORT void baton_labelled_set_lane(struct baton_labelled *labelled, unsigned lane)
{
	BATON_REQUIRE(lane < BATON_LANES_MAX, "there are lanes 0 to 31");
	labelled->_lane = (uint8_t)lane;
}

BATON_EXPORT void baton_labelled_set_bytes(struct baton_labelled *labelled, uint32_t bytes)
{
	labelled->_bytes = bytes;
}

BATON_EXPORT void baton_labelled_set_tag(struct baton_labelled *labelled, struct baton_tag *tag)
{
	baton__label_let_go(labelled);
	labelled->_tag = tag;
	if (tag)
		labelled->_generation = baton__tag_generation(tag);
}

BATON_EXPORT void baton_labelled_hold_tag(struct baton_labelled *labelled, struct baton_tag *tag)
{
	baton_labelled_set_tag(labelled, tag);
	if (!tag)
		return;
	baton__tag_hold(tag);
	labelled->_holds = true;
}

BATON_EXPORT int baton_post_labelled(struct baton_resource *resource,
                                     const struct baton_label *label, baton_call_fn fn, void *arg)
{
	struct post *post;
	int error = 0;

	if (label->lane >= BATON_LANES_MAX)
		return -EINVAL;
	if (BATON_UNLIKELY(baton__self->depth >= BATON__DEPTH_NONE))
		error = baton__thread_attach();
	if (error)
		return error;
	/* Run at once it is stamped and entered in one: it needs no node, nor a stamp. */
	if (baton__self->depth < BATON_NESTING_MAX && baton__call_at_once(resource, fn, arg))
		return 0;
	post = baton__node_alloc(sizeof(*post));
	if (!post)
		return -ENOMEM;
	*post = (struct post){.fn = fn, .cancelled = label->cancelled, .arg = arg};
	baton_labelled_init(&post->labelled, baton__post_labelled_run, NULL);
	post->labelled._lane = label->lane;
	post->labelled._bytes = label->bytes;
	if (label->hold)
		baton_labelled_hold_tag(&post->labelled, label->tag);
	else
		baton_labelled_set_tag(&post->labelled, label->tag);
	error = baton_submit(resource, &post->labelled.task);
	if (error) {
		baton__label_let_go(&post->labelled);
		baton__node_free(post);
	}
	return error;
}
