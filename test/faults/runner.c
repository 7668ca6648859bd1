/* SPDX-License-Identifier: MIT */
/*
 * A case: two cycles of the scenario in one child, the first with the fault, the second without,
 * which shows that the library has recovered. After each, no allocation and no thread is left.
 */
#include "runner.h"

#include "live.h"

#include <baton/pool.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/executor.h"
#include "pool/alarm.h"
#include "timer/timer.h"

#define CYCLES 2
#define NTH_MAX 100000U
#define POLLS 4000
#define POLL_US 50

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define TSAN 1 /* has threads of its own */
#else
#define TSAN 0
#endif
#if TSAN || defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED 1
#define BASELINES 1
#define SPARSER 16 /* n is multiplied by this */
#define TIMEOUT_S 240
#else
#define SANITIZED 0
#define BASELINES 3
#define SPARSER 2
#define TIMEOUT_S 60
#endif

/* What a child tells its parent. */
static struct report {
	uint32_t counts[FAULT_POINTS];
	uint32_t injected;
	uint32_t cycle;
	const char *_Atomic last_call;
} * report;

static const struct scenario *current;
static struct fault_plan current_plan;
static bool is_planned;

void runner_init(void)
{
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	if (report == MAP_FAILED)
		abort();
	contract_last = &report->last_call;
}

static void describe(char *text, size_t size)
{
	if (is_planned)
		(void)snprintf(text, size, "%s %s --nth %u%s", current->name,
		               fault_kinds[current_plan.kind].name, current_plan.nth,
		               current_plan.lasting ? " and all after it" : "");
	else
		(void)snprintf(text, size, "%s without a fault", current->name);
}

_Noreturn void contract_broken(const char *file, int line, const char *what)
{
	char text[128];

	describe(text, sizeof(text));
	(void)fprintf(stderr, "[----] %s, cycle %u: %s:%d: %s\n", text, report->cycle, file, line,
	              what);
	_exit(EXIT_FAILURE);
}

static void *cycle_main(void *arg)
{
	current->run();
	return NULL;
}

static size_t threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	size_t count = 0;

	EXPECT(tasks != NULL);
	while (readdir(tasks))
		count++;
	(void)closedir(tasks);
	return count - 2; /* . and .. */
}

/* The threads that stay: those of the default pool, its sentry if it was needed, and that of the
 * default wheel, unless the wheel is lent to the pool. */
static size_t threads_that_stay(void)
{
	struct baton_executor *executor = baton__default_executor.peek();
	const struct baton_timers *timers = baton__timers_default_peek();
	/* A pool's executor is its first member. */
	size_t workers = executor ? baton_pool_workers((struct baton_pool *)executor) : 0;

	const bool sentry = load_relaxed(&baton__default_alarm.sentry.state) == BATON__SENTRY_RUNS;

	return workers + sentry + (timers && timers->threaded);
}

/* A joined thread, a worker's last touch, or the way of the wheel to the pool may take a moment. */
static void check_what_is_left(void)
{
	size_t objects = (baton__default_executor.peek() != NULL) +
	                 (size_t)(baton__timers_default_peek() != NULL);
	size_t stay = 0;

	for (int i = 0; i < POLLS; i++) {
		stay = threads_that_stay();
		if ((TSAN || threads() == 1 + stay) && live_is_clean(objects, stay, false))
			return;
		fault_pause_us(POLL_US);
	}
	EXPECT(TSAN || threads() == 1 + stay);
	EXPECT(live_is_clean(objects, stay, true));
}

static void run_cycle(const struct fault_plan *plan)
{
	report->cycle++;
	fault_arm(plan);
	elsewhere(cycle_main, NULL);
	fault_disarm();
	check_what_is_left();
}

/* In the child. */
_Noreturn static void run_case(const struct fault_plan *plan)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(TIMEOUT_S);
	run_cycle(plan);
	for (int i = 0; i < FAULT_POINTS; i++)
		report->counts[i] = fault_count((enum fault_point)i);
	report->injected = fault_injected();
	while (report->cycle < CYCLES)
		run_cycle(NULL);
	/* exit() runs the leak checker. */
	if (SANITIZED)
		exit(EXIT_SUCCESS);
	_exit(EXIT_SUCCESS);
}

/* True: all was well. */
static bool run_in_child(const struct fault_plan *plan)
{
	const char *last;
	char text[128];
	int status = 0;
	pid_t child;

	is_planned = plan != NULL;
	if (plan)
		current_plan = *plan;
	memset(report, 0, sizeof(*report));
	(void)fflush(NULL);
	child = fork();
	if (child == 0)
		run_case(plan);
	if (child < 0) {
		perror("fork");
		return false;
	}
	/* Ended by the child, or its alarm. */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return true;
	describe(text, sizeof(text));
	last = atomic_load(&report->last_call);
	if (WIFSIGNALED(status))
		(void)fprintf(stderr, "[----] %s, cycle %u: %s; the last call was %s\n", text,
		              report->cycle,
		              WTERMSIG(status) == SIGALRM ? "it hangs"
		                                          : strsignal(WTERMSIG(status)),
		              last ? last : "none");
	(void)fprintf(stderr, "[FAIL] %s\n", text);
	return false;
}

static uint32_t after(uint32_t nth, const struct fault_kind_info *info)
{
	uint32_t each_up_to = info->each_up_to;

	if (SANITIZED && each_up_to != UINT32_MAX)
		each_up_to = 1;
	return nth < each_up_to ? nth + 1 : nth * SPARSER;
}

static void run_mode(struct result *result, struct fault_plan plan, const struct baseline *baseline,
                     uint32_t nth)
{
	const struct fault_kind_info *info = &fault_kinds[plan.kind];

	/* Ends when there are no more calls; their number is not always the same. */
	for (plan.nth = nth ? nth : 1; plan.nth <= NTH_MAX; plan.nth = after(plan.nth, info)) {
		bool passed = run_in_child(&plan);

		result->cases += report->injected > 0 || !passed;
		result->injected += report->injected;
		result->failures += !passed;
		/* One failure of a kind and mode is enough. */
		if (nth || !passed ||
		    (!report->injected && plan.nth >= baseline->counts[info->point]))
			return;
	}
}

bool runner_measure(const struct scenario *scenario, struct baseline *baseline)
{
	memset(baseline, 0, sizeof(*baseline));
	current = scenario;
	for (int i = 0; i < BASELINES; i++) {
		if (!run_in_child(NULL))
			return false;
		for (int j = 0; j < FAULT_POINTS; j++)
			if (report->counts[j] > baseline->counts[j])
				baseline->counts[j] = report->counts[j];
	}
	return true;
}

struct result runner_run(const struct scenario *scenario, const struct baseline *baseline,
                         enum fault_kind kind, uint32_t nth)
{
	struct fault_plan plan = {.kind = kind};
	struct result result = {0, 0, 0};

	current = scenario;
	run_mode(&result, plan, baseline, nth);
	plan.lasting = true;
	if (fault_kinds[kind].lasting)
		run_mode(&result, plan, baseline, nth);
	return result;
}
