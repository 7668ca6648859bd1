/* SPDX-License-Identifier: MIT */
/*
 * What the core tells the checks of libbaton-checked (src/checked). The ordinary library is
 * compiled without BATON_CHECKED: there the macro is empty, and no code is left of it.
 *
 * The public functions tell nothing here: the checked library wraps them (src/checked/plain.h).
 */
#ifndef BATON_SRC_CORE_CHECKED_H
#define BATON_SRC_CORE_CHECKED_H

#ifdef BATON_CHECKED

struct baton_resource;
struct baton_task;

struct baton__checks {
	/* The resource is about to be initialised, perhaps by the library itself: a main loop's. */
	void (*init)(struct baton_resource *resource);
	/* The thread holds the resource, and enters the task now. */
	void (*enter)(struct baton_resource *resource, struct baton_task *task);
	/* The task will not be entered. */
	void (*drop)(struct baton_task *task);
	/* The resource is used, perhaps by the library itself: a timer, a fan-out. */
	void (*use)(struct baton_resource *resource);
	/* The holder is about to walk over the inbox. */
	void (*take)(struct baton_resource *resource);
	/* The resource is about to be given to this executor. */
	void (*hand_off)(struct baton_resource *resource, const void *executor);
};

extern const struct baton__checks baton__checks;

#define BATON__CHECKED(call) baton__checks.call
#else
#define BATON__CHECKED(call) (void)0
#endif

#endif
