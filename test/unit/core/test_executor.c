/* SPDX-License-Identifier: MIT */
/* Executors: the manual one, one that refuses; plain jobs; and what a hand-off does in each. */
#include "fixture.h"

struct counted {
	struct baton_plain_job job;
	int *order; /* of the runs, in one array for all */
	int *next;
	int number;
	int runs;
	int cancels;
};

static void counted_run(struct baton_plain_job *job)
{
	struct counted *counted = baton_container_of(job, struct counted, job);

	counted->runs++;
	counted->order[(*counted->next)++] = counted->number;
}

static void counted_cancel(struct baton_plain_job *job)
{
	baton_container_of(job, struct counted, job)->cancels++;
}

static void counted_init(struct counted *counted, int number, int *order, int *next)
{
	memset(counted, 0, sizeof(*counted));
	baton_plain_job_init(&counted->job, counted_run, counted_cancel);
	counted->number = number;
	counted->order = order;
	counted->next = next;
}

Test(executor, the_manual_one_runs_the_oldest_job_when_told, .timeout = 10)
{
	struct baton_manual *manual = NULL;
	struct baton_executor *executor;
	struct counted jobs[4];
	int order[4], next = 0;

	cr_assert_eq(baton_manual_create(&manual), 0);
	executor = baton_manual_executor(manual);
	cr_assert_not(baton_manual_run(manual, 1));
	cr_assert_eq(baton_manual_run(manual, 0), 0);
	for (int i = 0; i < 4; i++) {
		counted_init(&jobs[i], i, order, &next);
		cr_assert_geq(baton_executor_schedule(executor, &jobs[i].job.job), 0);
	}
	cr_assert_eq(next, 0);
	cr_assert(baton_manual_run(manual, 1));
	cr_assert_eq(next, 1);
	cr_assert_eq(baton_manual_run(manual, 0), 3);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(order[i], i);
	cr_assert_not(baton_manual_run(manual, 1));
	baton_manual_destroy(manual);
}

static int resubmits(struct baton_task *task)
{
	struct step *step = baton_container_of(task, struct step, task);

	(void)step_run(task);
	return --step->number > 0 ? baton_submit_later(baton_current(), task) : 0;
}

Test(executor, the_manual_one_runs_until_idle_what_its_jobs_add, .timeout = 10)
{
	struct step step = {BATON_TASK_INIT(resubmits, NULL), &fix.journal, 500};

	fixture_manual();
	cr_assert_eq(baton_submit_later(&fix.resource, &step.task), 0);
	cr_assert_geq(baton_manual_run(fix.manual, 0), 1);
	cr_assert_eq(fix.journal.count, 500);
	fixture_end();
}

enum { SOURCES = 3, JOBS = 1000 };

struct sourced {
	struct baton_plain_job job;
	int runs;
};

struct source {
	struct baton_executor *executor;
	struct sourced jobs[JOBS];
};

static void sourced_run(struct baton_plain_job *job)
{
	baton_container_of(job, struct sourced, job)->runs++;
}

static void *source_main(void *arg)
{
	struct source *source = arg;

	for (int i = 0; i < JOBS; i++)
		MUST(baton_executor_schedule(source->executor, &source->jobs[i].job.job) >= 0);
	return NULL;
}

Test(executor, the_manual_one_takes_jobs_from_any_thread, .timeout = 10)
{
	struct baton_manual *manual = NULL;
	struct source *sources = calloc(SOURCES, sizeof(*sources));
	pthread_t threads[SOURCES];
	size_t ran = 0;

	MUST(sources);
	cr_assert_eq(baton_manual_create(&manual), 0);
	for (int i = 0; i < SOURCES; i++) {
		sources[i].executor = baton_manual_executor(manual);
		for (int j = 0; j < JOBS; j++)
			baton_plain_job_init(&sources[i].jobs[j].job, sourced_run, NULL);
	}
	for (int i = 0; i < SOURCES; i++)
		threads[i] = thread_start(source_main, &sources[i]);
	while (ran < SOURCES * JOBS)
		ran += baton_manual_run(manual, 0);
	for (int i = 0; i < SOURCES; i++)
		thread_join(threads[i]);
	cr_assert_eq(ran, SOURCES * JOBS);
	for (int i = 0; i < SOURCES; i++)
		for (int j = 0; j < JOBS; j++)
			cr_assert_eq(sources[i].jobs[j].runs, 1);
	baton_manual_destroy(manual);
	free(sources);
}

static int told;

static void count_told(struct baton_task *task)
{
	told++;
}

