/* SPDX-License-Identifier: MIT */
/* A thread that looks at a board, and reports what has lasted for too long. */
#include <baton/error.h>
#include <baton/stats.h>

#include "inspect/stuck.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "thread/thread.h"
#include "core/callback.h"
#include "core/guard.h"
#include "pool/start.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_NS 1000000000U
#define EVERY_MAX_NS 1000000000U

/* What an earlier look has found on a line. */
struct found {
	uint64_t joined_ns;    /* another value: the line shows another resource */
	uint64_t entered;      /* tasks entered */
	uint64_t since_ns;     /* when this number was first seen */
	uint64_t told_entered; /* `entered` of a reported task, plus 1; 0: none */
	bool told_tasks;       /* waiting tasks were reported, and still wait */
};

struct baton_watchdog {
	struct baton_watchdog_options options;
	struct found *found;               /* by line */
	uint64_t told[BATON__BOARD_WAITS]; /* the waits that have been reported, by since_ns */
	uint64_t trace_until_ns;
	uint32_t stop; /* futex word */
	pthread_t thread;
};

static void report_stuck(const struct baton_watchdog *watchdog, const struct baton_stuck *stuck)
{
	const uintptr_t top = baton__self->top;

	if (watchdog->options.report)
		watchdog->options.report(stuck, watchdog->options.arg);
	else
		baton__print("baton: stuck: %s\n", stuck->message);
	baton__guard_returned(top);
}

static void look_at_line(const struct baton_watchdog *watchdog, struct baton__board_line *line,
                         struct found *found, uint64_t now_ns)
{
	const uint64_t limit_ns = watchdog->options.limit_ns;
	const uint64_t entered = baton__gauge_entered(&line->stats);
	const uint64_t began_ns = load_relaxed(&line->stats._began_ns);
	char message[BATON__MESSAGE_MAX];
	struct baton_resource_stats copy;
	struct baton_stuck stuck;
	bool waits;

	/* Since the last look a resource may have left, and another one may have taken its line. */
	if (found->joined_ns != line->joined_ns)
		*found = (struct found){.joined_ns = line->joined_ns};
	if (found->entered != entered || !found->since_ns) {
		found->entered = entered;
		found->since_ns = now_ns;
	}
	/* The clock is read for some tasks only (core/gauge.h). */
	if (began_ns && began_ns < found->since_ns)
		found->since_ns = began_ns;
	/* Relaxed: baton-top uses the time only where `seen` is the number of the gauge. */
	store_relaxed(&line->seen, entered);
	store_relaxed(&line->seen_ns, found->since_ns);
	if (load_relaxed(&line->stats._function)) {
		if (now_ns - found->since_ns <= limit_ns || found->told_entered == entered + 1)
			return;
		found->told_entered = entered + 1;
		baton__stuck_runs(&stuck, watchdog->options.board->file, line,
		                  now_ns - found->since_ns, message);
		report_stuck(watchdog, &stuck);
		return;
	}
	baton_resource_stats_read(&line->stats, &copy);
	/* Tasks that run one after the other are slow, not stuck. */
	waits = copy.waiting && copy.oldest_ns && copy.oldest_ns < now_ns &&
	        now_ns - copy.oldest_ns > limit_ns && now_ns - found->since_ns > limit_ns;
	if (waits && !found->told_tasks) {
		baton__stuck_tasks(&stuck, watchdog->options.board->file, line,
		                   now_ns - copy.oldest_ns, message);
		report_stuck(watchdog, &stuck);
	}
	found->told_tasks = waits;
}

static bool was_told(const struct baton_watchdog *watchdog, uint64_t since_ns)
{
	for (size_t i = 0; i < BATON__BOARD_WAITS; i++)
		if (watchdog->told[i] == since_ns)
			return true;
	return false;
}

