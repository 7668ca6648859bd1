/* SPDX-License-Identifier: MIT */
/*
 * What the library tells the checks of libbaton-checked (src/checked). The ordinary library is
 * compiled without BATON_CHECKED: there the macros are empty, and no code is left of them.
 *
 * Two sorts of lines have these macros. A public function says its name and what it was given, so
 * that a mistake is reported in the caller's words. And the few functions that every way into a
 * resource passes (core/word.h: the captures) say that the resource is used: thus a resource is
 * known from its first use on, whatever function that was.
 */
#ifndef BATON_SRC_CHECKED_H
#define BATON_SRC_CHECKED_H

#ifdef BATON_CHECKED

#include <stdbool.h>
#include <stddef.h>

#include "base/platform.h"

struct baton_bound;
struct baton_continuation;
struct baton_future;
struct baton_hold;
struct baton_readers;
struct baton_shared_hold;
struct baton_lanes;
struct baton_resource;
struct baton_resource_stats;
struct baton_task;
struct baton_timer;
struct baton_trigger;

/* `function`: the public function that has been called. */
struct baton__checks {
	/* ---- Of a resource ---- */

	/* The resource is about to be initialised, perhaps by the library itself: a main loop's. */
	void (*init)(struct baton_resource *resource, const char *function);
	/* Is the resource initialised, and unchanged since? */
	void (*resource)(struct baton_resource *resource, const char *function);
	void (*resources)(struct baton_resource *const *resources, size_t count,
	                  const char *function);
	/* As `resource`, for a call, a post or an async. `given`: a function is given. With options
	 * `given` is: options are given; a function that is missing there is refused. */
	void (*call)(struct baton_resource *resource, bool given, const char *function);
	void (*call_with)(struct baton_resource *resource, bool given, const char *function);
	void (*set_stats)(struct baton_resource *resource, const struct baton_resource_stats *stats,
	                  const char *function);
	void (*set_lanes)(struct baton_resource *resource, const struct baton_lanes *lanes,
	                  const char *function);
	void (*set_bound)(struct baton_resource *resource, const struct baton_bound *bound,
	                  const char *function);
	/* The resource, which has ended, is about to leave its board. */
	void (*left)(struct baton_resource *resource);
	/* The resource is no resource any more. */
	void (*deinit)(struct baton_resource *resource, const char *function);
	/* The resource has one suspension more, or one less. */
	void (*suspended)(struct baton_resource *resource, bool more);
	/* The resource is about to be captured, perhaps by the library itself: a timer, a fan-out.
	 */
	void (*use)(struct baton_resource *resource);
	/* The holder is about to walk over the inbox. */
	void (*take)(struct baton_resource *resource);
	/* The resource is about to be given to this executor. */
	void (*hand_off)(struct baton_resource *resource, const void *executor);

	/* ---- Of tasks ---- */

	/* The tasks are about to be submitted. True: the caller calls itself, and gives the outcome
	 * and `*checked` to `submitted`. False: the caller has just called itself. */
	bool (*submit)(struct baton_resource *resource, struct baton_task *const *tasks,
	               size_t count, const char *function, void **checked);
	void (*submitted)(void *checked, struct baton_resource *resource, int outcome,
	                  const char *function, const void *caller);
	/* The next submit of this thread is a part of another public function, which answers. */
	void (*submits_own)(void);
	/* The function, which `caller` has called, is about to return `error`. Returns it. */
	int (*answer)(const struct baton_resource *resource, int error, const char *function,
	              const void *caller);
	void (*finaliser)(struct baton_resource *resource, const struct baton_task *task,
	                  const char *function);
	/* The thread holds the resource, and enters the task now. */
	void (*enter)(struct baton_resource *resource, struct baton_task *task);
	/* The task will not be entered. */
	void (*drop)(struct baton_task *task);

	/* ---- Of holds ---- */

