/* SPDX-License-Identifier: MIT */
/* Failing calls in: holds of idle and busy resources, of one and of several; shared holds. */
#include "scenario.h"

#include <baton/hold.h>
#include <baton/hooks.h>
#include <baton/reader.h>

struct account {
	struct baton_resource resource;
	struct baton_resource other;
	struct baton_hold hold;
	struct baton_hold second;
	struct baton_readers readers;
	struct baton_shared_hold shared;
	struct probe probe;
	int balance;
};

static void account_init(struct account *account, const struct baton_resource_config *config)
{
	USE(baton_resource_init(&account->resource, config));
	USE(baton_resource_init(&account->other, NULL));
	account->hold = (struct baton_hold)BATON_HOLD_INIT;
	account->second = (struct baton_hold)BATON_HOLD_INIT;
	USE(baton_readers_init(&account->readers, &account->resource));
	account->shared = (struct baton_shared_hold)BATON_SHARED_HOLD_INIT;
	account->balance = 0;
	probe_init(&account->probe);
}

static void account_end(struct account *account)
{
	resource_end(&account->resource);
	resource_end(&account->other);
}

static bool holds_nothing(struct account *account)
{
	return !USE(baton_held(&account->resource)) &&
	       TRY(baton_release(&account->hold)) == -EINVAL;
}

static void *hold(void *arg)
{
	struct account *account = arg;

	INSIST(baton_hold(&account->resource, &account->hold), holds_nothing(account));
	EXPECT(USE(baton_held(&account->resource)));
	account->balance++;
	INSIST(baton_submit(&account->resource, &account->probe.task),
	       probe_untouched(&account->probe));
	EXPECT(!atomic_load(&account->probe.runs));
	EXPECT(TRY(baton_release(&account->hold)) == 0);
	INSIST(baton_future_wait(&account->probe.future), true);
	EXPECT(probe_done(&account->probe));
	return NULL;
}

SCENARIO(hold, idle)
{
	struct account account;

	account_init(&account, NULL);
	elsewhere(hold, &account);
	EXPECT(account.balance == 1);
	account_end(&account);
}

static int nothing(struct baton_resource *resource)
{
	(void)resource;
	return 0;
}

SCENARIO(hold, with_hooks)
{
	struct baton_resource_config config = {.batch_begin = nothing, .batch_end = nothing};
	struct account account;

	account_init(&account, &config);
	elsewhere(hold, &account);
	EXPECT(account.balance == 1);
	account_end(&account);
}

static void busy_with(void *(*holds)(void *account))
{
	struct occupant occupant;
	struct account account;
	pthread_t holder;
	uint32_t waits;

	account_init(&account, NULL);
	occupy(&occupant, &account.resource);
	waits = fault_waits();
	holder = thread_start(holds, &account);
	until_waiting(waits);
	EXPECT(account.balance == 0);
	leave(&occupant);
	thread_join(holder);
	EXPECT(account.balance == 1);
	account_end(&account);
}

SCENARIO(hold, busy)
{
	busy_with(hold);
}

/* In a hold the mark of the next one needs memory. */
static void *hold_in_a_hold(void *arg)
{
	struct account *account = arg;

	INSIST(baton_hold(&account->other, &account->second), true);
	(void)hold(arg);
	EXPECT(TRY(baton_release(&account->second)) == 0);
	return NULL;
}

SCENARIO(hold, busy_in_a_hold)
{
	busy_with(hold_in_a_hold);
}

static void *hold_in_time(void *arg)
{
	struct account *account = arg;
	int status;

	INSIST(baton_hold_until(&account->resource, &account->hold, in_ms(LONG_MS)),
	       holds_nothing(account));
	account->balance++;
	EXPECT(TRY(baton_release(&account->hold)) == 0);
	status = TRY(baton_hold_until(&account->resource, &account->hold, 0));
	/* The occupant may still have it. */
	EXPECT(status == 0 || status == -ETIMEDOUT || fault_planned());
	if (!status)
		EXPECT(TRY(baton_release(&account->hold)) == 0);
	return NULL;
}

