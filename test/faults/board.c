/* SPDX-License-Identifier: MIT */
/*
 * Boards: their creation, in memory and as a file; what the board's resource does is as without.
 */
#include "job.h"

#include "../named.h"

#include <baton/board.h>
#include <baton/stats.h>
#include <baton/watchdog.h>

#include <errno.h>
#include <unistd.h>

/* The call's own function is shown again in the end. */
static void *shows(void *arg)
{
	struct baton_resource *resource = baton_current();
	const baton_shown_fn own = USE(baton_board_show(resource, NULL));

	EXPECT(own && !USE(baton_board_show(resource, own)));
	return arg;
}

static void show(const struct baton_board_options *options)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NAMED("shown"));
	struct baton_resource_stats *stats = NULL, copy;
	struct baton_board *board = NULL;
	struct baton_watchdog *watchdog = NULL;
	struct baton_pool *pool = NULL;

	INSIST(baton_board_create(options, &board), !board);
	INSIST(baton_pool_create(NULL, &pool), !pool);
	EXPECT(TRY(baton_board_join(board, &resource, NULL, &stats)) == 0 && stats);
	EXPECT(TRY(baton_board_pool_join(board, pool, "workers")) == 0);
	EXPECT(TRY(baton_board_trace_start(board)) == 0);
	INSIST(baton_call(&resource, shows, NULL, NULL), true);
	(void)TRY(baton_board_trace_stop(board, "/dev/null"));
	USE(baton_board_refresh(board));
	EXPECT(TRY(baton_board_dump(board, -1)) < 0);
	INSIST(baton_watchdog_create(&(struct baton_watchdog_options){.board = board}, &watchdog),
	       !watchdog);
	EXPECT(TRY(baton_watchdog_trace(watchdog, 1, "/dev/null")) == 0);
	USE(baton_watchdog_destroy(watchdog));
	USE(baton_board_pool_leave(board, pool));
	fault_end();
	baton_resource_stats_read(stats, &copy);
	EXPECT(copy.executed == 1);
	INSIST(baton_pool_destroy(pool), true);
	EXPECT(TRY(baton_resource_close(&resource)) == 0);
	USE(baton_board_leave(board, &resource));
	USE(baton_board_destroy(board));
}

SCENARIO(board, memory)
{
	show(NULL);
}

SCENARIO(board, file)
{
	const struct baton_board_options options = {.path = "build/faults.board", .resources = 1};

	show(&options);
	EXPECT(access(options.path, F_OK) != 0);
}
