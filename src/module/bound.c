/* SPDX-License-Identifier: MIT */
/*
 * Bounds: reserving, dropping, watermarks. Progress: reserving is lock-free; each retry is a
 * reservation of another submitter, or progress of the runner. The runner's part is wait-free.
 */
#include "module/bound.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/node.h"
#include "core/drop.h"
#include "core/label.h"
#include "core/awaiter.h"
#include "core/callback.h"
#include "core/close.h"
#include "core/kind.h"
#include "core/context.h"
#include "core/guard.h"
#include "core/stats.h"
#include "core/stay.h"
#include "core/submit.h"
#include "wait/wait.h"
#include "module/extension.h"
#include "module/lane_list.h"
#include "module/lend.h"

#include <errno.h>
#include <sched.h>

struct amount {
	uint64_t tasks;
	uint64_t bytes;
};

static struct amount amount_of(uint64_t weight)
{
	return (struct amount){weight / BATON__BOUND_TASK, weight % BATON__BOUND_TASK};
}

static struct amount limit_of(uint32_t tasks, uint64_t bytes)
{
	return (struct amount){tasks ? tasks : BATON_BOUND_TASKS_MAX,
	                       bytes ? bytes : BATON_BOUND_BYTES_MAX};
}

bool baton__bound_valid(const struct baton_bound_config *config)
{
	struct amount max = limit_of(config->tasks_max, config->bytes_max);
	struct amount hard = limit_of(config->tasks_hard, config->bytes_hard);

	return max.tasks <= hard.tasks && hard.tasks <= BATON_BOUND_TASKS_MAX &&
	       max.bytes <= hard.bytes && hard.bytes <= BATON_BOUND_BYTES_MAX &&
	       (!config->tasks_high || config->tasks_high > config->tasks_low) &&
	       (!config->bytes_high || config->bytes_high > config->bytes_low) &&
	       config->policy <= BATON_BOUND_WAIT && !BATON__UNKNOWN(config);
}

BATON_EXPORT void baton_bound_init(struct baton_bound *bound,
                                   const struct baton_bound_config *config)
{
	BATON_REQUIRE(baton__bound_valid(config),
	              "the config contradicts itself: see struct baton_bound_config");
	*bound = (struct baton_bound)BATON_BOUND_INIT(config);
}

BATON_EXPORT void baton_bound_stats_read(const struct baton_bound *bound,
                                         struct baton_bound_stats *copy)
{
	uint64_t gone;
	struct amount waiting;

	/* Ends: each further round is a task that has left. */
	do {
		/* [bound.pushed] acquire: the reservations of tasks that have left, so that the
		 * difference is not negative; pairs with [bound.pushed] in left */
		gone = load_acquire(&bound->_gone);
		/* [bound.gone] acquire: the value of _gone on which the reservations in _pushed
		 * rely. The second look finds that value or a later one, so the difference is never
		 * above the bound; pairs with [bound.gone] in reserve */
		waiting = amount_of(load_acquire(&bound->_pushed) - gone);
		/* Relaxed: see [bound.gone]. */
	} while (load_relaxed(&bound->_gone) != gone);
	copy->tasks = waiting.tasks;
	copy->bytes = waiting.bytes;
	copy->refused = load_relaxed(&bound->_refused);
	copy->dropped =
		bound->_config->policy == BATON_BOUND_WAIT ? 0 : load_relaxed(&bound->_dropped);
	copy->waited =
		bound->_config->policy == BATON_BOUND_WAIT ? load_relaxed(&bound->_waited) : 0;
}

static uint64_t weight_of(const struct baton_resource *resource, const struct baton_task *task)
{
	const struct baton__extension *extension = baton__extension(resource);
	const struct baton_stamp *stamp = baton__stamp(task);
	unsigned lane = baton__lane_of(extension->_lanes, task);

	if (extension->_bound->_config->exempt >> lane & 1)
		return 0;
	return BATON__BOUND_TASK + (stamp ? stamp->_bytes : 0);
}

/* Not packed into a weight: a chain may have more than a weight can hold. */
static struct amount chain_amount(const struct baton_resource *resource,
                                  const struct baton_task *first)
{
	struct amount sum = {0, 0};

	for (const struct baton_task *task = first; task; task = task->_next) {
		struct amount one = amount_of(weight_of(resource, task));

		sum.tasks += one.tasks;
		sum.bytes += one.bytes;
	}
	return sum;
}

static uint64_t weight(struct amount amount)
{
	return amount.tasks * BATON__BOUND_TASK + amount.bytes;
}

static bool within(struct amount limit, struct amount waiting, struct amount more)
{
	return waiting.tasks + more.tasks <= limit.tasks &&
	       waiting.bytes + more.bytes <= limit.bytes;
}