Test(executor, destroying_the_manual_one_cancels_what_is_queued, .timeout = 10)
{
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct baton_resource resource;
	struct journal journal = {0};
	struct counted jobs[2];
	struct step steps[4];
	int order[2], next = 0;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	config.cancelled = count_told;
	baton_resource_init(&resource, &config);
	steps_init(steps, 4, &journal, 0);
	for (int i = 0; i < 2; i++) {
		step_init(&steps[i], &journal, i, &futures[i]);
		cr_assert_eq(baton_submit_later(&resource, &steps[i].task), 0);
		counted_init(&jobs[i], i, order, &next);
		if (i == 1)
			baton_plain_job_init(&jobs[i].job, counted_run, NULL);
		cr_assert_geq(baton_executor_schedule(config.executor, &jobs[i].job.job), 0);
	}
	cr_assert_eq(baton_submit_later(&resource, &steps[2].task), 0);
	baton_manual_destroy(manual);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_future_state(&futures[i]), BATON_CANCELLED);
	cr_assert_eq(told, 1);
	cr_assert(jobs[0].cancels == 1 && next == 0);
	cr_assert_eq(baton_submit(&resource, &steps[3].task), 0, "the resource is usable");
	cr_assert(journal_counts_up(&journal, 3, 1));
	resource_end(&resource);
}

/* Executors that refuse. */
static void refused_init(struct baton_resource *resource, struct baton_resource_config *config,
                         struct stash *stash, struct baton_resource_stats *stats,
                         uint32_t capture_max)
{
	stash_init(stash);
	atomic_store(&stash->answer, -ESHUTDOWN);
	*config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config->executor = &stash->executor;
	config->capture_max = capture_max;
	baton_resource_init(resource, config);
	if (stats)
		baton_resource_set_stats(resource, stats);
}

Test(executor, where_a_hand_off_is_refused_the_runner_drains_on, .timeout = 10)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource_config config;
	struct baton_resource resource;
	struct occupant occupant;
	struct journal journal = {0};
	struct stash stash;
	struct step steps[60];

	refused_init(&resource, &config, &stash, &stats, 10);
	steps_init(steps, 60, &journal, 0);
	occupy(&occupant, &resource);
	for (int i = 0; i < 60; i++)
		cr_assert_eq(baton_submit(&resource, &steps[i].task), 0);
	release(&occupant);
	cr_assert(journal_counts_up(&journal, 0, 60));
	for (size_t i = 0; i < 60; i++)
		cr_assert(pthread_equal(journal.thread[i], occupant.thread));
	cr_assert_geq(stats.refused, 1);
	cr_assert_eq(stats.refused, (uint64_t)atomic_load(&stash.refused));
	resource_end(&resource);
}

static void *set_flag(void *arg)
{
	*(int *)arg = 1;
	return arg;
}

static void refuses_all_but(struct baton_resource *resource, bool later_only)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_future *none = &future;
	struct journal journal = {0};
	struct step step, before;
	struct baton_task *batch[1] = {&step.task};
	void *value = &future;
	int flag = 0;

	step_init(&step, &journal, 0, &future);
	memcpy(&before, &step, sizeof(step));
	cr_assert_eq(baton_submit_later(resource, &step.task), -ESHUTDOWN);
	if (!later_only) {
		cr_assert_eq(baton_submit(resource, &step.task), -ESHUTDOWN);
		cr_assert_eq(baton_submit_batch(resource, batch, 1), -ESHUTDOWN);
		cr_assert_eq(baton_call(resource, set_flag, &flag, &value), -ESHUTDOWN);
		cr_assert_eq(baton_post(resource, set_flag, &flag), -ESHUTDOWN);
		cr_assert_eq(baton_async(resource, set_flag, &flag, &none), -ESHUTDOWN);
	}
	cr_assert_eq(memcmp(&before, &step, sizeof(step)), 0);
	cr_assert(value == &future && none == &future && flag == 0);
	cr_assert_eq(baton_future_cancel(&future), -EINVAL, "still fresh");
	cr_assert_eq(journal.count, 0);
}

Test(executor, submit_later_on_an_ended_executor_is_refused_untouched, .timeout = 10)
{
	struct baton_resource_config config;
	struct baton_resource resource;
	struct stash stash;
	int flag = 0;

	refused_init(&resource, &config, &stash, NULL, 10);
	refuses_all_but(&resource, true);
	cr_assert_eq(baton_post(&resource, set_flag, &flag), 0, "inline as ever");
	cr_assert_eq(flag, 1);
	resource_end(&resource);
}

/* Refuses a job when a helper has run its task. */
struct hesitant {
	struct baton_executor executor;
	struct baton_future future;
	sem_t scheduled;
	int status; /* of the helper's wait */
};

static int hesitant_schedule(struct baton_executor *executor, struct baton_job *job)
{
	struct hesitant *hesitant = baton_container_of(executor, struct hesitant, executor);

	gate_open(&hesitant->scheduled);
	while (!baton_future_is_complete(&hesitant->future))
		sched_yield();
	return -ESHUTDOWN;
}

