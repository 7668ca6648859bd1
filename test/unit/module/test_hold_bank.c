/* SPDX-License-Identifier: MIT */
/*
 * A bank of 10,000 accounts. Threads hold 1 to 5 accounts at a time and move money, some with
 * deadlines; others cancel what waits, and close accounts. An auditor finds the sum unchanged while
 * all that goes on.
 */
#include "support.h"

#include <baton/hold.h>
#include <baton/suspend.h>

#define ACCOUNTS 10000
#define EACH 100
#define PARTS_MAX 5
#define HOT 16 /* half of all moves are among these */
#define THREADS_MAX 64

struct account {
	struct baton_resource resource;
	long balance;
	uint32_t holder;    /* the thread that is inside, or 0 */
	atomic_bool closed; /* and awaited: the balance is constant */
};

static struct account accounts[ACCOUNTS];
static struct baton_resource *pointers[ACCOUNTS];
static struct baton_suspension suspensions[ACCOUNTS];
static atomic_int left;
static atomic_int moved;
static atomic_int wrong; /* overlaps */

struct teller {
	uint64_t random;
	uint32_t number;
	int rounds;
	int unexpected; /* an error that no call should have returned */
	pthread_t thread;
};

static struct account *pick(struct teller *teller)
{
	return &accounts[rng_below(&teller->random,
	                           rng_below(&teller->random, 2) ? HOT : ACCOUNTS)];
}

/* Different ones. */
static size_t pick_some(struct teller *teller, struct account **some)
{
	size_t count = 1 + rng_below(&teller->random, PARTS_MAX);

	for (size_t i = 0; i < count;) {
		size_t j = 0;

		some[i] = pick(teller);
		while (some[j] != some[i])
			j++;
		i += j == i;
	}
	return count;
}

static int hold(struct teller *teller, struct baton_resource **some, size_t count,
                struct baton_hold *holds)
{
	switch (rng_below(&teller->random, 4)) {
	case 0:
		return baton_hold_many_until(some, count, holds, deadline_in_ms(1));
	case 1:
		if (count == 1)
			return baton_hold(some[0], holds);
	}
	return baton_hold_many(some, count, holds);
}

static void move(struct teller *teller)
{
	struct account *some[PARTS_MAX];
	struct baton_resource *resources[PARTS_MAX];
	struct baton_hold holds[PARTS_MAX];
	size_t count = pick_some(teller, some);
	size_t first = rng_below(&teller->random, (uint32_t)count);
	int status;

	for (size_t i = 0; i < count; i++) {
		resources[i] = &some[i]->resource;
		holds[i] = (struct baton_hold)BATON_HOLD_INIT;
	}
	status = hold(teller, resources, count, holds);
	if (status) {
		teller->unexpected +=
			status != -EPIPE && status != -ETIMEDOUT && status != -ECANCELED;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		atomic_fetch_add(&wrong, some[i]->holder != 0 || !baton_held(resources[i]));
		some[i]->holder = teller->number;
	}
	/* In a circle. */
	for (size_t i = 0; i < count; i++) {
		some[i]->balance -= (long)(i + 1);
		some[(i + 1) % count]->balance += (long)(i + 1);
	}
	for (size_t i = 0; i < count; i++) {
		atomic_fetch_add(&wrong, some[i]->holder != teller->number);
		some[i]->holder = 0;
	}
	for (size_t i = 0; i < count; i++)
		teller->unexpected += baton_release(&holds[(first + i) % count]) != 0;
	atomic_fetch_add(&moved, 1);
}

static void *post_nothing(void *arg)
{
	struct account *account = arg;

	atomic_fetch_add(&wrong, account->holder != 0);
	return NULL;
}

static void *tell(void *arg)
{
	struct teller *teller = arg;

	for (int i = 0; i < teller->rounds; i++) {
		struct account *account = pick(teller);
		int status;

		move(teller);
		switch (rng_below(&teller->random, 64)) {
		case 0:
			status = baton_resource_cancel_pending(&account->resource);
			teller->unexpected += status != 0;
			break;
		case 1:
		case 2:
			status = baton_call(&account->resource, post_nothing, account, NULL);
			teller->unexpected += status && status != -EPIPE && status != -ECANCELED;
			break;
		case 3:
			/* A cold one, so that not all of the hot ones end. */
			account = &accounts[HOT + rng_below(&teller->random, ACCOUNTS - HOT)];
			if (baton_resource_close(&account->resource) == 0) {
				teller->unexpected += baton_resource_await(&account->resource) != 0;
				atomic_store(&account->closed, true);
			}
		}
	}
	atomic_fetch_sub(&left, 1);
	return NULL;
}

/* Returns false if an account was being closed. */
static bool audit(long *sum)
{
	size_t open = 0;

	for (size_t i = 0; i < ACCOUNTS; i++)
		if (!atomic_load(&accounts[i].closed))
			pointers[open++] = &accounts[i].resource;
	if (baton_quiesce(pointers, open, suspensions))
		return false;
	*sum = 0;
	for (size_t i = 0; i < ACCOUNTS; i++)
		*sum += accounts[i].balance;
	MUST(baton_quiesce_end(suspensions, open) == 0);
	return true;
}

static void run_bank(int threads)
{
	static struct teller tellers[THREADS_MAX];
	uint64_t seed = test_seed();
	int audits = 0;
	long sum;

	for (size_t i = 0; i < ACCOUNTS; i++) {
		baton_resource_init(&accounts[i].resource, NULL);
		accounts[i].balance = EACH;
		accounts[i].holder = 0;
		atomic_store(&accounts[i].closed, false);
	}
	atomic_store(&left, threads);
	for (int i = 0; i < threads; i++) {
		tellers[i] = (struct teller){.random = rng_fork(seed, (uint64_t)i),
		                             .number = (uint32_t)i + 1,
		                             .rounds = scaled(20000) / threads + 1};
		tellers[i].thread = thread_start(tell, &tellers[i]);
	}
	while (atomic_load(&left) > 0) {
		if (!audit(&sum))
			continue;
		cr_expect_eq(sum, (long)ACCOUNTS * EACH);
		audits++;
	}
	for (int i = 0; i < threads; i++) {
		thread_join(tellers[i].thread);
		cr_expect_eq(tellers[i].unexpected, 0);
	}
	cr_assert(audit(&sum));
	cr_expect_eq(sum, (long)ACCOUNTS * EACH);
	fprintf(stderr, "%d threads: %d moves, %d audits\n", threads, atomic_load(&moved), audits);
	cr_expect_eq(atomic_load(&wrong), 0);
	for (size_t i = 0; i < ACCOUNTS; i++)
		resource_end(&accounts[i].resource);
}

Test(hold_bank, its_sum_never_changes_with_two_threads, .timeout = 60)
{
	run_bank(2);
}

Test(hold_bank, its_sum_never_changes_with_eight_threads, .timeout = 60)
{
	run_bank(8);
}

Test(hold_bank, its_sum_never_changes_with_sixty_four_threads, .timeout = 60)
{
	run_bank(64);
}
