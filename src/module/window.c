/* SPDX-License-Identifier: MIT */
/*
 * Windows. A task that finds no room in its window waits in the window's list. A thread that makes
 * room while tasks wait sends a kick, which lets the next tasks start.
 *
 * The word `_word`: IDLE (0), or WAITING. With WAITING: KICKED (the kick is on its way; one at a
 * time) and CANCEL (the kick cancels all tasks in the list).
 *   IDLE -> WAITING            the holder, with a task in the list
 *   WAITING -> KICKED          any thread, which then pushes the kick
 *   CANCEL is added            baton_window_cancel, beside KICKED
 *   any -> WAITING             the kick, on its arrival
 *   WAITING -> IDLE            the holder, with an empty list
 *
 * Invariants:
 * window.baton: Only the holder of the baton touches the list, _entered, _started and _visiting.
 *    Other threads read _started as a hint.
 * window.places: _started - _finished places are taken: by admitted tasks, by the running task, and
 *    by detached tasks. Each of these adds one to _finished, once. A task takes a place only while
 *    fewer places than the limit are taken.
 * window.waiting: While tasks are in the list, WAITING is set. While there is room as well, a
 *    kick is about to be sent, on its way, or running. A thread that makes room (adds to _finished,
 *    raises _limit) looks at _word afterwards. A holder that has set WAITING looks for room
 *    afterwards. All of these are seq_cst ([window.kick]), so one of the two sees the other.
 * window.visit: While tasks are in the list, the window has a visit of the resource counted. A
 *    thread that kicks has a token's visit, a visit of its own, or the baton.
 */
#include <baton/window.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/refused.h"
#include "core/backlog.h"
#include "core/cancel.h"
#include "core/visit.h"
#include "core/resource.h"
#include "module/kick.h"
#include "core/label.h"
#include "module/detach.h"
#include "module/window_list.h"

#include <errno.h>

#define IDLE 0U
#define WAITING 1U
#define KICKED 2U
#define CANCEL 4U

static int kick_run(struct baton_task *kick);

static uint32_t window_limit(size_t limit)
{
	return limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
}

BATON_EXPORT void baton_window_init(struct baton_window *window, struct baton_resource *resource,
                                    size_t limit)
{
	BATON__NEED(window, "the window is NULL");
	BATON__NEED(resource, "the resource is NULL: a window belongs to a resource");
	*window = (struct baton_window)BATON_WINDOW_INIT(resource, window_limit(limit));
}

BATON_EXPORT void baton_window_set_lanes(struct baton_window *window,
                                         struct baton_window_lane *lanes, uint32_t count)
{
	BATON_REQUIRE_OF(
		count > 0 && count <= BATON_LANES_MAX && !window->_first,
		baton__name(window->_resource),
		"has a window with 1 to 32 lanes, which it is given before the first submit");
	for (uint32_t i = 0; i < count; i++)
		lanes[i]._last = NULL;
	window->_lanes = lanes;
	window->_lane_count = count;
}

BATON_EXPORT void baton_window_deinit(struct baton_window *window)
{
	BATON_REQUIRE_OF(!window->_first, baton__name(window->_resource),
	                 "has tasks that wait in the window: cancel the window, or let them run");
	/* Relaxed: no other thread uses the window any more. */
	BATON_REQUIRE_OF(load_relaxed(&window->_started) == load_relaxed(&window->_finished),
	                 baton__name(window->_resource),
	                 "has tasks of the window in flight: complete their tokens first");
	BATON_REQUIRE_OF(load_relaxed(&window->_word) == IDLE, baton__name(window->_resource),
	                 "has yet to look at the window: close and await it first");
}

/* ---- Room ---- */

static bool room(struct baton_window *window)
{
	/* [window.kick] seq_cst: after WAITING was set; pairs with [window.kick] in
	 * baton__window_finished and set_limit */
	uint32_t finished = load_seq_cst(&window->_finished);

	return load_relaxed(&window->_started) - finished < load_seq_cst(&window->_limit);
}

/* Sends the kick, with `flags`, if a task waits. */
static void kick(struct baton_window *window, uint32_t flags)
{
	/* [window.kick] seq_cst: after room was made; pairs with [window.kick] in keep and
	 * kick_run */
	uint32_t word = load_seq_cst(&window->_word);

	/* Ends: each failure is another thread that kicks, or the arrival of the kick.
	 * [window.cancel] release: what the caller did before it cancels; pairs with
	 * [window.cancel] in kick_run. For this release, a caller that cancels makes the CAS even
	 * where CANCEL is set already. */
	do {
		/* A kick that is on its way sees the room that the caller has made. */
		if (word == IDLE || (word & KICKED && !flags))
			return;
		/* Acq_rel is seldom noticed: its look is the load; the compare-and-swap reads the
		 * newest word. */
	} while (!cas_seq_cst(&window->_word, &word, word | KICKED | flags));
	if (word & KICKED)
		return;
	window->_kick._run = kick_run;
	baton__kick(window->_resource, &window->_kick);
}

