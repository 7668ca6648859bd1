/* SPDX-License-Identifier: MIT */
/*
 * The executor that one thread drives: its queue, and the executor's operations.
 */
#include "executor/driven.h"

#include "base/atomic.h"
#include "core/place.h"
#include "core/resource.h"

#include <errno.h>

#define CLOSED ((uintptr_t)1)

/* Pushes a job. 1: the inbox was empty; 0: it was not; -ESHUTDOWN: it is closed. Any thread. */
static int push_job(struct baton__driven *driven, struct baton_job *job)
{
	uintptr_t word = load_relaxed(&driven->inbox);

	/* Lock-free: a CAS fails only because another thread has pushed, or the owner has taken the
	 * inbox. */
	do {
		if (word == CLOSED)
			return -ESHUTDOWN;
		job->_next = (struct baton_job *)word;
		/* [driven.job] release: the job; pairs with [driven.job] in take_inbox.
		 * thread.asleep (thread.h) seq_cst: before the load of `asleep` in notify. Acq_rel
		 * is enough: push_job and take_inbox are read-modify-writes of one word. If
		 * take_inbox comes first, push_job acquires `asleep`. */
	} while (!cas_seq_cst(&driven->inbox, &word, (uintptr_t)job));
	return word == 0;
}

/* Appends the jobs of the inbox to the list, in order, and stores `state` (0 or CLOSED) in the
 * inbox. A closed inbox stays closed. */
static void take_inbox(struct baton__driven *driven, uintptr_t state)
{
	uintptr_t word = load_relaxed(&driven->inbox);
	struct baton_job *newest;
	struct baton_job *oldest = NULL;
	struct baton_job **end = driven->end;

	/* Lock-free: a CAS fails only because another thread has pushed. [driven.job] acquire: the
	 * jobs; pairs with [driven.job] in push_job. thread.asleep (thread.h) seq_cst: after the
	 * owner's store of `asleep`. */
	do {
		if (word == CLOSED)
			return;
		/* Acq_rel is enough: as in push_job. */
	} while (!cas_seq_cst(&driven->inbox, &word, state));
	newest = (struct baton_job *)word;
	if (newest)
		driven->end = &newest->_next;
	while (newest) {
		struct baton_job *next = newest->_next;

		newest->_next = oldest;
		oldest = newest;
		newest = next;
	}
	*end = oldest;
}

void baton__driven_take(struct baton__driven *driven)
{
	take_inbox(driven, 0);
}

struct baton_job *baton__driven_pop_listed(struct baton__driven *driven)
{
	struct baton_job *job = driven->list;

	if (!job)
		return NULL;
	driven->list = job->_next;
	if (!driven->list)
		driven->end = &driven->list;
	return job;
}

struct baton_job *baton__driven_pop(struct baton__driven *driven)
{
	if (!driven->list)
		take_inbox(driven, 0);
	return baton__driven_pop_listed(driven);
}

const struct baton_job *baton__driven_last(const struct baton__driven *driven)
{
	return driven->list ? baton_container_of(driven->end, struct baton_job, _next) : NULL;
}

/* Compares the session, too: a later thread may have adopted the owner's record. */
bool baton__driven_owned(const struct baton__driven *driven)
{
	return load_relaxed(&driven->owner) == baton__self &&
	       load_relaxed(&driven->session) == baton__self->session;
}

int baton__driven_adopt(struct baton__driven *driven)
{
	int error = baton__thread_attach();

	if (error)
		return error;
	/* Relaxed: only a thread that finds its own record in `owner` compares the session. The
	 * store of `owner` publishes the session. */
	store_relaxed(&driven->session, baton__self->session);
	/* [driven.owner] release: the owner's record; pairs with [driven.owner] in notify */
	store_release(&driven->owner, baton__self);
	return 0;
}

void baton__driven_disown(struct baton__driven *driven)
{
	/* Relaxed: no other thread takes the list for its own; this one sees its own store. */
	store_relaxed(&driven->owner, NULL);
}

void baton__driven_close(struct baton__driven *driven)
{
	driven->gathering = false;
	take_inbox(driven, CLOSED);
	/* Wait for threads that have pushed, and are still in schedule_driven(). */
	baton__thread_await_outside(driven);
}

static struct baton__driven *driven_of(struct baton_executor *executor)
{
	return baton_container_of(executor, struct baton__driven, executor);
}

/* Called after a job was queued, or was given back with work left: the owner may be asleep. Any
 * thread. */
static void notify(struct baton__driven *driven)
{
	/* [driven.owner] acquire: the owner's record; pairs with [driven.owner] in adopt */
	struct baton__thread *owner = load_acquire(&driven->owner);

	if (owner && owner != baton__self)
		(void)baton__thread_nudge(owner);
}

/* Appends a job of the owner's to the list; no other thread has to be told. */
static void gather(struct baton__driven *driven, struct baton_job *job)
{
	job->_next = NULL;
	*driven->end = job;
	driven->end = &job->_next;
}

static int schedule_driven(struct baton_executor *executor, struct baton_job *job)
{
	struct baton__driven *driven = driven_of(executor);
	int status = baton__thread_attach();

	if (status)
		return status;
	if (baton__driven_owned(driven) && driven->gathering) {
		gather(driven, job);
		return 1;
	}
	baton__thread_enter(driven);
	status = push_job(driven, job);
	if (status == 1 && driven->signal)
		driven->signal(driven);
	if (status >= 0)
		notify(driven);
	baton__thread_leave();
	/* 1: the owner may be busy for long, so a sleeping waiter may help. */
	return status < 0 ? status : 1;
}

void baton__driven_run(struct baton_job *job)
{
	const uint32_t calling_max = baton__weigh(baton__self, 1);

	baton_job_run(job);
	baton__self->calling_max = calling_max;
}

static int drive(struct baton_executor *executor)
{
	struct baton__driven *driven = driven_of(executor);
	struct baton_job *job;

	if (!baton__driven_owned(driven))
		return -EPERM;
	if (baton__too_deep(baton__self) || baton__too_deep_to_call(baton__self))
		return -EDEADLK;
	job = baton__driven_pop(driven);
	if (!job)
		return 0;
	baton_job_run(job);
	return 1;
}

static bool owner_is_alone(struct baton_executor *executor)
{
	return baton__driven_owned(driven_of(executor));
}

static bool owner_should_yield(struct baton_executor *executor)
{
	struct baton__driven *driven = driven_of(executor);

	if (!baton__driven_owned(driven))
		return false;
	/* Relaxed: a hint. */
	return driven->list || (load_relaxed(&driven->inbox) & ~CLOSED) ||
	       (driven->yields && driven->yields(driven));
}

static int notify_owner(struct baton_executor *executor)
{
	notify(driven_of(executor));
	return 1;
}

void baton__driven_init(struct baton__driven *driven, void (*signal)(struct baton__driven *driven))
{
	static const struct baton_executor_ops ops = {
		.schedule = schedule_driven,
		.drive = drive,
		.returned = notify_owner,
		.alone = owner_is_alone,
		.should_yield = owner_should_yield,
	};

	*driven = (struct baton__driven){
		.executor = BATON_EXECUTOR_INIT(&ops), .signal = signal, .end = &driven->list};
}
