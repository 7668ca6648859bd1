/* SPDX-License-Identifier: MIT */
/*
 * A job on a backend: its directory with the input files, its process group, its output on the way
 * to the submitter.
 */
#ifndef BATON_EXAMPLES_QUEUE_JOB_H
#define BATON_EXAMPLES_QUEUE_JOB_H

#include "common.h"

#include <sys/types.h>

/* How much output waits for its reader before the job has to wait. */
#define OUTPUT_MAX (1U << 20)

struct job {
	pid_t pid;    /* 0: none runs */
	int pipes[2]; /* its stdout and stderr; -1: at their end */
	int reader;   /* the submitter's connection; -1: none */
	bool greeted; /* the reader has said the job's token */
	bool read_once;
	char hello[160];
	size_t hello_size;
	char expected[160];
	char directory[64];
	unsigned char *output;
	size_t output_size;
	bool marked;         /* the end of the output is in it */
	const char *stopped; /* why the job was stopped; NULL: it was not */
	uint64_t end_at;     /* when the job is stopped; BATON_NEVER */
	uint64_t kill_at;    /* when a stopped job is killed */
	int status;          /* of waitpid */
	bool exited;
	uint64_t exited_at;
};

void job_init(struct job *job);

/* Starts the order's command. Errors: negative errno; the job is as before. */
int job_start(struct job *job, const struct baton_redis_order *order);
void job_stop(struct job *job, const char *why);

/* The process is over (SIGCHLD), maybe. */
void job_reap(struct job *job);

/* A reader connects; the reader says the job's token, id and epoch. */
void job_greet(struct job *job, int reader);
void job_hear(struct job *job);

bool job_wants_output(const struct job *job);
void job_read(struct job *job, int which);
void job_send(struct job *job);
/* Marks the end of the output, when there is no more to read. */
void job_end_output(struct job *job);

/* Has it exited, and has its output gone, or waited long enough for a reader? */
bool job_is_over(const struct job *job);
uint64_t job_due(const struct job *job); /* ns until something is to be done about it */
void job_check_time(struct job *job);

/* What the submitter exits with. */
int job_status(const struct job *job);
const char *job_reason(const struct job *job);

/* Kills what is left, removes the directory. */
void job_clear(struct job *job);

#endif
