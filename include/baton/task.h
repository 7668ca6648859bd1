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
 * future tells the status; if the task has no future, `failed` in its resource's config and
 * statistics does (resource.h).
 *
 * It runs with the resource's baton held: nothing else of the same resource runs meanwhile, and
 * everything earlier tasks of the resource did is visible. It may submit to any resource, free or
 * resubmit its own task (unless the task's future lies in the same memory), and wait for futures
 * of other resources. It should be short; see the README on long tasks.
 *
 * The function must return. A C++ exception that leaves it, pthread_exit in it, or the cancellation
 * of its thread would leave the resource held for ever: the process ends with a line that says so
 * (an exception that nobody catches ends the process as always). A longjmp out of the function is
 * not noticed.
 */
typedef int (*baton_task_fn)(struct baton_task *task);

/*
 * Ownership: from an accepted submit until the function is entered, or, where the task has a
 * future, until that future is complete, the memory belongs to baton.
 */
struct baton_task {
	struct baton_task *_next;
	baton_task_fn _run;
	struct baton_future *_future;
};

/* A task that runs `run` and, unless `future` is NULL, reports to `future`. */
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
 * The value that the future of the running task will carry. The last call counts; without one the
 * value is NULL. Ignored when the task has no future.
 *
 * Thread safety: inside a task only (asserted); it concerns the innermost task of this thread.
 */
void baton_set_result(void *value);

/*
 * Has somebody asked the running task to stop (baton_future_cancel on its future)? A long task
 * polls this and returns early, with -ECANCELED, say. The next task never sees the request.
 *
 * Thread safety: inside a task only (asserted). Blocking: never.
 */
bool baton_cancel_requested(void);

#define baton_container_of(pointer, type, member)                                                  \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#ifdef __cplusplus
}
#endif

#endif
