/* SPDX-License-Identifier: MIT */
/*
 * Records of threads. A thread takes a record when it first uses baton, and gives it back at its
 * exit. A later thread adopts the record, with the nodes cached in it.
 *
 * The registry is a list to which records are only ever pushed, so walking it needs no protection.
 * A thread claims a record by one CAS on `used`. There is no list of free records, hence no ABA.
 * The search for a free record is linear in the largest number of threads that used baton at once;
 * each thread searches once.
 */
#include "thread/thread.h"

#include "thread/carried.h"

#include <baton/thread.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "thread/node.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ck_epoch.h>

static struct baton__thread nobody = {.top = BATON_INLINE_BARE};

__thread struct baton__thread *baton__self = &nobody;

#ifndef BATON_CHECKED
/* baton__self under a second name, for programs. */
extern __thread struct baton__thread_head *baton_inline_thread_v2
	__attribute__((alias("baton__self"), visibility("default")));
#endif
extern __thread struct baton__thread *baton__self_again
	__attribute__((alias("baton__self"), visibility("hidden")));

_Static_assert(offsetof(struct baton__thread, head) == 0, "the record begins with its head");
_Static_assert(offsetof(struct baton__thread, top) == offsetof(struct baton__thread_head, top) &&
                       offsetof(struct baton__thread, deferred) ==
                               offsetof(struct baton__thread_head, deferred) &&
                       offsetof(struct baton__thread, wary) ==
                               offsetof(struct baton__thread_head, wary),
               "both names of the head's members are of the same place");

static struct baton__thread *registry;
static uint32_t losses; /* baton__fork_losses_add */
static uint32_t forked;
static uint32_t sleepers; /* threads whose `asleep` is set, or is about to be */

static uint32_t exit_key; /* the key plus 1; 0: there is no key yet */
static uint32_t watches_forks;

static __thread bool exits; /* on_thread_exit has been called for this thread */
static __thread bool bare;  /* baton__thread_bare_begin */

static void on_thread_exit(void *record)
{
	(void)record;
	exits = true;
	baton__thread_detach();
}

const char baton__holding;

struct baton__frame *baton__frame_make(struct baton__thread *self, uintptr_t *top)
{
	struct baton_resource *resource =
		(struct baton_resource *)(*top & ~(BATON_INLINE_BARE | BATON_INLINE_HOLD));

	if (!resource)
		return NULL;
	self->outer.resource = resource;
	self->outer.future = *top & BATON_INLINE_HOLD ? BATON__HOLDING : NULL;
	self->outer.value = NULL;
	baton__top_set(top, (uintptr_t)&self->outer);
	return &self->outer;
}

struct baton__frame *baton__frames(struct baton__thread *self)
{
	uintptr_t *top = &self->top;

	/* Bounded by the depth of nested calls on this stack. */
	while (baton__frame_of(*top))
		top = &baton__frame_of(*top)->below;
	if (*top)
		(void)baton__frame_make(self, top);
	return baton__frame_of(self->top);
}

/* The thread may not use its record any more. The functions that pushed frames on this stack will
 * still pop them, so the frames stay. */
static void forbid_record(struct baton__thread *self)
{
	struct baton__frame *frame = baton__frames(self);
	uintptr_t *bottom = &self->top;

	for (; frame; frame = baton__frame_of(frame->below)) {
		frame->depth += BATON__DEPTH_NONE;
		bottom = &frame->below;
	}
	baton__top_set(bottom, BATON_INLINE_BARE);
	self->wary = 0; /* no short path looks at a resource before it looks at `top` */
}

/* In a fork's child only the forking thread exists: no thread runs beside this function. */
static void on_fork_in_child(void)
{
	bool lost = load_relaxed(&losses) != 0;

	for (struct baton__thread *thread = load_relaxed(&registry); thread;
	     thread = thread->next) {
		if (load_relaxed(&thread->top))
			lost = true;
		baton__node_forked(thread);
		if (thread == baton__self)
			continue;
		/* The record's thread is not in the child. */
		store_relaxed(&thread->asleep, 0);
		store_relaxed(&thread->inside, NULL);
		if (thread->epoch)
			thread->epoch->active = 0; /* that thread is in no section */
	}
	store_relaxed(&sleepers, 0);
	if (baton__self != &nobody)
		store_relaxed(&baton__self->tid, (uint32_t)gettid());
	/* Add once: a child may fork again, and the handler may have been registered twice. More
	 * additions would make the depth overflow to 0. */
	if (!lost || load_relaxed(&forked))
		return;
	store_relaxed(&forked, 1);
	if (baton__self != &nobody)
		forbid_record(baton__self);
}