static void look_at_waits(struct baton_watchdog *watchdog, const struct baton__board_file *file)
{
	uint64_t told[BATON__BOARD_WAITS] = {0};
	char message[BATON__MESSAGE_MAX];
	struct baton_stuck stuck;

	/* A report may refresh the board: `waits` is read anew. */
	for (uint32_t i = 0; i < file->waits && i < BATON__BOARD_WAITS; i++) {
		const struct baton__board_wait *wait = &file->wait[i];

		if (wait->since_ns >= file->refreshed_ns ||
		    file->refreshed_ns - wait->since_ns <= watchdog->options.limit_ns)
			continue;
		told[i] = wait->since_ns;
		if (was_told(watchdog, wait->since_ns))
			continue;
		baton__stuck_wait(&stuck, file, wait, message);
		report_stuck(watchdog, &stuck);
	}
	for (size_t i = 0; i < BATON__BOARD_WAITS; i++)
		watchdog->told[i] = told[i];
}

static void look_at_board(struct baton_watchdog *watchdog)
{
	struct baton_board *board = watchdog->options.board;
	struct baton__board_file *file = board->file;

	baton_board_refresh(board);
	(void)baton__board_look_begin(board); /* there is no watchdog's thread in a fork's child */
	for (uint32_t i = 0; i < load_relaxed(&file->lines); i++) {
		/* [board.shown] acquire: the line; pairs with [board.shown] in baton_board_join */
		if (load_acquire(&file->line[i].state) == BATON__LINE_SHOWN)
			look_at_line(watchdog, &file->line[i], &watchdog->found[i],
			             file->refreshed_ns);
		else
			watchdog->found[i] = (struct found){0};
	}
	look_at_waits(watchdog, file);
	baton__board_look_end(board);
}

static void trace_done(struct baton__trace_request *request, int error)
{
	if (error && !request->told)
		baton__print("baton: trace: %s: %s\n", request->path, baton_error_text(error));
	request->error = error;
	/* [trace.request] release: the error, and that the request has been read; pairs with
	 * [trace.request] in baton__trace_take. */
	store_release(&request->state, BATON__TRACE_DONE);
}

/* Takes the request that was ASKED. False: there is none any more. */
static bool take_request(struct baton__trace_request *request)
{
	uint32_t asked = BATON__TRACE_ASKED;

	/* [trace.asked] acquire: the request; pairs with [trace.asked] in baton_watchdog_trace. */
	return cas_acquire(&request->state, &asked, BATON__TRACE_STARTING);
}

/* Begins a trace that was asked for; writes the trace whose time is over. */
static void serve_trace(struct baton_watchdog *watchdog)
{
	struct baton_board *board = watchdog->options.board;
	struct baton__trace_request *request = &board->file->trace;
	/* Relaxed: ASKED is confirmed by take_request; ON is this thread's own. */
	const uint32_t state = load_relaxed(&request->state);
	int error;

	if (state == BATON__TRACE_ASKED && take_request(request)) {
		request->path[sizeof(request->path) - 1] = '\0';
		error = baton_board_trace_start(board);
		watchdog->trace_until_ns = baton__time_after(baton__now_ns(), request->ns);
		if (error)
			trace_done(request, error);
		/* Relaxed is enough: DONE brings the error, and that the request has been read. */
		else
			store_release(&request->state, BATON__TRACE_ON);
	} else if (state == BATON__TRACE_ON && baton__now_ns() >= watchdog->trace_until_ns) {
		trace_done(request, baton_board_trace_stop(board, request->path));
	}
}

/* The watchdog ends: a trace that is on is written now. */
static void end_trace(struct baton_watchdog *watchdog)
{
	struct baton__trace_request *request = &watchdog->options.board->file->trace;

	/* Relaxed: as in serve_trace. */
	if (load_relaxed(&request->state) == BATON__TRACE_ON)
		trace_done(request, baton_board_trace_stop(watchdog->options.board, request->path));
	else if (take_request(request))
		trace_done(request, -ECANCELED);
}

