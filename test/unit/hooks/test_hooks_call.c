/* SPDX-License-Identifier: MIT */
/* Drain hooks: calls go through a batch, as submitted tasks do. */
#include "ledger.h"
#include "stash.h"

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
	cr_assert_eq(resource_counts(&ledger.stats).failed, 0);
	resource_end(&ledger.resource);
}

Test(hooks_call, calls_also_where_nothing_else_is_special, .timeout = 10)
{
	struct ledger ledger;

	ledger_init(&ledger, NULL);
	ledger.resource = (struct baton_resource)BATON_RESOURCE_INIT(&ledger.config);
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
	cr_assert_eq(baton_resource_close(&ledger.resource), 0);
	cr_assert_eq(baton_try_call(&ledger.resource, note_call, &ledger, NULL), -EPIPE);
	cr_assert_eq(ledger.begun, 1);
	resource_end(&ledger.resource);
}

/* ---- What a call that runs at once leaves to others (L7, L8) ---- */

static struct {
	struct stash stash;
	struct ledger ledger;
	struct entry behind; /* submitted by the called function */
	struct baton_resource outer;
	struct baton_task task; /* of `outer` */
} left = {.outer = BATON_RESOURCE_INIT(NULL)};

static void *submits_another(void *arg)
{
	ledger_note(&left.ledger);
	MUST(baton_submit(&left.ledger.resource, &left.behind.task) == 0);
	return arg;
}

static int try_call_once(struct baton_task *task)
{
	(void)task;
	return baton_try_call(&left.ledger.resource, submits_another, NULL, NULL);
}

/* `runs`: runs of the executor's job, after the call, which the task behind needs. */
static void leaves_behind(uint32_t capture_max, bool nested, int runs)
{
	stash_init(&left.stash);
	ledger_init(&left.ledger, &left.stash.executor);
	left.ledger.config.capture_max = capture_max;
	entry_init(&left.behind, &left.ledger, true);
	baton_task_init(&left.task, try_call_once, NULL);
	if (nested)
		cr_assert_eq(baton_submit(&left.outer, &left.task), 0);
	else
		cr_assert_eq(try_call_once(NULL), 0);
	cr_assert_eq(left.ledger.entered, runs ? 1 : 2, "limit %u", capture_max);
	cr_assert_eq(atomic_load(&left.stash.count), (size_t)runs, "limit %u", capture_max);
	stash_run(&left.stash);
	cr_assert_eq(left.ledger.entered, 2);
	cr_assert(ledger_balanced(&left.ledger));
	resource_end(&left.ledger.resource);
}

Test(hooks_call, try_call_counts_as_one_task_of_its_caller, .timeout = 10)
{
	leaves_behind(1, false, 1);
	leaves_behind(2, false, 0);
	leaves_behind(2, true, 1);
	resource_end(&left.outer);
}
