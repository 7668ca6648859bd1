/* SPDX-License-Identifier: MIT */
/* Admission on a virtual clock: stories in tables, then errors, estimates and counters. */
#include "admission_support.h"

#define S 1000U /* in ms */
#define DEFAULT BATON_RULES_DEFAULT
#define INTERACTIVE BATON_RULES_INTERACTIVE
#define SCENES_MAX 12

enum what { END, ARRIVE, DONE, WITHDRAW, TIME, LIMIT, CLOSE, DROP, HOLD, DRIVE };

/*
 * After a scene: how each job stands. `-` not arrived, `w` waits, `r` runs. The outcome: `D` done,
 * `T` its time was over, `H` halted, `N` denied, `C` cancelled, `c` cancelled before
 * it began. Behind it
 * `+`: not gone; `o`: has overrun.
 */
struct scene {
	enum what what;
	uint32_t job;
	uint32_t value; /* kind, status, ms, limit */
	const char *stand;
};

struct story {
	const char *name;
	struct baton_rules_config rules;
	uint32_t stubborn; /* jobs, one bit each */
	struct scene scenes[SCENES_MAX];
};

static char letter(const struct job *job)
{
	if (!job->arrived)
		return '-';
	switch (baton_future_status(&job->outcome)) {
	case -EAGAIN:
		if (baton_future_is_complete(&job->outcome))
			return 'N';
		return job->entered ? 'r' : 'w';
	case 0:
		return 'D';
	case -ETIMEDOUT:
		return 'T';
	case -EINTR:
		return 'H';
	case -ECANCELED:
		return job->entered ? 'C' : 'c';
	default:
		return '?';
	}
}

static void stand(char *text, size_t jobs)
{
	for (size_t i = 0; i < jobs; i++) {
		const struct job *job = &hall.jobs[i];

		*text++ = letter(job);
		if (job->arrived && baton_future_is_complete(&job->outcome) &&
		    !baton_future_is_complete(&job->gone))
			*text++ = '+';
		if (job->overran)
			*text++ = 'o';
		*text++ = i + 1 < jobs ? ' ' : '\0';
	}
}

static size_t words(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == ' ';
	return count;
}

static void take(const struct scene *scene)
{
	const uint32_t limits[] = {scene->value, scene->value, scene->value};
	struct job *job = &hall.jobs[scene->job];

	switch (scene->what) {
	case ARRIVE:
		cr_assert_eq(hall_arrive(scene->job, scene->value), 0);
		break;
	case DONE:
		cr_assert_eq(baton_detached_complete(&job->token, (int)scene->value, job), 0);
		break;
	case WITHDRAW:
		cr_assert_eq(baton_admitted_withdraw(&job->admitted), 0);
		break;
	case TIME:
		hall_until_ms(scene->value);
		break;
	case LIMIT:
		cr_assert_eq(baton_admission_set_limits(&hall.admission, limits, 0), 0);
		break;
	case CLOSE:
	case DROP:
		cr_assert_eq(baton_admission_close(&hall.admission, scene->what == DROP
		                                                            ? BATON_ADMISSION_DROP
		                                                            : BATON_ADMISSION_RUN),
		             0);
		break;
	default:
		hall.held = scene->what == HOLD;
		break;
	}
	hall_drive();
}

static void tell(const struct story *story)
{
	char now[8 * JOBS_MAX];

	hall.config.rules = story->rules;
	for (uint32_t i = 0; i < JOBS_MAX; i++)
		hall.jobs[i].stubborn = story->stubborn >> i & 1;
	hall_begin();
	for (int i = 0; i < SCENES_MAX && story->scenes[i].what != END; i++) {
		take(&story->scenes[i]);
		stand(now, words(story->scenes[i].stand));
		cr_assert_str_eq(now, story->scenes[i].stand, "%s, scene %d: %s, not %s",
		                 story->name, i + 1, now, story->scenes[i].stand);
	}
	hall_end();
}

static void tell_all(const struct story *stories, size_t count)
{
	for (size_t i = 0; i < count; i++)
		tell(&stories[i]);
}
#define TELL_ALL(stories) tell_all(stories, sizeof(stories) / sizeof((stories)[0]))

