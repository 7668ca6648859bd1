/* SPDX-License-Identifier: MIT */
/*
 * The same arrivals through an admission on a virtual clock and through the rules alone: each task
 * starts, and is over, at the same time in the same order.
 */
#include "timer_support.h"

#include <baton/admission.h>
#include <baton/detach.h>
#include <baton/timers.h>

#define JOBS 300U
#define MS BATON_MILLISECOND

/* What the seed decides, for both. */
struct plan {
	struct baton_rules_config rules;
	struct {
		uint32_t kind;
		uint64_t arrives;
		uint64_t lasts;     /* by itself */
		uint64_t withdrawn; /* so long after its arrival; BATON_NEVER: it is not */
		bool stubborn;
	} jobs[JOBS];
};

struct log {
	uint32_t count;
	struct {
		uint32_t job;
		uint64_t at;
	} lines[JOBS];
};

static struct plan plan;

static void note(struct log *log, uint32_t job, uint64_t at)
{
	MUST(log->count < JOBS);
	log->lines[log->count].job = job;
	log->lines[log->count++].at = at;
}

static void make_plan(uint64_t seed)
{
	uint64_t random = rng_fork(seed, 1);
	uint64_t at = 0;

	plan = (struct plan){.rules.seed = seed};
	for (int i = 2; i >= 0; i--)
		plan.rules.limit[i] = (i < 2 ? plan.rules.limit[i + 1] : 0) + 1 +
		                      rng_below(&random, i > 0 ? 2 : 3);
	plan.rules.reserve = rng_below(&random, 2);
	if (plan.rules.reserve >= plan.rules.limit[0])
		plan.rules.reserve = 0;
	plan.rules.policy = (enum baton_rules_policy)rng_below(&random, 3);
	plan.rules.stuck = (enum baton_rules_stuck)rng_below(&random, 2);
	plan.rules.grace_ns = (1 + rng_below(&random, 500)) * MS;
	for (uint32_t i = 0; i < JOBS; i++) {
		uint32_t kind = rng_below(&random, 5);

		plan.jobs[i].kind = kind < 3 ? kind : kind + BATON_RULES_DEFAULT - 3;
		/* Odd times: two things seldom happen at once. */
		at += rng_below(&random, 2000) * MS + rng_below(&random, 999983);
		plan.jobs[i].arrives = at;
		plan.jobs[i].lasts = rng_below(&random, 12000) * MS + rng_below(&random, 999979);
		plan.jobs[i].withdrawn =
			rng_below(&random, 6) ? BATON_NEVER : rng_below(&random, 9000) * MS + 7;
		plan.jobs[i].stubborn = rng_below(&random, 20) == 0;
	}
}

/* ---- Both are driven alike ---- */

/* When a job that has started ends by itself; BATON_NEVER: not now. */
static uint64_t ends[JOBS];

struct side {
	struct log starts;
	struct log overs;               /* ended by itself, stopped, denied or withdrawn */
	uint64_t (*until)(uint64_t at); /* lets time pass up to `at`, or less: something happened */
	void (*arrive)(uint32_t job);
	void (*withdraw)(uint32_t job);
	void (*finish)(uint32_t job); /* by itself */
};

static void started(struct side *side, uint32_t job, uint64_t at)
{
	note(&side->starts, job, at);
	ends[job] = at + plan.jobs[job].lasts;
}

static void over(struct side *side, uint32_t job, uint64_t at)
{
	note(&side->overs, job, at);
	ends[job] = BATON_NEVER;
}

enum next { NOTHING, ARRIVAL, WITHDRAWAL, FINISH };

static enum next next_of(uint32_t arrived, bool *asked, uint32_t *job, uint64_t *at)
{
	enum next next = NOTHING;

	*at = BATON_NEVER;
	if (arrived < JOBS) {
		next = ARRIVAL;
		*at = plan.jobs[arrived].arrives;
		*job = arrived;
	}
	for (uint32_t i = 0; i < arrived; i++) {
		uint64_t withdrawn = plan.jobs[i].withdrawn;

		if (ends[i] < *at) {
			next = FINISH;
			*at = ends[i];
			*job = i;
		}
		if (!asked[i] && withdrawn < BATON_NEVER &&
		    plan.jobs[i].arrives + withdrawn < *at) {
			next = WITHDRAWAL;
			*at = plan.jobs[i].arrives + withdrawn;
			*job = i;
		}
	}
	return next;
}

