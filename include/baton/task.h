/* SPDX-License-Identifier: MIT */
/*
 * A task is one small piece of work for one resource. It is intrusive: the caller embeds it in a
 * struct of its own, and the task's function finds that struct with baton_container_of().
 *
 *	struct publish {
 *		struct baton_task task;
 *		char text[64];
 *	};
 *
 *	static int publish_run(struct baton_task *task)
 *	{
 *		struct publish *publish = baton_container_of(task, struct publish, task);
 *		...
 *		free(publish);
 *		return 0;
 *	}
 *
 *	baton_task_init(&publish->task, publish_run, NULL);
 *	error = baton_submit(&topic->resource, &publish->task);
 *
 * A task that needs more than a function and a future has a type: struct baton_task_type, below.
 */
#ifndef BATON_TASK_H
#define BATON_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_task;
struct baton_future;
struct baton_tag;

/*
 * A task's function. Returns 0, or a status: the task has then failed with that status. The task's
 * future tells the status. If the task has no future, `failed` in its resource's config and the
 * statistics tell (resource.h).
 *
 * The function runs with the resource's baton held: no other task of the resource runs meanwhile,
 * and the effects of all earlier tasks of the resource are visible. It runs on this thread, on the
 * runner's thread, or on the executor's thread, as the submit says. It may submit to any resource,
 * and wait for futures of other resources. It should be short; for tasks that must block see
 * blocking.h.
 *
 * Ownership: the task's memory is the function's: it may free or resubmit its own task, unless the
 * task's future lies in the same memory.
 *
 * Corner cases. The function must return. A C++ exception that leaves it, pthread_exit in it, or
 * the cancellation of its thread would leave the resource held for ever: the process ends with a
 * line that says so. (An exception that no handler catches ends the process as always.) A longjmp
 * out of the function is not noticed.
 */
typedef int (*baton_task_fn)(struct baton_task *task);

/*
 * A task: a function, and its place in a queue. Its members are private.
 *
 * Ownership: the memory of a task belongs to baton from the accepted submit until the function is
 * entered; the memory of a task with a future, until that future is complete.
 */
struct baton_task {
	struct baton_task *_next;
	baton_task_fn _run;
	struct baton_future *_future;
};

/*
 * Makes a task that runs `run` and, unless `future` is NULL, reports to `future`. `run` is called
 * on this thread, on the runner's thread, or on the executor's thread, as the submit says.
 *
 * Thread safety: the task's owner, while the task waits nowhere.
 */
#define BATON_TASK_INIT(run, future)                                                               \
	{                                                                                          \
		NULL, (run), (future)                                                              \
	}

static inline void baton_task_init(struct baton_task *task, baton_task_fn run,
                                   struct baton_future *future)
{
	task->_next = NULL;
	task->_run = run;
	task->_future = future;
}

/*
 * A task type is a constant that many tasks share. It says which function its tasks run, which
 * function is called when such a task is cancelled, and which parts such a task has. A part is a
 * member of the user's struct beside the task. The type names the part by its place. A task pays
 * for the parts of its type only; a task without a type pays nothing.
 *
 *	struct publish {
 *		struct baton_task task;
 *		struct baton_stamp stamp;
 *		char text[64];
 *	};
 *
 *	static const struct baton_task_type publish_type = {
 *		.run = publish_run,
 *		.cancelled = publish_free,
 *		.stamp = BATON_TASK_PLACE(struct publish, task, stamp),
 *	};
 *
 *	baton_task_init_of(&publish->task, &publish_type);
 *	baton_stamp_set_lane(&publish->stamp, 3);
 *	error = baton_submit(&topic->resource, &publish->task);
 *
 * A task of a type is submitted like any task, to any resource and by any call.
 */

/* Called for a task that will not run. The task's memory is the user's again. */
typedef void (*baton_task_cancelled_fn)(struct baton_task *task);

/*
 * A task type: what its tasks run, and which parts they have. Static and constant; must outlive its
 * tasks. Use designated initialisers: members may be added, and zero is the default of all members.
 */
