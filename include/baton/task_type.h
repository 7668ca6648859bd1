/* SPDX-License-Identifier: MIT */
/*
 * A task type is a constant that many tasks share. The type says which function its tasks run,
 * which function is called when such a task is cancelled, and where such a task keeps its future.
 * With types, several sorts of tasks on one resource are freed each by a function of its own: each
 * type has its own `cancelled`, and the resource's config needs none.
 *
 *	struct publish {
 *		struct baton_task task;
 *		char text[64];
 *	};
 *
 *	static int publish_run(struct baton_task *task);
 *	static void publish_free(struct baton_task *task);
 *
 *	static const struct baton_task_type publish_type = {
 *		.run = publish_run,
 *		.cancelled = publish_free,
 *	};
 *
 *	baton_task_init_typed(&publish->task, &publish_type);
 *	baton_submit(&topic->resource, &publish->task);
 *
 * A task of a type is submitted like any task, to any resource and by any call. The runner looks at
 * the type of such a task; a task without a type pays nothing.
 */
#ifndef BATON_TASK_TYPE_H
#define BATON_TASK_TYPE_H

#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called for a task that will not run. The task's memory is the user's again. */
typedef void (*baton_task_cancelled_fn)(struct baton_task *task);

/*
 * Static and constant; must outlive its tasks. Use designated initialisers: members may be added,
 * and zero is the default of all members.
 */
struct baton_task_type {
	baton_task_fn run;
	/*
	 * Called instead of the config's `cancelled`, on the same threads and at the same times
	 * (baton/resource.h), for each task of the type that is cancelled and has no future. NULL:
	 * the config's `cancelled` is called.
	 */
	baton_task_cancelled_fn cancelled;
	/*
	 * Where a task of this type keeps its pointer to a future: the place of a member `struct
	 * baton_future *`, given by BATON_TASK_PLACE. The pointer may be NULL. 0: tasks of this
	 * type have no futures.
	 */
	int32_t future;
	/*
	 * Where a task of this type carries a label: the place of a member `struct baton_stamp`
	 * (baton/labelled.h). 0: tasks of this type carry none.
	 */
	int32_t stamp;
	int32_t _cancelled;
	uint32_t _flags;
	/*
	 * Where a task of this type keeps the function that boards and traces show for the task:
	 * the place of a member that is a pointer to a function. 0: they show `run`.
	 */
	int32_t function;
	uint32_t _unused;
	uint64_t _reserved[3];
};

/* The place of a member of `struct_type`, seen from the member `task`. */
#define BATON_TASK_PLACE(struct_type, task, member)                                                \
	(BATON__NUMBER(int32_t, offsetof(struct_type, member)) -                                   \
	 BATON__NUMBER(int32_t, offsetof(struct_type, task)))

/* A constant initialiser: a task of `*type`. */
#define BATON_TYPED_TASK_INIT(type)                                                                \
	{                                                                                          \
		NULL, NULL, BATON__CAST(struct baton_future *, BATON__CAST(uintptr_t, type) + 1)   \
	}

/* The same at run time. Thread safety: the task's owner, while the task waits nowhere. */
static inline void baton_task_init_typed(struct baton_task *task,
                                         const struct baton_task_type *type)
{
	task->_next = NULL;
	task->_run = NULL;
	task->_future = BATON__CAST(struct baton_future *, BATON__CAST(uintptr_t, type) + 1);
}

#ifdef __cplusplus
}
#endif

#endif
