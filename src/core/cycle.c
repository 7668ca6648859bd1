/* SPDX-License-Identifier: MIT */
/*
 * Deadlock detection. A thread that holds batons and goes to sleep in a wait publishes what it
 * holds and what it waits for, and looks whether that closes a cycle, all under one lock. Nothing
 * else takes the lock but who wakes from such a sleep, and a submit for a future that one of them
 * sleeps for already.
 *
 * Invariants:
 * Y1 An edge is in the list while its thread sleeps in that wait, or is about to, or has just
 *    woken: so its futures are there, and its frames do not change. In and out under the lock.
 * Y2 Who is in the list, and no victim, is not in a deadlock: whoever would complete one is
 *    refused, or another one on the cycle is made a victim in the same step. Cycles can only be
 *    completed by a publication, or by the binding of a future that is waited for: who sleeps for
 *    an unbound one counts itself in `unbound`, then looks at the future; who has bound one and
 *    pushed its task looks at the count ([Y2], ordered as [N6]).
 * Y3 No false alarm. An edge stands for "cannot go on before": a future that is pending needs the
 *    baton of its resource, and one that runs needs the end of its task, which is in the frame of
 *    the holder, or of the batch in which the holder keeps it back; the holder is asleep for
 *    another future, without a deadline. Not an edge: a promise; a complete future; a resource that
 *    is queued, shelved, or whose holder is awake; a task that has left its frame, and is in no
 *    batch. Nobody but the holders can change that.
 * Y4 Of a cycle's waits at least one may be refused: only a call whose task has been entered may
 *    not, and each of those was entered before the next one of them was submitted.
 *
 * Source: the wait-for graph, with waits for one (AND) and for any (OR), as in Chandy, Misra, Haas
 * 1983; here its search is central, since the threads are in one process.
 * Linearisation: the lock. Progress: blocking, among waiters.
 */
#include "core/cycle.h"

#include <errno.h>
#include <stdio.h>

#include <baton/resource.h>

#include "base/futex.h"
#include "core/hooks.h"
#include "core/resource.h"

uint32_t baton__cycle_unbound;

static uint32_t mutex; /* 0: free; 1: held; 2: held, and somebody may sleep */
static struct baton__edge *edges;

/* Source: Drepper, Futexes are tricky, 2011. */
static void lock(void)
{
	struct baton__futex_watch watch = {&mutex, 2};
	uint32_t found = 0;

	/* [Y1] acquire, both: the list; pairs with [Y1] in unlock */
	if (cas_acquire(&mutex, &found, 1))
		return;
	/* Ended by the holder, who is in a search. */
	while (swap_acquire(&mutex, 2))
		(void)baton__futex_wait(&watch, 1, NULL);
}

static void unlock(void)
{
	/* [Y1] release: the list; pairs with [Y1] in lock */
	if (swap_acq_rel(&mutex, 0) == 2)
		baton__futex_wake(&mutex, 1);
}

/* The sleeping thread that holds the resource, and the frame in which it does; NULL: none. */
static struct baton__edge *holder_of(const struct baton_resource *resource,
                                     const struct baton__frame **frame)
{
	for (struct baton__edge *edge = edges; edge; edge = edge->next) {
		if (edge->victim)
			continue;
		for (*frame = edge->top; *frame; *frame = (*frame)->below)
			if ((*frame)->resource == resource)
				return edge;
	}
	return NULL;
}

/* Does the future end with the task in the frame, or with the batch? Where there are hooks the
 * frame is a drain's, and has all its members. */
static bool ends_with(const struct baton__frame *frame, const struct baton_future *future)
{
	return frame->future == future || (baton__hooked(frame->resource) && frame->batch &&
	                                   baton__batch_holds(frame->batch, future));
}

