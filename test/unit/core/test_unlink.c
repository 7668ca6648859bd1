/* SPDX-License-Identifier: MIT */
/*
 * Tasks that are cancelled by their futures, one by one, while marks come and go in front of them:
 * each is found where it is.
 */
#include "stash.h"

#include <baton/suspend.h>

#include <errno.h>

enum { STEPS = 4, PAUSES = 2 };

struct scene {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct journal journal;
	struct step steps[STEPS];
	struct baton_future futures[STEPS];
	struct baton_suspension pauses[PAUSES];
};

/*
 * Two characters each: s0 submits step 0, c0 cancels it, p0 suspends the resource, r0 resumes it.
 * `ran`: the steps that run in the end.
 */
static const struct script {
	const char *acts;
	const char *ran;
} scripts[] = {
	{"s0 s1 s2 p0 c0 c1", "2"},
	/* A withdrawn suspension was the entry before a task. */
	{"s0 s1 s2 p0 p1 c0 r1 c1", "2"},
	{"s0 s1 s2 p0 p1 c0 r0 c1", "2"},
	{"s0 s1 s2 p0 p1 c0 r1 r0 c1", "2"},
	/* Suspensions come before tasks that the look has seen in the inbox. */
	{"s0 s1 c1 s2 s3 s1 c1 c0 p0 c2", "3"},
	{"s0 s1 c1 s2 s3 s1 c1 c0 p0 p1 c3", "2"},
	{"s0 s1 c1 s2 s3 s1 c1 c0 p0 p1 r1 c2", "3"},
};

static void act(struct scene *scene, char verb, int i)
{
	switch (verb) {
	case 's':
		baton_future_init(&scene->futures[i]);
		step_init(&scene->steps[i], &scene->journal, i, &scene->futures[i]);
		cr_assert_eq(baton_submit(&scene->resource, &scene->steps[i].task), 0);
		break;
	case 'c':
		cr_assert_eq(baton_future_cancel(&scene->futures[i]), 0);
		cr_assert_eq(baton_future_state(&scene->futures[i]), BATON_CANCELLED);
		break;
	case 'p':
		cr_assert_eq(baton_resource_suspend(&scene->resource, &scene->pauses[i]), 0);
		break;
	default:
		cr_assert_eq(baton_resource_resume(&scene->pauses[i]), 0);
		break;
	}
}

static void play(const struct script *script)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	size_t count = strlen(script->ran);

	MUST(scene);
	scene->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	scene->config.capture_max = BATON_CAPTURE_NONE;
	scene->config.executor = &scene->stash.executor;
	stash_init(&scene->stash);
	baton_resource_init(&scene->resource, &scene->config);
	for (const char *at = script->acts; *at; at += at[2] ? 3 : 2)
		act(scene, at[0], at[1] - '0');
	for (int i = 0; i < PAUSES; i++)
		BATON_IGNORE(baton_resource_resume(&scene->pauses[i]));
	stash_run(&scene->stash);
	cr_assert_eq(scene->journal.count, count, "%s", script->acts);
	for (size_t i = 0; i < count; i++)
		cr_assert_eq(scene->journal.number[i], script->ran[i] - '0', "%s", script->acts);
	resource_end(&scene->resource);
	free(scene);
}

Test(unlink, a_cancelled_task_is_found_behind_suspensions_that_come_and_go, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		play(&scripts[i]);
}
