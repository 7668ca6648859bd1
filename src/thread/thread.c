/* SPDX-License-Identifier: MIT */
/*
 * Records of threads: taken at a thread's first use of baton, given back at its exit, adopted by a
 * later thread together with the nodes cached in them; and what becomes of them in a fork's child.
 *
 * The registry is a push-only list, so walking it needs no protection. A record is claimed by one
 * CAS on `used`: no list of free records, hence no ABA. Finding one is linear in the largest number
 * of threads that ever used baton at once, and happens once per thread.
 */
#include "thread/thread.h"

#include <baton/thread.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "thread/node.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <ck_epoch.h>

static struct baton__thread nobody = {.depth = BATON__DEPTH_NONE};

__thread struct baton__thread *baton__self = &nobody;

static struct baton__thread *registry;
static uint32_t pools;
static uint32_t forked;
static uint32_t sleepers; /* threads whose `asleep` is set, or about to be */

static uint32_t exit_key; /* plus 1; 0: there is none yet */
static uint32_t watches_forks;

static void on_thread_exit(void *record)
{
	(void)record;
	baton__thread_detach();
}

/* In the child only the forking thread exists; nobody runs beside this. */
static void on_fork_in_child(void)
{
	bool lost = load_relaxed(&pools) != 0;

	for (struct baton__thread *thread = load_relaxed(&registry); thread;
	     thread = thread->next) {
		if (load_relaxed(&thread->top))
			lost = true;
		baton__node_forked(thread);
		if (thread == baton__self)
			continue;
		/* Its thread is not here: it neither sleeps nor is anywhere. */
		store_relaxed(&thread->asleep, 0);
		store_relaxed(&thread->inside, NULL);
		if (thread->epoch)
			thread->epoch->active = 0; /* nor reads it anything */
	}
	store_relaxed(&sleepers, 0);
	/* Once: a child may fork again (the depth would come round to 0), and the handler may
	 * have been registered twice. */
	if (!lost || load_relaxed(&forked))
		return;
	store_relaxed(&forked, 1);
	/* Frames on this very stack are still popped by the functions that pushed them. */
	if (baton__self != &nobody)
		baton__self->depth += BATON__DEPTH_NONE;
}

/*
 * What all threads need; what there is no memory (or no key) for is tried again by the next thread
 * that attaches. Nobody waits for another: of two threads at it at once one takes its key back, and
 * the handler may be there twice.
 */
static int set_up(void)
{
	uint32_t none = 0;
	pthread_key_t key;

	/* [T3] acquire: the key is there; pairs with [T3] below. */
	if (!load_acquire(&exit_key)) {
		if (pthread_key_create(&key, on_thread_exit))
			return -ENOMEM;
		/* [T3] release: the key; pairs with [T3] above and in set_at_exit. */
		if (!cas_release(&exit_key, &none, (uint32_t)key + 1))
			(void)pthread_key_delete(key);
	}
	if (!load_relaxed(&watches_forks)) { /* at worst once more */
		if (pthread_atfork(NULL, NULL, on_fork_in_child))
			return -ENOMEM;
		store_relaxed(&watches_forks, 1);
	}
	return 0;
}

/* Has on_thread_exit called for this record; NULL: not any more. */
static int set_at_exit(struct baton__thread *thread)
{
	/* [T3] acquire: the key; pairs with [T3] in set_up */
	return pthread_setspecific((pthread_key_t)(load_acquire(&exit_key) - 1), thread);
}

static struct baton__thread *adopt(void)
{
	struct baton__thread *thread;

	/* [T1] acquire: the record's list is complete; pairs with [T1] in create */
	for (thread = load_acquire(&registry); thread; thread = thread->next) {
		uint32_t used = load_relaxed(&thread->used);

		/* [T2] acquire: what the last owner left; pairs with [T2] in detach */
		if (!used && cas_acquire(&thread->used, &used, 1))
			return thread;
	}
	return NULL;
}

