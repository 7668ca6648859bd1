/* SPDX-License-Identifier: MIT */
/*
 * A small service that renders pictures on three backends. Jobs are fast, medium or slow; a default
 * job runs as long as nobody needs its backend for something faster, and an interactive one runs
 * only where nobody waits. Time is a virtual clock's, so that the program does not wait for it.
 */
#include "../check.h"

#include <baton.h>
#include <baton/admission.h>
#include <baton/detach.h>
#include <baton/manual.h>
#include <baton/rules.h>
#include <baton/timers.h>

#include <errno.h>
#include <stdio.h>

#define FAST 0
#define SLOW 2

struct job {
	struct baton_admitted admitted;
	struct baton_future outcome;
	struct baton_future gone;
	struct baton_detached token;
	const char *name;
};

static struct baton_admission service;
static struct baton_timers *timers;
static struct baton_manual *backends;

static unsigned now_s(void)
{
	return (unsigned)(baton_timers_now(timers) / BATON_SECOND);
}

static unsigned seconds(uint64_t ns)
{
	return (unsigned)((ns + BATON_SECOND - 1) / BATON_SECOND);
}

static struct job *job_of(struct baton_admitted *admitted)
{
	return baton_container_of(admitted, struct job, admitted);
}

/* A backend begins: here a real program starts a child process. */
static int job_run(struct baton_task *task)
{
	struct job *job = baton_container_of(task, struct job, admitted.task);
	uint64_t left = baton_admitted_time_left(&job->admitted);

	if (left == BATON_NEVER)
		printf("%2u s: %s starts\n", now_s(), job->name);
	else
		printf("%2u s: %s starts, for at most %u s\n", now_s(), job->name, seconds(left));
	return baton_detach(&job->token, 0);
}

/* Here a real program kills the child process. */
static void on_stop(struct baton_admission *admission, struct baton_admitted *admitted, int status)
{
	struct job *job = job_of(admitted);

	(void)admission;
	printf("%2u s: %s is stopped: %s\n", now_s(), job->name,
	       status == -ETIMEDOUT ? "its time is over" : "its backend is needed");
	CHECK(baton_detached_complete(&job->token, status, NULL) == 0);
}

static void on_estimate(struct baton_admission *admission, struct baton_admitted *admitted,
                        uint64_t at_most_ns)
{
	(void)admission;
	printf("%2u s: %s waits for at most %u s\n", now_s(), job_of(admitted)->name,
	       seconds(at_most_ns));
}

static void arrive(struct job *job, const char *name, uint32_t kind)
{
	job->name = name;
	baton_admitted_init(&job->admitted, kind, job_run);
	baton_promise_init(&job->outcome);
	baton_promise_init(&job->gone);
	baton_detached_init(&job->token);
	job->admitted.outcome = &job->outcome;
	job->admitted.gone = &job->gone;
	CHECK(baton_admission_arrive(&service, &job->admitted) == 0);
	if (baton_future_status(&job->outcome) == -EAGAIN &&
	    baton_future_is_complete(&job->outcome))
		printf("%2u s: %s is denied\n", now_s(), name);
	(void)baton_manual_run(backends, 0);
}

static void until(uint64_t s)
{
	CHECK(baton_timers_advance_to(timers, s * BATON_SECOND) >= 0);
	(void)baton_manual_run(backends, 0);
}

int main(void)
{
	static const struct baton_timers_options virtual_clock = {.source = BATON_TIMERS_VIRTUAL};
	struct baton_admission_config config = {
		.rules = {.limit = {3, 2, 1}}, /* three backends; one may run something slow */
		.estimate = on_estimate,
		.stop = on_stop,
		.name = "renderer",
	};
	static struct job preview, shell, film, denied, thumbnail, icon;

	CHECK(baton_manual_create(&backends) == 0);
	CHECK(baton_timers_create(&virtual_clock, &timers) == 0);
	config.timers = timers;
	config.executor = baton_manual_executor(backends);
	CHECK(baton_admission_init(&service, &config) == 0);

	arrive(&preview, "preview (default)", BATON_RULES_DEFAULT);
	arrive(&shell, "shell (interactive)", BATON_RULES_INTERACTIVE);
	until(2);
	/* The preview has counted as slow so far. Now it becomes medium, and may run for 10 s. */
	arrive(&film, "film (slow)", SLOW);
	CHECK(baton_admitted_time_left(&preview.admitted) == 8 * BATON_SECOND);
	/* No backend is free: an interactive job is denied, and the preview becomes fast. */
	arrive(&denied, "another shell (interactive)", BATON_RULES_INTERACTIVE);
	CHECK(baton_future_status(&denied.outcome) == -EAGAIN);
	CHECK(baton_admitted_time_left(&preview.admitted) == 1 * BATON_SECOND);
	/* For any other job the shell has to go. */
	arrive(&thumbnail, "thumbnail (fast)", FAST);
	CHECK(baton_future_status(&shell.outcome) == -EINTR);
	/* The icon's estimate is the time until the preview must have stopped. */
	arrive(&icon, "icon (fast)", FAST);
	until(3);
	CHECK(baton_future_status(&preview.outcome) == -ETIMEDOUT);
	CHECK(baton_admitted_time_left(&icon.admitted) == 3 * BATON_SECOND);
	CHECK(baton_detached_complete(&icon.token, 0, NULL) == 0);
	CHECK(baton_detached_complete(&thumbnail.token, 0, NULL) == 0);
	printf("%2u s: icon and thumbnail are done\n", now_s());
	until(40);
	CHECK(baton_future_status(&film.outcome) == -ETIMEDOUT);

	CHECK(baton_admission_close(&service, BATON_ADMISSION_RUN) == 0);
	CHECK(baton_admission_await(&service) == 0);
	baton_admission_deinit(&service);
	CHECK(baton_timers_destroy(timers) == 0);
	baton_manual_destroy(backends);
	return 0;
}
