/* SPDX-License-Identifier: MIT */
/*
 * Lanes: sorts the tasks that the runner takes, picks the next task, ages the lanes. Called by the
 * holder alone. Progress: wait-free. A pick is O(1), with aging O(lanes); sorting a task is O(1).
 */
#include "module/lane.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/node.h"
#include "core/gauge.h"
#include "core/inbox.h"
#include "core/list.h"
#include "core/resource.h"
#include "module/bound.h"
#include "module/extension.h"
#include "module/lane_list.h"
#include "module/lend.h"

BATON_EXPORT void baton_lanes_init(struct baton_lanes *lanes, struct baton_lane *array,
                                   uint32_t count, const struct baton_lanes_config *config)
{
	BATON__NEED(lanes, "the lanes are NULL");
	BATON__NEED(array, "there is no array of lanes: give one struct baton_lane for each lane");
	BATON_REQUIRE(count >= 1 && count <= BATON_LANES_MAX, "a resource has 1 to 32 lanes");
	BATON_REQUIRE(!config || !BATON__UNKNOWN(config), "a word of _reserved is not zero");
	for (uint32_t i = 0; i < count; i++)
		array[i] = (struct baton_lane){NULL, NULL, 0, 0, 0, 0};
	*lanes = (struct baton_lanes)BATON_LANES_INIT(array, count, config);
}

BATON_EXPORT size_t baton_lanes_waiting(const struct baton_lanes *lanes, unsigned lane)
{
	/* Relaxed: a hint. */
	return lane < lanes->_count ? load_relaxed(&lanes->_lanes[lane]._count) : 0;
}

/* The lane has had its turn, or its first task begins to wait. */
static void begin_waiting(const struct baton_lanes *lanes, struct baton_lane *lane)
{
	lane->_served = lanes->_turns;
	if (lanes->_config->aging_ns)
		lane->_since_ns = baton__now_ns();
}

static struct baton_task *take_first(struct baton_resource *resource, unsigned index)
{
	struct baton_task *task = baton__lane_take_first(baton__lanes(resource), index);

	baton__bound_unsorted(resource, task);
	return task;
}

/* Puts a task at the end of its lane. */
static void append(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_lanes *lanes = baton__lanes(resource);
	unsigned index = baton__lane_of(lanes, task);
	struct baton_lane *lane = &lanes->_lanes[index];

	if (!lane->_head)
		begin_waiting(lanes, lane);
	baton__lane_append(lanes, index, task);
	baton__bound_sorted(resource, task);
	/* Ends: with no counted task left, there is no excess. */
	while (baton__bound_excess(resource)) {
		unsigned victim = baton__bound_victim(resource, index, lanes->_busy);

		baton__lend_drop(resource, take_first(resource, victim));
	}
}

/* Where a prompt mark of a sorted chain goes: behind the marks that are there. */
struct ends {
	struct baton_task **prompt; /* the end of _list; NULL: not looked for yet */
};

static void append_mark(struct baton_resource *resource, struct ends *ends, struct baton_task *mark)
{
	struct baton_lanes *lanes = baton__lanes(resource);

	mark->_next = NULL;
	if (baton__kind_is(mark, BATON__KIND_PROMPT)) {
		if (!ends->prompt)
			ends->prompt = &resource->_list;
		/* Bounded: each mark is passed once for each chain. */
		while (*ends->prompt)
			ends->prompt = &(*ends->prompt)->_next;
		*ends->prompt = mark;
	} else if (lanes->_marks) {
		if (lanes->_marks_later)
			lanes->_marks_last->_next = mark;
		else
			lanes->_marks_later = mark;
		lanes->_marks_last = mark;
	} else {
		lanes->_marks = mark;
		baton__lanes_stamp(lanes);
	}
}

static void sort_into_lanes(struct baton_resource *resource, struct baton_task *oldest)
{
	struct ends ends = {NULL};

	while (oldest) {
		struct baton_task *task = oldest;

		oldest = task->_next;
		if (baton__is_mark(task))
			append_mark(resource, &ends, task);
		else
			append(resource, task);
	}
}

