/* SPDX-License-Identifier: MIT */
/* Deeds of the actors: all the ways to submit. */
#include "deed.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "actor.h"
#include "engine.h"
#include "errand.h"
#include "random.h"
#include "report.h"
#include "site.h"

#define BATCH_MAX 16

/* A submit has been refused: was there a reason? (That it is closed is looked at afterwards.) */
static void check_refusal(const struct site *site, const struct note *note)
{
	bool ended = (site->capture_max == BATON_CAPTURE_NONE || note->kind == NOTE_LATER) &&
	             atomic_load(&site->engine->ending);

	if (note->result == -EPIPE || (note->result == -ESHUTDOWN && ended))
		return;
	report(note, NULL, "a submit is refused for no reason: %d", note->result);
}

void deed_submit_one(struct site *site, bool later)
{
	bool future = random_one_in(&actor_self()->random, 2) && deed_reserve();
	struct errand *errand = errand_task(later ? NOTE_LATER : NOTE_SUBMIT, site, future);
	struct note *note = errand->note;
	int error = later ? baton_submit_later(&site->resource, &errand->task)
	                  : baton_submit(&site->resource, &errand->task);

	note_end(note, error);
	if (error) {
		check_refusal(site, note);
		errand_discard(errand);
		if (future)
			deed_release();
	} else if (future) {
		deed_open(&errand->future, note, errand);
	}
}

/* Others know the future already: they may wait for it, and cancel it amid the submit. */
void deed_early(struct site *site)
{
	struct errand *errand;
	struct open open;
	int error;

	if (!deed_reserve())
		return;
	errand = errand_task(NOTE_SUBMIT, site, true);
	open = (struct open){&errand->future, errand->note, errand};
	open.note->early = true;
	deed_give_reference(&open);
	if (random_one_in(&actor_self()->random, 4))
		sched_yield();
	open.note->begin = ticket();
	error = note_end(open.note, baton_submit(&site->resource, &errand->task));
	/* Accepted; or refused, but cancelled just then. */
	if (!error || (error == -ECANCELED && atomic_load(&open.note->tried))) {
		if (error && baton_future_state(open.future) != BATON_CANCELLED)
			report(open.note, NULL, "submit says -ECANCELED of a future that is not");
		deed_open(open.future, open.note, errand);
		return;
	}
	check_refusal(site, open.note);
	errand_discard(errand);
	deed_release();
}

void deed_batch(struct site *site)
{
	struct actor *self = actor_self();
	uint32_t count = 1 + random_below(&self->random, BATCH_MAX);
	struct errand *errands[BATCH_MAX];
	struct note *notes[BATCH_MAX];
	struct baton_task *tasks[BATCH_MAX];
	int error;

	for (uint32_t i = 0; i < count; i++) {
		bool future = random_one_in(&self->random, 4) && deed_reserve();

		errands[i] = errand_task(NOTE_BATCH, site, future);
		notes[i] = errands[i]->note;
		notes[i]->batch = i + 1;
		/* Where the batch begins, so that it is found again. */
		notes[i]->about = notes[0];
		tasks[i] = &errands[i]->task;
	}
	error = baton_submit_batch(&site->resource, tasks, count);
	for (uint32_t i = 0; i < count; i++) {
		note_end(notes[i], error);
		if (error) {
			check_refusal(site, notes[i]);
			errand_discard(errands[i]);
			if (notes[i]->future)
				deed_release();
		} else if (notes[i]->future) {
			deed_open(&errands[i]->future, notes[i], errands[i]);
		}
	}
}

void deed_post(struct site *site)
{
	struct note *note = note_begin(NOTE_POST, site);

	if (note_end(note, baton_post(&site->resource, errand_call, note)))
		check_refusal(site, note);
}

void deed_async(struct site *site)
{
	struct baton_future *future = NULL;
	struct note *note;

	if (!deed_reserve())
		return;
	note = note_begin(NOTE_ASYNC, site);
	note->future = true;
	if (note_end(note, baton_async(&site->resource, errand_call, note, &future))) {
		check_refusal(site, note);
		if (future)
			report(note, NULL, "async is refused and has set the future");
		deed_release();
		return;
	}
	if (random_one_in(&actor_self()->random, 4)) {
		/* Nobody looks at it any more: the task runs all the same. */
		baton_future_unref(future);
		deed_release();
		return;
	}
	deed_open(future, note, NULL);
}

/* Of a call that has returned. */
static void check_call(const struct site *site, struct note *note, const void *value)
{
	switch (note->result) {
	case 0:
		if (value != note || note->runs != 1)
			report(note, NULL, "a call returns, but has run %u times", note->runs);
		break;
	case -EDEADLK:
		if (!deed_deadlock_ok(note))
			report(note, NULL, "a call says that it would never end");
		break;
	case -ECANCELED:
		note->cancels++;
		break;
	default:
		check_refusal(site, note);
	}
	if (note->result && (value || note->runs))
		report(note, NULL, "a call has failed, but has run");
}

