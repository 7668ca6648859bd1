/* SPDX-License-Identifier: MIT */
/*
 * Groups: a count of members, and a list of continuations that are fired when the count is zero.
 *
 * The word `_word`:
 *   LISTED   1 bit. The list `_waiting` may have nodes. Set after a node is linked; cleared by a
 *            last member before it takes the list.
 *   COUNT    31 bits. The members: each enter without its leave, and each thread that registers a
 *            node now.
 *
 *   any -> COUNT+1                   enter; the beginning of a registration, unless COUNT is 0
 *   COUNT > 1 -> COUNT-1 (|LISTED)   leave; the end of a registration
 *   1|LISTED -> 1                    a last member, which then takes the list
 *   1 -> 0                           the last member, when it has taken the whole list
 *
 * Invariants:
 * group.zero: Only members link nodes. The count falls to zero by the step 1 -> 0 alone, which
 *    fails if LISTED was set since the list was taken. So no node is in the list at zero.
 * group.taken: A thread that has taken the list is a member. If other members have come meanwhile,
 *    it puts the list back before it leaves; the CAS by which it leaves sets LISTED.
 * group.last: The step 1 -> 0 is the last member's last touch of the group. The nodes that it fires
 *    afterwards are its own.
 *
 * Linearisation point of zero: the step 1 -> 0. ABA: the list is only ever taken whole; a count
 * that recurs with the same LISTED has the same meaning.
 * Progress: enter is wait-free. leave and registrations are lock-free: a CAS fails only because
 * another thread has entered, left or registered. A thread that is stopped while it registers keeps
 * the count from zero, as a member does.
 */
#include "future/future.h"

#include <baton/group.h>

#include "base/atomic.h"
#include "base/futex.h"
#include "thread/node.h"
#include "thread/thread.h"
#include "future/firing.h"

#include <errno.h>

#define LISTED 1U
#define MEMBER 2U

/* A wait. The library allocates its promise: the wait may end before the promise completes. */
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

BATON_EXPORT void baton_group_enter_many(struct baton_group *group, size_t count)
{
	uint32_t before;

	BATON_REQUIRE(count <= BATON_GROUP_MAX, "more members than a group may have");
	/* Relaxed: publishes nothing. An RMW, so it continues the release sequences of leaves. */
	before = add_relaxed(&group->_word, MEMBER * (uint32_t)count);
	BATON_REQUIRE(before / MEMBER + count <= BATON_GROUP_MAX,
	              "more members than a group may have");
}

BATON_EXPORT void baton_group_enter(struct baton_group *group)
{
	baton_group_enter_many(group, 1);
}

/* Puts a chain of nodes, newest first, in front of the list. */
static void list_nodes(struct baton_group *group, struct baton_continuation *newest,
                       struct baton_continuation *oldest)
{
	oldest->_next = load_relaxed(&group->_waiting);
	/* Ends: each failure is another node, or a last member that has taken the list.
	 * [group.list] release: the nodes; pairs with [group.list] in take_nodes */
	while (!cas_release(&group->_waiting, &oldest->_next, newest))
		baton__pause();
}

/* Takes the list, newest first, and puts it in front of the nodes that the caller already has. */
static void take_nodes(struct baton_group *group, struct baton_continuation **taken)
{
	/* [group.list] acquire: the nodes; pairs with [group.list] in list_nodes */
	struct baton_continuation *newest = swap_acquire(&group->_waiting, NULL);
	struct baton_continuation **end = &newest;

	while (*end)
		end = &(*end)->_next;
	*end = *taken;
	*taken = newest;
}

/* Puts the list back: other members have come (group.taken). */
static void put_back(struct baton_group *group, struct baton_continuation **taken)
{
	struct baton_continuation *oldest = *taken;

	while (oldest->_next)
		oldest = oldest->_next;
	list_nodes(group, *taken, oldest);
	*taken = NULL;
}

/* Fires the nodes, oldest first. */
static void fire_nodes(struct baton_continuation *newest)
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