static struct baton__thread *create(void)
{
	struct baton__thread *thread = aligned_alloc(BATON_CACHE_LINE, sizeof(*thread));

	if (!thread)
		return NULL;
	*thread = (struct baton__thread){
		.used = 1,
		.loan_skip = BATON_LOAN_SKIP_MIN,
		.loan_next = BATON_LOAN_SKIP_MIN,
		.caches = BATON__NODE_CACHES_INIT,
	};
	thread->next = load_relaxed(&registry);
	/* Ends: each failure means that another thread has linked a record of its own.
	 * [T1] release: publishes the record; pairs with [T1] in adopt and nudge_all */
	while (!cas_release(&registry, &thread->next, thread))
		baton__pause();
	return thread;
}

int baton__thread_attach(void)
{
	struct baton__thread *thread;

	if (baton__self != &nobody)
		return baton__forked() ? -ECHILD : 0;
	if (set_up())
		return -ENOMEM;
	if (baton__forked())
		return -ECHILD;
	thread = adopt();
	if (!thread)
		thread = create();
	if (!thread)
		return -ENOMEM;
	if (set_at_exit(thread)) {
		store_release(&thread->used, 0);
		return -ENOMEM;
	}
	thread->session++;
	baton__self = thread;
	return 0;
}

BATON_EXPORT int baton_thread_attach(void)
{
	return baton__thread_attach();
}

struct baton__thread *baton__thread_first(void)
{
	struct baton__thread *first = load_relaxed(&registry);

	/* A CAS that changes nothing, since it finds the newest. Ends: as in create.
	 * [T1] acquire: as in adopt; pairs with [T1] in create */
	while (!cas_acquire(&registry, &first, first))
		baton__pause();
	return first;
}

void baton__thread_detach(void)
{
	struct baton__thread *thread = baton__self;

	if (thread == &nobody)
		return;
	if (BATON_UNLIKELY(thread->top) && !baton__forked())
		BATON_MISUSE("pthread_exit",
		             "the thread ends inside a task (or was cancelled there): return from "
		             "the task first");
	/* Else nothing would ever be reclaimed again, and a thread that adopts the record would be
	 * inside. */
	if (BATON_UNLIKELY(thread->epoch && thread->epoch->active) && !baton__forked())
		BATON_MISUSE("baton_epoch_enter",
		             "the thread ends inside the section: call baton_epoch_leave first");
	baton__node_flush(thread);
	store_relaxed(&thread->member, NULL);
	baton__self = &nobody;
	(void)set_at_exit(NULL);
	/* [T2] release: the record is as we left it; pairs with [T2] in adopt */
	store_release(&thread->used, 0);
}

bool baton__forked(void)
{
	/* Written before this process had a second thread. */
	return load_relaxed(&forked) != 0;
}

void baton__fork_pools_add(int delta)
{
	/* A counter; read in a fork's child, after everything. */
	(void)add_relaxed(&pools, (uint32_t)delta);
}

bool baton__thread_nudge(struct baton__thread *thread)
{
	/* [N1] seq_cst: our load of `asleep` after our publication of work, against the sleeper's
	 * store of `asleep` before its look for work. Weaker, both could miss the other, and the
	 * sleeper would never learn of the work. */
	if (!load_seq_cst(&thread->asleep))
		return false;
	/* [N3] release: the work is there; pairs with [N3] in sleeps.
	 * [N4] seq_cst: before our second look at `asleep`; pairs with [N4] in wakes. */
	(void)add_seq_cst(&thread->nudge, 1);
	baton__futex_wake(&thread->nudge, 1);
	return load_seq_cst(&thread->asleep);
}

bool baton__thread_any_asleep(void)
{
	/* [N1] seq_cst: as in nudge; the sleeper counts itself before its look for work. */
	return load_seq_cst(&sleepers) != 0;
}

