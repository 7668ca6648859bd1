/* SPDX-License-Identifier: MIT */
/* The lists of the lanes. See lane_list.h. */
#include "module/lane_list.h"

#include "base/atomic.h"

#define IN_LANE ((uintptr_t)1) /* of a future's _value */

/* Only the holder writes the counts. */
static void count_lane(struct baton_lane *lane, size_t more)
{
	store_relaxed(&lane->_count, load_relaxed(&lane->_count) + more);
}

static void index_place(const struct baton_lanes *lanes, const struct baton_task *task,
                        const struct baton_task *before)
{
	struct baton_future *future = lanes->_indexed && task ? baton__task_future(task) : NULL;

	/* Relaxed, as each access to this _value: only the holder, or a submitter before the task
	 * is accepted, writes it. */
	if (future)
		store_relaxed(&future->_value, (void *)((uintptr_t)before | IN_LANE));
}

static void index_epoch(const struct baton_lanes *lanes, const struct baton_task *task, bool older)
{
	struct baton_future *future = lanes->_indexed ? baton__task_future(task) : NULL;

	if (future)
		future->_status = (int32_t)(lanes->_epoch - older);
}

/* Was the task of the future, which is indexed, in its lane when _older was counted (lane.older)?
 * Such a task counts in _older. */
static bool is_older(const struct baton_lanes *lanes, const struct baton_future *future)
{
	BATON_ASSERT(lanes->_indexed); /* else _status is no epoch */
	return (uint32_t)future->_status != lanes->_epoch;
}

static void index_all(struct baton_lanes *lanes)
{
	lanes->_indexed = true;
	for (uint32_t i = 0; i < lanes->_count; i++) {
		struct baton_task *before = NULL;
		size_t place = 0;

		for (struct baton_task *task = lanes->_lanes[i]._head; task;
		     before = task, task = task->_next, place++) {
			index_place(lanes, task, before);
			index_epoch(lanes, task, place < lanes->_lanes[i]._older);
		}
	}
}

void baton__lane_append(struct baton_lanes *lanes, unsigned index, struct baton_task *task)
{
	struct baton_lane *lane = &lanes->_lanes[index];

	index_place(lanes, task, lane->_tail);
	index_epoch(lanes, task, false);
	task->_next = NULL;
	if (lane->_head)
		lane->_tail->_next = task;
	else
		lane->_head = task;
	lane->_tail = task;
	lanes->_busy |= (uint32_t)1 << index;
	count_lane(lane, 1);
}

void baton__lane_prepend(struct baton_lanes *lanes, unsigned index, struct baton_task *task,
                         bool older)
{
	struct baton_lane *lane = &lanes->_lanes[index];

	index_place(lanes, task, NULL);
	index_epoch(lanes, task, older);
	index_place(lanes, lane->_head, task);
	task->_next = lane->_head;
	lane->_head = task;
	if (!lane->_tail)
		lane->_tail = task;
	lanes->_busy |= (uint32_t)1 << index;
	count_lane(lane, 1);
	lane->_older += older;
	lanes->_older += older;
}

/* Takes out the task behind `before` (NULL: the first). `older`: it is one of the _older tasks. */
static struct baton_task *take_behind(struct baton_lanes *lanes, unsigned index,
                                      struct baton_task *before, bool older)
{
	struct baton_lane *lane = &lanes->_lanes[index];
	struct baton_task *task = before ? before->_next : lane->_head;

	if (before)
		before->_next = task->_next;
	else
		lane->_head = task->_next;
	if (lane->_tail == task)
		lane->_tail = before;
	index_place(lanes, task->_next, before);
	if (!lane->_head)
		lanes->_busy &= ~((uint32_t)1 << index);
	if (!lanes->_busy)
		lanes->_indexed = false;
	count_lane(lane, SIZE_MAX);
	lane->_older -= older;
	lanes->_older -= older;
	task->_next = NULL;
	return task;
}

struct baton_task *baton__lane_take_first(struct baton_lanes *lanes, unsigned index)
{
	return take_behind(lanes, index, NULL, lanes->_lanes[index]._older > 0);
}

/* The lane whose first task is that of the future. */
static unsigned lane_that_begins(const struct baton_lanes *lanes, const struct baton_future *future)
{
	unsigned index = 0;

	/* Ends: there is such a lane (lane.index). */
	while (!lanes->_lanes[index]._head ||
	       baton__task_future(lanes->_lanes[index]._head) != future)
		index++;
	return index;
}

struct baton_task *baton__lane_take(struct baton_lanes *lanes, struct baton_future *future)
{
	struct baton_task *before;
	unsigned index;
	uintptr_t value;

	if (!lanes->_indexed)
		index_all(lanes);
	value = (uintptr_t)load_relaxed(&future->_value);
	if (!(value & IN_LANE))
		return NULL;
	before = (struct baton_task *)(value & ~IN_LANE);
	index = before ? baton__lane_of(lanes, before) : lane_that_begins(lanes, future);
	return take_behind(lanes, index, before, is_older(lanes, future));
}

void baton__lanes_stamp(struct baton_lanes *lanes)
{
	lanes->_older = 0;
	for (uint32_t i = 0; i < lanes->_count; i++) {
		lanes->_lanes[i]._older = load_relaxed(&lanes->_lanes[i]._count);
		lanes->_older += lanes->_lanes[i]._older;
	}
	/* After 2^32 stamps the numbers begin again: the index must be written anew. */
	if (++lanes->_epoch == 0)
		lanes->_indexed = false;
}