struct baton_task_type {
	/* The function of its tasks. */
	baton_task_fn run;
	/*
	 * Called instead of the config's `cancelled`, on the same threads and at the same times
	 * (baton/resource.h), for each task of the type that is cancelled and has no future. NULL:
	 * the config's `cancelled` is called.
	 */
	baton_task_cancelled_fn cancelled;
	/* The places of the parts, each given by BATON_TASK_PLACE. 0: no task of the type has that
	 * part. */
	int32_t future;         /* a `struct baton_future *`, which may be NULL */
	int32_t stamp;          /* a `struct baton_stamp`: lane, bytes, tag (baton/label.h) */
	union {                 /* one of these, or none */
		int32_t window; /* a `struct baton_window_part` (baton/window.h) */
		int32_t reader; /* a `struct baton_reader` (baton/reader.h) */
	};
	int32_t function; /* a pointer to a function, which boards show instead of `run` */
	uint32_t _flags;
	uint32_t _unused;
	uint64_t _reserved[4];
};

/* The place of a member of `struct_type`, seen from the member `task`. */
#define BATON_TASK_PLACE(struct_type, task, member)                                                \
	(BATON__NUMBER(int32_t, offsetof(struct_type, member)) -                                   \
	 BATON__NUMBER(int32_t, offsetof(struct_type, task)))

/* The label that a task carries: its type's part `stamp`. Set by the functions in baton/label.h.
 * Zero: lane 0, no bytes, no tag. */
struct baton_stamp {
	struct baton_tag *_tag;
	uint64_t _generation;
	void *_carried;
	uint32_t _bytes;
	uint8_t _lane;
	bool _holds;
};

#define BATON_STAMP_INIT                                                                           \
	{                                                                                          \
		NULL, 0, NULL, 0, 0, false                                                         \
	}

/* A part that a module treats; not for programs. */
struct baton__part {
	const struct baton__part_hooks *_hooks; /* NULL: this task does without the part */
};

/* A constant initialiser: a task of `*type`. All bytes of its parts must be zero. */
#define BATON_TASK_INIT_OF(type)                                                                   \
	{                                                                                          \
		NULL, NULL, BATON__CAST(struct baton_future *, BATON__CAST(uintptr_t, type) + 1)   \
	}

/* For the inline function below: the part at that place, of type `part_type`. */
#ifdef __cplusplus
#define BATON__TASK_PART(part_type, task, place)                                                   \
	(static_cast<part_type *>(static_cast<void *>(reinterpret_cast<char *>(task) + (place))))
#else
#define BATON__TASK_PART(part_type, task, place) ((part_type *)(void *)((char *)(task) + (place)))
#endif

/*
 * Makes the task a task of `*type`, and empties its parts: no future, a stamp of zeros, no window,
 * no reader. So set the parts afterwards. They stay as they are when the task is submitted again.
 * Thread safety: the task's owner, while the task waits nowhere.
 */
static inline void baton_task_init_of(struct baton_task *task, const struct baton_task_type *type)
{
	const struct baton_stamp stamp = BATON_STAMP_INIT;

	task->_next = NULL;
	task->_run = NULL;
	task->_future = BATON__CAST(struct baton_future *, BATON__CAST(uintptr_t, type) + 1);
	if (type->future)
		*BATON__TASK_PART(struct baton_future *, task, type->future) = NULL;
	if (type->stamp)
		*BATON__TASK_PART(struct baton_stamp, task, type->stamp) = stamp;
	if (type->window)
		BATON__TASK_PART(struct baton__part, task, type->window)->_hooks = NULL;
}

/*
 * Sets the value that the running task's future will carry. The last call counts; without a call
 * the value is NULL. The value is ignored when the task has no future.
 *
 * Thread safety: inside a task only (asserted); concerns the innermost task of this thread.
 * Blocking: never.
 */
void baton_set_result(void *value);

/*
 * Has another thread, or the task itself, asked the running task to stop (baton_future_cancel() on
 * the task's future)? A long task polls this and returns early, with -ECANCELED, say. The next task
 * never sees the request.
 *
 * Thread safety: inside a task only (asserted). Blocking: never.
 */
bool baton_cancel_requested(void);

#ifdef __cplusplus
#define BATON__CONTAINER(pointer, type, member)                                                    \
	(static_cast<type *>(const_cast<void *>(static_cast<const volatile void *>(                \
		reinterpret_cast<const volatile char *>(pointer) - offsetof(type, member)))))
#else
#define BATON__CONTAINER(pointer, type, member)                                                    \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))
#endif

/* The struct of type `type` whose member `member` is at `pointer`. */
#define baton_container_of(pointer, type, member) BATON__CONTAINER(pointer, type, member)

#ifdef __cplusplus
}
#endif

#endif