static void drive(struct side *side)
{
	bool asked[JOBS] = {false};
	uint32_t arrived = 0;
	uint32_t job = 0;
	uint64_t at;
	enum next next;

	for (uint32_t i = 0; i < JOBS; i++)
		ends[i] = BATON_NEVER;
	while ((next = next_of(arrived, asked, &job, &at)) != NOTHING) {
		if (side->until(at) < at)
			continue;
		if (next == ARRIVAL) {
			arrived++;
			side->arrive(job);
		} else if (next == WITHDRAWAL) {
			asked[job] = true;
			side->withdraw(job);
		} else {
			side->finish(job);
		}
	}
}

/* ---- The rules alone ---- */

static struct {
	struct side side;
	struct baton_rules rules;
	struct baton_rules_entry entries[JOBS];
	uint64_t stops[JOBS]; /* when it must stop */
	uint32_t told[JOBS];  /* told to stop at once, in this order */
	uint32_t told_count;
	uint64_t now;
} bare;

static uint32_t job_of_entry(const struct baton_rules_entry *entry)
{
	return (uint32_t)(entry - bare.entries);
}

static void on_start(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t ns)
{
	uint32_t job = job_of_entry(entry);

	started(&bare.side, job, bare.now);
	bare.stops[job] = ns == BATON_NEVER ? ns : bare.now + ns;
}

static void on_shorten(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t ns)
{
	uint32_t job = job_of_entry(entry);

	bare.stops[job] = bare.now + ns;
	if (ns == 0)
		bare.told[bare.told_count++] = job;
}

static void on_halt(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	bare.told[bare.told_count++] = job_of_entry(entry);
}

static const struct baton_rules_events events = {
	.start = on_start, .shorten = on_shorten, .halt = on_halt};

static void bare_stop(uint32_t job)
{
	bare.stops[job] = BATON_NEVER;
	if (plan.jobs[job].stubborn)
		return;
	over(&bare.side, job, bare.now);
	MUST(baton_rules_finish(&bare.rules, &bare.entries[job], bare.now) == 0);
}

static void bare_obey(void)
{
	for (uint32_t i = 0; i < bare.told_count; i++)
		bare_stop(bare.told[i]);
	bare.told_count = 0;
}

static uint64_t bare_until(uint64_t at)
{
	uint64_t next = baton_rules_next(&bare.rules);
	uint32_t first = JOBS;

	for (uint32_t i = 0; i < JOBS; i++)
		if (bare.stops[i] <= next) {
			next = bare.stops[i];
			first = i;
		}
	if (next >= at) {
		bare.now = at;
		return at;
	}
	bare.now = next > bare.now ? next : bare.now;
	if (first < JOBS)
		bare_stop(first);
	else
		(void)baton_rules_tick(&bare.rules, bare.now);
	bare_obey();
	return 0;
}

static void bare_arrive(uint32_t job)
{
	bool denied;

	baton_rules_entry_init(&bare.entries[job], plan.jobs[job].kind);
	denied = baton_rules_arrive(&bare.rules, &bare.entries[job], bare.now) != 0;
	bare_obey();
	if (denied)
		over(&bare.side, job, bare.now);
}

static void bare_withdraw(uint32_t job)
{
	int error = baton_rules_withdraw(&bare.rules, &bare.entries[job], bare.now);

	if (error == -EINPROGRESS)
		bare_stop(job);
	else if (!error)
		over(&bare.side, job, bare.now);
	bare_obey();
}

static void bare_finish(uint32_t job)
{
	bare.stops[job] = BATON_NEVER;
	over(&bare.side, job, bare.now);
	MUST(baton_rules_finish(&bare.rules, &bare.entries[job], bare.now) == 0);
	bare_obey();
}

static void run_bare(void)
{
	memset(&bare, 0, sizeof(bare));
	bare.side = (struct side){{0}, {0}, bare_until, bare_arrive, bare_withdraw, bare_finish};
	for (uint32_t i = 0; i < JOBS; i++)
		bare.stops[i] = BATON_NEVER;
	MUST(baton_rules_init(&bare.rules, &plan.rules, &events) == 0);
	drive(&bare.side);
}

/* ---- An admission ---- */

struct whole_job {
	struct baton_admitted admitted;
	struct baton_detached token;
	struct baton_future gone;
};

static struct {
	struct side side;
	struct baton_admission admission;
	struct baton_timers *timers;
	struct baton_manual *manual;
	struct whole_job jobs[JOBS];
} whole;

static uint32_t job_of_admitted(const struct baton_admitted *admitted)
{
	return (uint32_t)(baton_container_of(admitted, struct whole_job, admitted) - whole.jobs);
}

static uint64_t whole_now(void)
{
	return baton_timers_now(whole.timers);
}

static int whole_run(struct baton_task *task)
{
	struct baton_admitted *admitted = baton_container_of(task, struct baton_admitted, task);
	uint32_t job = job_of_admitted(admitted);

	started(&whole.side, job, whole_now());
	return baton_detach(&whole.jobs[job].token, 0);
}