static void *help_hesitant(void *arg)
{
	struct hesitant *hesitant = arg;

	gate_pass(&hesitant->scheduled);
	hesitant->status = baton_future_wait(&hesitant->future);
	return NULL;
}

Test(executor, what_a_helper_has_run_before_the_refusal_is_accepted, .timeout = 10)
{
	static const struct baton_executor_ops ops = {.schedule = hesitant_schedule};
	struct hesitant hesitant = {
		.executor = BATON_EXECUTOR_INIT(&ops), .future = BATON_FUTURE_INIT, .status = -1};
	pthread_t helper;

	fix.config.executor = &hesitant.executor;
	fixture_config();
	gate_init(&hesitant.scheduled);
	step_init(&fix.steps[0], &fix.journal, 0, &hesitant.future);
	helper = thread_start(help_hesitant, &hesitant);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	thread_join(helper);
	cr_assert_eq(hesitant.status, 0);
	cr_assert_eq(baton_future_status(&hesitant.future), 0);
	cr_assert_eq(fix.journal.count, 1);
	fixture_end();
}

Test(executor, limit_0_on_an_ended_executor_refuses_everything, .timeout = 10)
{
	struct baton_resource_config config;
	struct baton_resource resource;
	struct stash stash;

	refused_init(&resource, &config, &stash, NULL, BATON_CAPTURE_NONE);
	refuses_all_but(&resource, false);
	resource_end(&resource);
}

struct deep {
	struct baton_task task;
	struct baton_resource *resource;
	struct deep *next;
	int result;
	int runs;
};

static int deep_run(struct baton_task *task)
{
	struct deep *deep = baton_container_of(task, struct deep, task);

	deep->runs++;
	if (deep->next)
		deep->result = baton_submit(deep->next->resource, &deep->next->task);
	return 0;
}

Test(executor, beyond_the_nesting_depth_a_refused_resource_runs_all_the_same, .timeout = 10)
{
	struct baton_resource_config config;
	struct baton_resource resources[100];
	struct deep deeps[100];
	struct stash stash;

	refused_init(&resources[0], &config, &stash, NULL, 10);
	for (int i = 0; i < 100; i++) {
		baton_resource_init(&resources[i], &config);
		deeps[i] = (struct deep){BATON_TASK_INIT(deep_run, NULL), &resources[i],
		                         i < 99 ? &deeps[i + 1] : NULL, 0, 0};
	}
	cr_assert_eq(baton_submit(&resources[0], &deeps[0].task), 0);
	for (int i = 0; i < 100; i++) {
		cr_assert_eq(deeps[i].result, 0);
		cr_assert_eq(deeps[i].runs, 1);
		resource_end(&resources[i]);
	}
}

/* Jobs by hand: what shutdown_now gives back is run or cancelled by whoever got it. */
static sem_t job_entered, job_leave;

static void stuck_job(struct baton_plain_job *job)
{
	gate_open(&job_entered);
	gate_pass(&job_leave);
}

Test(executor, jobs_from_shutdown_now_are_run_or_cancelled_by_hand, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_plain_job stuck = BATON_PLAIN_JOB_INIT(stuck_job, NULL);
	struct baton_future futures[4][200];
	struct baton_resource resources[4];
	struct journal journals[4];
	struct step steps[4][200];
	struct baton_job *job = NULL;
	int done = 0, cancelled = 0, jobs = 0;

	gate_init(&job_entered);
	gate_init(&job_leave);
	config.executor = baton_pool_executor(pool);
	memset(journals, 0, sizeof(journals));
	cr_assert_eq(baton_pool_submit(pool, &stuck), 0);
	gate_pass(&job_entered);
	for (int i = 0; i < 4; i++) {
		baton_resource_init(&resources[i], &config);
		for (int j = 0; j < 200; j++) { /* more than a quantum */
			baton_future_init(&futures[i][j]);
			step_init(&steps[i][j], &journals[i], j, &futures[i][j]);
			cr_assert_eq(baton_submit_later(&resources[i], &steps[i][j].task), 0);
		}
	}
	cr_assert_eq(baton_pool_shutdown_now(pool, &job), 0);
	gate_open(&job_leave);
	while (job) {
		struct baton_job *next = baton_job_next(job);

		if (jobs++ % 2)
			baton_job_run(job);
		else
			baton_job_cancel(job);
		job = next;
	}
	cr_assert_eq(jobs, 4);
	for (int i = 0; i < 4; i++) {
		enum baton_future_state state = baton_future_state(&futures[i][0]);

		for (int j = 0; j < 200; j++)
			cr_assert_eq(baton_future_state(&futures[i][j]), state);
		done += state == BATON_DONE;
		cancelled += state == BATON_CANCELLED;
		cr_assert_eq(journals[i].count, state == BATON_DONE ? 200 : 0);
		resource_end(&resources[i]);
	}
	cr_assert(done == 2 && cancelled == 2);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