static void sort_unsorted(struct baton_resource *resource)
{
	struct baton_lanes *lanes = baton__lanes(resource);
	struct baton_task *oldest = lanes->_unsorted;

	lanes->_unsorted = NULL;
	sort_into_lanes(resource, oldest);
}

/* Returns the part of a chain behind its last cancel mark. `*found`: there is such a mark. */
static struct baton_task *behind_cancel(struct baton_task *oldest, bool *found)
{
	struct baton_task *rest = NULL;

	*found = false;
	for (struct baton_task *task = oldest; task; task = task->_next) {
		if (!baton__kind_is(task, BATON__KIND_CANCELS))
			continue;
		*found = true;
		rest = task->_next;
	}
	return rest;
}

/* Cancels the tasks of a chain up to `rest`, frees the cancel marks, and sorts the other marks. */
static void cancel_chain(struct baton_resource *resource, struct baton_task *oldest,
                         const struct baton_task *rest)
{
	struct ends ends = {NULL};

	while (oldest != rest) {
		struct baton_task *task = oldest;

		oldest = task->_next;
		if (baton__kind_is(task, BATON__KIND_CANCELS))
			baton__node_free(task);
		else if (baton__is_mark(task))
			append_mark(resource, &ends, task);
		else
			baton__cancel_task(resource, task);
	}
}

static struct baton_task *take_admitted(struct baton_lanes *lanes, bool lower)
{
	struct baton_task *task = lanes->_admitted[lower];

	lanes->_admitted[lower] = task->_next;
	task->_next = NULL;
	return task;
}

static void cancel_lanes(struct baton_resource *resource)
{
	struct baton_lanes *lanes = baton__lanes(resource);

	/* Ends: tasks that callbacks submit go to the inbox. */
	for (int lower = 0; lower < 2; lower++)
		while (lanes->_admitted[lower])
			baton__cancel_task(resource, take_admitted(lanes, lower));
	for (uint32_t i = 0; i < lanes->_count; i++)
		while (lanes->_lanes[i]._head)
			baton__cancel_task(resource, take_first(resource, i));
}

void baton__lanes_take(struct baton_resource *resource, struct baton_task *oldest, bool cancel)
{
	bool found = false;
	struct baton_task *rest = cancel ? behind_cancel(oldest, &found) : NULL;

	/* The picked task is older than the chain: the chain's marks wait for it. */
	baton__lanes_put_back(resource);
	sort_unsorted(resource);
	if (found) {
		baton__list_cancel(resource);
		cancel_lanes(resource);
		cancel_chain(resource, oldest, rest);
		oldest = rest;
	}
	sort_into_lanes(resource, oldest);
}

void baton__lanes_keep(struct baton_resource *resource, struct baton_task *oldest)
{
	baton__lanes(resource)->_unsorted = oldest;
}

/* The lanes that have tasks which may run, as bits. */
static uint32_t ready(const struct baton_lanes *lanes)
{
	return lanes->_paused ? lanes->_busy & 1 : lanes->_busy;
}

/* The lane that has the next turn: the highest, or a lane that has waited too long. */
static unsigned choose(struct baton_lanes *lanes)
{
	const struct baton_lanes_config *config = lanes->_config;
	unsigned chosen = (unsigned)__builtin_ctz(ready(lanes));
	uint32_t lower = ready(lanes) & (ready(lanes) - 1);
	uint64_t now = 0;
	uint64_t most = 0;

	if (!lower || !(config->aging_turns || config->aging_ns) || lanes->_aged) {
		lanes->_aged = false;
		return chosen;
	}
	if (config->aging_ns)
		now = baton__now_ns();
	for (; lower; lower &= lower - 1) {
		unsigned index = (unsigned)__builtin_ctz(lower);
		const struct baton_lane *lane = &lanes->_lanes[index];
		uint64_t waited = lanes->_turns - lane->_served;
		bool due = (config->aging_turns && waited >= config->aging_turns) ||
		           (config->aging_ns && now - lane->_since_ns >= config->aging_ns);

		/* Of several such lanes, the lane that has waited longest. */
		if (due && waited >= most) {
			most = waited;
			chosen = index;
			lanes->_aged = true;
		}
	}
	return chosen;
}