Test(admission, a_task_runs_when_the_rules_let_it_and_until_its_time_is_over, .timeout = 10)
{
	static const struct story stories[] = {
		{"one after the other",
	         {0},
	         0,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, 0, "r w"},
	          {ARRIVE, 2, 1, "r w w"},
	          {DONE, 0, 0, "D r w"},
	          {DONE, 1, 0, "D D r"}}},
		{"its time is over",
	         {0},
	         0,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, 0, "r w"},
	          {TIME, 0, 3 * S - 1, "r w"},
	          {TIME, 0, 3 * S, "T r"}}},
		{"it does not obey, and keeps its backend",
	         {0},
	         1,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, 0, "r w"},
	          {TIME, 0, 3 * S, "T+ w"},
	          {TIME, 0, 3 * S + 100, "T+ w"},
	          {TIME, 0, 3 * S + 101, "T+o w"},
	          {DONE, 0, 0, "To r"}}},
		{"it does not obey, and counts no more",
	         {.stuck = BATON_RULES_GONE},
	         1,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, 0, "r w"},
	          {TIME, 0, 3 * S + 101, "T+o r"},
	          {DONE, 1, 0, "T+o D"},
	          {DONE, 0, 0, "To D"}}},
		{"a default is brought down to medium",
	         {.limit = {3, 2, 1}},
	         0,
	         {{ARRIVE, 0, DEFAULT, "r"},
	          {TIME, 0, S, "r"},
	          {ARRIVE, 1, 2, "r r"},
	          {TIME, 0, 10 * S - 1, "r r"},
	          {TIME, 0, 10 * S, "T r"}}},
		{"a default is brought down below what it has used",
	         {.limit = {1, 1, 1}},
	         0,
	         {{ARRIVE, 0, DEFAULT, "r"}, {TIME, 0, 4 * S, "r"}, {ARRIVE, 1, 0, "T r"}}},
	};

	TELL_ALL(stories);
}

Test(admission, an_interactive_task_is_denied_or_halted, .timeout = 10)
{
	static const struct story stories[] = {
		{"denied", {0}, 0, {{ARRIVE, 0, 0, "r"}, {ARRIVE, 1, INTERACTIVE, "r N"}}},
		{"halted",
	         {0},
	         0,
	         {{ARRIVE, 0, INTERACTIVE, "r"}, {TIME, 0, 1000 * S, "r"}, {ARRIVE, 1, 0, "H r"}}},
		{"halted, does not obey, and counts again",
	         {0},
	         1,
	         {{ARRIVE, 0, INTERACTIVE, "r"},
	          {ARRIVE, 1, 0, "H+ r"},
	          {TIME, 0, 101, "H+o r"},
	          {DONE, 1, 0, "H+o D"},
	          {ARRIVE, 2, 0, "H+o D w"},
	          {DONE, 0, 0, "Ho D r"}}},
		{"limits shrink",
	         {.limit = {3, 3, 3}},
	         0,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, INTERACTIVE, "r r"},
	          {ARRIVE, 2, 2, "r r r"},
	          {LIMIT, 0, 1, "r H r"},
	          {ARRIVE, 3, 0, "r H r w"},
	          {LIMIT, 0, 3, "r H r r"}}},
	};

	TELL_ALL(stories);
}

Test(admission, what_is_withdrawn_does_not_start_or_is_told_to_stop, .timeout = 10)
{
	static const struct story stories[] = {
		{"waits",
	         {0},
	         0,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, 0, "r w"},
	          {WITHDRAW, 1, 0, "r c"},
	          {DONE, 0, 0, "D c"}}},
		{"runs",
	         {0},
	         0,
	         {{ARRIVE, 0, 0, "r"}, {ARRIVE, 1, 0, "r w"}, {WITHDRAW, 0, 0, "C r"}}},
		{"runs, and does not obey",
	         {0},
	         1,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, 0, "r w"},
	          {WITHDRAW, 0, 0, "C+ w"},
	          {TIME, 0, 3 * S + 101, "C+o w"},
	          {DONE, 0, 0, "Co r"}}},
		{"is about to run",
	         {0},
	         0,
	         {{HOLD, 0, 0, "-"},
	          {ARRIVE, 0, 0, "w"},
	          {ARRIVE, 1, 0, "w w"},
	          {WITHDRAW, 0, 0, "c+ w"},
	          {DRIVE, 0, 0, "c r"}}},
	};

	TELL_ALL(stories);
}