/* Who must go on before this future can complete; NULL: nobody who sleeps. Y3 */
static struct baton__edge *blocker(struct baton_future *future,
                                   const struct baton_resource **resource_out)
{
	/* [F1] acquire: as poll; pairs with [F1] in finish */
	uint32_t state = load_acquire(&future->_state);
	struct baton_resource *resource = baton__future_resource(future);
	const struct baton__frame *frame;
	struct baton__edge *edge;

	if (state & (BATON__FUTURE_FINAL | BATON__FUTURE_PROMISE))
		return NULL;
	/* [Y2] seq_cst: after `unbound`; an RMW, which finds no old value. Ends: a failure is
	 * another submit. */
	if (!resource)
		while (!cas_seq_cst(&future->_resource, &resource, resource))
			continue;
	if (!resource)
		return NULL;
	edge = holder_of(resource, &frame);
	if (!edge ||
	    ((state & BATON__FUTURE_STATE) == BATON__FUTURE_RUNNING && !ends_with(frame, future)))
		return NULL;
	*resource_out = resource;
	return edge;
}

/* Does the wait depend on others that are stuck? The greatest such set is what we look for. */
static bool is_stuck(const struct baton__edge *edge)
{
	const struct baton_resource *resource;
	size_t stuck = 0;

	for (size_t i = 0; i < edge->count; i++) {
		const struct baton__edge *other = blocker(edge->futures[i], &resource);

		if (other && other->stuck)
			stuck++;
	}
	return edge->all ? stuck > 0 : stuck == edge->count;
}

static void find_stuck(void)
{
	bool changed = true;

	for (struct baton__edge *edge = edges; edge; edge = edge->next)
		edge->stuck = !edge->victim;
	/* Bounded: each round frees one. */
	while (changed) {
		changed = false;
		for (struct baton__edge *edge = edges; edge; edge = edge->next) {
			if (edge->stuck && !is_stuck(edge)) {
				edge->stuck = false;
				changed = true;
			}
		}
	}
}

/* A shortest way from the edge back to it, over those marked stuck; kept in `from` and `via`. */
static bool find_cycle(struct baton__edge *start)
{
	struct baton__edge *last = start;

	for (struct baton__edge *edge = edges; edge; edge = edge->next) {
		edge->from = NULL;
		edge->queued = NULL;
	}
	for (struct baton__edge *edge = start; edge; edge = edge->queued) {
		for (size_t i = 0; i < edge->count; i++) {
			const struct baton_resource *resource;
			struct baton__edge *other = blocker(edge->futures[i], &resource);

			if (!other || !other->stuck || other->from)
				continue;
			other->from = edge;
			other->via = resource;
			if (other == start)
				return true;
			last->queued = other;
			last = other;
		}
	}
	return false;
}

/* Everything in the list is stuck until proven otherwise: the cheap question first. */
static bool closes_cycle(struct baton__edge *edge)
{
	for (struct baton__edge *other = edges; other; other = other->next)
		other->stuck = !other->victim;
	if (!find_cycle(edge))
		return false;
	find_stuck();
	return edge->stuck && find_cycle(edge);
}

static bool may_abort(struct baton__edge *edge)
{
	struct baton_future *future = edge->futures[0];
	uint32_t state = load_relaxed(&future->_state);

	if (edge->abort != BATON__ABORT_UNLESS_RUNNING)
		return edge->abort == BATON__ABORT_ALWAYS;
	/* Relaxed: nothing is published, as in decide (cancel.c). Ends: as there. */
	do
		if ((state & BATON__FUTURE_STATE) != BATON__FUTURE_PENDING)
			return (state & BATON__FUTURE_STATE) == BATON__FUTURE_CANCELLING;
	while (!cas_relaxed(&future->_state, &state, state | BATON__FUTURE_CANCELLING));
	return true;
}

static void note(struct baton__thread *thread, size_t at, const struct baton_resource *resource)
{
	struct baton_deadlock_link *link;

	if (at >= BATON_DEADLOCK_MAX)
		return;
	link = &thread->cycle[at];
	link->resource = resource;
	(void)snprintf(link->name, sizeof(link->name), "%s",
	               resource->_name ? resource->_name : "");
}

