/* SPDX-License-Identifier: MIT */
/*
 * Quiescing: suspends several resources, one after the other in the order of their addresses. Each
 * suspension is effective before the next resource is suspended. As with locks, the order of
 * addresses keeps two quiesces from waiting for each other.
 *
 * Invariants:
 * quiesce.order: While the caller waits for resource i, the resources before i are suspended, and
 *    those after i have not been touched.
 */
#include <baton/suspend.h>

#include "base/checked.h"
#include "base/futex.h"
#include "core/frame.h"
#include "core/resource.h"
#include "wait/wait.h"

#include <errno.h>

static uintptr_t key(const struct baton_suspension *suspension)
{
	return (uintptr_t)suspension->_resource;
}

/* Puts the suspension `at` into its place in a heap of `count`, the largest address on top. */
static void sift(struct baton_suspension *heap, size_t at, size_t count)
{
	while (2 * at + 1 < count) {
		size_t child = 2 * at + 1;
		struct baton_suspension moved = heap[at];

		if (child + 1 < count && key(&heap[child]) < key(&heap[child + 1]))
			child++;
		if (key(&heap[at]) >= key(&heap[child]))
			return;
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

/* Sorts by the address of the resource, smallest first. Not by qsort, which may allocate. */
static void sort_by_resource(struct baton_suspension *suspensions, size_t count)
{
	for (size_t i = count / 2; i > 0; i--)
		sift(suspensions, i - 1, count);
	for (size_t i = count; i > 1; i--) {
		struct baton_suspension last = suspensions[i - 1];

		suspensions[i - 1] = suspensions[0];
		suspensions[0] = last;
		sift(suspensions, 0, i - 1);
	}
}

/* The suspensions of a quiesce that have taken effect. */
struct quiet {
	struct baton__still still;
	const struct baton_suspension *suspensions;
	size_t count;
};

static bool is_quiet(const struct baton__still *still, const struct baton_resource *resource)
{
	const struct quiet *quiet = baton_container_of(still, struct quiet, still);

	for (size_t i = 0; i < quiet->count; i++)
		if (quiet->suspensions[i]._resource == resource)
			return true;
	return false;
}

static int wait_until_quiet(struct baton_suspension *suspensions, size_t done, uint64_t deadline_ns)
{
	const struct quiet quiet = {{is_quiet}, suspensions, done};
	struct baton_future *future = suspensions[done]._future;

	return future ? baton__wait_for_quiet(future, deadline_ns, &quiet.still) : 0;
}

/* Resumes all suspensions. No task of the resources runs here before the last is resumed. */
static void resume_all(struct baton_suspension *suspensions, size_t count)
{
	struct baton__frame frame;

	/* With a frame on the stack, resources that no executor accepts are deferred. */
	baton__frame_push(&frame, NULL);
	for (size_t i = 0; i < count; i++)
		if (suspensions[i]._resource)
			BATON_IGNORE(baton_resource_resume_later(&suspensions[i]));
	baton__frame_pop(&frame);
	baton__deferred_check(baton__self);
}

static int quiesce(struct baton_resource *const *resources, size_t count,
                   struct baton_suspension *suspensions, uint64_t deadline_ns)
{
	struct baton_resource *before = NULL;
	int error = baton__thread_attach();
	size_t done = 0;

	if (error)
		return error;
	for (size_t i = 0; i < count; i++) {
		error = baton__cycle_if_held(baton__self->called, resources[i],
		                             deadline_ns != BATON_FOREVER);
		if (error)
			return error;
	}
	for (size_t i = 0; i < count; i++)
		suspensions[i] = (struct baton_suspension){._resource = resources[i]};
	sort_by_resource(suspensions, count);
	for (; !error && done < count; done++) {
		struct baton_resource *resource = suspensions[done]._resource;

		suspensions[done]._resource = NULL;
		if (resource == before)
			continue;
		before = resource;
		error = baton_resource_suspend(resource, &suspensions[done]);
		if (!error)
			error = wait_until_quiet(suspensions, done, deadline_ns);
	}
	if (!error)
		return 0;
	resume_all(suspensions, done);
	for (; done < count; done++)
		suspensions[done]._resource = NULL; /* the loop has not reached it */
	return error;
}

BATON_EXPORT int baton_quiesce(struct baton_resource *const *resources, size_t count,
                               struct baton_suspension *suspensions)
{
	BATON__CHECKED(resources(resources, count, __func__));
	return quiesce(resources, count, suspensions, BATON_FOREVER);
}

BATON_EXPORT int baton_quiesce_until(struct baton_resource *const *resources, size_t count,
                                     struct baton_suspension *suspensions, uint64_t deadline_ns)
{
	BATON__CHECKED(resources(resources, count, __func__));
	return quiesce(resources, count, suspensions, deadline_ns);
}

BATON_EXPORT int baton_quiesce_end(struct baton_suspension *suspensions, size_t count)
{
	int error = baton__thread_attach();

	if (!error)
		resume_all(suspensions, count);
	return error;
}
