/* SPDX-License-Identifier: MIT */
/*
 * Processes of a queue that die or freeze at a step. A step is a function of the server and a
 * phase: before the call is sent, after it was sent, after its answer. The linker puts crash.c's
 * redisGetReply before hiredis's (--wrap), so a step is exact, and the library is as it is.
 */
#ifndef BATON_TEST_REDIS_CRASH_H
#define BATON_TEST_REDIS_CRASH_H

#include "server.h"

#define TASKS 5 /* of each submitter */
#define SUBMITTERS 4
#define SCHEDULERS 2
#define BACKENDS 3
#define PROCESSES (SUBMITTERS + SCHEDULERS + BACKENDS)
#define SUBMITTER_KEEP_NS (20 * BATON_SECOND)

enum phase {
	BEFORE,
	SENT,
	ANSWERED,
};

struct step {
	const char *function; /* of queue.lua; NULL: never */
	enum phase phase;
	int count;  /* the so many-th time */
	int signal; /* SIGKILL or SIGSTOP, to itself */
};

/* Of the process that calls it. */
void crash_at(const struct step *step);

/* If not NULL, it is called after the answer to each call. */
extern void (*after_answer)(void);

/* What the processes do, until they are killed; the submitter until its tasks are over. They write
 * lines to `report`: "accepted ID", "over ID". */
_Noreturn void run_submitter(const struct server *server, int number, int report);
_Noreturn void run_scheduler(const struct server *server);
_Noreturn void run_backend(const struct server *server, int number);

#endif
