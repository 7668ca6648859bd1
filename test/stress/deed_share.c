/* SPDX-License-Identifier: MIT */
/* Deeds: references to futures that go from thread to thread, and promises. */
#include "share.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "actor.h"
#include "cell.h"
#include "deed.h"
#include "errand.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#define BOXES 32
#define PROMISES 64

static _Atomic(struct open *) boxes[BOXES];
static _Atomic(struct errand *) promises[PROMISES];
static pthread_t giver;
static atomic_bool giver_leaves;

static void drop(struct open *open)
{
	if (open->errand)
		errand_unref(open->errand);
	else
		baton_future_unref(open->future);
	cell_give(open);
}

static bool put(struct open *open)
{
	struct open *none = NULL;

	return atomic_compare_exchange_strong_explicit(
		&boxes[random_below(&actor_self()->random, BOXES)], &none, open,
		memory_order_release, memory_order_relaxed);
}

/* Puts another reference into a box. */
void deed_give_reference(const struct open *open)
{
	struct open *shared = cell_take();

	*shared = *open;
	if (open->errand)
		atomic_fetch_add_explicit(&open->errand->references, 1, memory_order_relaxed);
	else
		(void)baton_future_ref(open->future);
	if (!put(shared))
		drop(shared);
}

void deed_share(void)
{
	struct open open;

	if (!deed_take(&open))
		return;
	deed_give_reference(&open);
	deed_open(open.future, open.note, open.errand);
}

void deed_shared(void)
{
	struct actor *self = actor_self();
	struct open *shared = atomic_exchange_explicit(&boxes[random_below(&self->random, BOXES)],
	                                               NULL, memory_order_acquire);
	uint64_t deadline = deed_deadline();

	if (!shared)
		return;
	switch (random_below(&self->random, 4)) {
	case 0:
		deed_cancel_it(shared->future, shared->note);
		break;
	case 1:
		(void)deed_wait_for(shared->future, shared->note,
		                    !shared->note->early && actor_may_wait(shared->note)
		                            ? BATON_FOREVER
		                            : deadline);
		break;
	case 2:
		(void)deed_wait_for(shared->future, shared->note, deadline);
		break;
	default:
		if (baton_future_is_complete(shared->future))
			errand_check(shared->future, shared->note);
	}
	if (random_one_in(&self->random, 2) || !put(shared))
		drop(shared);
}

static void fulfil(struct errand *errand)
{
	struct note *note = errand->note;
	int error;

	note->runner = actor_self()->number;
	error = baton_future_complete(&errand->future, errand_status(note), note);
	if (!error)
		atomic_fetch_add(&note->told, 1);
	else if (error != -EALREADY || !atomic_load(&note->tried))
		report(note, NULL, "a promise is fulfilled for the first time: %d", error);
	errand_unref(errand);
}

void deed_promise(void)
{
	struct errand *none = NULL;
	struct errand *errand;

	if (!deed_reserve())
		return;
	errand = errand_promise();
	(void)note_end(errand->note, 0);
	deed_open(&errand->future, errand->note, errand);
	atomic_fetch_add_explicit(&errand->references, 1, memory_order_relaxed);
	if (sabotage_now(BREAK_STUCK))
		return;
	if (!atomic_compare_exchange_strong_explicit(
		    &promises[random_below(&actor_self()->random, PROMISES)], &none, errand,
		    memory_order_release, memory_order_relaxed))
		fulfil(errand);
}

void deed_fulfil(void)
{
	struct errand *errand =
		atomic_exchange_explicit(&promises[random_below(&actor_self()->random, PROMISES)],
	                                 NULL, memory_order_acquire);

	if (errand)
		fulfil(errand);
}

static bool fulfil_all(void)
{
	bool any = false;

	for (int i = 0; i < PROMISES; i++) {
		struct errand *errand =
			atomic_exchange_explicit(&promises[i], NULL, memory_order_acquire);

		if (errand) {
			any = true;
			fulfil(errand);
		}
	}
	return any;
}

/* Its continuations run here, too: it counts as a client that holds nothing. */
static void *giver_main(void *arg)
{
	uint64_t *random = &actor_self()->random;

	actor_self()->client = true;
	while (!atomic_load(&giver_leaves)) {
		usleep(random_below(random, 2000) + 1);
		if (random_one_in(random, 4))
			(void)fulfil_all();
		else
			deed_fulfil();
		/* What continuations have begun here. */
		deed_collect(false);
	}
	while (fulfil_all())
		continue;
	deed_collect(true);
	return NULL;
}

void share_start(void)
{
	atomic_store(&giver_leaves, false);
	MUST(pthread_create(&giver, NULL, giver_main, NULL) == 0);
}

void share_stop(void)
{
	atomic_store(&giver_leaves, true);
	MUST(pthread_join(giver, NULL) == 0);
}

void share_drop_all(void)
{
	for (int i = 0; i < BOXES; i++) {
		struct open *shared =
			atomic_exchange_explicit(&boxes[i], NULL, memory_order_acquire);

		if (shared)
			drop(shared);
	}
}