/*
 * Sets up what all threads need: the key and the fork handler. What fails for want of memory or of
 * keys is tried again by the next thread that attaches. No thread waits for another: if two threads
 * set up at once, one deletes its key again, and the handler may be registered twice.
 */
static int set_up(void)
{
	uint32_t none = 0;
	pthread_key_t key;

	/* [thread.key] acquire: the key; pairs with [thread.key] below. Relaxed goes unnoticed: the
	 * C library's table of keys is not instrumented. */
	if (!load_acquire(&exit_key)) {
		if (pthread_key_create(&key, on_thread_exit))
			return -ENOMEM;
		/* [thread.key] release: the key; pairs with [thread.key] above and in
		 * set_at_exit. Relaxed goes unnoticed: as the load. */
		if (!cas_release(&exit_key, &none, (uint32_t)key + 1))
			(void)pthread_key_delete(key);
	}
	if (!load_relaxed(&watches_forks)) { /* at worst registered twice */
		if (pthread_atfork(NULL, NULL, on_fork_in_child))
			return -ENOMEM;
		store_relaxed(&watches_forks, 1);
	}
	return 0;
}

/* Arranges that on_thread_exit is called for the record when the thread exits. NULL: that
 * on_thread_exit is not called any more. */
static int set_at_exit(struct baton__thread *thread)
{
	/* [thread.key] acquire: the key; pairs with [thread.key] in set_up. Relaxed goes unnoticed:
	 * as in set_up. */
	return pthread_setspecific((pthread_key_t)(load_acquire(&exit_key) - 1), thread);
}

/* The thread leaves its record. */
static void check_left(const struct baton__thread *thread)
{
	if (BATON_UNLIKELY(thread->top) && !baton__forked() && !baton__top_function(thread->top))
		BATON_MISUSE("pthread_exit",
		             "the thread ends inside a hold: call baton_release, or "
		             "baton_release_shared, first");
	if (BATON_UNLIKELY(thread->top) && !baton__forked())
		BATON_MISUSE("pthread_exit",
		             "the thread ends inside a task (or was cancelled there): return from "
		             "the task first");
	/* A record that is given back inside a section would stop all reclaiming for ever, and a
	 * thread that adopts the record would be inside the section. */
	if (BATON_UNLIKELY(thread->epoch && thread->epoch->active) && !baton__forked())
		BATON_MISUSE("baton_epoch_enter",
		             "the thread ends inside the section: call baton_epoch_leave first");
}

/* ThreadSanitizer cannot know that the kernel orders what a thread did before the thread's end.
 * Under ThreadSanitizer a late record stays lost. */
#ifdef __has_feature
#define THREAD_SANITIZED __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZED 1
#else
#define THREAD_SANITIZED 0
#endif

/* Takes over a used record that its thread could not give back (thread.late). */
static bool take_over(struct baton__thread *thread)
{
	/* Relaxed, here and below: the record's thread has left the process before the kernel no
	 * longer finds it, and all that it did comes before that. */
	uint64_t late = load_relaxed(&thread->late);

	if (BATON_LIKELY(!late) || THREAD_SANITIZED ||
	    !syscall(SYS_tgkill, getpid(), (pid_t)(uint32_t)late, 0) || errno != ESRCH ||
	    !cas_relaxed(&thread->late, &late, 0))
		return false;
	check_left(thread);
	store_relaxed(&thread->member, NULL);
	return true;
}

static struct baton__thread *adopt_record(void)
{
	struct baton__thread *thread;

	/* [thread.record] acquire: the records as create has filled them; pairs with
	 * [thread.record] in create_record */
	for (thread = load_acquire(&registry); thread; thread = thread->next) {
		uint32_t used = load_relaxed(&thread->used);

		/* [thread.owner] acquire: the record as its last thread left it; pairs with
		 * [thread.owner] in detach */
		if (!used && cas_acquire(&thread->used, &used, 1))
			return thread;
		if (used && take_over(thread))
			return thread;
	}
	return NULL;
}

