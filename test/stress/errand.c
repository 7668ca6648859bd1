/* SPDX-License-Identifier: MIT */
/* What tasks, jobs and calls do when they run, and what becomes of their futures. */
#include "errand.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "cell.h"
#include "deed.h"
#include "engine.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"
#include "site.h"

int errand_status(const struct note *note)
{
	return note->begin % 8 == 0 ? (int)(note->begin % 1000) + 1 : 0;
}

/* The task itself, under the baton. */
static void act(struct site *site, struct note *note)
{
	uint64_t *random = &actor_self()->random;
	uint32_t what = random_below(random, 64);

	site_enter(site, note);
	if (baton_current() != &site->resource || !baton_held(&site->resource))
		report(note, NULL, "a task runs without its resource's baton");
	if (what < 8) {
		for (uint32_t i = random_below(random, 2000); i > 0; i--)
			__asm__ volatile("");
	} else if (what == 8) {
		sched_yield();
	} else if (what == 9 && random_one_in(random, 8)) {
		usleep(random_below(random, 300));
	} else if (what < 26) {
		deed_nested(site);
	} else if (what < 34) {
		(void)baton_should_yield();
	}
	site_leave(site, note);
}

static int run(struct baton_task *task)
{
	struct errand *errand = baton_container_of(task, struct errand, task);
	struct actor *self = actor_self();
	struct note *note = errand->note;
	struct site *site = errand->site;
	bool pinned = errand->pinned;

	errand->pinned = false;
	/* Gone before anything else happens. */
	if (!note->future)
		cell_give(errand);
	if (pinned) {
		self->hidden++;
		site_unpin(site);
	}
	act(site, note);
	if (pinned)
		self->hidden--;
	if (!note->future)
		return 0;
	if (baton_cancel_requested() && !atomic_load(&note->tried))
		report(note, NULL, "a cancel is requested that nobody has called");
	baton_set_result(note);
	return errand_status(note);
}

void *errand_call(void *arg)
{
	struct note *note = arg;

	act(note->site, note);
	return note;
}

void *errand_of_caller(void *arg)
{
	const struct caller *caller = arg;
	struct actor *self = actor_self();
	const struct caller *outer = self->caller;

	self->caller = caller;
	(void)errand_call(caller->note);
	self->caller = outer;
	return caller->note;
}

void errand_cancelled(struct baton_task *task)
{
	struct errand *errand = baton_container_of(task, struct errand, task);
	struct site *site = errand->pinned ? errand->site : NULL;

	if (errand->note->cancels++ || errand->note->runs)
		report(errand->note, NULL, "L3: a task is cancelled that ran or was cancelled");
	if (errand->note->future)
		report(errand->note, NULL, "`cancelled` is called for a task with a future");
	cell_give(errand);
	if (site)
		site_unpin(site);
}

static void job_run(struct baton_plain_job *job)
{
	struct errand *errand = baton_container_of(job, struct errand, job);
	struct engine *engine = errand->engine;
	struct note *note = errand->note;
	struct actor *self = actor_self();

	if (note->runs++ || note->cancels)
		report(note, NULL, "L3: a job runs twice");
	note->runner = self->number;
	note->ran = ticket();
	cell_give(errand);
	deed_nested(NULL);
	note->ran_end = ticket();
	atomic_fetch_add_explicit(&self->deeds, 1, memory_order_relaxed);
	engine_unpin(engine);
}

static void job_cancel(struct baton_plain_job *job)
{
	struct errand *errand = baton_container_of(job, struct errand, job);
	struct engine *engine = errand->engine;

	if (errand->note->cancels++ || errand->note->runs)
		report(errand->note, NULL, "L3: a job is cancelled that ran or was cancelled");
	if (!atomic_load(&engine->ending))
		report(errand->note, NULL, "a job is cancelled for no reason");
	cell_give(errand);
	engine_unpin(engine);
}

static struct errand *create(struct note *note)
{
	struct errand *errand = cell_take();

	memset(errand, 0, sizeof(*errand));
	errand->note = note;
	atomic_init(&errand->references, 1);
	return errand;
}

struct errand *errand_task(enum note_kind kind, struct site *site, bool future)
{
	struct errand *errand = create(note_begin(kind, site));

	errand->note->future = future;
	errand->site = site;
	baton_future_init(&errand->future);
	baton_task_init(&errand->task, run, future ? &errand->future : NULL);
	return errand;
}

struct errand *errand_job(struct engine *engine)
{
	struct errand *errand = create(note_begin(NOTE_JOB, NULL));

	errand->engine = engine;
	baton_plain_job_init(&errand->job, job_run, job_cancel);
	return errand;
}

struct errand *errand_promise(void)
{
	struct errand *errand = create(note_begin(NOTE_PROMISE, NULL));

	errand->note->future = true;
	baton_promise_init(&errand->future);
	return errand;
}

void errand_discard(struct errand *errand)
{
	if (sabotage_now(BREAK_REFUSED))
		errand->note->runs++;
	errand_unref(errand);
}

void errand_unref(struct errand *errand)
{
	if (atomic_fetch_sub_explicit(&errand->references, 1, memory_order_release) != 1)
		return;
	/* The others are through. */
	(void)atomic_load_explicit(&errand->references, memory_order_acquire);
	cell_give(errand);
}

static void check_value(const struct baton_future *future, struct note *note, int status)
{
	int expected = note->kind == NOTE_ASYNC ? 0 : errand_status(note);
	const struct note *value = baton_future_value(future);
	enum baton_future_state state = baton_future_state(future);

	expected += sabotage_now(BREAK_STATUS) ? 1 : 0;
	if (sabotage_now(BREAK_VALUE))
		value = NULL;
	if (status != expected || (state == BATON_FAILED) != (status != 0))
		report(note, NULL, "a future's status is %d in state %d, not %d", status,
		       (int)state, expected);
	if (value != note)
		report(note, NULL, "a future's value is another's: %p", (const void *)value);
	/* Plain reads: what the task did happens before the completion is seen. */
	if (note_is_task(note) && note->runs != 1)
		report(note, NULL, "L3: a future is done whose task ran %u times", note->runs);
}

void errand_check(const struct baton_future *future, struct note *note)
{
	enum baton_future_state state = baton_future_state(future);
	int status = baton_future_status(future);

	switch (state) {
	case BATON_DONE:
	case BATON_FAILED:
		check_value(future, note, status);
		break;
	case BATON_CANCELLED:
		if (status != -ECANCELED || baton_future_value(future))
			report(note, NULL, "a cancelled future's status is %d", status);
		if (note->runs)
			report(note, NULL, "L3: a future is cancelled whose task ran");
		break;
	default:
		report(note, NULL, "a future was waited for and is in state %d", (int)state);
	}
}

void errand_finish(struct open *open)
{
	struct note *note = open->note;
	bool cancelled = baton_future_state(open->future) == BATON_CANCELLED;

	errand_check(open->future, note);
	note->seen = true;
	if (cancelled || sabotage_now(BREAK_CANCELLED))
		note->cancels++;
	if (!open->errand) {
		baton_future_unref(open->future);
		return;
	}
	if (open->errand->pinned) {
		open->errand->pinned = false;
		site_unpin(open->errand->site);
	}
	errand_unref(open->errand);
}