Test(admission, a_closed_admission_lets_its_entries_run_or_drops_them, .timeout = 10)
{
	static const struct story stories[] = {
		{"run",
	         {0},
	         0,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, 0, "r w"},
	          {CLOSE, 0, 0, "r w"},
	          {TIME, 0, 3 * S, "T r"},
	          {LIMIT, 0, 2, "T r"},
	          {DONE, 1, 0, "T D"}}},
		{"drop",
	         {0},
	         1,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, 0, "r w"},
	          {DROP, 0, 0, "C+ c"},
	          {DONE, 0, 0, "C c"}}},
		{"run, then drop",
	         {.limit = {2, 2, 2}},
	         0,
	         {{ARRIVE, 0, 0, "r"},
	          {ARRIVE, 1, 0, "r r"},
	          {ARRIVE, 2, 0, "r r w"},
	          {CLOSE, 0, 0, "r r w"},
	          {DROP, 0, 0, "C C c"}}},
	};

	TELL_ALL(stories);
}

/* ---- Errors ---- */

Test(admission, bad_arguments_are_errors_and_nothing_happens, .timeout = 10)
{
	static const uint32_t crossed[] = {1, 2, 1};
	static const uint32_t wide[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
	struct baton_admission_config bad = {.rules.limit = {1, 2, 1}};
	struct baton_admission_config falling = {.rules.limit = {1, 1, 1},
	                                         .rules.duration_ns = {3, 2, 1}};
	struct baton_admission_config unknown = {.rules.limit = {1, 1, 1},
	                                         ._reserved = {0, 0, 0, 1}};
	struct baton_admitted zeroed = {.resource = NULL};
	struct baton_future complete = BATON_PROMISE_INIT;
	struct baton_admission other;
	struct job *job = &hall.jobs[0];

	cr_assert_eq(baton_admission_init(&other, &bad), -EINVAL);
	cr_assert_eq(baton_admission_init(&other, &falling), -EINVAL);
	cr_assert_eq(baton_admission_init(&other, &unknown), -EINVAL);
	hall_begin();
	cr_assert_eq(baton_admission_await(&hall.admission), -EINVAL, "open");
	cr_assert_eq(baton_admission_arrive(&hall.admission, &zeroed), -EINVAL);
	for (uint32_t kind = 3; kind < 300; kind++)
		if (kind != DEFAULT && kind != INTERACTIVE)
			cr_assert_eq(hall_arrive(0, kind), -EINVAL, "%u", kind);
	cr_assert_eq(hall_arrive(0, UINT32_MAX), -EINVAL);
	cr_assert_eq(baton_admitted_withdraw(&job->admitted), -EINVAL);
	cr_assert_eq(baton_future_complete(&complete, 0, NULL), 0);
	baton_admitted_init(&zeroed, 0, job_run);
	zeroed.outcome = &complete;
	cr_assert_eq(baton_admission_arrive(&hall.admission, &zeroed), -EINVAL);
	zeroed.outcome = NULL;
	zeroed.gone = &complete;
	cr_assert_eq(baton_admission_arrive(&hall.admission, &zeroed), -EINVAL);
	cr_assert_eq(hall_arrive(0, 0), 0);
	cr_assert_eq(baton_admission_arrive(&hall.admission, &job->admitted), -EALREADY);
	cr_assert_eq(baton_admission_set_limits(&hall.admission, crossed, 0), -EINVAL);
	cr_assert_eq(baton_admission_set_limits(&hall.admission, wide, UINT32_MAX), -EINVAL);
	cr_assert_eq(baton_admission_set_limits(&hall.admission, wide, 0), 0);
	job->stubborn = true;
	cr_assert_eq(baton_admitted_withdraw(&job->admitted), 0);
	cr_assert_eq(baton_admitted_withdraw(&job->admitted), -EALREADY);
	cr_assert_eq(baton_admission_close(&hall.admission, BATON_ADMISSION_RUN), 0);
	cr_assert_eq(baton_admission_close(&hall.admission, BATON_ADMISSION_RUN), -EALREADY);
	cr_assert_eq(hall_arrive(1, 0), -EPIPE);
	cr_assert_eq(baton_detached_complete(&job->token, 0, NULL), 0);
	hall_drive();
	cr_assert_eq(baton_admission_set_limits(&hall.admission, wide, 0), -EPIPE);
	cr_assert_eq(baton_admission_close(&hall.admission, BATON_ADMISSION_DROP), -EALREADY);
	hall_end();
}

Test(admission, the_refusal_of_a_resource_is_the_outcome_and_the_next_starts, .timeout = 10)
{
	struct baton_resource closed = BATON_RESOURCE_INIT(NAMED("closed"));
	struct baton_admission_stats stats;

	cr_assert_eq(baton_resource_close(&closed), 0);
	hall_begin();
	cr_assert_eq(hall_arrive(0, 0), 0);
	for (uint32_t i = 1; i < 5; i++) {
		hall.jobs[i].resource = i < 4 ? &closed : NULL;
		cr_assert_eq(hall_arrive(i, 0), 0);
	}
	cr_assert_eq(baton_detached_complete(&hall.jobs[0].token, 0, NULL), 0);
	hall_drive();
	for (int i = 1; i < 4; i++) {
		cr_assert_eq(baton_future_status(&hall.jobs[i].outcome), -EPIPE);
		cr_assert(baton_future_is_complete(&hall.jobs[i].gone));
	}
	cr_assert_eq(letter(&hall.jobs[4]), 'r');
	baton_admission_stats_read(&hall.admission, &stats);
	cr_assert_eq(stats.started, 5);
	cr_assert_eq(stats.finished, 4, "those that never began, too");
	cr_assert_eq(stats.running, 1);
	hall_end();
	cr_assert_eq(baton_resource_await(&closed), 0);
}

/* A wheel's `dropped` knows the program's timers alone. */
static void dropped_by_the_wheel(struct baton_timer *timer, int error)
{
	cr_assert_fail("told of the library's timer %p: %d", (void *)timer, error);
}

Test(admission, without_its_wheel_nothing_starts_and_nothing_is_lost, .timeout = 10)
{
	const struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL,
	                                             .dropped = dropped_by_the_wheel};

	MUST(baton_timers_create(&options, &hall.timers) == 0);
	hall_begin();
	cr_assert_eq(hall_arrive(0, 0), 0);
	cr_assert_eq(hall_arrive(1, 0), 0);
	cr_assert_eq(baton_timers_close(hall.timers, BATON_TIMERS_DROP), 0);
	cr_assert_eq(baton_detached_complete(&hall.jobs[0].token, 0, NULL), 0);
	hall_drive();
	cr_assert_eq(letter(&hall.jobs[0]), 'D');
	cr_assert_eq(baton_future_status(&hall.jobs[1].outcome), -ESHUTDOWN);
	hall_end();
}