static bool reserve(struct baton_bound *bound, struct amount limit, struct amount more)
{
	/* Ends: each round is a reservation of another submitter, or a task that has left. */
	for (;;) {
		/* [bound.pushed] acquire: the reservations of tasks that have left
		 * (bound.difference); pairs with [bound.pushed] in left */
		uint64_t gone = load_acquire(&bound->_gone);
		/* [bound.gone] acquire: the value of _gone on which the reservations in _pushed
		 * rely. The second look must find that value or a later one: otherwise this
		 * submitter could be refused although there is room. Pairs with [bound.gone] below.
		 * Relaxed is seldom noticed below: a submitter that misses tasks that another
		 * submitter knows to be gone would be refused although there is room. */
		uint64_t pushed = load_acquire(&bound->_pushed);

		if (!within(limit, amount_of(pushed - gone), more)) {
			if (load_relaxed(&bound->_gone) == gone)
				return false;
		} else if (cas_release(&bound->_pushed, &pushed, pushed + weight(more))) {
			/* [bound.gone] release: the _gone that this reservation relies on; pairs
			 * with [bound.gone] above. The push publishes the tasks. */
			return true;
		}
	}
}

/* Cancels a task that was not accepted. Called by the submitter, without the baton. */
static void drop_unaccepted(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_future *future = baton__task_future(task);
	const bool tells = baton__tells(task);

	/* If a cancel was first, unready has completed the future as cancelled. */
	if (!future || !baton__unready(resource, task, 0)) {
		baton__entry_dropped(task);
		if (future)
			baton__future_finish(future, BATON__FUTURE_CANCELLED, -ECANCELED, 0, 0);
	}
	if (tells)
		baton__tell_refused(resource, task);
}

/* ---- Waiting for room ---- */

/* The mark of a submitter that waits for room for `more`. */
struct room {
	struct baton__awaiter awaiter;
	uint64_t more; /* a weight: it is within the limit */
};

_Static_assert(sizeof(struct room) <= BATON__NODE_BODY_SIZE, "fits a node");

/* Tells a submitter that a task has left, or that none waits in a window. Last touch of the mark.
 * Called by the holder. */
static void fire_mark(struct baton_resource *resource, struct baton_task *mark)
{
	baton__future_finish(baton__mark_future(mark), BATON__FUTURE_DONE, 0, NULL,
	                     baton__turn_visits(resource));
}

static void fire_marks(struct baton_resource *resource, struct baton_bound *bound)
{
	struct baton_task *mark = bound->_awaits;

	bound->_awaits = NULL;
	/* Bounded, here and below, by the submitters that wait, and those that have given up since
	 * the last mark. */
	while (mark) {
		struct baton_task *next = mark->_next;

		fire_mark(resource, mark);
		mark = next;
	}
}

/* Fires the marks whose waiters have gone: nobody is told, and the memory is given back. */
static void forget_gone(struct baton_resource *resource, struct baton_bound *bound)
{
	struct baton_task **link = &bound->_awaits;

	while (*link) {
		struct baton_task *mark = *link;
		const struct baton_future *future = baton__mark_future(mark);

		/* Relaxed: a hint. */
		if (load_relaxed(&future->_state) & BATON__FUTURE_DROPPED) {
			*link = mark->_next;
			fire_mark(resource, mark);
		} else {
			link = &mark->_next;
		}
	}
}

/* The runner has reached the mark: see bound.aside. */
static enum baton__met meet_room(struct baton__stay *stay, struct baton_task *mark)
{
	struct baton_resource *resource = stay->frame.resource;
	const struct room *room = baton_container_of(mark, struct room, awaiter.task);
	struct baton_bound *bound = baton__bound(resource);
	const struct baton_bound_config *config = bound->_config;
	/* Relaxed: as in baton__bound_look. A task that has left since the submitter looked has
	 * made the room that is found here. */
	uint64_t waiting = load_relaxed(&bound->_pushed) - load_relaxed(&bound->_gone);

	if (!bound->_aside || within(limit_of(config->tasks_max, config->bytes_max),
	                             amount_of(waiting), amount_of(room->more))) {
		fire_mark(resource, mark);
		return BATON__MET;
	}
	forget_gone(resource, bound);
	mark->_next = bound->_awaits;
	bound->_awaits = mark;
	return BATON__MET;
}

static const struct baton__kind room_kind = {
	.type._flags = BATON__KIND_MARK | BATON__KIND_PROMPT,
	.meet = meet_room,
};