void baton__window_finished(struct baton_window *window)
{
	/* [window.kick] seq_cst: before the look at _word; pairs with [window.kick] in room */
	(void)add_seq_cst(&window->_finished, 1);
	kick(window, 0);
}

/* ---- Waiting ---- */

/* Called when tasks were taken out of the list: an empty list ends WAITING and the visit. */
static void end_waiting_if_empty(struct baton_window *window)
{
	uint32_t expected = WAITING;

	if (window->_first)
		return;
	/* Relaxed: publishes nothing. Fails if a kick is on its way, which finds an empty list, or
	 * later tasks. */
	(void)cas_relaxed(&window->_word, &expected, IDLE);
	if (window->_visiting)
		baton__turn_unvisit(window->_resource);
	window->_visiting = false;
}

/* Puts the task into the list. False: the task has been cancelled. */
static bool keep(struct baton_window *window, struct baton_task *task)
{
	struct baton_future *future = baton__task_future(task);
	bool first = !window->_first;

	if (!baton__window_list_append(window, task))
		return false;
	/* The task is no longer in the backlog's list (list.back_link, core/list.h). */
	if (future)
		store_relaxed(&future->_value, NULL);
	if (!first)
		return true;
	/* window.visit */
	if (!window->_visiting)
		baton__turn_visit(window->_resource);
	window->_visiting = true;
	/* Relaxed: only the holder leaves IDLE. If the word is not IDLE, a kick is on its way. */
	if (load_relaxed(&window->_word) != IDLE)
		return true;
	/* [window.kick] seq_cst: before the look for room; pairs with [window.kick] in kick */
	store_seq_cst(&window->_word, WAITING);
	if (room(window))
		kick(window, 0);
	return true;
}

static void cancel_all(struct baton_window *window)
{
	/* Ends with the list: tasks that continuations submit do not come into it meanwhile. */
	while (window->_first) {
		struct baton_task *task = baton__window_list_first(window);

		if (task)
			baton__cancel_task(window->_resource, task);
	}
}

/* Gives places to waiting tasks. The runner runs them before all other tasks. */
static void admit(struct baton_window *window)
{
	struct baton_resource *resource = window->_resource;
	struct baton_task *admitted = NULL;
	struct baton_task *last = NULL;

	/* Ends with the list, to which only the holder adds. */
	while (window->_first && room(window)) {
		struct baton_task *task = baton__window_list_first(window);

		if (!task)
			continue;
		if (baton__withdrawn(task)) {
			baton__cancel_task(resource, task);
			continue;
		}
		store_relaxed(&window->_started, window->_started + 1);
		baton__window_part(task)->_admitted = true;
		if (last)
			last->_next = task;
		else
			admitted = task;
		last = task;
	}
	if (admitted)
		baton__backlog_admit(resource, admitted, last);
}

/* Under the baton. */
static int kick_run(struct baton_task *mark)
{
	struct baton_window *window = baton_container_of(mark, struct baton_window, _kick);
	/* [window.kick] seq_cst: before the look for room; pairs with [window.kick] in kick. From
	 * here on another thread may send the kick again.
	 * [window.cancel] acquire: what each caller that cancels did before; pairs with
	 * [window.cancel] in kick. Release is seldom noticed: the look for room may miss new room,
	 * and the thread that has made room may still find KICKED. */
	uint32_t word = swap_seq_cst(&window->_word, WAITING);

	if (word & CANCEL)
		cancel_all(window);
	admit(window);
	end_waiting_if_empty(window);
	return 0;
}

/* The mark of a cancelled task. Under the baton. */
static int withdraw_run(struct baton_task *mark)
{
	struct baton_window_part *part =
		baton_container_of(mark, struct baton_window_part, _withdrawal);
	struct baton_window *window = part->token._window;
	struct baton_task *task = part->_task;

	baton__window_list_withdraw(window, task);
	/* Before the cancel, whose continuations may submit tasks that come to the window. */
	end_waiting_if_empty(window);
	baton__cancel_task(window->_resource, task); /* last touch of the mark */
	return 0;
}

/* ---- Tasks ---- */