static struct baton__thread *create_record(void)
{
	struct baton__thread *thread = aligned_alloc(BATON_CACHE_LINE, sizeof(*thread));

	if (!thread)
		return NULL;
	*thread = (struct baton__thread){
		.outer.depth = 1,
		.used = 1,
		.learnt.loan_skip = BATON__LOAN_SKIP_FIRST,
		.learnt.loan_next = BATON__LOAN_SKIP_FIRST,
		.caches = BATON__NODE_CACHES_INIT,
	};
	thread->next = load_relaxed(&registry);
	/* Ends: each failure means that another thread has linked its record.
	 * [thread.record] release: publishes the record; pairs with [thread.record] in
	 * adopt_record, and wherever a thread walks the registry */
	while (!cas_release(&registry, &thread->next, thread))
		baton__pause();
	return thread;
}

int baton__thread_attach(void)
{
	struct baton__thread *thread;

	if (baton__self != &nobody)
		return baton__forked() ? -ECHILD : 0;
	if (bare || set_up())
		return -ENOMEM;
	if (baton__forked())
		return -ECHILD;
	thread = adopt_record();
	if (!thread)
		thread = create_record();
	if (!thread)
		return -ENOMEM;
	if (set_at_exit(thread)) {
		/* Relaxed goes unnoticed: the explorer's pthread_setspecific does not fail. */
		store_release(&thread->used, 0);
		return -ENOMEM;
	}
	thread->session++;
	thread->calling_max = BATON_CALLING_MAX;
	store_relaxed(&thread->tid, (uint32_t)gettid()); /* others read it for messages */
	if (BATON_UNLIKELY(exits))
		store_relaxed(&thread->late, thread->session << 32 | thread->tid);
	baton__self = thread;
	return 0;
}

void baton__thread_bare_begin(void)
{
	bare = true;
}

void baton__thread_bare_end(void)
{
	bare = false;
}

BATON_EXPORT int baton_thread_attach(void)
{
	return baton__thread_attach();
}

struct baton__thread *baton__thread_first(void)
{
	struct baton__thread *first = load_relaxed(&registry);

	/* A CAS that changes nothing finds the newest record; a load may find an older one. Ends:
	 * as in create.
	 * [thread.record] acquire: as in adopt_record; pairs with [thread.record] in
	 * create_record */
	while (!cas_acquire(&registry, &first, first))
		baton__pause();
	return first;
}

void baton__thread_detach(void)
{
	struct baton__thread *thread = baton__self;

	if (thread == &nobody)
		return;
	check_left(thread);
	baton__carry_nothing(thread);
	baton__node_flush(thread);
	store_relaxed(&thread->member, NULL);
	store_relaxed(&thread->late, 0);
	baton__self = &nobody;
	(void)set_at_exit(NULL);
	/* [thread.owner] release: the record as this thread leaves it; pairs with [thread.owner] in
	 * adopt */
	store_release(&thread->used, 0);
}

bool baton__forked(void)
{
	/* Relaxed: written before this process had a second thread. */
	return load_relaxed(&forked) != 0;
}

void baton__fork_losses_add(int delta)
{
	/* Relaxed: a counter, read only in a fork's child. */
	(void)add_relaxed(&losses, (uint32_t)delta);
}

bool baton__thread_nudge(struct baton__thread *thread)
{
	/* [thread.asleep] seq_cst: this thread publishes work, then loads `asleep`. The sleeper
	 * stores `asleep`, then looks for work. If either were weaker, both could miss the other,
	 * and the sleeper would never learn of the work. Pairs with [thread.asleep] in sleeps */
	if (!load_seq_cst(&thread->asleep))
		return false;
	/* [thread.nudged] release: the work; pairs with [thread.nudged] in sleeps.
	 * [thread.nudge] seq_cst: before the second look at `asleep`; pairs with [thread.nudge] in
	 * wakes */
	(void)add_seq_cst(&thread->nudge, 1);
	baton__futex_wake(&thread->nudge, 1);
	return load_seq_cst(&thread->asleep);
}

bool baton__thread_any_asleep(void)
{
	/* [thread.asleep] seq_cst: as in nudge. A sleeper counts itself before it looks for
	 * work. */
	return load_seq_cst(&sleepers) != 0;
}

