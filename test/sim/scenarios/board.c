/* SPDX-License-Identifier: MIT */
/*
 * As edges.c, for boards, watchdogs and traces: what one thread fills in another one reads. A board
 * has one line. Topic 0 is, or comes, on the board; in topic 1 a thread may wait.
 */
#include "support.h"

#include "base/atomic.h"
#include "inspect/stuck.h"

#include <fcntl.h>

static struct baton_board *board;
static struct baton__trace_request *request;
static struct baton_watchdog *watchdog;
static struct baton_manual *manual;
static struct sim_topic topics[2];
static struct sim_note notes[2];

/* Calmly until calm_over. `limit`: topic 0's capture limit. */
static void begin(uint32_t limit)
{
	const struct baton_board_options options = {.resources = 1};

	sim_calm(true);
	sim_require(baton_manual_create(&manual) == 0);
	sim_require(baton_board_create(&options, &board) == 0);
	request = &board->file->trace;
	sim_topic_init(&topics[0], limit, 64, baton_manual_executor(manual));
	sim_topic_init(&topics[1], 0, 64, baton_manual_executor(manual));
	for (int i = 0; i < 2; i++)
		sim_note_init(&notes[i], &topics[i], i == 1);
}

static void calm_over(void)
{
	sim_calm(false);
}

/* `left`: the topic on the board. */
static void finish(struct sim_topic *left)
{
	sim_drive(manual);
	if (left)
		baton_board_leave(board, &left->resource);
	baton_board_destroy(board);
	baton_manual_destroy(manual);
}

static void joins(void *argument)
{
	struct sim_topic *topic = argument;
	int error;

	while ((error = baton_board_join(board, &topic->resource, "", NULL)) == -ENOSPC)
		sim_yield();
	sim_require(error == 0);
}

static void joins_and_submits(void *argument)
{
	joins(argument);
	sim_does_submit(&notes[0]);
}

/* ---- Lines ---- */

SIM_SCENARIO(edge_board_free, "[board.free] who takes a line comes after its last owner's stores")
{
	begin(10);
	joins(&topics[0]);
	calm_over();
	sim_start(joins, &topics[1]);
	baton_board_leave(board, &topics[0].resource);
	finish(&topics[1]);
}

SIM_SCENARIO(edge_board_refresh, "[board.shown] the line that a refresh looks at is filled in")
{
	begin(10);
	/* Whose resource is looked for on the board. */
	sim_does_submit(&notes[1]);
	sim_start(sim_does_wait, &notes[1]);
	sim_settle();
	calm_over();
	sim_start(joins, &topics[0]);
	baton_board_refresh(board);
	finish(&topics[0]);
}

SIM_SCENARIO(edge_board_dump, "[board.shown] the line that a dump tells of is filled in")
{
	static int nowhere __attribute__((section("sim_kept"))) = -1;

	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	begin(0);
	calm_over();
	sim_start(joins_and_submits, &topics[0]);
	sim_require(baton_board_dump(board, nowhere) == 0);
	finish(&topics[0]);
}

static void look_from_inside(struct sim_note *note)
{
	sim_point();
}

SIM_SCENARIO(edge_board_wait, "[board.shown] the line of the task in which a thread waits is, too")
{
	struct baton__board_wait wait = {.line = UINT32_MAX};
	char message[BATON__MESSAGE_MAX];
	struct baton_stuck stuck;

	begin(10);
	notes[0].body = look_from_inside;
	calm_over();
	sim_start(joins_and_submits, &topics[0]);
	sim_point();
	wait.thread = load_relaxed(&board->file->line[0].stats._thread);
	baton__stuck_wait(&stuck, board->file, &wait, message);
	finish(&topics[0]);
}

/* ---- The watchdog ---- */

static void reports(const struct baton_stuck *stuck, void *argument)
{
}

static void watch(void)
{
	const struct baton_watchdog_options options = {
		.board = board, .every_ns = 1000, .report = reports};

	sim_require(baton_watchdog_create(&options, &watchdog) == 0);
}

SIM_SCENARIO(edge_watchdog_look, "[board.shown] the line that the watchdog looks at is filled in")
{
	begin(10);
	watch();
	calm_over();
	joins(&topics[0]);
	baton_watchdog_destroy(watchdog);
	finish(&topics[0]);
}

SIM_SCENARIO(edge_trace_asked, "[trace.asked] what was asked for before the stop is seen, and over")
{
	begin(10);
	watch();
	calm_over();
	sim_require(baton_watchdog_trace(watchdog, UINT64_MAX, "") == 0);
	request->told = 1;      /* else the error is printed; it is read at the end only */
	sim_fail_allocation(1); /* a ring is larger than the explorer's memory */
	baton_watchdog_destroy(watchdog);
	sim_require(request->state == BATON__TRACE_DONE && request->error < 0);
	finish(NULL);
}

/* As baton-top does, another process. */
static void asks(void *argument)
{
	while (!baton__trace_take(request)) {
		const uint32_t state = add_relaxed(&request->state, 0);

		if (state != BATON__TRACE_NONE && state != BATON__TRACE_DONE)
			sim_idle(&request->state);
	}
	request->told = 1;
	request->ns = 1;
	request->path[0] = '\0';
	store_release(&request->state, BATON__TRACE_ASKED);
}

static void asks_twice(void *argument)
{
	asks(NULL);
	asks(NULL);
}

static void gives_up(void *argument)
{
	uint32_t asked = BATON__TRACE_ASKED;

	asks(NULL);
	(void)cas_relaxed(&request->state, &asked, BATON__TRACE_NONE);
	asks(NULL);
}

SIM_SCENARIO(edge_trace_given_up,
             "[trace.asked] baton-top gives up what it has asked for, and asks anew")
{
	begin(10);
	sim_require(baton_board_trace_start(board) == 0);
	watch();
	calm_over();
	gives_up(NULL);
	baton_watchdog_destroy(watchdog);
	sim_require(request->state == BATON__TRACE_DONE);
	finish(NULL);
}

SIM_SCENARIO(edge_trace_done, "[trace.request] who asks again comes after the answer")
{
	begin(10);
	sim_require(baton_board_trace_start(board) == 0);
	watch();
	calm_over();
	asks_twice(NULL);
	baton_watchdog_destroy(watchdog);
	finish(NULL);
}

SIM_SCENARIO(edge_trace_done_2, "[trace.request] the same, where another one asks in between")
{
	begin(10);
	sim_require(baton_board_trace_start(board) == 0);
	watch();
	asks(NULL);
	while (add_relaxed(&request->state, 0) != BATON__TRACE_DONE)
		sim_idle(&request->state);
	calm_over();
	sim_start(asks, NULL);
	asks(NULL);
	sim_join(2);
	baton_watchdog_destroy(watchdog);
	finish(NULL);
}

SIM_SCENARIO(edge_trace_end, "[trace.asked] what another process asks for beside the stop is seen")
{
	begin(10);
	sim_require(baton_board_trace_start(board) == 0);
	watch();
	calm_over();
	sim_start(asks, NULL);
	baton_watchdog_destroy(watchdog);
	finish(NULL);
}

/* ---- Traces ---- */

static void traces(void *argument)
{
	while (baton_board_trace_start(board) == -EBUSY)
		sim_yield();
	sim_fail_allocation(1); /* a ring is larger than the explorer's memory */
	sim_require(baton_board_trace_stop(board, "") == -ENOMEM);
}

SIM_SCENARIO(edge_trace_busy, "[trace.busy] a trace begins after the one before has been read")
{
	begin(10);
	calm_over();
	sim_start(traces, NULL);
	traces(NULL);
	finish(NULL);
}
