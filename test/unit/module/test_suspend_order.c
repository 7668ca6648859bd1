/* SPDX-License-Identifier: MIT */
/* The suspensions of one resource take effect in the order of their calls, whoever finds them. */
#include "stash.h"

#include <baton/lane.h>
#include <baton/suspend.h>

enum { PAUSES = 5, STEPS = 3 };

struct scene {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_lane lane;
	struct baton_lanes lanes;
	struct journal journal;
	struct step steps[STEPS];
	struct baton_future futures[STEPS];
	bool submitted[STEPS];
	struct baton_suspension pauses[PAUSES];
};

/*
 * Two characters each: s0 submits step 0, c0 cancels it (the canceller looks at the inbox of the
 * queued resource), x- cancels all, p0 suspends the resource, r0 resumes it, j- runs the job.
 * `order`: the suspensions that take effect, each when the one before is resumed.
 */
static const struct script {
	const char *acts;
	const char *order;
} scripts[] = {
	{"s0 p0 p1 p2 j-", "012"},
	{"s0 p0 s1 p1 s2 p2 j-", "012"},
	{"s0 s1 p0 c1 p1 p2 j-", "012"},
	{"s0 s1 p0 p1 c1 p2 p3 s2 p4 j-", "01234"},
	{"s0 s1 s2 p0 c1 p1 c2 p2 c0 p3 j-", "0123"},
	/* Suspensions on both sides of a cancel mark. */
	{"s0 p0 p1 x- p2 s1 p3 j-", "0123"},
	{"s0 s1 p0 x- c1 p1 s2 p2 c2 j-", "012"},
	{"s0 p0 s1 x- p1 s2 x- p2 j-", "012"},
	/* Some are withdrawn: the first, the last, one between others. */
	{"s0 p0 p1 p2 p3 r0 p4 j-", "1234"},
	{"s0 p0 p1 p2 p3 r3 p4 r1 j-", "024"},
	{"s0 p0 p1 r1 p2 r2 p3 r0 p4 j-", "34"},
	{"s0 p0 p1 r1 r0 p2 p3 j-", "23"},
	/* Some come when one has taken effect. */
	{"s0 p0 j- p1 s1 p2 x- p3", "0123"},
	{"p0 p1 s1 p2 r2 p3 p4", "0134"},
	/* Others wait behind one that has gone, and a look finds one more. */
	{"s0 s1 p0 p1 p2 j- r0 p3 c1 j-", "123"},
	{"s0 s1 p0 p1 p2 p3 j- r0 p4 c1 j-", "1234"},
};

static void act(struct scene *scene, char verb, int i)
{
	switch (verb) {
	case 's':
		baton_future_init(&scene->futures[i]);
		scene->submitted[i] = true;
		step_init(&scene->steps[i], &scene->journal, i, &scene->futures[i]);
		cr_assert_eq(baton_submit(&scene->resource, &scene->steps[i].task), 0);
		break;
	case 'c':
		(void)baton_future_cancel(&scene->futures[i]);
		break;
	case 'x':
		cr_assert_eq(baton_resource_cancel_pending(&scene->resource), 0);
		break;
	case 'p':
		cr_assert_eq(baton_resource_suspend(&scene->resource, &scene->pauses[i]), 0);
		break;
	case 'r':
		cr_assert_eq(baton_resource_resume(&scene->pauses[i]), 0);
		break;
	default:
		stash_run(&scene->stash);
		break;
	}
}

static void play(const struct script *script, bool with_lane)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	MUST(scene);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene->config.executor = &scene->stash.executor;
	stash_init(&scene->stash);
	baton_resource_init(&scene->resource, &scene->config);
	baton_lanes_init(&scene->lanes, &scene->lane, 1, NULL);
	if (with_lane)
		baton_resource_set_lanes(&scene->resource, &scene->lanes);
	for (const char *at = script->acts; *at; at += at[2] ? 3 : 2)
		act(scene, at[0], at[1] - '0');
	for (const char *at = script->order; *at; at++) {
		for (int i = 0; i < PAUSES; i++)
			cr_assert_eq(baton_suspension_is_effective(&scene->pauses[i]),
			             i == *at - '0', "%s: %d, not %c", script->acts, i, *at);
		cr_assert_eq(scene->journal.count, 0, "%s: a task runs", script->acts);
		act(scene, 'r', *at - '0');
		stash_run(&scene->stash);
	}
	for (int i = 0; i < STEPS; i++)
		cr_assert(!scene->submitted[i] || baton_future_is_complete(&scene->futures[i]),
		          "%s: step %d is lost", script->acts, i);
	resource_end(&scene->resource);
	free(scene);
}

Test(suspend_order, the_suspensions_take_effect_in_the_order_of_their_calls, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
		play(&scripts[i], false);
		play(&scripts[i], true);
	}
}