SCENARIO(hold, busy_with_a_deadline)
{
	busy_with(hold_in_time);
}

SCENARIO(hold, deadline_that_passes)
{
	struct occupant occupant;
	struct account account;
	int status;

	account_init(&account, NULL);
	occupy(&occupant, &account.resource);
	status = TRY(baton_hold_until(&account.resource, &account.hold, in_ms(SHORT_MS)));
	EXPECT(status == -ETIMEDOUT || (status == -ENOMEM && fault_planned()));
	EXPECT(holds_nothing(&account));
	leave(&occupant);
	account_end(&account);
}

static void *hold_both(void *arg)
{
	struct account *account = arg;
	struct baton_resource *const pair[] = {&account->other, &account->resource};
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};

	INSIST(baton_hold_many(pair, 2, holds), !USE(baton_held(&account->other)) &&
	                                                !USE(baton_held(&account->resource)));
	account->balance++;
	EXPECT(TRY(baton_release(&holds[0])) == 0 && TRY(baton_release(&holds[1])) == 0);
	return NULL;
}

SCENARIO(hold, many)
{
	busy_with(hold_both);
}

static void *hold_both_in_time(void *arg)
{
	struct account *account = arg;
	struct baton_resource *const pair[] = {&account->resource, &account->other};
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};

	INSIST(baton_hold_many_until(pair, 2, holds, in_ms(LONG_MS)),
	       !USE(baton_held(&account->other)) && !USE(baton_held(&account->resource)));
	account->balance++;
	EXPECT(TRY(baton_release(&holds[1])) == 0 && TRY(baton_release(&holds[0])) == 0);
	return NULL;
}

SCENARIO(hold, many_with_a_deadline)
{
	busy_with(hold_both_in_time);
}

/* ---- Shared ---- */

static bool reads_nothing(struct account *account)
{
	return !USE(baton_reading(&account->resource)) &&
	       TRY(baton_release_shared(&account->shared)) == -EINVAL;
}

static void *share(void *arg)
{
	struct account *account = arg;

	INSIST(baton_hold_shared(&account->readers, &account->shared), reads_nothing(account));
	EXPECT(USE(baton_reading(&account->resource)));
	EXPECT(!USE(baton_held(&account->resource)));
	/* 0: it has the baton alone; 2: the runner that has let it in has not left yet. */
	EXPECT(USE(baton_readers_at_work(&account->readers)) <= 2);
	account->balance++; /* alone, as it happens */
	EXPECT(TRY(baton_release_shared(&account->shared)) == 0);
	return NULL;
}

SCENARIO(hold, shared_idle)
{
	struct account account;

	account_init(&account, NULL);
	elsewhere(share, &account);
	EXPECT(account.balance == 1);
	account_end(&account);
}

SCENARIO(hold, shared_busy)
{
	busy_with(share);
}

static void *share_in_a_hold(void *arg)
{
	struct account *account = arg;

	INSIST(baton_hold(&account->other, &account->second), true);
	(void)share(arg);
	EXPECT(TRY(baton_release(&account->second)) == 0);
	return NULL;
}

SCENARIO(hold, shared_busy_in_a_hold)
{
	busy_with(share_in_a_hold);
}

SCENARIO(hold, shared_deadline_that_passes)
{
	struct occupant occupant;
	struct account account;
	int status;

	account_init(&account, NULL);
	occupy(&occupant, &account.resource);
	status = TRY(baton_hold_shared_until(&account.readers, &account.shared, in_ms(SHORT_MS)));
	EXPECT(status == -ETIMEDOUT || (status == -ENOMEM && fault_planned()));
	EXPECT(reads_nothing(&account));
	leave(&occupant);
	account_end(&account);
}