void deed_call(struct site *site)
{
	struct actor *self = actor_self();
	struct caller caller = {NULL, self, self->caller, self->depth, self->hidden};
	struct note *note;
	void *value = NULL;

	/* On one that is held it must say so. */
	if (!actor_may_call(site) && !actor_holds(site->number)) {
		deed_try_call(site);
		return;
	}
	note = note_begin(NOTE_CALL, site);
	caller.note = note;
	actor_busy("call", site->number);
	note_end(note, baton_call(&site->resource, errand_of_caller, &caller, &value));
	actor_idle();
	check_call(site, note, value);
	if (actor_holds(site->number) && note->result != -EDEADLK && note->result != -EPIPE)
		report(note, NULL, "a call on a held resource: %d", note->result);
}

void deed_try_call(struct site *site)
{
	struct note *note = note_begin(NOTE_TRY_CALL, site);
	void *value = NULL;

	if (note_end(note, baton_try_call(&site->resource, errand_call, note, &value)) != -EAGAIN)
		check_call(site, note, value);
	else if (value || note->runs)
		report(note, NULL, "a try_call has failed, but has run");
}

static void then_job(const struct open *open)
{
	struct errand *errand = errand_job(engine_pick(&actor_self()->random));

	errand->note->after = open->note;
	errand->note->result = 0;
	baton_continuation_job(&errand->continuation, engine_executor(errand->engine),
	                       &errand->job.job);
	baton_future_then(open->future, &errand->continuation);
}

/* `before`: registered before, with the same future. */
static struct note *then_task(const struct open *open, struct site *site, struct note *before,
                              bool future)
{
	struct errand *errand = errand_task(NOTE_THEN, site, future);
	struct note *note = errand->note;

	note->result = 0;
	site_pin_again(site);
	errand->pinned = true;
	note->after = open->note;
	/* It never returns: it may be submitted at any time from now on. */
	baton_continuation_task(&errand->continuation, &site->resource, &errand->task);
	baton_future_then(open->future, &errand->continuation);
	/* If it was complete in between, this one may have been first. */
	if (before && !baton_future_is_complete(open->future))
		note->about = before;
	if (future)
		deed_open(&errand->future, note, errand);
	return note;
}

/* ---- Functions that are told ---- */

static struct baton_resource nobodys = BATON_RESOURCE_INIT(NULL);
extern size_t baton_checked_refusals(int fd) __attribute__((weak));
static atomic_uint told_left; /* that were registered, and have not been called */

static void on_end(void *arg)
{
	/* With libbaton-checked the call would end the process. */
	int error = baton_checked_refusals ? -EDEADLK
	                                   : baton_try_call(&nobodys, errand_call, NULL, NULL);

	free(arg);
	if (error != -EDEADLK)
		report(NULL, NULL, "a call in a function that is told of an end: %d", error);
	atomic_fetch_sub(&told_left, 1);
}

static void then_told(const struct open *open)
{
	struct baton_continuation *continuation = malloc(sizeof(*continuation));

	MUST(continuation);
	atomic_fetch_add(&told_left, 1);
	baton_continuation_function(continuation, on_end, continuation);
	baton_future_then(open->future, continuation);
}

void deed_all_told(void)
{
	unsigned left = atomic_load(&told_left);

	if (left)
		report(NULL, NULL, "%u functions were not told of an end", left);
}

/* A task or a job for when one of our futures is complete; or two tasks, in this order. */
void deed_then(struct site *site)
{
	struct actor *self = actor_self();
	struct open open;
	struct note *note;

	if (!deed_take(&open))
		return;
	if (random_one_in(&self->random, 2))
		then_told(&open);
	switch (random_below(&self->random, 4)) {
	case 0:
		then_job(&open);
		break;
	case 1:
		note = then_task(&open, site, NULL, false);
		(void)then_task(&open, site, note, false);
		break;
	case 2:
		if (self->client && deed_reserve()) {
			(void)then_task(&open, site, NULL, true);
			break;
		}
		/* fall through */
	default:
		(void)then_task(&open, site, NULL, false);
	}
	deed_open(open.future, open.note, open.errand);
}

/* A future that is not fresh: all of it is refused. */
void deed_stale(struct site *site)
{
	struct errand *good = errand_task(NOTE_BATCH, site, false);
	struct errand *stale = errand_task(NOTE_BATCH, site, true);
	struct baton_task *tasks[2] = {&good->task, &stale->task};
	bool alone = random_one_in(&actor_self()->random, 2);
	struct note *notes[2] = {good->note, stale->note};
	int error;

	notes[0]->about = notes[0];
	notes[1]->about = notes[1];
	baton_promise_init(&stale->future);
	MUST(baton_future_complete(&stale->future, 0, NULL) == 0);
	if (alone)
		error = baton_submit(&site->resource, &stale->task);
	else
		error = baton_submit_batch(&site->resource, tasks, 2);
	note_end(notes[0], error);
	note_end(notes[1], error);
	if (error != -EINVAL && error != -EPIPE)
		report(notes[1], NULL, "a future that is not fresh is accepted: %d", error);
	errand_discard(good);
	errand_discard(stale);
}

void deed_job(void)
{
	struct errand *errand = errand_job(engine_pick(&actor_self()->random));
	struct engine *engine = errand->engine;
	struct note *note = errand->note;

	if (!note_end(note, engine_submit(engine, &errand->job)))
		return;
	if (note->result != -ESHUTDOWN || !atomic_load(&engine->ending))
		report(note, NULL, "a job is refused: %d", note->result);
	errand_discard(errand);
	engine_unpin(engine);
}
