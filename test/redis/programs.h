/* SPDX-License-Identifier: MIT */
/*
 * Submitter, scheduler and backend of examples/queue, started by a test on its server.
 */
#ifndef BATON_TEST_REDIS_PROGRAMS_H
#define BATON_TEST_REDIS_PROGRAMS_H

#include "server.h"

#define PATIENCE_MS 20000 /* no test waits so long, unless it fails */

/* As in examples/queue/common.h. */
#define USAGE 64
#define NO_REDIS 69
#define DENIED 75
#define OUTPUT_MISSING 74

/* A program that was started; its output goes to files. */
struct program {
	pid_t pid;
	char out[128];
	char err[128];
};

extern struct server server; /* pair.c */

void pause_5_ms(void);
/* The program of words[0]; the words end with NULL. start: on the test's server, with further
 * words; start_nowhere: where no server is. */
struct program launch(const char **words);
struct program start(const char *name, ...);
struct program start_nowhere(const char *name, ...);
/* Its exit status; 1000 and more: the signal that ended it. */
int await_end(const struct program *self);
/* The program says why, and ends with this status. */
void fails(const struct program *self, int status, const char *text);

const char *contents(const char *path);
void await_text(const char *path, const char *text);
void says(const struct program *self, const char *text);
void await_number(long long number, const char *command);

/* A queue with one backend. end: both leave their queue in order. */
extern struct program queue_scheduler;
extern struct program queue_backend;
void start_queue(const char *durations);
void end_queue(void);
void no_task_is_left(void);

#endif
