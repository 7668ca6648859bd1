/* SPDX-License-Identifier: MIT */
/*
 * Deadlock detection. A thread that holds batons, or quiesces, and is about to sleep in a wait
 * without a deadline publishes an edge: the batons that it holds, the resources that its quiesce
 * has suspended so far, and the futures that it waits for. Then the thread looks whether the edge
 * closes a cycle. Both happen under one lock. The lock is also taken by a thread that wakes from
 * such a sleep, and by a submit with a future while a listed thread waits for an unbound future.
 *
 * Invariants:
 * cycle.edge: An edge is in the list while its thread is about to sleep in that wait, sleeps, or
 *    has just woken. So the edge's futures exist, and its frames do not change. Edges enter and
 *    leave the list under the lock.
 * cycle.caught: No wait in the list, except a victim's, is in a deadlock. When a deadlock would
 *    arise, the same step makes one edge on the cycle the victim: that of the calling thread, whose
 *    wait is then refused, or another. Only two events complete a cycle: an edge is published, or a
 *    future that an edge waits for is bound. A thread that waits for an unbound future counts its
 *    edge (binds.h), then looks at the future. A thread that has bound a future and pushed its task
 *    looks at that count. Of the two, one sees the other (binds.watch).
 * cycle.no_false_alarm: Edge A waits for edge B only if A cannot go on before B does. A pending
 *    future needs the baton of its resource, and so the end of each task that runs there: several
 *    readers may. A running future needs the end of its task, which is in the holder's frame; or,
 *    if the holder keeps the completion back, the end of the batch in that frame. In each case the
 *    holder is the thread of B, and sleeps, without a deadline, for
 *    another future. A resource that a quiesce has suspended counts as held by the quiescing
 *    thread: only that thread may resume it, and not before its wait. These make no edge wait: a
 *    promise; a complete future; a resource that is queued, or shelved by another suspension, or
 *    whose holder is awake; a running task that is in no frame and in no batch. Once A waits for B,
 *    only the thread of B, which sleeps, can end that.
 *    Exception: a reader that its leader has taken along (reader_party.c) needs a worker, or the
 *    end of the leader's own reader. It counts as needing the latter: a worker may not come.
 * cycle.victim: Of the waits on a cycle at least one may be refused. Only a call whose task has
 *    been entered may not be refused. A cycle cannot consist of such calls alone: each of these
 *    tasks was entered before it submitted the next call, so each call would have come before
 *    itself. Exception: a call that got no memory for a node is never refused (call_and_wait,
 *    call.c).
 *
 * Source: the wait-for graph, with waits for all (AND) and for any (OR), as in Chandy, Misra, Haas
 * 1983. The search here is central, since all threads are in one process.
 * Linearisation: the lock. Progress: blocking, among waiters.
 */
#include "wait/cycle.h"

#include <baton/resource.h>

#include "base/futex.h"
#include "core/batching.h"
#include "core/binds.h"
#include "core/callback.h"
#include "core/resource.h"

#include <errno.h>
#include <stdio.h>

static uint32_t mutex; /* 0: free; 1: held; 2: held, and a thread may sleep for it */
static struct baton__edge *edges;

