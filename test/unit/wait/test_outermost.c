/* SPDX-License-Identifier: MIT */
/* The outermost baton of a thread, which has no frame: in a cycle of waits, and around a post. */
#include "support.h"

struct ring {
	struct baton_resource outer, inner, other;
	pthread_barrier_t held; /* by both threads */
	int results[2];
};

static void *nothing(void *arg)
{
	return arg;
}

static void *from_inner(void *arg)
{
	struct ring *ring = arg;

	(void)pthread_barrier_wait(&ring->held);
	ring->results[0] = baton_call(&ring->other, nothing, NULL, NULL);
	return NULL;
}

static void *from_outer(void *arg)
{
	struct ring *ring = arg;

	MUST(baton_call(&ring->inner, from_inner, ring, NULL) == 0);
	return NULL;
}

static void *from_other(void *arg)
{
	struct ring *ring = arg;

	(void)pthread_barrier_wait(&ring->held);
	ring->results[1] = baton_call(&ring->outer, nothing, NULL, NULL);
	return NULL;
}

static void *hold_other(void *arg)
{
	struct ring *ring = arg;

	MUST(baton_call(&ring->other, from_other, ring, NULL) == 0);
	return NULL;
}

/* The thread's short paths have no frame for `outer`, which the search must find all the same. */
Test(outermost, of_a_cycle_it_is_found, .timeout = 10)
{
	static struct ring ring;
	pthread_t other;

	baton_resource_init(&ring.outer, NAMED("outer"));
	baton_resource_init(&ring.inner, NAMED("inner"));
	baton_resource_init(&ring.other, NAMED("other"));
	(void)pthread_barrier_init(&ring.held, NULL, 2);
	/* Its first call takes the long way. */
	cr_assert_eq(baton_call(&ring.inner, nothing, NULL, NULL), 0);
	other = thread_start(hold_other, &ring);
	cr_assert_eq(baton_call(&ring.outer, from_outer, &ring, NULL), 0);
	thread_join(other);
	cr_assert_eq((ring.results[0] == -EDEADLK) + (ring.results[1] == -EDEADLK), 1, "%d, %d",
	             ring.results[0], ring.results[1]);
	cr_assert_eq(ring.results[0] * ring.results[1], 0, "the other one has run");
	resource_end(&ring.outer);
	resource_end(&ring.inner);
	resource_end(&ring.other);
	(void)pthread_barrier_destroy(&ring.held);
}

static void *nothing_but_a_mark(void *arg)
{
	struct ring *ring = arg;

	cr_assert(baton_held(&ring->outer) && baton_held(&ring->inner));
	ring->results[1] = ring->results[0];
	return NULL;
}

static void *posts(void *arg)
{
	struct ring *ring = arg;

	ring->results[0] = 1;
	MUST(baton_post(&ring->inner, nothing_but_a_mark, ring) == 0);
	ring->results[0]++;
	return NULL;
}

Test(outermost, inside_it_a_post_to_an_idle_resource_runs_at_once, .timeout = 10)
{
	static struct ring ring;

	baton_resource_init(&ring.outer, NAMED("outer"));
	baton_resource_init(&ring.inner, NAMED("inner"));
	cr_assert_eq(baton_call(&ring.inner, nothing, NULL, NULL), 0);
	cr_assert_eq(baton_call(&ring.outer, posts, &ring, NULL), 0);
	cr_assert_eq(ring.results[1], 1, "after the 1, before the 2");
	cr_assert_eq(ring.results[0], 2);
	resource_end(&ring.outer);
	resource_end(&ring.inner);
}