static bool keeps(struct baton_task *task)
{
	struct baton_window_part *part = baton__window_part(task);
	struct baton_window *window = part->token._window;

	/* A cancelled task needs no place. */
	if (part->_admitted || baton__withdrawn(task))
		return false;
	if (BATON_UNLIKELY(baton__top(baton__self)->resource != window->_resource))
		BATON_MISUSE_OF("baton_submit", baton__name(baton__top(baton__self)->resource),
		                "was given a task of another resource's window");
	if (window->_first || !room(window))
		return keep(window, task);
	store_relaxed(&window->_started, window->_started + 1);
	part->_admitted = true;
	return false;
}

static int run_in_window(struct baton_task *task, baton_task_fn run)
{
	struct baton_window_part *part = baton__window_part(task);
	struct baton_window *window = part->token._window;
	int status;

	part->_admitted = false;
	window->_entered = part;
	status = run(task);
	/* `part` is only compared: it may be gone. The window exists: this thread holds the
	 * baton of its resource. */
	if (window->_entered == part) {
		window->_entered = NULL;
		baton__window_finished(window);
	}
	return status;
}

static void drop_from_window(struct baton_task *task)
{
	struct baton_window_part *part = baton__window_part(task);

	if (!part->_admitted)
		return;
	part->_admitted = false;
	baton__window_finished(part->token._window);
}

static const struct baton__part_hooks window_hooks = {
	.keep = keeps,
	.run = run_in_window,
	.drop = drop_from_window,
};

BATON_EXPORT void baton_window_part_init(struct baton_window_part *part,
                                         struct baton_window *window)
{
	BATON__NEED(part, "the part is NULL: a task's struct has one beside the task");
	BATON__NEED(window, "the window is NULL");
	*part = (struct baton_window_part){._part = {&window_hooks}, .token = BATON_DETACHED_INIT};
	part->token._window = window;
}

bool baton__window_detached(struct baton_window *window, struct baton_detached *token,
                            const struct baton_resource *resource)
{
	if (window->_resource != resource || !window->_entered || &window->_entered->token != token)
		return false;
	window->_entered = NULL;
	return true;
}

void baton__window_undetached(struct baton_window *window, struct baton_detached *token)
{
	window->_entered = baton_container_of(token, struct baton_window_part, token);
}

/* ---- From outside ---- */

/* Keeps the resource, and so the window, until visit_end: without the visit, the resource might end
 * as soon as the kick has run. */
static void visit(struct baton_window *window)
{
	baton__turn_visit(window->_resource);
}

BATON_EXPORT int baton_window_set_limit(struct baton_window *window, size_t limit)
{
	int error = baton__thread_attach();

	if (error)
		return error;
	visit(window);
	/* [window.kick] seq_cst: before the look at _word; pairs with [window.kick] in room */
	store_seq_cst(&window->_limit, window_limit(limit));
	kick(window, 0);
	baton__visit_end(window->_resource); /* last touch */
	return 0;
}

BATON_EXPORT int baton_window_cancel(struct baton_window *window)
{
	int error = baton__thread_attach();

	if (error)
		return error;
	visit(window);
	kick(window, CANCEL);
	baton__visit_end(window->_resource); /* last touch */
	return 0;
}

BATON_EXPORT int baton_window_cancel_task(struct baton_task *task)
{
	struct baton_future *future = baton__task_future(task);
	struct baton_window_part *part;
	struct baton_window *window;
	struct baton_resource *visited;
	uint32_t generation;
	int error = baton__thread_attach();

	if (error)
		return error;
	if (!future)
		return BATON__ANSWER(
			NULL, baton__refused("baton_window_cancel_task: the task has no future"));
	if (baton__part_hooks(task) != &window_hooks)
		return BATON__ANSWER(NULL, baton__refused("baton_window_cancel_task: the task has "
		                                          "no part in a window"));
	part = baton__window_part(task);
	window = part->token._window;
	visit(window);
	error = baton__cancel_decide(future, &visited, &generation);
	/* This thread alone has cancelled the task, and so writes the mark. */
	if (!error)
		part->_task = task;
	if (!error && baton__window_list_ask(part)) {
		if (visited)
			(void)baton__visit_leave(future, visited, generation);
		part->_withdrawal._run = withdraw_run;
		baton__kick(window->_resource, &part->_withdrawal);
	} else if (!error && visited) {
		baton__cancel_unlink(future, visited, generation);
	}
	baton__visit_end(window->_resource); /* last touch */
	return BATON__ANSWER_INVALID(NULL, error);
}

BATON_EXPORT uint32_t baton_window_in_flight(const struct baton_window *window)
{
	/* Relaxed: a hint. Read first, so that the difference is not negative. */
	uint32_t finished = load_relaxed(&window->_finished);

	return load_relaxed(&window->_started) - finished;
}

BATON_EXPORT uint32_t baton_window_waiting(const struct baton_window *window)
{
	return load_relaxed(&window->_waiting);
}