/* ---- Estimates and counters ---- */

Test(admission, an_estimate_is_told_and_can_be_asked_for, .timeout = 10)
{
	hall_begin();
	cr_assert_eq(baton_admitted_estimate(&hall.jobs[0].admitted), 0, "has not arrived");
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(hall_arrive(i, 2), 0);
	cr_assert_eq(hall.jobs[0].told, 0);
	cr_assert_eq(hall.jobs[2].at_most, 60 * BATON_SECOND + 200 * BATON_MILLISECOND,
	             "with the grace of two");
	hall_until_ms(S);
	cr_assert_eq(hall.jobs[2].told, 1);
	cr_assert_eq(baton_admitted_estimate(&hall.jobs[2].admitted),
	             59 * BATON_SECOND + 200 * BATON_MILLISECOND);
	cr_assert_eq(baton_admitted_time_left(&hall.jobs[2].admitted), 0, "it waits");
	cr_assert_eq(baton_admitted_time_left(&hall.jobs[0].admitted), 29 * BATON_SECOND);
	cr_assert_eq(baton_admitted_estimate(&hall.jobs[0].admitted), 0, "it runs");
	cr_assert_eq(hall_arrive(3, BATON_RULES_INTERACTIVE), 0);
	cr_assert_eq(baton_admitted_time_left(&hall.jobs[3].admitted), 0, "denied");
	cr_assert_eq(baton_admitted_estimate(&hall.jobs[3].admitted), 0, "denied");
	cr_assert_eq(hall_arrive(4, 2), 0);
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[4].admitted), 0);
	cr_assert_eq(baton_admitted_estimate(&hall.jobs[4].admitted), 0, "withdrawn");
	cr_assert_eq(baton_detached_complete(&hall.jobs[0].token, 0, NULL), 0);
	hall_drive();
	hall_until_ms(S + 100);
	cr_assert_eq(hall.jobs[2].told, 2, "renewed by the tick");
	cr_assert_eq(baton_admitted_time_left(&hall.jobs[0].admitted), 0, "it is over");
	cr_assert_leq(hall.jobs[2].at_most, 30 * BATON_SECOND + 100 * BATON_MILLISECOND);
	hall_end();
}