/* Where tasks wait in windows, and there is no room: waits until a task leaves. */
static int wait_for_windows(struct baton_resource *resource, struct amount more,
                            uint64_t deadline_ns)
{
	struct baton__awaiter *awaiter;
	struct room *room;
	int error;

	/* Relaxed: a hint; the holder decides when it reaches the mark. */
	if (!load_relaxed(&baton__bound(resource)->_aside))
		return 0;
	room = baton__node_alloc(sizeof(*room));
	if (!room)
		return -ENOMEM;
	room->more = weight(more);
	awaiter = &room->awaiter;
	baton__awaiter_init(awaiter, resource, &room_kind);
	(void)baton__push_mark(resource, &awaiter->task, BATON__ASK_NOTHING);
	error = baton__wait_for_mark(&awaiter->counted.future, deadline_ns, false);
	baton_future_unref(&awaiter->counted.future);
	return error;
}

/*
 * Waits until the tasks accepted before have run, and repeats this until there is room. An await
 * does not wait for tasks in windows: where there are such tasks, waits until a task leaves. The
 * submitter helps before it sleeps, as every waiter does.
 */
static int wait_for_room(struct baton_resource *resource, const struct baton_task *first,
                         struct amount limit, struct amount more)
{
	struct baton_bound *bound = baton__bound(resource);
	const struct baton__in_time *in_time = baton__self->in_time;
	uint64_t deadline_ns = BATON_FOREVER;
	int error;

	if (bound->_config->timeout_ns)
		deadline_ns = baton__time_after(baton__now_ns(), bound->_config->timeout_ns);
	if (in_time && in_time->task == first && in_time->deadline_ns < deadline_ns)
		deadline_ns = in_time->deadline_ns;
	/* Relaxed: only counted. */
	(void)add_relaxed(&bound->_waited, 1);
	/*
	 * Ended by a reservation, the deadline, or an error of the wait. A round in vain means that
	 * other submitters have taken the room. If the resource is idle, the await returns at once:
	 * a submitter has reserved the room and has not pushed its task yet. Such a submitter needs
	 * the CPU, and only the clock tells that the deadline has passed.
	 */
	for (;;) {
		error = baton_resource_await_until(resource, deadline_ns);
		if (reserve(bound, limit, more))
			return 0;
		if (!error && baton__is_past(deadline_ns))
			error = -ETIMEDOUT;
		if (!error)
			error = wait_for_windows(resource, more, deadline_ns);
		if (error)
			break;
		(void)sched_yield();
	}
	(void)add_relaxed(&bound->_refused, 1);
	return error;
}

/* ---- Dropping for room: lend.h ---- */

/* How much may wait while no thread can drop tasks: the second limit. For the holder, which drops
 * next: the greatest amount. */
static struct amount limit_beyond(const struct baton_resource *resource)
{
	const struct baton_bound_config *config = baton__bound(resource)->_config;
	uint32_t tasks = config->tasks_hard ? config->tasks_hard : config->tasks_max;
	uint64_t bytes = config->bytes_hard ? config->bytes_hard : config->bytes_max;

	if (baton__thread_holds(baton__self, resource))
		return limit_of(0, 0);
	return limit_of(tasks, bytes);
}

bool baton__bound_reserve_beyond(struct baton_resource *resource, const struct baton_task *first)
{
	return reserve(baton__bound(resource), limit_beyond(resource),
	               chain_amount(resource, first));
}

void baton__bound_exceed(struct baton_resource *resource, const struct baton_task *first)
{
	/* Relaxed: this reservation relies on no value of _gone. The submitter gives the queue back
	 * before a holder counts the tasks as gone. */
	(void)add_relaxed(&baton__bound(resource)->_pushed, weight(chain_amount(resource, first)));
}

int baton__bound_reserve(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                         unsigned how)
{
	struct baton_bound *bound = baton__bound(resource);
	const struct baton_bound_config *config = bound->_config;
	const struct amount limit = limit_of(config->tasks_max, config->bytes_max);
	const struct amount more = chain_amount(resource, first);
	const bool may_wait = !(how & BATON__SUBMIT_NO_WAIT);
	bool dropping = config->policy == BATON_BOUND_DROP_NEWEST;

	if (more.tasks == 0 || reserve(bound, limit, more))
		return 0;
	if (baton__bound_drops_oldest(config)) {
		bool fits = within(limit_beyond(resource), (struct amount){0, 0}, more);
		int status = fits ? baton__lend_submit(resource, first, count, how) : -EAGAIN;

		/* Relaxed: only counted. */
		if (status == -EAGAIN)
			(void)add_relaxed(&bound->_refused, 1);
		return status;
	}
	if (may_wait && config->policy == BATON_BOUND_WAIT &&
	    within(limit, (struct amount){0, 0}, more))
		return wait_for_room(resource, first, limit, more);
	/* Relaxed: only counted. */
	if (!dropping) {
		(void)add_relaxed(&bound->_refused, 1);
		return -EAGAIN;
	}
	while (first) {
		struct baton_task *task = first;

		first = task->_next;
		(void)add_relaxed(&bound->_dropped, 1);
		baton__stats_dropped(resource, 1);
		drop_unaccepted(resource, task);
	}
	return 1;
}

