/* SPDX-License-Identifier: MIT */
/*
 * Groups: a count, and who is to be told when it is zero.
 *
 * _word:
 *   LISTED   1 bit   _waiting may have nodes; set after they are linked, cleared by a last member
 *                    before it takes them
 *   COUNT    31 bits members: who has entered, and who is registering a node just now
 *
 *   any -> COUNT+1                   enter; a registration, unless the count is zero
 *   COUNT > 1 -> COUNT-1 (|LISTED)   leave; the end of a registration
 *   1|LISTED -> 1                    a last member, which then takes the list
 *   1 -> 0                           the last member, when it holds the whole list
 *
 * Invariants:
 * GP1 Nodes are linked by members only, and the count falls to zero in the one step 1 -> 0, which
 *     fails if LISTED was set since the list was taken. So no node is left behind at zero.
 * GP2 Who has taken the list is a member; if it turns out not to be the last one, it puts the list
 *     back before it leaves, with LISTED in the same step.
 * GP3 The step 1 -> 0 is the last touch of the group by its last member: the nodes that it fires
 *     are its own.
 *
 * Linearisation point of zero: that step. No ABA: nodes are taken all at once; a count that recurs
 * with the same LISTED has the same meaning.
 * Progress: enter is wait-free; leave and registrations are lock-free: each failed CAS is another's
 * enter, leave, or registration. A thread stopped while it registers, like a member, keeps the
 * count from zero.
 */
#include "future/future.h"

#include <baton/group.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "thread/node.h"
#include "thread/thread.h"

#include <errno.h>

#define LISTED 1U
#define MEMBER 2U

/* Who waits: a promise of the library's, since a wait may end before it is fulfilled. */
struct waiter {
	struct baton__counted counted;
	struct baton_continuation continuation;
};

_Static_assert(sizeof(struct waiter) <= BATON__NODE_BODY_SIZE, "fits a node");
_Static_assert(offsetof(struct waiter, counted) == 0, "unref frees the node by its future");

BATON_EXPORT void baton_group_init(struct baton_group *group)
{
	*group = (struct baton_group)BATON_GROUP_INIT;
}

BATON_EXPORT void baton_group_enter_many(struct baton_group *group, uint32_t count)
{
	uint32_t before;

	BATON_REQUIRE(count <= BATON_GROUP_MAX, "more members than a group may have");
	/* Relaxed: it publishes nothing; and it breaks no release sequence of leaves. */
	before = add_relaxed(&group->_word, MEMBER * count);
	BATON_REQUIRE(before / MEMBER + count <= BATON_GROUP_MAX,
	              "more members than a group may have");
}

BATON_EXPORT void baton_group_enter(struct baton_group *group)
{
	baton_group_enter_many(group, 1);
}

/* Puts a chain of nodes, newest first, before those that are listed. */
static void list(struct baton_group *group, struct baton_continuation *newest,
                 struct baton_continuation *oldest)
{
	oldest->_next = load_relaxed(&group->_waiting);
	/* Ends: each failure is another node, or a last member that takes them all.
	 * [GP2] release: the nodes; pairs with [GP2] in take */
	while (!cas_release(&group->_waiting, &oldest->_next, newest))
		baton__pause();
}

/* Puts what is listed before what the caller, a member, has taken already; newest first. */
static void take(struct baton_group *group, struct baton_continuation **taken)
{
	/* [GP2] acquire: the nodes; pairs with [GP2] in list */
	struct baton_continuation *newest = swap_acquire(&group->_waiting, NULL);
	struct baton_continuation **end = &newest;

	while (*end)
		end = &(*end)->_next;
	*end = *taken;
	*taken = newest;
}

/* The caller is not the last member after all. */
static void put_back(struct baton_group *group, struct baton_continuation **taken)
{
	struct baton_continuation *oldest = *taken;

	while (oldest->_next)
		oldest = oldest->_next;
	list(group, *taken, oldest);
	*taken = NULL;
}

/* Oldest first. */
static void fire(struct baton_continuation *newest)
{
	struct baton_continuation *oldest = NULL;

	while (newest) {
		struct baton_continuation *next = newest->_next;

		newest->_next = oldest;
		oldest = newest;
		newest = next;
	}
	baton__future_fire(oldest); /* last touch */
}