Test(admission, the_counters_tell_what_has_happened, .timeout = 10)
{
	struct baton_admission_stats stats;

	hall_begin();
	hall.jobs[0].stubborn = true;
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(hall_arrive(i, 0), 0);
	cr_assert_eq(hall_arrive(4, INTERACTIVE), 0);
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[1].admitted), 0);
	hall_until_ms(3 * S + 101);
	baton_admission_stats_read(&hall.admission, &stats);
	cr_assert_eq(stats.arrived, 5);
	cr_assert_eq(stats.started, 1);
	cr_assert_eq(stats.finished, 0);
	cr_assert_eq(stats.running, 1);
	cr_assert_eq(stats.denied, 1);
	cr_assert_eq(stats.withdrawn, 1);
	cr_assert_eq(stats.stopped, 1);
	cr_assert_eq(stats.overran, 1);
	cr_assert_eq(stats.waiting, 2);
	cr_assert_eq(baton_detached_complete(&hall.jobs[0].token, 0, NULL), 0);
	hall_drive();
	cr_assert_eq(baton_admitted_withdraw(&hall.jobs[2].admitted), 0);
	hall_drive();
	baton_admission_stats_read(&hall.admission, &stats);
	cr_assert_eq(stats.stopped, 2);
	cr_assert_eq(stats.overran, 1);
	cr_assert_eq(stats.withdrawn, 1, "the other was running");
	hall_end();
}

Test(admission, an_entry_that_is_gone_may_arrive_again, .timeout = 10)
{
	struct job *job = &hall.jobs[0];

	hall.config.rules = (struct baton_rules_config){.limit = {2, 2, 2}};
	hall_begin();
	cr_assert_eq(hall_arrive(0, 0), 0);
	cr_assert_eq(hall_arrive(1, 0), 0);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(baton_detached_complete(&job->token, 7 + i, job), 0);
		hall_drive();
		cr_assert_eq(baton_future_status(&job->outcome), 7 + i);
		cr_assert_eq(baton_future_value(&job->outcome), job);
		cr_assert_eq(baton_future_value(&job->gone), &job->admitted);
		baton_promise_init(&job->outcome);
		baton_promise_init(&job->gone);
		cr_assert_eq(baton_admission_arrive(&hall.admission, &job->admitted), 0);
		hall_drive();
		cr_assert_eq(letter(job), 'r');
	}
	hall_end();
}

Test(admission, an_outcome_is_touched_no_more_when_it_is_known, .timeout = 10)
{
	struct job *job = &hall.jobs[0];

	job->stubborn = true;
	hall_begin();
	cr_assert_eq(hall_arrive(0, 0), 0);
	hall_until_ms(3 * S);
	cr_assert_eq(letter(job), 'T');
	baton_promise_init(&job->outcome); /* its memory is the caller's, and used again */
	cr_assert_eq(baton_detached_complete(&job->token, 0, NULL), 0);
	hall_drive();
	cr_assert(baton_future_is_complete(&job->gone));
	cr_assert(!baton_future_is_complete(&job->outcome));
	cr_assert_eq(baton_future_complete(&job->outcome, 0, NULL), 0);
	hall_end();
}
