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
 */
#ifndef BATON_TASK_H
#define BATON_TASK_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_task;
struct baton_future;

/*
 * A task's function. Returns 0, or a status: the task has then failed with that status. The task's
 * future tells the status. If the task has no future, `failed` in its resource's config and the
 * statistics tell (resource.h).
 *
 * The function runs with the resource's baton held: no other task of the resource runs meanwhile,
 * and the effects of all earlier tasks of the resource are visible. The function may submit to any
 * resource, free or resubmit its own task (unless the task's future lies in the same memory), and
 * wait for futures of other resources. The function should be short; for tasks that must block see
 * blocking.h.
 *
 * The function must return. A C++ exception that leaves it, pthread_exit in it, or the cancellation
 * of its thread would leave the resource held for ever: the process ends with a line that says so.
 * (An exception that no handler catches ends the process as always.) A longjmp out of the function
 * is not noticed.
 */
typedef int (*baton_task_fn)(struct baton_task *task);

/*
 * Ownership: the memory of a task belongs to baton from the accepted submit until the function is
 * entered; the memory of a task with a future, until that future is complete.
 */
struct baton_task {
	struct baton_task *_next;
	baton_task_fn _run;
	struct baton_future *_future;
};

/*
 * A task that runs `run` and, unless `future` is NULL, reports to `future`.
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