static void *watchdog_main(void *argument)
{
	struct baton_watchdog *watchdog = argument;
	const struct baton__futex_watch watch = {&watchdog->stop, 0};

	(void)pthread_setname_np(pthread_self(), "baton-watchdog");
	baton__signals_open();
	/* Ended by baton_watchdog_destroy. */
	while (!load_acquire(&watchdog->stop)) {
		look_at_board(watchdog);
		serve_trace(watchdog);
		(void)baton__futex_wait(
			&watch, 1, baton__time_after(baton__now_ns(), watchdog->options.every_ns));
	}
	end_trace(watchdog);
	return NULL;
}

BATON_EXPORT int baton_watchdog_create(const struct baton_watchdog_options *options,
                                       struct baton_watchdog **watchdog_out)
{
	struct baton_watchdog *watchdog;
	sigset_t before;
	int error;

	if (!options->board)
		return BATON__ANSWER(NULL, baton__refused("baton_watchdog_create: board is NULL"));
	if (BATON__UNKNOWN(options))
		return BATON__ANSWER(NULL, baton__refused("baton_watchdog_create: a word of "
		                                          "_reserved is not zero"));
	if (baton__forked())
		return -ECHILD;
	watchdog = calloc(1, sizeof(*watchdog));
	if (!watchdog)
		return -ENOMEM;
	watchdog->found = calloc(options->board->file->lines_max, sizeof(*watchdog->found));
	error = watchdog->found ? 0 : -ENOMEM;
	if (error)
		goto free;
	watchdog->options = *options;
	if (!options->limit_ns)
		watchdog->options.limit_ns = LIMIT_NS;
	if (!options->every_ns)
		watchdog->options.every_ns = watchdog->options.limit_ns / 4 + 1;
	if (!options->every_ns && watchdog->options.every_ns > EVERY_MAX_NS)
		watchdog->options.every_ns = EVERY_MAX_NS;
	baton__fork_losses_add(1);
	baton__signals_block(&before);
	error = -pthread_create(&watchdog->thread, NULL, watchdog_main, watchdog);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		goto uncount;
	BATON__CHECKED(made(watchdog, NULL, __func__));
	*watchdog_out = watchdog;
	return 0;
uncount:
	baton__fork_losses_add(-1);
free:
	free(watchdog->found);
	free(watchdog);
	return error;
}

BATON_EXPORT void baton_watchdog_destroy(struct baton_watchdog *watchdog)
{
	BATON__CHECKED(owned(watchdog, __func__));
	if (baton__forked())
		return;
	BATON_REQUIRE(!pthread_equal(pthread_self(), watchdog->thread),
	              "the watchdog would wait for itself: its report may not destroy it");
	BATON_REQUIRE(!baton__is_told(baton__self),
	              "this thread is inside a function that is told of an end, which waits for "
	              "nothing (baton_continuation_function)");
	/* Release: pairs with the look of the thread, which this thread joins. */
	store_release(&watchdog->stop, 1);
	baton__futex_wake(&watchdog->stop, 1);
	(void)pthread_join(watchdog->thread, NULL);
	BATON__CHECKED(ended(watchdog, NULL, __func__));
	baton__fork_losses_add(-1);
	free(watchdog->found);
	free(watchdog);
}

BATON_EXPORT int baton_watchdog_trace(const struct baton_watchdog *watchdog, uint64_t span_ns,
                                      const char *path)
{
	struct baton__trace_request *request = &watchdog->options.board->file->trace;
	const size_t length = strnlen(path, sizeof(request->path));

	if (baton__forked())
		return -ECHILD;
	if (length == sizeof(request->path))
		return -ENAMETOOLONG;
	if (!baton__trace_take(request))
		return -EBUSY;
	request->ns = span_ns;
	request->told = false;
	memcpy(request->path, path, length + 1);
	/* [trace.asked] release: the request; pairs with [trace.asked] in take_request. */
	store_release(&request->state, BATON__TRACE_ASKED);
	return 0;
}