void baton__thread_nudge_for(const void *resource, const struct baton_executor *member)
{
	if (!baton__thread_any_asleep())
		return;
	/* [thread.record] acquire: as in adopt_record; pairs with [thread.record] in create_record.
	 * A record that is linked later belongs to a thread that looks for work after our
	 * publication. */
	for (struct baton__thread *thread = load_acquire(&registry); thread;
	     thread = thread->next) {
		const void *awaiting;

		/* This thread may have `asleep` set, too: it looks for work before it sleeps. */
		if (thread == baton__self || !load_seq_cst(&thread->asleep))
			continue;
		/* Relaxed: `awaiting` is written before `asleep`. */
		awaiting = load_relaxed(&thread->awaiting);
		if (awaiting && awaiting != resource)
			continue;
		if (member && load_relaxed(&thread->member) != member)
			continue;
		/* One nudged thread is enough. But a thread that waits for several resources may be
		 * unable to help, and a thread that waits for another resource by now may have
		 * taken the nudge for that wait. */
		if (baton__thread_nudge(thread) && awaiting &&
		    load_relaxed(&thread->awaiting) == awaiting)
			return;
	}
}

void baton__thread_obstructed(const void *future)
{
	struct baton__thread *self = baton__self;
	const void *obstacle = load_relaxed(&self->obstacle);

	/* Relaxed: WANTED publishes it (future.wanted, future.c). */
	store_relaxed(&self->obstacle, !obstacle || obstacle == future ? future : self);
}

void baton__thread_nudge_obstructed(const void *future)
{
	if (!baton__thread_any_asleep())
		return;
	/* [thread.record] acquire: as in nudge_for; pairs with [thread.record] in create_record.
	 * Relaxed is seldom noticed: as in nudge_for, where it is found; no scenario adds a record
	 * just then. */
	for (struct baton__thread *thread = load_acquire(&registry); thread;
	     thread = thread->next) {
		/* Relaxed: a newer value is stored by a thread that begins another sleep, and will
		 * look again. */
		const void *obstacle = load_relaxed(&thread->obstacle);

		if (thread != baton__self && (obstacle == future || obstacle == thread))
			(void)baton__thread_nudge(thread);
	}
}

void baton__thread_nudge_all(void)
{
	if (!baton__thread_any_asleep())
		return;
	/* [thread.record] acquire: as in nudge_for; pairs with [thread.record] in create_record */
	for (struct baton__thread *thread = load_acquire(&registry); thread; thread = thread->next)
		/* A thread that can help no resource is left asleep. */
		if (thread != baton__self && load_relaxed(&thread->awaiting) != thread)
			(void)baton__thread_nudge(thread);
}

uint32_t baton__thread_sleeps(const void *resource)
{
	struct baton__thread *self = baton__self;
	/* [thread.nudged] acquire: the work that the nudge is about; pairs with [thread.nudged] in
	 * nudge. Relaxed is seldom noticed: nudge.pml finds the like (BREAK_NUDGE_LATE). */
	uint32_t nudge = load_acquire(&self->nudge);

	store_relaxed(&self->awaiting, resource);
	store_relaxed(&self->obstacle, NULL);
	/* [thread.asleep] seq_cst: before the look for work; pairs with [thread.asleep] in nudge
	 * and any_asleep */
	(void)add_seq_cst(&sleepers, 1);
	store_seq_cst(&self->asleep, 1);
	return nudge;
}

bool baton__thread_wakes(uint32_t nudge)
{
	struct baton__thread *self = baton__self;

	/* [thread.nudge] seq_cst: before the second look at `nudge`; pairs with [thread.nudge] in
	 * nudge */
	store_seq_cst(&self->asleep, 0);
	(void)sub_relaxed(&sleepers, 1); /* a count that is too high is harmless */
	return load_seq_cst(&self->nudge) != nudge;
}

void baton__thread_await_outside(const void *object)
{
	/* [thread.record] acquire: as in adopt_record; pairs with [thread.record] in create_record.
	 * A thread whose record is linked later is not inside. */
	for (struct baton__thread *thread = load_acquire(&registry); thread; thread = thread->next)
		/* Ended by `thread`, after a system call or a finaliser at most.
		 * [thread.inside] acquire: the last touch by `thread`; pairs with [thread.inside]
		 * in enter and leave */
		while (thread != baton__self && load_acquire(&thread->inside) == object)
			(void)sched_yield();
}
