/* SPDX-License-Identifier: MIT */
/* The list of the tasks that wait in a window. See window_list.h. */
#include "module/window_list.h"

#include "core/backlog.h"
#include "core/label.h"

#define IN_LIST 1U
#define ASKED 2U

/* The holder takes the task out of the list. False: the task's mark completes it
 * (window.asked). */
static bool release_place(const struct baton_task *task)
{
	struct baton_window_part *part = baton__window_part(task);
	uint32_t expected = IN_LIST;

	/* Relaxed: a canceller that comes later learns only that it sends no mark; a mark that was
	 * sent is ordered by the inbox. */
	return !baton__task_future(task) || cas_relaxed(&part->_place, &expected, 0);
}

/* False: the task has been cancelled, and no mark comes: the task must not go into the list. */
static bool take_place(const struct baton_task *task)
{
	if (!baton__task_future(task))
		return true;
	/* [window.withdrawn] acquire: a canceller that finds no IN_LIST has made the future
	 * CANCELLING before; pairs with [window.withdrawn] in ask */
	(void)swap_acquire(&baton__window_part(task)->_place, IN_LIST);
	return !baton__withdrawn(task) || !release_place(task);
}

/* The lane in which the task waits. It does not change while the task waits. */
static uint32_t lane_in_window(const struct baton_window *window, const struct baton_task *task)
{
	const struct baton_stamp *stamp = baton__stamp(task);
	const uint32_t lane = stamp ? stamp->_lane : 0;

	if (!window->_lanes)
		return 0;
	return lane < window->_lane_count ? lane : window->_lane_count - 1;
}

/* Where the lane's last task is written. NULL there: no task waits in the lane. */
static struct baton_task **last_of(struct baton_window *window, uint32_t lane)
{
	return window->_lanes ? &window->_lanes[lane]._last : &window->_last;
}

/* The link for a new task of the lane: behind the last task of that lane, or of the lanes above. */
static struct baton_task **link_of(struct baton_window *window, uint32_t lane)
{
	for (uint32_t i = lane + 1; i > 0; i--) {
		struct baton_task *last = *last_of(window, i - 1);

		if (last)
			return &last->_next;
	}
	return &window->_first;
}

bool baton__window_list_append(struct baton_window *window, struct baton_task *task)
{
	struct baton_window_part *part = baton__window_part(task);
	const uint32_t lane = lane_in_window(window, task);

	if (!take_place(task))
		return false;
	part->_link = link_of(window, lane);
	task->_next = *part->_link;
	if (task->_next)
		baton__window_part(task->_next)->_link = &task->_next;
	*part->_link = task;
	*last_of(window, lane) = task;
	store_relaxed(&window->_waiting, window->_waiting + 1);
	baton__backlog_set_aside(window->_resource, task, true);
	return true;
}

static void take_out_of_window(struct baton_window *window, struct baton_task *task)
{
	struct baton_window_part *part = baton__window_part(task);
	struct baton_task **link = part->_link;
	struct baton_task *before =
		link == &window->_first ? NULL : baton_container_of(link, struct baton_task, _next);
	const uint32_t lane = lane_in_window(window, task);

	part->_link = NULL;
	*link = task->_next;
	if (task->_next)
		baton__window_part(task->_next)->_link = link;
	if (*last_of(window, lane) == task)
		*last_of(window, lane) =
			before && lane_in_window(window, before) == lane ? before : NULL;
	store_relaxed(&window->_waiting, window->_waiting - 1);
	baton__backlog_set_aside(window->_resource, task, false);
}

struct baton_task *baton__window_list_first(struct baton_window *window)
{
	struct baton_task *task = window->_first;

	take_out_of_window(window, task);
	return release_place(task) ? task : NULL;
}

void baton__window_list_withdraw(struct baton_window *window, struct baton_task *task)
{
	struct baton_window_part *part = baton__window_part(task);

	/* Relaxed: the only canceller that sends the mark has sent it. */
	store_relaxed(&part->_place, 0);
	if (part->_link)
		take_out_of_window(window, task);
}

bool baton__window_list_ask(struct baton_window_part *part)
{
	uint32_t place = load_relaxed(&part->_place);

	/* Ends: each failure is a step of the holder, which takes the task into the list once and
	 * out of the list once.
	 * [window.withdrawn] release: the future is CANCELLING; pairs with [window.withdrawn] in
	 * take_place */
	while (!cas_release(&part->_place, &place, place | ASKED))
		;
	return place & IN_LIST;
}
