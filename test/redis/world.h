/* SPDX-License-Identifier: MIT */
/*
 * Two schedulers, three backends, four submitters and their server, of which any may be struck; and
 * an SQLite ledger, which judges: each accepted task had its effect once, no limit was exceeded, no
 * submitter waits for ever, no key is left.
 */
#ifndef BATON_TEST_REDIS_WORLD_H
#define BATON_TEST_REDIS_WORLD_H

#include "crash.h"

#include <hiredis/hiredis.h>
#include <sqlite3.h>

#define FROZEN_NS (3 * SCHEDULER_LEASE_NS / 2)
#define LOOK_US 2000

struct world {
	struct server server;
	sqlite3 *ledger;
	redisContext *context;
	pid_t pids[PROCESSES]; /* submitters first, then schedulers, then backends; 0: it is over */
	int victim;            /* -1: the server */
	int more;              /* submitters that came later */
	int report[2];
	bool struck;
	uint64_t frozen_at;
};

uint64_t world_clock_ns(void);

void ledger_record(sqlite3 *ledger, const char *sql);
/* The number that the query gives. */
int ledger_judge(sqlite3 *ledger, const char *sql);

/* One more process; the victim is struck at `step`. A negative number: that submitter. world_start:
 * all of them. */
pid_t world_begin(struct world *world, int number, const struct step *step);
void world_start(struct world *world, const struct step *step, const char *const *arguments);
void world_stop(struct world *world);

void world_read_reports(struct world *world);
void world_look_at_limits(struct world *world);
void world_read_effects(struct world *world);
/* The submitters are over, and nothing waits or runs. */
bool world_is_over(const struct world *world);
/* Until the world is over. `strike`, or NULL, is called once, when some tasks are over. */
void world_run(struct world *world, void (*strike)(struct world *world));
/* all_there: the server has lost nothing. */
void world_judge(struct world *world, bool all_there);

#endif
