/* SPDX-License-Identifier: MIT */
/* Calls whose task is allocated by the library, for scenarios and for the fuzz target api. */
#include "posts.h"

#include "support.h"

#include "base/atomic.h"

#define POSTS_MAX 16

struct posted {
	unsigned runs;
	bool accepted;
};

static struct posted posts[POSTS_MAX];
static uint32_t post_count;
static uint32_t cancelled;

static void *run_posted(void *argument)
{
	struct posted *posted = argument;

	posted->runs++;
	return posted;
}

static struct posted *new_post(void)
{
	uint32_t number = add_relaxed(&post_count, 1);

	return number < POSTS_MAX ? &posts[number] : NULL;
}

void sim_post(struct baton_resource *resource)
{
	struct posted *posted = new_post();

	if (posted && !baton_post(resource, run_posted, posted))
		posted->accepted = true;
}

void sim_async(struct baton_resource *resource, bool wait)
{
	struct posted *posted = new_post();
	struct baton_future *future;

	if (!posted || baton_async(resource, run_posted, posted, &future))
		return;
	posted->accepted = true;
	if (wait && baton_future_wait(future) == 0 && baton_future_state(future) == BATON_DONE)
		sim_require(baton_future_value(future) == posted);
	baton_future_unref(future);
}

void sim_call(struct baton_resource *resource, bool try)
{
	struct posted *posted = new_post();
	void *value = NULL;

	if (!posted)
		return;
	if (!(try ? baton_try_call : baton_call)(resource, run_posted, posted, &value)) {
		posted->accepted = true;
		sim_require(value == posted);
		sim_require(posted->runs == 1);
	}
}

void sim_check_posts(void)
{
	for (unsigned i = 0; i < POSTS_MAX; i++) {
		sim_require(posts[i].runs <= posts[i].accepted);
		if (!load_relaxed(&cancelled))
			sim_require(posts[i].runs == posts[i].accepted);
	}
}

int sim_call_inside(struct baton_resource *resource)
{
	return baton_call(resource, run_posted, NULL, NULL);
}

void sim_posts_cancelled(void)
{
	store_relaxed(&cancelled, 1);
}

void *sim_nothing(void *argument)
{
	return argument;
}
