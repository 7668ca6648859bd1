/* SPDX-License-Identifier: MIT */
/*
 * A load on a queue over Redis, by processes that share memory: submitters, workers, schedulers. A
 * kind of queue (baton's, or a plain list) says what each of them does.
 */
#ifndef BATON_TEST_REDIS_BENCH_LOAD_H
#define BATON_TEST_REDIS_BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#define TASKS_MAX 100000
#define WORKERS_MAX 16
#define SCHEDULERS 2

enum role { SUBMITTER, SCHEDULER, WORKER, ROLES };

/* In memory that all processes share. Words are atomic; a time is in ns of the same clock. */
struct shared {
	uint32_t ready;           /* processes that have connected */
	uint32_t done;            /* tasks that are over */
	uint32_t holds;           /* the worker of a held task: its number + 1 */
	uint32_t limit;           /* how many tasks may run */
	uint64_t leads;           /* the epoch of the scheduler that leads, and */
	uint32_t leader;          /* its number */
	uint64_t commands[ROLES]; /* sent to the server */
	uint64_t sent_at[TASKS_MAX];
	uint64_t started_at[TASKS_MAX];
	uint64_t idle[TASKS_MAX]; /* by number of end: until this worker's next start */
};

extern struct shared *shared;
extern const char *socket_path;
extern enum role role; /* of this process */

struct load_kind {
	const char *name;
	bool has_scheduler;
	/* Submits the tasks first, first + step, ... below `end`, each at its time: `start_ns` +
	 * number * `every_ns`. */
	void (*submit)(uint32_t first, uint32_t step, uint32_t end, uint64_t every_ns);
	/* These two never end. `hold`: the first task that it starts does not end. */
	void (*work)(uint32_t number, bool hold);
	void (*schedule)(uint32_t number);
};

extern const struct load_kind baton_kind;
extern const struct load_kind list_kind;

uint64_t load_clock(void);
void load_until(uint64_t ns);
_Noreturn void load_die(const char *what, const char *why);
/* A task starts on this worker; it has ended. */
void load_start(uint32_t task);
void load_end(void);
/* The process has connected, and waits until all have. */
void load_ready(void);

#endif