/* Tells the victim which cycle it is on: from what it waits for, to what it holds. */
static void note_cycle(const struct baton__edge *victim)
{
	struct baton__thread *thread = victim->thread;
	const struct baton__edge *edge = victim;
	size_t length = 0;

	do {
		length++;
		edge = edge->from;
	} while (edge != victim);
	thread->cycle_length = length;
	/* The way was found backwards. */
	do {
		note(thread, --length, edge->via);
		edge = edge->from;
	} while (edge != victim);
}

static void take_out(struct baton__edge *edge)
{
	struct baton__edge **link = &edges;

	while (*link != edge)
		link = &(*link)->next;
	*link = edge->next;
	if (edge->unbound)
		(void)sub_relaxed(&baton__cycle_unbound, 1); /* too high is harmless */
}

/* One wait on the cycle through `edge` ends: that one if it may. Whose it is, NULL: none's. */
static struct baton__edge *choose_victim(struct baton__edge *edge)
{
	struct baton__edge *victim = edge;

	do {
		if (may_abort(victim)) {
			note_cycle(victim);
			victim->victim = true;
			return victim;
		}
		victim = victim->from;
	} while (victim != edge);
	return NULL;
}

static bool has_unbound(const struct baton__edge *edge)
{
	/* A promise never will be, a detached one never again: that runs. Relaxed: who finds it
	 * running finds it bound when it is looked at. */
	for (size_t i = 0; i < edge->count; i++)
		if (!baton__future_resource(edge->futures[i]) &&
		    !(load_relaxed(&edge->futures[i]->_state) &
		      (BATON__FUTURE_STATE | BATON__FUTURE_PROMISE)))
			return true;
	return false;
}

int baton__cycle_enter(struct baton__edge *edge)
{
	struct baton__edge *victim = NULL;

	edge->thread = baton__self;
	edge->top = baton__self->top;
	edge->victim = false;
	edge->unbound = has_unbound(edge);
	lock();
	if (edge->unbound)
		/* [Y2] seq_cst: before our look at the futures; pairs with [Y2] in bound */
		(void)add_seq_cst(&baton__cycle_unbound, 1);
	edge->next = edges;
	edges = edge;
	if (closes_cycle(edge))
		victim = choose_victim(edge);
	if (victim == edge)
		take_out(edge);
	else if (victim)
		/* Under the lock, which keeps it here. */
		(void)baton__thread_nudge(victim->thread);
	unlock();
	return victim == edge ? -EDEADLK : 0;
}

bool baton__cycle_leave(struct baton__edge *edge)
{
	lock();
	take_out(edge);
	unlock();
	return edge->victim;
}

void baton__cycle_look_again(void)
{
	lock();
	for (struct baton__edge *edge = edges; edge; edge = edge->next) {
		struct baton__edge *victim;

		if (!edge->unbound || edge->victim || !closes_cycle(edge))
			continue;
		victim = choose_victim(edge);
		/* Under the lock, which keeps it here. */
		if (victim)
			(void)baton__thread_nudge(victim->thread);
	}
	unlock();
}

int baton__cycle_of_one(const struct baton_resource *resource)
{
	struct baton__thread *self = baton__self;

	/* Without a record it holds nothing. */
	if (self->depth >= BATON__DEPTH_NONE)
		return -EDEADLK;
	self->cycle_length = resource ? 1 : 0;
	if (resource)
		note(self, 0, resource);
	return -EDEADLK;
}

BATON_EXPORT size_t baton_deadlock_cycle(struct baton_deadlock_link *links, size_t links_max)
{
	const struct baton__thread *self = baton__self;

	for (size_t i = 0; i < self->cycle_length && i < BATON_DEADLOCK_MAX && i < links_max; i++)
		links[i] = self->cycle[i];
	return self->cycle_length;
}
