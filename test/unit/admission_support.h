/* SPDX-License-Identifier: MIT */
/*
 * An admission on a virtual clock, whose tasks run on an executor that the test drives; and jobs
 * that last until the test completes their tokens.
 */
#ifndef BATON_TEST_UNIT_ADMISSION_SUPPORT_H
#define BATON_TEST_UNIT_ADMISSION_SUPPORT_H

#include "timer_support.h"

#include <baton/admission.h>
#include <baton/detach.h>
#include <baton/manual.h>
#include <baton/timers.h>

#include <string.h>

#define JOBS_MAX 16

struct job {
	struct baton_admitted admitted;
	struct baton_future outcome;
	struct baton_future gone;
	struct baton_detached token;
	struct baton_resource *resource;
	bool stubborn; /* goes on when it is told to stop */
	bool arrived;
	unsigned entered;
	unsigned stopped;
	unsigned overran;
	unsigned told; /* estimates */
	uint64_t at_most;
};

struct hall {
	struct baton_admission admission;
	struct baton_admission_config config;
	struct baton_timers *timers;
	struct baton_manual *manual;
	struct job jobs[JOBS_MAX];
	bool held;  /* the executor is not driven */
	bool plain; /* the entries are no jobs: no callbacks */
};

static struct hall hall;

static inline struct job *job_of(struct baton_admitted *admitted)
{
	return baton_container_of(admitted, struct job, admitted);
}

static inline int job_run(struct baton_task *task)
{
	struct job *job = baton_container_of(task, struct job, admitted.task);

	job->entered++;
	return baton_detach(&job->token, 0);
}

static inline void job_stop(struct baton_admission *admission, struct baton_admitted *admitted,
                            int status)
{
	struct job *job = job_of(admitted);

	(void)admission;
	MUST(baton_detached_cancel_requested(&job->token));
	job->stopped++;
	if (!job->stubborn)
		MUST(baton_detached_complete(&job->token, status, NULL) == 0);
}

static inline void job_overruns(struct baton_admission *admission, struct baton_admitted *admitted)
{
	(void)admission;
	job_of(admitted)->overran++;
}

static inline void job_estimate(struct baton_admission *admission, struct baton_admitted *admitted,
                                uint64_t at_most_ns)
{
	(void)admission;
	job_of(admitted)->told++;
	job_of(admitted)->at_most = at_most_ns;
}

/* The rules of `hall.config` and a wheel may be set before; no limits: a single backend. */
static inline void hall_begin(void)
{
	MUST(baton_manual_create(&hall.manual) == 0);
	if (!hall.timers)
		hall.timers = virtual_timers();
	hall.config.executor = baton_manual_executor(hall.manual);
	hall.config.timers = hall.timers;
	if (!hall.plain) {
		hall.config.estimate = job_estimate;
		hall.config.stop = job_stop;
		hall.config.overrun = job_overruns;
	}
	hall.config.name = "hall";
	for (int i = 0; i < 3 && !hall.config.rules.limit[2]; i++)
		hall.config.rules.limit[i] = 1;
	memset(&hall.admission, 0xa5, sizeof(hall.admission));
	MUST(baton_admission_init(&hall.admission, &hall.config) == 0);
}

static inline void hall_drive(void)
{
	while (!hall.held && baton_manual_run(hall.manual, 0) > 0)
		;
}

static inline int hall_arrive(uint32_t number, uint32_t kind)
{
	struct job *job = &hall.jobs[number];
	int error;

	baton_admitted_init(&job->admitted, kind, job_run);
	baton_promise_init(&job->outcome);
	baton_promise_init(&job->gone);
	baton_detached_init(&job->token);
	job->admitted.outcome = &job->outcome;
	job->admitted.gone = &job->gone;
	job->admitted.resource = job->resource;
	error = baton_admission_arrive(&hall.admission, &job->admitted);
	job->arrived |= !error;
	hall_drive();
	return error;
}

static inline void hall_until_ms(uint64_t ms)
{
	MUST(baton_timers_advance_to(hall.timers, ms * BATON_MILLISECOND) >= 0);
	hall_drive();
}

/* Closes what is open, and finishes what is left. */
static inline void hall_end(void)
{
	hall.held = false;
	BATON_IGNORE(baton_admission_close(&hall.admission, BATON_ADMISSION_DROP));
	hall_drive();
	for (int i = 0; i < JOBS_MAX; i++)
		if (hall.jobs[i].arrived && hall.jobs[i].stubborn &&
		    !baton_future_is_complete(&hall.jobs[i].gone))
			MUST(baton_detached_complete(&hall.jobs[i].token, 0, NULL) == 0);
	hall_drive();
	cr_assert_eq(baton_admission_await(&hall.admission), 0);
	for (int i = 0; i < JOBS_MAX; i++)
		if (hall.jobs[i].arrived)
			cr_assert(baton_future_is_complete(&hall.jobs[i].outcome) &&
			                  baton_future_is_complete(&hall.jobs[i].gone),
			          "job %d", i);
	baton_admission_deinit(&hall.admission);
	MUST(baton_timers_destroy(hall.timers) == 0);
	baton_manual_destroy(hall.manual);
	hall = (struct hall){0};
}

#endif
