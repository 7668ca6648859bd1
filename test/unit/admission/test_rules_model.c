/* SPDX-License-Identifier: MIT */
/* The rules of admission beside their model: a short run of what `make check-admission` does. */
#include "random.h"
#include "sequences.h"

#include <criterion/criterion.h>

static void all(struct sequences search, uint32_t length)
{
	sequences_all(&search, length);
	cr_assert_gt(search.count, 0);
}

Test(rules_model, every_short_sequence_ends_as_the_model_allows, .timeout = 60)
{
	all((struct sequences){0}, 5);
	cr_assert_gt(tally.exact, 1000);
	cr_assert_gt(tally.starts, 100);
}

Test(rules_model, every_short_sequence_with_overruns_too, .timeout = 60)
{
	all((struct sequences){.overrun = true}, 4);
	all((struct sequences){.overrun = true, .config.stuck = BATON_RULES_GONE}, 4);
}

Test(rules_model, every_policy_takes_one_that_it_may, .timeout = 60)
{
	all((struct sequences){.config.policy = BATON_RULES_OLDEST}, 4);
	all((struct sequences){.config.policy = BATON_RULES_RANDOM, .config.seed = 5}, 4);
	all((struct sequences){.config.reserve = 1}, 4);
}

Test(rules_model, random_runs_keep_every_promise, .timeout = 60)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct source source = {.random = seed * 0x9e3779b97f4a7c15U | 1};

		world_seed = seed;
		random_run(&source, 300, 20);
	}
	cr_assert_gt(tally.choices, 10);
}

Test(rules_model, random_runs_with_many_that_wait, .timeout = 60)
{
	/* The first notices a place that the plan gives away while a ghost has it. */
	static const uint64_t seeds[] = {56, 100};

	for (size_t i = 0; i < 2; i++) {
		struct source source = {.random = seeds[i] * 0x9e3779b97f4a7c15U | 1};

		world_seed = seeds[i];
		random_run(&source, 1000, 400);
	}
	cr_assert_gt(tally.told, 100);
}