/* Source: Drepper, Futexes are tricky, 2011. */
static void lock_edges(void)
{
	struct baton__futex_watch watch = {&mutex, 2};
	uint32_t found = 0;

	/* [cycle.list] acquire, here and below: the list; pairs with [cycle.list] in
	 * unlock_edges */
	if (cas_acquire(&mutex, &found, 1))
		return;
	/* Ends: the thread that holds the lock is in a search, which is bounded. */
	while (swap_acquire(&mutex, 2))
		(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
}

static void unlock_edges(void)
{
	/* [cycle.list] release: the list; pairs with [cycle.list] in lock_edges. Release is enough:
	 * nothing is read after the unlock. */
	if (swap_acq_rel(&mutex, 0) == 2)
		baton__futex_wake(&mutex, 1);
}

/* The next edge behind `before` whose thread holds the resource; NULL: none. Several threads may be
 * readers of one resource. `before`: NULL: the first. `*frame`: the frame of that resource; NULL:
 * the thread's quiesce has suspended the resource. */
static struct baton__edge *holder_of(const struct baton_resource *resource,
                                     struct baton__edge *before, const struct baton__frame **frame)
{
	for (struct baton__edge *edge = before ? before->next : edges; edge; edge = edge->next) {
		if (edge->victim)
			continue;
		for (*frame = edge->top; *frame; *frame = baton__frame_of((*frame)->below))
			if ((*frame)->resource == resource)
				return edge;
		if (edge->still && edge->still->has(edge->still, resource))
			return edge;
	}
	return NULL;
}

/* Does the future end with the task in the frame, or with the frame's batch? A resource with hooks
 * never takes a short path, so all members of its frame are set. */
static bool ends_with(const struct baton__frame *frame, const struct baton_future *future)
{
	return frame->future == future || (baton__hooked(frame->resource) && frame->batch &&
	                                   baton__batching.holds(frame->batch, future));
}

/* The next edge behind `before` that must go on before the future can complete
 * (cycle.no_false_alarm). NULL: none. */
static struct baton__edge *blocker(struct baton_future *future, struct baton__edge *before,
                                   const struct baton_resource **resource_out)
{
	/* Acquire: as in baton__future_final (future.final, future.c). Relaxed is enough: the list
	 * is under the lock, and binds.watch orders the future's resource. */
	uint32_t state = load_acquire(&future->_state);
	struct baton_resource *resource = baton__future_binding(future);
	const struct baton__frame *frame;
	struct baton__edge *edge;
	bool running;

	if (state & (BATON__FUTURE_FINAL | BATON__FUTURE_PROMISE))
		return NULL;
	/* binds.watch (binds.h) seq_cst: after the count. An RMW finds no old value. Ends: a
	 * failure is another submit. Relaxed is seldom noticed: ordered as wait.last_look, which
	 * the explorer cannot see. */
	if (!resource)
		while (!cas_seq_cst(&future->_resource, &resource, resource))
			continue;
	if (!resource)
		return NULL;
	running = (state & BATON__FUTURE_STATE) == BATON__FUTURE_RUNNING ||
	          baton__binding_entered(resource);
	resource = baton__binding_resource(resource);
	edge = holder_of(resource, before, &frame);
	while (edge && running && !(frame && ends_with(frame, future)))
		edge = holder_of(resource, edge, &frame);
	*resource_out = resource;
	return edge;
}

/* Does the future wait for a stuck edge? */
static bool is_blocked(struct baton_future *future)
{
	const struct baton_resource *resource;
	struct baton__edge *edge = NULL;

	while ((edge = blocker(future, edge, &resource)))
		if (edge->stuck)
			return true;
	return false;
}

/* Does the wait depend on stuck edges? find_stuck looks for the greatest set of such edges. */
static bool is_stuck(const struct baton__edge *edge)
{
	size_t stuck = 0;

	for (size_t i = 0; i < edge->count; i++)
		stuck += is_blocked(edge->futures[i]);
	return edge->all ? stuck > 0 : stuck == edge->count;
}

static void find_stuck(void)
{
	bool changed = true;

	for (struct baton__edge *edge = edges; edge; edge = edge->next)
		edge->stuck = !edge->victim;
	/* Bounded: each round but the last frees at least one edge. */
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

/* Finds a shortest way from the edge back to itself, over stuck edges, and keeps this way in `from`
 * and `via`. */
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
			struct baton__edge *other = NULL;

			while ((other = blocker(edge->futures[i], other, &resource))) {
				if (!other->stuck || other->from)
					continue;
				other->from = edge;
				other->via = resource;
				if (other == start)
					return true;
				last->queued = other;
				last = other;
			}
		}
	}
	return false;
}

/* The cheap question first: is there a cycle even if all edges count as stuck? */
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
	/* Relaxed: nothing is published. Ends: as in baton__cancel_decide (cancel.c). */
	do
		if ((state & BATON__FUTURE_STATE) != BATON__FUTURE_PENDING)
			return (state & BATON__FUTURE_STATE) == BATON__FUTURE_CANCELLING;
	while (!cas_relaxed(&future->_state, &state, state | BATON__FUTURE_CANCELLING));
	return true;
}

static void note_link(struct baton__thread *thread, size_t at,
                      const struct baton_resource *resource)
{
	struct baton_deadlock_link *link;

	if (at >= BATON_DEADLOCK_MAX)
		return;
	link = &thread->cycle[at];
	link->resource = resource;
	(void)snprintf(link->name, sizeof(link->name), "%s",
	               baton__name(resource) ? baton__name(resource) : "");
}

/* Tells the victim's thread the cycle: first the resource that the victim waits for, last the
 * resource that it holds. */
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
	/* `from` leads backwards. */
	do {
		note_link(thread, --length, edge->via);
		edge = edge->from;
	} while (edge != victim);
}

static void take_out_edge(struct baton__edge *edge)
{
	struct baton__edge **link = &edges;

	while (*link != edge)
		link = &(*link)->next;
	*link = edge->next;
	if (edge->unbound)
		baton__binds_unwatch();
}

