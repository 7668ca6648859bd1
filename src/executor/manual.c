/* SPDX-License-Identifier: MIT */
/*
 * The manual executor: runs nothing until its owner says so.
 */
#include <baton/manual.h>

#include "base/checked.h"
#include "executor/driven.h"

#include "core/place.h"

#include <errno.h>
#include <stdlib.h>

struct baton_manual {
	struct baton__driven driven;
};

BATON_EXPORT int baton_manual_create(struct baton_manual **manual)
{
	BATON__NEED(manual, "there is no place for the executor");

	struct baton_manual *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	baton__driven_init(&new->driven, NULL);
	error = baton__driven_adopt(&new->driven);
	BATON__CHECKED(made(new, &new->driven.executor, __func__));
	if (error)
		free(new);
	else
		*manual = new;
	return error;
}

BATON_EXPORT struct baton_executor *baton_manual_executor(struct baton_manual *manual)
{
	BATON__CHECKED(owned(manual, __func__));
	return &manual->driven.executor;
}

BATON_EXPORT size_t baton_manual_run(struct baton_manual *manual, size_t jobs_max)
{
	BATON__CHECKED(owned(manual, __func__));

	struct baton_job *job;
	size_t count = 0;

	BATON_REQUIRE(baton__driven_owned(&manual->driven), BATON__NOT_OWNER);
	/* Ends when the jobs schedule no more jobs. */
	while ((!jobs_max || count < jobs_max) && !baton__too_deep_to_call(baton__self) &&
	       (job = baton__driven_pop(&manual->driven))) {
		baton__driven_run(job);
		count++;
	}
	return count;
}

BATON_EXPORT void baton_manual_destroy(struct baton_manual *manual)
{
	BATON__CHECKED(owned(manual, __func__));

	struct baton_job *job;

	BATON_REQUIRE(baton__driven_owned(&manual->driven), BATON__NOT_OWNER);
	baton__driven_close(&manual->driven);
	/* Pops one job at a time: a function that a cancelled job calls may drive the other
	 * jobs. */
	while ((job = baton__driven_pop(&manual->driven)))
		baton_job_cancel(job);
	BATON__CHECKED(ended(manual, &manual->driven.executor, __func__));
	free(manual);
}