/* Takes the task that runs next, and remembers how to put it back. */
static struct baton_task *pick(struct baton_resource *resource)
{
	struct baton_lanes *lanes = baton__lanes(resource);
	const bool aged = lanes->_aged;
	const unsigned index = choose(lanes);
	struct baton_lane *lane = &lanes->_lanes[index];

	lanes->_picked_lane = (uint8_t)index;
	lanes->_picked_older = lane->_older > 0;
	lanes->_picked_aged = aged;
	lanes->_picked_served = lane->_served;
	lanes->_picked_since_ns = lane->_since_ns;
	lanes->_picked = take_first(resource, index);
	lanes->_turns++;
	begin_waiting(lanes, lane);
	return lanes->_picked;
}

/* Takes the first of the marks that wait for no task any more. */
static struct baton_task *take_mark(struct baton_lanes *lanes)
{
	struct baton_task *mark = lanes->_marks;

	lanes->_marks = mark->_next;
	mark->_next = NULL;
	if (!lanes->_marks && lanes->_marks_later) {
		lanes->_marks = lanes->_marks_later;
		lanes->_marks_later = NULL;
		baton__lanes_stamp(lanes);
	}
	return mark;
}

/* Takes the oldest admitted task that may run; NULL: there is none. */
static struct baton_task *next_admitted(struct baton_lanes *lanes)
{
	const bool lower = !lanes->_admitted[0];

	if (!lanes->_admitted[lower] || (lower && lanes->_paused))
		return NULL;
	return take_admitted(lanes, lower);
}

bool baton__lanes_next(struct baton_resource *resource)
{
	struct baton_lanes *lanes = baton__lanes(resource);

	/* The picked task has been entered, and may be gone. */
	lanes->_picked = NULL;
	if (BATON_UNLIKELY(lanes->_unsorted != NULL))
		sort_unsorted(resource);
	resource->_list = next_admitted(lanes);
	if (BATON_UNLIKELY(resource->_list != NULL)) {
		baton__index(resource->_list, NULL);
		return true;
	}
	if (BATON_UNLIKELY(lanes->_marks != NULL) && lanes->_older == 0 && !lanes->_admitted[1]) {
		resource->_list = take_mark(lanes);
		return true;
	}
	if (!ready(lanes))
		return false;
	resource->_list = pick(resource);
	return true;
}

void baton__lanes_put_back(struct baton_resource *resource)
{
	struct baton_lanes *lanes = baton__lanes(resource);
	struct baton_task *task = resource->_list;
	struct baton_task *picked = lanes->_picked;
	struct baton_lane *lane;

	if (!picked)
		return;
	lanes->_picked = NULL;
	/* The task was entered; or it waits in its window, which does not give it back to its
	 * lane. */
	if (task != picked)
		return;
	resource->_list = task->_next; /* marks, or NULL */
	lane = &lanes->_lanes[lanes->_picked_lane];
	baton__lane_prepend(lanes, lanes->_picked_lane, task, lanes->_picked_older);
	lanes->_turns--;
	lanes->_aged = lanes->_picked_aged;
	lane->_served = lanes->_picked_served;
	lane->_since_ns = lanes->_picked_since_ns;
	baton__bound_sorted(resource, task);
}

enum baton__backlog_has baton__lanes_has(const struct baton_resource *resource)
{
	const struct baton_lanes *lanes = baton__lanes(resource);

	if (lanes->_busy || lanes->_unsorted || lanes->_admitted[0] || lanes->_admitted[1])
		return BATON__HAS_TASKS;
	return lanes->_marks ? BATON__HAS_MARKS : BATON__HAS_NOTHING;
}

