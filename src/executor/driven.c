/* SPDX-License-Identifier: MIT */
/*
 * The queue of an executor that one thread drives.
 */
#include "executor/driven.h"

#include "base/atomic.h"
#include "core/resource.h"

#include <errno.h>

#define CLOSED ((uintptr_t)1)

/* 1: there was none in the inbox; 0: there was; -ESHUTDOWN. Any thread. */
static int push(struct baton__driven *driven, struct baton_job *job)
{
	uintptr_t word = load_relaxed(&driven->inbox);

	/* Ends: each failure is another push, or the owner taking all. */
	do {
		if (word == CLOSED)
			return -ESHUTDOWN;
		job->_next = (struct baton_job *)word;
		/* [driven.job] release: the job; pairs with [driven.job] in take. seq_cst: before
		 * our load of `asleep` in notify, see thread.asleep. */
	} while (!cas_seq_cst(&driven->inbox, &word, (uintptr_t)job));
	return word == 0;
}

/* Puts the inbox behind the list and leaves it empty, or closed; closed it stays. */
static void take(struct baton__driven *driven, uintptr_t left)
{
	uintptr_t word = load_relaxed(&driven->inbox);
	struct baton_job *newest;
	struct baton_job *oldest = NULL;
	struct baton_job **end = driven->end;

	/* Ends: each failure is a push.
	 * [driven.job] acquire: the jobs; pairs with [driven.job] in push. seq_cst: after our store
	 * of `asleep` in wait.c, see thread.asleep. */
	do {
		if (word == CLOSED)
			return;
	} while (!cas_seq_cst(&driven->inbox, &word, left));
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
	take(driven, 0);
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
		take(driven, 0);
	return baton__driven_pop_listed(driven);
}

const struct baton_job *baton__driven_last(const struct baton__driven *driven)
{
	return driven->list ? baton_container_of(driven->end, struct baton_job, _next) : NULL;
}

/* A record is adopted by another thread when its own has ended: hence the session. */
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
	/* Relaxed: compared by who finds its own record to be the owner's; published with it. */
	store_relaxed(&driven->session, baton__self->session);
	/* [driven.owner] release: our record; pairs with [driven.owner] in notify */
	store_release(&driven->owner, baton__self);
	return 0;
}

void baton__driven_close(struct baton__driven *driven)
{
	driven->gathering = false;
	take(driven, CLOSED);
	/* Who has pushed may still be in schedule(). */
	baton__thread_await_outside(driven);
}

static struct baton__driven *driven_of(struct baton_executor *executor)
{
	return baton_container_of(executor, struct baton__driven, executor);
}

/* A job is queued, or back with work left: the owner may be asleep. Any thread. */
static void notify(struct baton__driven *driven)
{
	/* [driven.owner] acquire: the owner's record; pairs with [driven.owner] in adopt */
	struct baton__thread *owner = load_acquire(&driven->owner);

	if (owner && owner != baton__self)
		(void)baton__thread_nudge(owner);
}

/* The owner's own job: nobody else has to be told. */
static void gather(struct baton__driven *driven, struct baton_job *job)
{
	job->_next = NULL;
	*driven->end = job;
	driven->end = &job->_next;
}

static int schedule(struct baton_executor *executor, struct baton_job *job)
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
	status = push(driven, job);
	if (status == 1 && driven->signal)
		driven->signal(driven);
	if (status >= 0)
		notify(driven);
	baton__thread_leave();
	/* The owner may be busy for long: a sleeping waiter helps, if it may. */
	return status < 0 ? status : 1;
}

static int drive(struct baton_executor *executor)
{
	struct baton__driven *driven = driven_of(executor);
	struct baton_job *job;

	if (!baton__driven_owned(driven))
		return -EPERM;
	if (baton__self->depth >= BATON_NESTING_MAX)
		return -EDEADLK;
	job = baton__driven_pop(driven);
	if (!job)
		return 0;
	baton_job_run(job);
	return 1;
}

static bool alone(struct baton_executor *executor)
{
	return baton__driven_owned(driven_of(executor));
}

static int returned(struct baton_executor *executor)
{
	notify(driven_of(executor));
	return 1;
}

void baton__driven_init(struct baton__driven *driven, void (*signal)(struct baton__driven *driven))
{
	static const struct baton_executor_ops ops = {
		.schedule = schedule,
		.drive = drive,
		.returned = returned,
		.alone = alone,
	};

	*driven = (struct baton__driven){
		.executor = BATON_EXECUTOR_INIT(&ops), .signal = signal, .end = &driven->list};
}
