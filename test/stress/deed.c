/* SPDX-License-Identifier: MIT */
/* Which deed is next; the thread's open futures. */
#include "deed.h"

#include <errno.h>

#include "actor.h"
#include "errand.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "share.h"
#include "site.h"

#define NESTED_MAX 12

static uint32_t weights[DEED_COUNT];
static uint32_t weight_sum;

void deeds_weigh(uint64_t *random)
{
	static const uint32_t factors[] = {0, 1, 1, 4, 16};

	weight_sum = 0;
	for (int i = 0; i < DEED_COUNT; i++) {
		weights[i] = factors[random_below(random, 5)];
		/* These undo what the others do. */
		if (i == DEED_RETIRE || i == DEED_CANCEL_PENDING)
			weights[i] = random_below(random, 3);
		if (i == DEED_COLLECT || i == DEED_FULFIL || i == DEED_SHARED || i == DEED_SUBMIT)
			weights[i] += 4;
		weight_sum += weights[i];
	}
}

static enum deed draw(uint64_t *random)
{
	uint32_t left = random_below(random, weight_sum);

	for (int i = 0; i < DEED_COUNT; i++) {
		if (left < weights[i])
			return (enum deed)i;
		left -= weights[i];
	}
	return DEED_SUBMIT;
}

static void do_to_site(enum deed deed, struct site *site)
{
	switch (deed) {
	case DEED_SUBMIT:
		deed_submit_one(site, false);
		break;
	case DEED_LATER:
		deed_submit_one(site, true);
		break;
	case DEED_BATCH:
		deed_batch(site);
		break;
	case DEED_POST:
		deed_post(site);
		break;
	case DEED_ASYNC:
		deed_async(site);
		break;
	case DEED_CALL:
		deed_call(site);
		break;
	case DEED_TRY_CALL:
		deed_try_call(site);
		break;
	case DEED_THEN:
		deed_then(site);
		break;
	case DEED_CANCEL_PENDING:
		deed_cancel_pending(site);
		break;
	case DEED_AWAIT:
		deed_await(site);
		break;
	case DEED_RETIRE:
		site_retire(site, &actor_self()->random);
		break;
	case DEED_STALE:
		deed_stale(site);
		break;
	case DEED_EARLY:
		deed_early(site);
		break;
	default:
		deed_stats(site);
		break;
	}
}

static bool do_without_site(enum deed deed)
{
	switch (deed) {
	case DEED_JOB:
		deed_job();
		break;
	case DEED_PROMISE:
		deed_promise();
		break;
	case DEED_FULFIL:
		deed_fulfil();
		break;
	case DEED_SHARE:
		deed_share();
		break;
	case DEED_SHARED:
		deed_shared();
		break;
	case DEED_COLLECT:
		deed_collect(false);
		break;
	case DEED_WAIT:
		deed_wait();
		break;
	case DEED_WAIT_ANY:
		deed_wait_any();
		break;
	case DEED_WAIT_ALL:
		deed_wait_all();
		break;
	case DEED_CANCEL:
		deed_cancel();
		break;
	default:
		return false;
	}
	return true;
}

static void do_one(enum deed deed, struct site *own)
{
	uint64_t *random = &actor_self()->random;
	struct site *site;

	if (do_without_site(deed))
		return;
	if (own && random_one_in(random, 4)) {
		do_to_site(deed, own);
		return;
	}
	site = site_pin(random);
	if (!site)
		return;
	do_to_site(deed, site);
	site_unpin(site);
}

void deed_do(void)
{
	struct actor *self = actor_self();

	if (sites_stopping())
		return;
	do_one(draw(&self->random), NULL);
	atomic_fetch_add_explicit(&self->deeds, 1, memory_order_relaxed);
}

void deed_nested(struct site *site)
{
	struct actor *self = actor_self();
	enum deed deed;

	if (sites_stopping() || self->depth + self->hidden > NESTED_MAX)
		return;
	deed = draw(&self->random);
	/* Or each task would bring forth more than one. */
	if (deed == DEED_BATCH && !random_one_in(&self->random, 16))
		deed = DEED_SUBMIT;
	do_one(deed, site);
}

bool deed_reserve(void)
{
	struct actor *self = actor_self();

	if (self->open_count + self->reserved >= ACTOR_OPEN_MAX)
		deed_collect(false);
	if (self->open_count + self->reserved >= ACTOR_OPEN_MAX)
		return false;
	self->reserved++;
	return true;
}

void deed_release(void)
{
	actor_self()->reserved--;
}

void deed_open(struct baton_future *future, struct note *note, struct errand *errand)
{
	struct actor *self = actor_self();

	self->reserved--;
	self->opens[self->open_count++] = (struct open){future, note, errand};
}

bool deed_take(struct open *open)
{
	struct actor *self = actor_self();
	uint32_t index;

	if (self->open_count == 0)
		return false;
	index = random_below(&self->random, self->open_count);
	*open = self->opens[index];
	self->opens[index] = self->opens[--self->open_count];
	self->reserved++;
	return true;
}

static void collect_strays(struct actor *self, bool all)
{
	uint32_t count = self->stray_count;

	for (uint32_t i = 0; i < count && self->stray_count > 0; i++) {
		struct site *site = self->strays[--self->stray_count];
		uint64_t deadline = deed_deadline();
		int error;

		actor_busy("await after one that timed out", site->number);
		error = baton_resource_await_until(&site->resource, all ? BATON_FOREVER : deadline);
		actor_idle();
		if (!error) {
			site_unpin(site);
			continue;
		}
		if (all || (error != -ETIMEDOUT && error != -EDEADLK))
			report(site->closing, NULL, "await: %d", error);
		MUST(self->stray_count < ACTOR_STRAY_MAX);
		self->strays[self->stray_count++] = site;
		break;
	}
}

static void collect_open(struct actor *self, bool all)
{
	struct open kept[ACTOR_OPEN_MAX];
	uint32_t count = 0;
	struct open open;

	while (deed_take(&open)) {
		if (all)
			(void)deed_wait_for(open.future, open.note, BATON_FOREVER);
		if (all || baton_future_is_complete(open.future)) {
			deed_release();
			errand_finish(&open);
		} else {
			kept[count++] = open;
		}
	}
	while (count > 0) {
		count--;
		deed_open(kept[count].future, kept[count].note, kept[count].errand);
	}
}

void deed_collect(bool all)
{
	struct actor *self = actor_self();

	/* The tasks that a wait or an await helps with begin deeds, too: all means these as well.
	 * A thread that ends before them leaves a site pinned for ever. */
	do {
		collect_open(self, all);
		if (self->depth == 0 && !self->hidden)
			collect_strays(self, all);
	} while (all && (self->open_count > 0 || self->stray_count > 0));
}

void deed_collect_everybodys(void)
{
	for (uint32_t i = 0; i < actor_count(); i++) {
		struct actor *actor = actor_at(i);

		MUST(actor->stray_count == 0 && actor->reserved == 0);
		while (actor->open_count > 0) {
			struct open *open = &actor->opens[--actor->open_count];

			(void)deed_wait_for(open->future, open->note, BATON_FOREVER);
			errand_finish(open);
		}
	}
	share_drop_all();
}