/* Told at the moment at which the machine calls finish, or when it is known that it never will. */
static void whole_over(uint32_t job)
{
	over(&whole.side, job, whole_now());
}

static void whole_stop(struct baton_admission *admission, struct baton_admitted *admitted,
                       int status)
{
	uint32_t job = job_of_admitted(admitted);

	if (plan.jobs[job].stubborn)
		return;
	whole_over(job);
	MUST(baton_detached_complete(&whole.jobs[job].token, status, NULL) == 0);
}

static void whole_drive(void)
{
	while (baton_manual_run(whole.manual, 0) > 0)
		;
}

static uint64_t whole_until(uint64_t at)
{
	uint64_t next = baton_timers_next(whole.timers);

	if (next > at)
		next = at;
	MUST(baton_timers_advance_to(whole.timers, next) >= 0);
	whole_drive();
	return next;
}

static void whole_arrive(uint32_t number)
{
	struct whole_job *job = &whole.jobs[number];

	baton_admitted_init(&job->admitted, plan.jobs[number].kind, whole_run);
	baton_promise_init(&job->gone);
	baton_detached_init(&job->token);
	job->admitted.gone = &job->gone;
	MUST(baton_admission_arrive(&whole.admission, &job->admitted) == 0);
	if (baton_future_is_complete(&job->gone)) /* denied */
		whole_over(number);
	whole_drive();
}

static void whole_withdraw(uint32_t number)
{
	bool waits =
		ends[number] == BATON_NEVER && !baton_future_is_complete(&whole.jobs[number].gone);

	(void)baton_admitted_withdraw(&whole.jobs[number].admitted);
	if (waits)
		whole_over(number);
	whole_drive();
}

static void whole_finish(uint32_t number)
{
	whole_over(number);
	MUST(baton_detached_complete(&whole.jobs[number].token, 0, NULL) == 0);
	whole_drive();
}

static void run_whole(void)
{
	struct baton_admission_config config = {.rules = plan.rules, .stop = whole_stop};

	memset(&whole, 0, sizeof(whole));
	whole.side =
		(struct side){{0}, {0}, whole_until, whole_arrive, whole_withdraw, whole_finish};
	whole.timers = virtual_timers();
	MUST(baton_manual_create(&whole.manual) == 0);
	config.timers = whole.timers;
	config.executor = baton_manual_executor(whole.manual);
	MUST(baton_admission_init(&whole.admission, &config) == 0);
	drive(&whole.side);
	cr_assert_eq(baton_admission_close(&whole.admission, BATON_ADMISSION_RUN), 0);
	cr_assert_eq(baton_admission_await(&whole.admission), 0);
	baton_admission_deinit(&whole.admission);
	MUST(baton_timers_destroy(whole.timers) == 0);
	baton_manual_destroy(whole.manual);
}

/* Of jobs that end at the same time, any may be the first: timers of one time expire in any order.
 */
static void sort(struct log *log)
{
	for (uint32_t i = 1; i < log->count; i++)
		for (uint32_t j = i; j > 0 && log->lines[j].at == log->lines[j - 1].at &&
		                     log->lines[j].job < log->lines[j - 1].job;
		     j--) {
			uint32_t job = log->lines[j].job;

			log->lines[j].job = log->lines[j - 1].job;
			log->lines[j - 1].job = job;
		}
}

static void compare(const struct log *bare_log, const struct log *whole_log, const char *what)
{
	cr_assert_eq(bare_log->count, whole_log->count, "%s: %u, %u", what, bare_log->count,
	             whole_log->count);
	for (uint32_t i = 0; i < bare_log->count; i++) {
		cr_assert_eq(bare_log->lines[i].job, whole_log->lines[i].job, "%s %u", what, i);
		cr_assert_eq(bare_log->lines[i].at, whole_log->lines[i].at, "%s %u", what, i);
	}
}

Test(admission_same, arrivals_lead_to_the_same_starts_as_in_the_rules_alone, .timeout = 60)
{
	uint64_t seed = test_seed();
	int rounds = scaled(40);

	for (int round = 0; round < rounds; round++) {
		make_plan(seed + (uint64_t)round);
		run_bare();
		run_whole();
		compare(&bare.side.starts, &whole.side.starts, "start");
		sort(&bare.side.overs);
		sort(&whole.side.overs);
		compare(&bare.side.overs, &whole.side.overs, "end");
		cr_assert_eq(bare.side.overs.count, JOBS);
		cr_assert_gt(bare.side.starts.count, JOBS / 4);
	}
}