void baton__lanes_cancel(struct baton_resource *resource)
{
	sort_unsorted(resource);
	cancel_lanes(resource);
}

static bool is_lower(const struct baton_lanes *lanes, const struct baton_task *task)
{
	return baton__lane_of(lanes, task) != 0;
}

void baton__lanes_admit(struct baton_resource *resource, struct baton_task *first,
                        struct baton_task *last)
{
	struct baton_lanes *lanes = baton__lanes(resource);

	last->_next = NULL;
	while (first) {
		struct baton_task *task = first;
		const bool lower = is_lower(lanes, task);
		struct baton_task *before =
			lanes->_admitted[lower] ? lanes->_admitted_last[lower] : NULL;

		first = task->_next;
		task->_next = NULL;
		if (before)
			before->_next = task;
		else
			lanes->_admitted[lower] = task;
		lanes->_admitted_last[lower] = task;
		baton__index(task, before);
	}
}

bool baton__lanes_rest(const struct baton_resource *resource)
{
	return baton__lanes(resource)->_paused > 0;
}

/* Puts a task of _list, which is older than all others, before the admitted tasks. */
static void admit_first(struct baton_lanes *lanes, struct baton_task *task)
{
	const bool lower = is_lower(lanes, task);

	if (!lanes->_admitted[lower])
		lanes->_admitted_last[lower] = task;
	task->_next = lanes->_admitted[lower];
	baton__index(task, NULL);
	baton__index_again(task->_next, task);
	lanes->_admitted[lower] = task;
}

void baton__lanes_pause(struct baton_resource *resource)
{
	struct baton_lanes *lanes = baton__lanes(resource);
	struct baton_task **link = &resource->_list;

	lanes->_paused++;
	baton__lanes_put_back(resource);
	/* A task that is left in _list was admitted, or has captured the resource. */
	while (*link) {
		struct baton_task *task = *link;

		if (baton__is_mark(task)) {
			link = &task->_next;
		} else {
			*link = task->_next;
			admit_first(lanes, task);
		}
	}
}

void baton__lanes_unpause(struct baton_resource *resource)
{
	baton__lanes(resource)->_paused--;
}

/*
 * Unlinks the entry of the future: a task that was admitted, or a suspend mark in _list. Each has
 * an index (list.back_link, core/list.h). The index of the first entry of _list, or of _admitted,
 * may name an entry that has gone.
 */
static struct baton_task *unlink_indexed(struct baton_resource *resource,
                                         struct baton_future *future)
{
	struct baton_lanes *lanes = baton__lanes(resource);
	struct baton_task *entry = resource->_list;
	struct baton_task *before;

	if (entry && baton__entry_future(entry) == future)
		return baton__list_pop(resource);
	for (int lower = 0; lower < 2; lower++)
		if (lanes->_admitted[lower] &&
		    baton__task_future(lanes->_admitted[lower]) == future)
			return take_admitted(lanes, lower);
	before = baton__before(future);
	entry = baton__unlink_behind(resource, before, future);
	for (int lower = 0; lower < 2; lower++)
		if (lanes->_admitted[lower] && lanes->_admitted_last[lower] == entry)
			lanes->_admitted_last[lower] = before;
	return entry;
}

struct baton_task *baton__lanes_unlink(struct baton_resource *resource, struct baton_future *future)
{
	struct baton_task *task = baton__lane_take(baton__lanes(resource), future);

	if (task) {
		baton__bound_unsorted(resource, task);
		return task;
	}
	/* NULL: the entry was in _list, without an index, and the drain has met it since. */
	return baton__before(future) ? unlink_indexed(resource, future) : NULL;
}

void baton__lanes_show(const struct baton_resource *resource)
{
	const struct baton_resource_stats *stats = baton__stats(resource);

	if (stats && stats->_gauge && baton__backlog(resource) && baton__lanes(resource))
		stats->_gauge->lanes = baton__lanes(resource)->_count;
}
