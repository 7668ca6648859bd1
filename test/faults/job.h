/* SPDX-License-Identifier: MIT */
/*
 * A plain job that counts its runs and cancels, for the scenarios of executors.
 */
#ifndef BATON_TEST_FAULTS_JOB_H
#define BATON_TEST_FAULTS_JOB_H

#include "scenario.h"

struct job {
	struct baton_plain_job plain;
	struct baton_pool *pool;
	atomic_int runs;
	atomic_int cancelled;
	sem_t over; /* run or cancelled */
};

void job_init(struct job *job, struct baton_pool *pool);

/* ran: has run once. gone: was cancelled once. over: one of both. untouched: neither. */
bool job_ran(const struct job *job);
bool job_gone(const struct job *job);
bool job_over(const struct job *job);
bool job_untouched(const struct job *job);

/* A job that keeps its thread until the gate `leave` is opened. */
struct plug {
	struct baton_plain_job plain;
	sem_t entered;
	sem_t leave;
};

/* Occupies a worker of the pool, without faults. */
void plug_in(struct plug *plug, struct baton_pool *pool);

#endif