void baton__thread_nudge_for(const void *resource, const struct baton_executor *member)
{
	if (!baton__thread_any_asleep())
		return;
	/* [T1] acquire: as in adopt; pairs with [T1] in create. A record linked later belongs to a
	 * thread that looks for work after our publication. */
	for (struct baton__thread *thread = load_acquire(&registry); thread;
	     thread = thread->next) {
		const void *awaiting;

		/* Not ourselves: who looks around before its sleep is awake. */
		if (thread == baton__self || !load_seq_cst(&thread->asleep))
			continue;
		/* Relaxed: `awaiting` is written before `asleep`. */
		awaiting = load_relaxed(&thread->awaiting);
		if (awaiting && awaiting != resource)
			continue;
		if (member && load_relaxed(&thread->member) != member)
			continue;
		/* Who waits for several may be unable to help: nudged in passing. And a thread may
		 * have gone on to another wait, and taken the nudge for that. */
		if (baton__thread_nudge(thread) && awaiting &&
		    load_relaxed(&thread->awaiting) == awaiting)
			return;
	}
}

void baton__thread_obstructed(const void *future)
{
	struct baton__thread *self = baton__self;
	const void *obstacle = load_relaxed(&self->obstacle);

	/* Published by WANTED, see [N5]. */
	store_relaxed(&self->obstacle, !obstacle || obstacle == future ? future : self);
}

void baton__thread_nudge_obstructed(const void *future)
{
	if (!baton__thread_any_asleep())
		return;
	/* [T1] acquire: as in nudge_for; pairs with [T1] in create */
	for (struct baton__thread *thread = load_acquire(&registry); thread;
	     thread = thread->next) {
		/* Relaxed: another value is of a sleep that begins now, and looks after us. */
		const void *obstacle = load_relaxed(&thread->obstacle);

		if (thread != baton__self && (obstacle == future || obstacle == thread))
			(void)baton__thread_nudge(thread);
	}
}

void baton__thread_nudge_all(void)
{
	if (!baton__thread_any_asleep())
		return;
	/* [T1] acquire: as in nudge_for; pairs with [T1] in create */
	for (struct baton__thread *thread = load_acquire(&registry); thread; thread = thread->next)
		/* Who waits for nothing that could be helped is left asleep. */
		if (thread != baton__self && load_relaxed(&thread->awaiting) != thread)
			(void)baton__thread_nudge(thread);
}

uint32_t baton__thread_sleeps(const void *resource)
{
	struct baton__thread *self = baton__self;
	/* [N3] acquire: what the nudge was about; pairs with [N3] in nudge */
	uint32_t nudge = load_acquire(&self->nudge);

	store_relaxed(&self->awaiting, resource);
	store_relaxed(&self->obstacle, NULL);
	/* [N1] seq_cst: before our look for work; pairs with [N1] in any_asleep, nudge */
	(void)add_seq_cst(&sleepers, 1);
	store_seq_cst(&self->asleep, 1);
	return nudge;
}

bool baton__thread_wakes(uint32_t nudge)
{
	struct baton__thread *self = baton__self;

	/* [N4] seq_cst: before our second look at `nudge`; pairs with [N4] in nudge */
	store_seq_cst(&self->asleep, 0);
	(void)sub_relaxed(&sleepers, 1); /* too high is harmless */
	return load_seq_cst(&self->nudge) != nudge;
}

void baton__thread_await_outside(const void *object)
{
	/* [T1] acquire: as in adopt; pairs with [T1] in create. One linked later is not inside. */
	for (struct baton__thread *thread = load_acquire(&registry); thread; thread = thread->next)
		/* Ended by that thread, which is at most a system call, or a finaliser, away.
		 * [N2] acquire: its last touch is over; pairs with [N2] in leave */
		while (thread != baton__self && load_acquire(&thread->inside) == object)
			(void)sched_yield();
}