/* A member goes; `listed`: LISTED, if it has linked nodes, else 0. */
static void leave(struct baton_group *group, uint32_t listed)
{
	struct baton_continuation *taken = NULL;
	uint32_t word = load_relaxed(&group->_word);

	/* Ends: each failure is another's progress, and so is each round: LISTED was set anew. */
	for (;;) {
		if (BATON_UNLIKELY(word < MEMBER))
			BATON_MISUSE("baton_group_leave",
			             "the group has no member: enter before, once for each leave");
		if (word >= 2 * MEMBER) {
			if (taken) {
				put_back(group, &taken);
				listed = LISTED;
			}
			/* [GP1] release: what we did, and the nodes are linked; pairs with [GP1]
			 * below and in wait. Last touch. */
			if (cas_release(&group->_word, &word, (word - MEMBER) | listed))
				return;
		} else if ((word | listed) & LISTED) {
			/* [GP1] acquire: the nodes are linked; pairs with [GP1] above */
			if (!cas_acquire(&group->_word, &word, MEMBER))
				continue;
			take(group, &taken);
			listed = 0;
			word = MEMBER;
		} else if (cas_acq_rel(&group->_word, &word, 0)) {
			/* [GP1] release: what all did, for who then looks; pairs with [GP1] in
			 * wait. Acquire: for who is fired; pairs with [GP1] above. Last touch. */
			break;
		}
	}
	fire(taken);
}

BATON_EXPORT void baton_group_leave(struct baton_group *group)
{
	leave(group, 0);
}

BATON_EXPORT void baton_group_leave_with(struct baton_group *group, int status)
{
	int32_t none = 0;

	/* Relaxed: published by the leave. */
	if (status)
		(void)cas_relaxed(&group->_status, &none, status);
	leave(group, 0);
}

/* Links the node; false: the count is zero, so that it is not needed. */
static bool register_node(struct baton_group *group, struct baton_continuation *continuation)
{
	uint32_t word = load_relaxed(&group->_word);

	/* Becomes a member. Ends: each failure is an enter, a leave, a registration. */
	do {
		if (word < MEMBER) {
			/* [GP1] acquire: what the members did; pairs with [GP1] in leave */
			(void)load_acquire(&group->_word);
			return false;
		}
	} while (!cas_relaxed(&group->_word, &word, word + MEMBER));
	list(group, continuation, continuation);
	leave(group, LISTED); /* last touch of both */
	return true;
}

BATON_EXPORT void baton_group_notify(struct baton_group *group,
                                     struct baton_continuation *continuation)
{
	if (register_node(group, continuation))
		return;
	continuation->_next = NULL;
	baton__future_fire(continuation); /* last touch */
}

static void wake(struct baton_continuation *continuation)
{
	struct waiter *waiter = baton_container_of(continuation, struct waiter, continuation);

	/* The waiter gives up its reference, it does not cancel: it is pending. */
	(void)baton_future_complete(&waiter->counted.future, 0, NULL);
}

BATON_EXPORT int baton_group_wait(struct baton_group *group, const struct timespec *deadline)
{
	struct waiter *waiter;
	int error;

	if (!baton__deadline_valid(deadline))
		return -EINVAL;
	/* [GP1] acquire: what the members did; pairs with [GP1] in leave */
	if (load_acquire(&group->_word) < MEMBER)
		return 0;
	error = baton__thread_attach();
	if (error)
		return error;
	waiter = baton__node_alloc(sizeof(*waiter));
	if (!waiter)
		return -ENOMEM;
	*waiter = (struct waiter){
		.counted = {.future = BATON_PROMISE_INIT, .references = 1},
		.continuation = {NULL, wake, NULL, NULL},
	};
	/* unshared: not registered yet */
	waiter->counted.future._state |= BATON__FUTURE_COUNTED;
	if (!register_node(group, &waiter->continuation)) {
		baton__node_free(waiter);
		return 0;
	}
	error = baton_future_wait(&waiter->counted.future, deadline);
	baton_future_unref(&waiter->counted.future);
	return error;
}

BATON_EXPORT int baton_group_status(const struct baton_group *group)
{
	/* Relaxed: written before the leave that brought the count to zero. */
	return load_relaxed(&group->_status);
}

BATON_EXPORT int baton_group_take_status(struct baton_group *group)
{
	int32_t status = load_relaxed(&group->_status);

	/* As above. Ends: it changes once in a round. */
	while (!cas_relaxed(&group->_status, &status, 0))
		;
	return status;
}