	void (*hold)(struct baton_resource *resource, const struct baton_hold *hold,
	             const char *function);
	void (*hold_many)(struct baton_resource *const *resources, size_t count,
	                  const struct baton_hold *holds, const char *function);
	void (*release)(const struct baton_hold *hold, const char *function);
	void (*hold_shared)(const struct baton_readers *readers,
	                    const struct baton_shared_hold *hold, const char *function);
	void (*release_shared)(const struct baton_shared_hold *hold, const char *function);

	/* ---- Of timers and triggers. `given`: a function is given. A fire or an arm is promised
	 * -EINVAL where a function or a resource is missing, and is not stopped there ---- */

	void (*trigger_init)(const struct baton_trigger *trigger,
	                     const struct baton_resource *resource, bool given,
	                     const char *function);
	void (*trigger_fire)(const struct baton_trigger *trigger, const char *function);
	void (*timer_init)(struct baton_timer *timer, struct baton_resource *resource, bool given,
	                   const char *function);
	void (*timer_arm)(struct baton_timer *timer, const char *function);
	void (*timer_stop)(const struct baton_timer *timer, const char *function);

	/* ---- Of what the library allocates: pools, executors, wheels ---- */

	/* `executor`: the object's own, or NULL. `ended`: before its memory is given back. */
	void (*made)(const void *object, const void *executor, const char *function);
	void (*owned)(const void *object, const char *function);
	void (*ended)(const void *object, const void *executor, const char *function);

	/* ---- Of a future ---- */

	void (*then)(const struct baton_future *future,
	             const struct baton_continuation *continuation, const char *function);
	/* A call or a wait of this thread is refused, since it could never end. */
	void (*deadlock)(void);
	/* The function may wait. NULL: some function is about to. */
	void (*may_wait)(const char *function);
	/* The thread is about to wait. `for_ever`: without a deadline. */
	void (*wait)(struct baton_future *future, bool for_ever, const char *function);
};

extern const struct baton__checks baton__checks;

#define BATON__CHECKED(call) baton__checks.call

/* The first line of a function that submits the tasks. `again`: a call of the function itself. */
#define BATON__CHECKED_SUBMIT(resource, tasks, count, again)                                       \
	do {                                                                                       \
		void *checked;                                                                     \
                                                                                                   \
		if (baton__checks.submit(resource, tasks, count, __func__, &checked)) {            \
			const int outcome = (again);                                               \
                                                                                                   \
			baton__checks.submitted(checked, resource, outcome, __func__,              \
			                        __builtin_return_address(0));                      \
			return outcome;                                                            \
		}                                                                                  \
	} while (0)

/* What a public function returns that may be refused. If the call is refused, the resource is still
 * there. NULL: the call concerns no resource, or its resource may be gone. */
#define BATON__ANSWER(resource, error)                                                             \
	__extension__({                                                                            \
		const int answer = (error);                                                        \
                                                                                                   \
		answer ? baton__checks.answer(resource, answer, __func__,                          \
		                              __builtin_return_address(0))                         \
		       : 0;                                                                        \
	})

/* The same, where all errors but -EINVAL are ordinary outcomes. */
#define BATON__ANSWER_INVALID(resource, error)                                                     \
	__extension__({                                                                            \
		const int answer = (error);                                                        \
                                                                                                   \
		if (answer == -EINVAL)                                                             \
			(void)baton__checks.answer(resource, answer, __func__,                     \
			                           __builtin_return_address(0));                   \
		answer;                                                                            \
	})

/* As BATON_REQUIRE, in the checked library alone. */
#define BATON__NEED(condition, what) BATON_REQUIRE(condition, what)

/* As BATON_ASSERT, in the checked library alone: for paths on which each instruction counts. */
#define BATON__CHECK(condition) BATON_ASSERT(condition)

#else
#define BATON__CHECKED(call) (void)0
#define BATON__CHECKED_SUBMIT(resource, tasks, count, again) (void)0
#define BATON__ANSWER(resource, error) (error)
#define BATON__ANSWER_INVALID(resource, error) (error)
#define BATON__NEED(condition, what) (void)0
#define BATON__CHECK(condition) (void)0
#endif

#endif