/* A member leaves. `listed`: LISTED if the member has linked a node, else 0. */
static void leave(struct baton_group *group, uint32_t listed)
{
	struct baton_continuation *taken = NULL;
	uint32_t word = load_relaxed(&group->_word);

	/* Ends: each failed CAS, and each LISTED that is found again, is progress of another
	 * thread. */
	for (;;) {
		if (BATON_UNLIKELY(word < MEMBER))
			BATON_MISUSE("baton_group_leave",
			             "the group has no member: enter before, once for each leave");
		if (word >= 2 * MEMBER) {
			if (taken) {
				put_back(group, &taken);
				listed = LISTED;
			}
			/* [group.count] release: what this member did, and its node; pairs with
			 * [group.count] below and in wait. Last touch. */
			if (cas_release(&group->_word, &word, (word - MEMBER) | listed))
				return;
		} else if ((word | listed) & LISTED) {
			/* [group.count] acquire: the nodes are linked; pairs with [group.count]
			 * above. Relaxed goes unnoticed: [group.count] orders the registrar's link
			 * and the last member's exchange, and the explorer's modification order is
			 * that of execution. */
			if (!cas_acquire(&group->_word, &word, MEMBER))
				continue;
			take_nodes(group, &taken);
			listed = 0;
			word = MEMBER;
			/* Release is enough: the last member has acquired what the other members
			 * did when it cleared LISTED. A member that has left since then entered
			 * while the last leave was under way. */
		} else if (cas_acq_rel(&group->_word, &word, 0)) {
			/* [group.count] release: what all members did; pairs with [group.count] in
			 * wait. Acquire: the same, for the functions that are fired; pairs with
			 * [group.count] above. Last touch. */
			break;
		}
	}
	fire_nodes(taken);
}

BATON_EXPORT void baton_group_leave(struct baton_group *group)
{
	leave(group, 0);
}

BATON_EXPORT void baton_group_leave_with(struct baton_group *group, int status)
{
	int32_t none = 0;

	/* Relaxed: leave publishes it. */
	if (status)
		(void)cas_relaxed(&group->_status, &none, status);
	leave(group, 0);
}

/* Links the node. False: the count is zero, and the node is not linked. */
static bool register_node(struct baton_group *group, struct baton_continuation *continuation)
{
	uint32_t word = load_relaxed(&group->_word);

	/* Makes this thread a member. Ends: each failure is an enter, a leave, a registration. */
	do {
		if (word < MEMBER) {
			/* [group.count] acquire: what the members did; pairs with [group.count]
			 * in leave */
			(void)load_acquire(&group->_word);
			return false;
		}
	} while (!cas_relaxed(&group->_word, &word, word + MEMBER));
	list_nodes(group, continuation, continuation);
	leave(group, LISTED); /* last touch of both */
	return true;
}

BATON_EXPORT void baton_group_then(struct baton_group *group,
                                   struct baton_continuation *continuation)
{
	if (register_node(group, continuation))
		return;
	continuation->_next = NULL;
	baton__future_fire(continuation); /* last touch */
}

static void wake_waiter(struct baton_continuation *continuation)
{
	struct waiter *waiter = baton_container_of(continuation, struct waiter, continuation);

	/* Succeeds: a waiter whose wait has ended drops its reference, but does not cancel. */
	(void)baton_future_complete(&waiter->counted.future, 0, NULL);
}

BATON_EXPORT int baton_group_wait_until(struct baton_group *group, uint64_t deadline_ns)
{
	struct waiter *waiter;
	int error;

	/* [group.count] acquire: what the members did; pairs with [group.count] in leave */
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
		.continuation = {NULL, wake_waiter, NULL, NULL},
	};
	/* unshared: not registered yet */
	waiter->counted.future._state |= BATON__FUTURE_COUNTED;
	if (!register_node(group, &waiter->continuation)) {
		baton__node_free(waiter);
		return 0;
	}
	error = baton_future_wait_until(&waiter->counted.future, deadline_ns);
	baton_future_unref(&waiter->counted.future);
	return error;
}

BATON_EXPORT int baton_group_wait(struct baton_group *group)
{
	return baton_group_wait_until(group, BATON_FOREVER);
}

BATON_EXPORT int baton_group_status(const struct baton_group *group)
{
	/* Relaxed: written before the leave that has brought the count to zero. */
	return load_relaxed(&group->_status);
}

BATON_EXPORT int baton_group_take_status(struct baton_group *group)
{
	int32_t status = load_relaxed(&group->_status);

	/* Relaxed: as in baton_group_status. Ends: the status changes once until it is taken. */
	while (!cas_relaxed(&group->_status, &status, 0))
		;
	return status;
}
