/* SPDX-License-Identifier: MIT */
/*
 * Admission: guests of all kinds arrive at one admission for the round, and are withdrawn, stopped
 * or brought down. Each guest that arrived is gone once, and no more guests are in than the first
 * limit says; interactive ones are left out, since a halted one leaves later than the next comes.
 */
#include "mod.h"

#include <baton/admission.h>

#include <errno.h>
#include <stdlib.h>

#include "actor.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#define GUEST_MAGIC 0x60e57600U
#define LIMIT 4
#define WAITING_MAX 2000
#define POLLS_MAX 30
/* A guest does 0.3 deeds on average: with more than one, what guests ask for would never end. */
#define DEEDS_ONE_IN 48

/* Baton has one reference until the guest is gone, its client the other. */
struct guest {
	struct baton_admitted admitted;
	struct baton_future outcome;
	uint32_t magic;
	uint32_t kind;
	uint32_t polls;
	atomic_int references;
	atomic_int entered;
};

static struct baton_admission hall;
static _Atomic uint64_t arrived;
static _Atomic uint64_t left;
static atomic_int inside;

static void unref(struct guest *guest)
{
	if (atomic_fetch_sub(&guest->references, 1) != 1)
		return;
	guest->magic = 0;
	free(guest);
}

static int guest_run(struct baton_task *task)
{
	struct guest *guest = baton_container_of(task, struct guest, admitted.task);
	bool counts = guest->kind != BATON_RULES_INTERACTIVE;
	int status = 0;

	if (guest->magic != GUEST_MAGIC || atomic_fetch_add(&guest->entered, 1))
		report(NULL, NULL, "a guest is entered again, or was given back");
	if (counts && atomic_fetch_add(&inside, 1) >= LIMIT)
		report(NULL, NULL, "more guests are in than the limit says");
	for (uint32_t i = 0; i < guest->polls && !status; i++)
		if (baton_cancel_requested())
			status = -ECANCELED;
		else if (random_one_in(&actor_self()->random, DEEDS_ONE_IN))
			mod_nested(NULL, NULL);
	if (counts)
		atomic_fetch_sub(&inside, 1);
	return status;
}

static void guest_gone(struct baton_admission *admission, struct baton_admitted *admitted)
{
	struct guest *guest = baton_container_of(admitted, struct guest, admitted);
	int status = baton_future_status(&guest->outcome);

	if (guest->magic != GUEST_MAGIC || !baton_future_is_complete(&guest->outcome))
		report(NULL, NULL, "a guest is gone twice, or before its outcome");
	if (status == 0 && !atomic_load(&guest->entered))
		report(NULL, NULL, "a guest is done, and was never entered");
	if (!sabotage_now(BREAK_MOD_ADMISSION))
		atomic_fetch_add(&left, 1);
	unref(guest);
}

void admission_start(uint64_t *random, struct baton_executor *executor)
{
	struct baton_admission_config config = {
		.rules = {.limit = {LIMIT, 2, 1},
	                  .duration_ns = {200 * BATON_MICROSECOND, BATON_MILLISECOND,
	                                  2 * BATON_MILLISECOND},
	                  .policy = (enum baton_rules_policy)random_below(random, 3),
	                  .seed = *random},
		.executor = executor,
		.gone = guest_gone,
	};

	arrived = left = 0;
	atomic_store(&inside, 0);
	MUST(baton_admission_init(&hall, &config) == 0);
}

/* No guest arrives any more. */
void admission_end(uint64_t *random)
{
	bool drop = random_one_in(random, 2);

	MUST(baton_admission_close(&hall, drop ? BATON_ADMISSION_DROP : BATON_ADMISSION_RUN) == 0);
	actor_busy("an admission's end", 0);
	MUST(baton_admission_await(&hall) == 0);
	actor_idle();
	baton_admission_deinit(&hall);
	if (arrived != left)
		report(NULL, NULL, "of %llu guests %llu are gone", (unsigned long long)arrived,
		       (unsigned long long)left);
}

void admission_guest(void)
{
	static const uint32_t kinds[] = {0, 1, 2, BATON_RULES_DEFAULT, BATON_RULES_INTERACTIVE};
	uint64_t *random = &actor_self()->random;
	struct baton_admission_stats stats;
	struct guest *guest;
	int error;

	baton_admission_stats_read(&hall, &stats);
	if (stats.waiting > WAITING_MAX)
		return;
	guest = calloc(1, sizeof(*guest));
	MUST(guest);
	guest->magic = GUEST_MAGIC;
	guest->kind = kinds[random_below(random, 5)];
	guest->polls = random_below(random, POLLS_MAX);
	atomic_store(&guest->references, 2);
	baton_promise_init(&guest->outcome);
	baton_admitted_init(&guest->admitted, guest->kind, guest_run);
	guest->admitted.outcome = &guest->outcome;
	atomic_fetch_add(&arrived, 1);
	MUST(baton_admission_arrive(&hall, &guest->admitted) == 0);
	(void)baton_admitted_estimate(&guest->admitted);
	(void)baton_admitted_time_left(&guest->admitted);
	if (random_one_in(random, 3)) {
		error = baton_admitted_withdraw(&guest->admitted);
		/* -EINVAL: gone already. */
		if (error && error != -EINVAL && error != -EALREADY)
			report(NULL, NULL, "a withdrawal: %d", error);
	}
	unref(guest);
}