/* Chooses which wait on the cycle through `edge` ends: that of `edge`, if it may be refused. NULL:
 * no wait on the cycle may be refused. */
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
	/* A promise is never bound. A detached future, which is RUNNING, is never bound again.
	 * Relaxed: if another future is found RUNNING here, blocker finds its resource. */
	for (size_t i = 0; i < edge->count; i++)
		if (!baton__future_resource(edge->futures[i]) &&
		    !(load_relaxed(&edge->futures[i]->_state) &
		      (BATON__FUTURE_STATE | BATON__FUTURE_PROMISE)))
			return true;
	return false;
}

/* A future has been bound, and its task pushed: looks for the cycles that the push completes. */
static void look_for_other_cycles(void)
{
	lock_edges();
	for (struct baton__edge *edge = edges; edge; edge = edge->next) {
		struct baton__edge *victim;

		if (!edge->unbound || edge->victim || !closes_cycle(edge))
			continue;
		victim = choose_victim(edge);
		/* Under the lock, which keeps the victim in the list. */
		if (victim)
			(void)baton__thread_nudge(victim->thread);
	}
	unlock_edges();
}

int baton__cycle_enter(struct baton__edge *edge)
{
	struct baton__edge *victim = NULL;

	edge->thread = baton__self;
	edge->top = baton__frames(baton__self);
	edge->victim = false;
	edge->unbound = has_unbound(edge);
	lock_edges();
	if (edge->unbound)
		baton__binds_watch(look_for_other_cycles);
	edge->next = edges;
	edges = edge;
	if (closes_cycle(edge))
		victim = choose_victim(edge);
	if (victim == edge)
		take_out_edge(edge);
	else if (victim)
		/* Under the lock, which keeps the victim in the list. */
		(void)baton__thread_nudge(victim->thread);
	unlock_edges();
	return victim == edge ? -EDEADLK : 0;
}

bool baton__cycle_leave(struct baton__edge *edge)
{
	lock_edges();
	take_out_edge(edge);
	unlock_edges();
	return edge->victim;
}

int baton__cycle_of_one(const struct baton_resource *resource)
{
	struct baton__thread *self = baton__self;

	BATON__CHECKED(deadlock());
	/* A thread without a record holds nothing. */
	if (!baton__has_record(self))
		return -EDEADLK;
	self->cycle_length = resource ? 1 : 0;
	if (resource)
		note_link(self, 0, resource);
	return -EDEADLK;
}

bool baton__must_not_wait(void)
{
	BATON__CHECKED(may_wait(NULL));
	return BATON_UNLIKELY(baton__is_told(baton__self)) && baton__cycle_of_one(NULL);
}

/* Tells this thread the cycle through the chain: as note_cycle, the resource that the last caller
 * holds, and then, caller by caller, the resource whose function that caller waits for. */
static void note_chain(const struct baton_resource *resource, const struct baton__called *called,
                       const struct baton__caller *last)
{
	struct baton__thread *self = baton__self;
	const struct baton__called *at = called;
	size_t length = 2;

	for (; at->caller != last; at = at->caller->called)
		length++;
	self->cycle_length = length;
	note_link(self, 0, resource);
	/* The chain leads from the innermost function outwards. */
	for (at = called; length > 1; at = at->caller->called)
		note_link(self, --length, at->frame->resource);
}

/* Does this thread wait to hold the resource, in a wait further down its stack? */
static bool asks_for(const struct baton_resource *resource)
{
	const struct baton__asking *asking = baton__self->asking;

	/* Bounded by the depth of nested waits. */
	while (asking && asking->resource != resource)
		asking = asking->below;
	return asking;
}

int baton__cycle_if_held(const struct baton__called *called, const struct baton_resource *resource,
                         bool in_help)
{
	const struct baton__caller *caller;

	if (asks_for(resource) || (in_help ? baton__thread_holds_in_help(baton__self, resource)
	                                   : baton__thread_holds(baton__self, resource)))
		return baton__cycle_of_one(resource);
	caller = baton__caller_holds(called, resource);
	if (!caller)
		return 0;
	BATON__CHECKED(deadlock());
	note_chain(resource, called, caller);
	return -EDEADLK;
}

BATON_EXPORT size_t baton_deadlock_cycle(struct baton_deadlock_link *links, size_t links_max)
{
	const struct baton__thread *self = baton__self;

	for (size_t i = 0; i < self->cycle_length && i < BATON_DEADLOCK_MAX && i < links_max; i++)
		links[i] = self->cycle[i];
	return self->cycle_length;
}
