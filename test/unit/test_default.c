/* SPDX-License-Identifier: MIT */
/* Resources without an executor of their own: the default pool is theirs. */
#include "pool_support.h"

#include <baton/version.h>

Test(default_pool, runs_what_a_resource_without_executor_puts_off, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);
	struct journal journal = {0};
	struct step step;

	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit_later(&resource, &step.task), 0);
	resource_end(&resource);
	cr_assert(journal_counts_up(&journal, 0, 1));
}

/* All its workers are busy: the waiter takes the baton of the queued resource, and gives it back to
 * the pool's queue. */
Test(default_pool, a_waiter_helps_where_its_workers_are_all_busy, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_pool *pool = NULL;
	struct journal journal = {0};
	struct plug *plugs;
	struct step step;
	size_t workers;

	cr_assert_eq(baton_pool_default(&pool), 0);
	workers = baton_pool_workers(pool);
	plugs = calloc(workers, sizeof(*plugs));
	cr_assert_not_null(plugs);
	for (size_t i = 0; i < workers; i++)
		plug_in(&plugs[i], pool);
	step_init(&step, &journal, 0, &future);
	cr_assert_eq(baton_submit_later(&resource, &step.task), 0);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert(journal_counts_up(&journal, 0, 1) && journal_here(&journal, 0));
	for (size_t i = 0; i < workers; i++)
		gate_open(&plugs[i].leave);
	resource_end(&resource);
	for (size_t i = 0; i < workers; i++)
		until_at_least(&plugs[i].work.ran, 1);
	free(plugs);
}

Test(default_pool, belongs_to_the_version_that_the_header_says, .timeout = 5)
{
	char expected[32];

	snprintf(expected, sizeof(expected), "%d.%d.%d", BATON_VERSION_MAJOR, BATON_VERSION_MINOR,
	         BATON_VERSION_PATCH);
	cr_assert_str_eq(baton_version(), expected);
}
