/* SPDX-License-Identifier: MIT */
/*
 * The rules of admission and their model side by side. After each event the machine's state must be
 * one of those that the model allows, and every promise of baton/rules.h must hold:
 *
 *   - no limit is exceeded, unless limits have shrunk;
 *   - no task waits that could start;
 *   - tasks of one class start in the order of their arrival;
 *   - a waiting task's estimate is at least the wait by the definition, and exactly this wait where
 *     the plan is up to date; what it is told is never larger than before, and no task waits longer
 *     than it was told, as long as running tasks end in time;
 *   - a task that has arrived is started, denied or withdrawn; one that runs is told to stop by the
 *     time by which the model wants it to.
 */
#ifndef BATON_TEST_ADMISSION_WORLD_H
#define BATON_TEST_ADMISSION_WORLD_H

#include "model.h"

#define TRAIL 4096

enum what {
	ARRIVE,
	ARRIVE_AT,
	RESTORE,
	FINISH,
	WITHDRAW,
	LIMITS,
	TICK,
};

struct event {
	enum what what;
	uint32_t task;
	uint32_t kind;
	uint32_t assigned;
	uint64_t number;
	uint64_t started;
	uint64_t now;
	uint32_t limit[BATON_RULES_CLASSES_MAX];
	uint32_t reserve;
};

/* What the machine has told about a task. */
struct told {
	uint64_t end;   /* when to end, by start and shorten */
	uint64_t bound; /* the start at the latest, by estimate */
	uint64_t at;    /* when that was told */
	bool started;
};

struct world {
	struct baton_rules rules;
	struct model model;
	struct baton_rules_entry entry[MODEL_TASKS];
	struct told told[MODEL_TASKS];
	uint32_t worse_pass; /* estimates of this pass of the plan say nothing: a task was late */
	bool late;
	bool shrunk;
	bool in_call;
	uint32_t trail_count;
};

struct tally {
	uint64_t events;
	uint64_t waits;   /* estimates compared with the definition */
	uint64_t exact;   /* of these: with an up to date plan */
	uint64_t told;    /* estimates told */
	uint64_t starts;  /* started after a promise, in time */
	uint64_t choices; /* events with more than one possible outcome */
};
extern struct tally tally;
extern uint64_t world_seed; /* of the random run: printed when something is wrong */

void world_init(struct world *world, const struct baton_rules_config *config);
/* Applies the event to both; ends the program with the trail when something is wrong. */
void world_apply(struct world *world, const struct event *event);
/* Lets time pass; tasks finish `early` before the end of their grace. */
void world_pass(struct world *world, uint64_t now, uint64_t early);
/* Copies what is used. */
void world_copy(struct world *to, const struct world *from);
/* Of a new task; its number. */
uint32_t world_new(struct world *world, uint32_t kind);

#endif
