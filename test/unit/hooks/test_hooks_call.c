/* SPDX-License-Identifier: MIT */
/* Drain hooks: calls go through a batch, as submitted tasks do. */
#include "ledger.h"

static void *note_call(void *arg)
{
	ledger_note(arg);
	return arg;
}

static void check_call(struct ledger *ledger)
{
	struct baton_future *future = NULL;
	void *value = NULL;

	cr_assert_eq(baton_call(&ledger->resource, note_call, ledger, &value), 0);
	cr_assert_eq(value, ledger);
	cr_assert_eq(atomic_load(&ledger->committed), 1);
	value = NULL;
	cr_assert_eq(baton_try_call(&ledger->resource, note_call, ledger, &value), 0);
	cr_assert_eq(value, ledger);
	cr_assert_eq(atomic_load(&ledger->committed), 2);
	cr_assert_eq(baton_post(&ledger->resource, note_call, ledger), 0);
	cr_assert_eq(atomic_load(&ledger->committed), 3);
	cr_assert_eq(baton_async(&ledger->resource, note_call, ledger, &future), 0);
	cr_assert_eq(baton_future_state(future), BATON_DONE);
	cr_assert_eq(baton_future_value(future), ledger);
	baton_future_unref(future);
	cr_assert_eq(atomic_load(&ledger->committed), 4);
	cr_assert(ledger_balanced(ledger));
	cr_assert_eq(ledger->begun, 4);
}

Test(hooks_call, calls_go_through_a_batch, .timeout = 10)
{
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	check_call(&ledger);
	cr_assert_eq(resource_counts(&ledger.stats).submitted, 4);
	cr_assert_eq(resource_counts(&ledger.stats).executed, 4);
	resource_end(&ledger.resource);
}

Test(hooks_call, calls_also_where_nothing_else_is_special, .timeout = 10)
{
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	ledger.resource = (struct baton_resource)BATON_RESOURCE_INIT(&ledger, NULL, &ledger.config);
	check_call(&ledger);
	resource_end(&ledger.resource);
}

Test(hooks_call, try_call_does_not_wait, .timeout = 10)
{
	struct occupant occupant;
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	occupy(&occupant, &ledger.resource);
	cr_assert_eq(baton_try_call(&ledger.resource, note_call, &ledger, NULL), -EAGAIN);
	release(&occupant);
	cr_assert_eq(ledger.entered, 0);
	resource_end(&ledger.resource);
	cr_assert_eq(baton_try_call(&ledger.resource, note_call, &ledger, NULL), -EPIPE);
	cr_assert_eq(ledger.begun, 1);
}