void baton__bound_unreserve(struct baton_resource *resource, const struct baton_task *first)
{
	/* Relaxed: the reservation has published nothing. */
	(void)sub_relaxed(&baton__bound(resource)->_pushed, weight(chain_amount(resource, first)));
}

void baton__bound_captured(struct baton_resource *resource, const struct baton_task *task)
{
	baton__bound(resource)->_at_once = task;
}

void baton__bound_left(struct baton_resource *resource, const struct baton_task *task)
{
	struct baton_bound *bound = baton__bound(resource);

	if (task == bound->_at_once) {
		bound->_at_once = NULL;
		return;
	}
	/* [bound.pushed] release: the reservation, made before; pairs with [bound.pushed] in
	 * reserve and stats_read */
	store_release(&bound->_gone, load_relaxed(&bound->_gone) + weight_of(resource, task));
	if (BATON_UNLIKELY(bound->_config->policy == BATON_BOUND_WAIT && bound->_awaits))
		fire_marks(resource, bound);
	baton__bound_look(resource);
}

void baton__bound_set_aside(struct baton_resource *resource, const struct baton_task *task,
                            bool aside)
{
	struct baton_bound *bound = baton__bound(resource);

	if (bound->_config->policy != BATON_BOUND_WAIT || !weight_of(resource, task))
		return;
	store_relaxed(&bound->_aside, aside ? bound->_aside + 1 : bound->_aside - 1);
}

void baton__bound_look(struct baton_resource *resource)
{
	struct baton_bound *bound = baton__bound(resource);
	const struct baton_bound_config *config = bound->_config;
	void (*mark)(struct baton_resource * resource, void *arg);
	struct amount waiting;
	uintptr_t top;

	if (!(config->tasks_high || config->bytes_high))
		return;
	/* A submitter that has the queue lacks the baton: the holder looks when it comes back. */
	if (baton__bound_drops_oldest(config) && baton__lend_is_taken(resource))
		return;
	/* Relaxed: only the holder writes _gone, and the tasks that it counts were reserved
	 * before. */
	waiting = amount_of(load_relaxed(&bound->_pushed) - load_relaxed(&bound->_gone));
	if (!bound->_above) {
		if (!(config->tasks_high && waiting.tasks >= config->tasks_high) &&
		    !(config->bytes_high && waiting.bytes >= config->bytes_high))
			return;
		bound->_above = true;
		mark = config->high;
	} else {
		if ((config->tasks_high && waiting.tasks > config->tasks_low) ||
		    (config->bytes_high && waiting.bytes > config->bytes_low))
			return;
		bound->_above = false;
		mark = config->low;
	}
	if (!mark)
		return;
	top = baton__self->top;
	baton__context_begin(resource);
	mark(resource, config->arg);
	baton__guard_returned(top);
	baton__context_end(resource);
}

void baton__bound_sorted(struct baton_resource *resource, const struct baton_task *task)
{
	struct baton_bound *bound = baton__bound(resource);

	if (bound && baton__bound_drops_oldest(bound->_config))
		bound->_sorted += weight_of(resource, task);
}

void baton__bound_unsorted(struct baton_resource *resource, const struct baton_task *task)
{
	struct baton_bound *bound = baton__bound(resource);

	if (bound && baton__bound_drops_oldest(bound->_config))
		bound->_sorted -= weight_of(resource, task);
}

bool baton__bound_excess(struct baton_resource *resource)
{
	struct baton_bound *bound = baton__bound(resource);
	const struct baton_bound_config *config = bound ? bound->_config : NULL;

	if (!bound || !baton__bound_drops_oldest(config) ||
	    within(limit_of(config->tasks_max, config->bytes_max), amount_of(bound->_sorted),
	           (struct amount){0, 0}))
		return false;
	(void)add_relaxed(&bound->_dropped, 1);
	return true;
}

unsigned baton__bound_victim(struct baton_resource *resource, unsigned own, uint32_t busy)
{
	const struct baton_bound_config *config = baton__bound(resource)->_config;

	/* A lane that is not exempt is busy: exempt tasks alone are never too many. */
	if (config->policy == BATON_BOUND_DROP_LOWEST)
		return 31U - (unsigned)__builtin_clz(busy & ~config->exempt);
	return own;
}
