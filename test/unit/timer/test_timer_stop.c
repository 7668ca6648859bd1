/* SPDX-License-Identifier: MIT */
/* Stopping a timer in each of its states, and when its memory comes back. */
#include "timer_support.h"

/* A resource whose tasks wait in a manual executor until they are told to run. */
struct stage {
	struct baton_timers *timers;
	struct baton_manual *manual;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct bell bell;
};

static void stage_init(struct stage *stage)
{
	stage->timers = virtual_timers();
	MUST(baton_manual_create(&stage->manual) == 0);
	stage->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	stage->config.capture_max = BATON_CAPTURE_NONE;
	stage->config.executor = baton_manual_executor(stage->manual);
	baton_resource_init(&stage->resource, &stage->config);
	bell_init(&stage->bell, stage->timers, &stage->resource);
}

static void stage_end(struct stage *stage)
{
	(void)baton_resource_close(&stage->resource);
	(void)baton_manual_run(stage->manual, 0);
	MUST(baton_resource_await(&stage->resource) == 0);
	baton_manual_destroy(stage->manual);
	MUST(baton_timers_destroy(stage->timers) == 0);
}

/* Expired, its task waits. */
static void queue(struct stage *stage)
{
	MUST(baton_timer_arm_after(&stage->bell.timer, TICK) == 0);
	MUST(baton_timers_advance(stage->timers, TICK) == 1);
	MUST(baton_timer_state(&stage->bell.timer) == BATON_TIMER_QUEUED);
}

Test(timer_stop, says_idle_pending_and_done, .timeout = 5)
{
	struct stage stage;
	struct bell *bell = &stage.bell;

	stage_init(&stage);
	cr_assert_eq(baton_timer_stop(&bell->timer).met, BATON_STOP_NOTHING);
	cr_assert_eq(baton_timer_arm_after(&bell->timer, 5 * TICK), 0);
	cr_assert_eq(baton_timer_stop(&bell->timer).met, BATON_STOP_PREVENTED);
	cr_assert_eq(baton_timer_stop(&bell->timer).met, BATON_STOP_NOTHING);
	cr_assert_eq(baton_timers_advance(stage.timers, 10 * TICK), 0);
	queue(&stage);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(baton_timer_stop(&bell->timer).met, BATON_STOP_NOTHING);
	cr_assert_eq(bell->runs, 1);
	stage_end(&stage);
}

Test(timer_stop, gives_a_pending_timers_memory_back_at_once, .timeout = 5)
{
	struct stage stage;

	stage_init(&stage);
	for (int i = 0; i < 100; i++) {
		struct bell *bell = calloc(1, sizeof(*bell));

		bell_init(bell, stage.timers, &stage.resource);
		cr_assert_eq(baton_timer_arm_after(&bell->timer, (uint64_t)(i + 1) * 100 * TICK),
		             0);
		cr_assert_eq(baton_timer_arm_after(&bell->timer, (uint64_t)(i + 2) * 100 * TICK),
		             0);
		cr_assert_eq(baton_timer_stop(&bell->timer).met, BATON_STOP_PREVENTED);
		free(bell);
	}
	cr_assert_eq(stats_of(stage.timers).pending, 0);
	cr_assert_eq(stats_of(stage.timers).cancelled, 100);
	cr_assert_eq(baton_timers_advance(stage.timers, BATON_SECOND), 0);
	stage_end(&stage);
}

Test(timer_stop, of_a_queued_timer_keeps_its_function_from_being_called, .timeout = 5)
{
	struct stage stage;

	stage_init(&stage);
	queue(&stage);
	cr_assert_eq(baton_timer_stop(&stage.bell.timer).met, BATON_STOP_QUEUED);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(stage.bell.runs, 0);
	cr_assert_eq(baton_timer_stop(&stage.bell.timer).met, BATON_STOP_NOTHING);
	stage_end(&stage);
}

Test(timer_stop, an_arm_of_a_queued_timer_replaces_the_queued_run, .timeout = 5)
{
	struct stage stage;

	stage_init(&stage);
	queue(&stage);
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, 5 * TICK), 0);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(stage.bell.runs, 0);
	cr_assert_eq(baton_timers_advance(stage.timers, 5 * TICK), 1);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(stage.bell.runs, 1);
	stage_end(&stage);
}

Test(timer_stop, an_expiry_makes_the_run_that_is_still_queued_valid_again, .timeout = 5)
{
	struct stage stage;

	stage_init(&stage);
	queue(&stage);
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, 5 * TICK), 0);
	cr_assert_eq(baton_timers_advance(stage.timers, 5 * TICK), 0);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(stage.bell.runs, 1);
	cr_assert_eq(baton_timer_state(&stage.bell.timer), BATON_TIMER_DONE);
	stage_end(&stage);
}

static int stop_self(struct bell *bell)
{
	MUST(baton_timer_stop(&bell->timer).met == BATON_STOP_RUNNING);
	return 0;
}

Test(timer_stop, in_its_own_function_ends_the_repetition, .timeout = 5)
{
	struct stage stage;

	stage_init(&stage);
	stage.bell.then = stop_self;
	cr_assert_eq(baton_timer_arm_every(&stage.bell.timer, 0, TICK, BATON_TIMER_CATCH_UP), 0);
	cr_assert_eq(baton_timers_advance(stage.timers, TICK), 1);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(baton_timers_advance(stage.timers, 100 * TICK), 0);
	cr_assert_eq(baton_timer_state(&stage.bell.timer), BATON_TIMER_DONE);
	stage_end(&stage);
}

static int free_self(struct bell *bell)
{
	(*(unsigned *)bell->argument)++;
	free(bell);
	return BATON_GONE;
}

Test(timer_stop, a_function_may_free_its_timer, .timeout = 5)
{
	struct stage stage;
	struct bell *bell = calloc(1, sizeof(*bell));
	unsigned freed = 0;

	stage_init(&stage);
	bell_init(bell, stage.timers, &stage.resource);
	bell->then = free_self;
	bell->argument = &freed;
	cr_assert_eq(baton_timer_arm_after(&bell->timer, 1), 0);
	cr_assert_eq(baton_timers_advance(stage.timers, TICK), 1);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(freed, 1);
	stage_end(&stage);
}

static void is_gone(struct baton_future *gone, struct stage *stage)
{
	cr_assert_eq(baton_future_state(gone), BATON_DONE);
	cr_assert_eq(baton_future_status(gone), 0);
}

Test(timer_stop, then_completes_at_once_or_when_the_task_has_passed, .timeout = 5)
{
	struct stage stage;
	struct baton_future gone[3] = {BATON_PROMISE_INIT, BATON_PROMISE_INIT, BATON_PROMISE_INIT};

	stage_init(&stage);
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, TICK), 0);
	cr_assert_eq(baton_timer_stop_then(&stage.bell.timer, baton_stopped_complete, &gone[0]).met,
	             BATON_STOP_PREVENTED);
	is_gone(&gone[0], &stage);
	queue(&stage);
	cr_assert_eq(baton_timer_stop_then(&stage.bell.timer, baton_stopped_complete, &gone[1]).met,
	             BATON_STOP_QUEUED);
	cr_assert_eq(baton_future_state(&gone[1]), BATON_PENDING);
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, TICK), -EBUSY);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	is_gone(&gone[1], &stage);
	cr_assert_eq(stage.bell.runs, 0);
	queue(&stage);
	cr_assert_eq(baton_timer_stop_then(&stage.bell.timer, baton_stopped_complete, &gone[2]).met,
	             BATON_STOP_QUEUED);
	cr_assert_eq(baton_resource_cancel_pending(&stage.resource), 0);
	(void)baton_manual_run(stage.manual, 0);
	is_gone(&gone[2], &stage);
	cr_assert_eq(stage.bell.runs, 0);
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, TICK), 0);
	cr_assert_eq(baton_timer_stop(&stage.bell.timer).met, BATON_STOP_PREVENTED);
	stage_end(&stage);
}

static int stop_self_then(struct bell *bell)
{
	MUST(baton_timer_arm_after(&bell->timer, TICK) == 0);
	MUST(baton_timer_stop_then(&bell->timer, baton_stopped_complete, bell->argument).met ==
	     BATON_STOP_RUNNING);
	MUST(baton_future_state(bell->argument) == BATON_PENDING);
	return 0;
}

Test(timer_stop, then_in_its_own_function_completes_after_it, .timeout = 5)
{
	struct stage stage;
	struct baton_future gone = BATON_PROMISE_INIT;

	stage_init(&stage);
	stage.bell.then = stop_self_then;
	stage.bell.argument = &gone;
	queue(&stage);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	is_gone(&gone, &stage);
	cr_assert_eq(baton_timers_advance(stage.timers, 100 * TICK), 0);
	stage_end(&stage);
}

static int wait_for_self(struct bell *bell)
{
	MUST(baton_timer_stop_wait(&bell->timer) == -EDEADLK);
	return 0;
}

Test(timer_stop, wait_brings_the_memory_back_but_not_inside_the_resource, .timeout = 5)
{
	struct stage stage;

	stage_init(&stage);
	queue(&stage);
	cr_assert_eq(baton_timer_stop_wait(&stage.bell.timer), 0);
	cr_assert_eq(baton_timer_state(&stage.bell.timer), BATON_TIMER_IDLE);
	cr_assert_eq(stage.bell.runs, 0);
	stage.bell.then = wait_for_self;
	queue(&stage);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(stage.bell.runs, 1);
	stage_end(&stage);
}

Test(timer_stop, wait_ends_at_its_deadline, .timeout = 5)
{
	const uint64_t past = 1;
	const uint64_t soon = deadline_in_ms(10);
	struct occupant occupant;
	struct stage stage;

	stage_init(&stage);
	stage.config.capture_max = 10;
	baton_resource_init(&stage.resource, &stage.config);
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, TICK), 0);
	cr_assert_eq(baton_timer_state(&stage.bell.timer), BATON_TIMER_PENDING);
	cr_assert_eq(baton_timer_stop_wait_until(&stage.bell.timer, past), 0, "there is no wait");
	occupy(&occupant, &stage.resource);
	queue(&stage);
	cr_assert_eq(baton_timer_stop_wait_until(&stage.bell.timer, past), -ETIMEDOUT);
	cr_assert_eq(baton_timer_stop_wait_until(&stage.bell.timer, soon), -ETIMEDOUT);
	cr_assert_eq(baton_timer_state(&stage.bell.timer), BATON_TIMER_QUEUED, "its task is there");
	release(&occupant);
	cr_assert_eq(baton_timer_stop_wait_until(&stage.bell.timer, past), 0);
	cr_assert_eq(stage.bell.runs, 0);
	stage_end(&stage);
}

Test(timer_stop, disarm_leaves_the_timer_in_the_wheel, .timeout = 5)
{
	struct stage stage;

	stage_init(&stage);
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, 5 * TICK), 0);
	baton_timer_disarm(&stage.bell.timer);
	baton_timer_disarm(&stage.bell.timer);
	cr_assert_eq(stats_of(stage.timers).pending, 1);
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, 7 * TICK), 0);
	cr_assert_eq(stats_of(stage.timers).armed, 1);
	cr_assert_eq(baton_timers_advance(stage.timers, 7 * TICK), 1);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, 5 * TICK), 0);
	baton_timer_disarm(&stage.bell.timer);
	cr_assert_eq(baton_timers_advance(stage.timers, 7 * TICK), 0);
	cr_assert_eq(stats_of(stage.timers).pending, 0);
	cr_assert_eq(stats_of(stage.timers).cancelled, 1);
	stage_end(&stage);
}

/* A session ends itself: its timer is queued behind the task that stops it. */
struct session {
	struct stage stage;
	struct baton_task end;
	struct baton_task finaliser;
	bool finalised;
};

static int session_over(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, finaliser);

	session->finalised = true;
	MUST(baton_timer_state(&session->stage.bell.timer) == BATON_TIMER_IDLE);
	(void)memset(&session->stage.bell, 0xff, sizeof(session->stage.bell));
	return 0;
}

static int session_end(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, end);

	MUST(baton_timer_stop(&session->stage.bell.timer).met == BATON_STOP_QUEUED);
	MUST(baton_resource_close_then(&session->stage.resource, &session->finaliser) == 0);
	return 0;
}

Test(timer_stop, in_a_task_of_the_resource_is_final_and_the_finaliser_may_free, .timeout = 5)
{
	struct session session = {.end = BATON_TASK_INIT(session_end, NULL),
	                          .finaliser = BATON_TASK_INIT(session_over, NULL)};

	stage_init(&session.stage);
	cr_assert_eq(baton_submit(&session.stage.resource, &session.end), 0);
	queue(&session.stage);
	cr_assert_eq(baton_manual_run(session.stage.manual, 0), 1);
	cr_assert(session.finalised);
	baton_manual_destroy(session.stage.manual);
	cr_assert_eq(baton_timers_destroy(session.stage.timers), 0);
}

Test(timer_stop, a_cancelled_run_is_left_out_and_a_repeated_timer_goes_on, .timeout = 5)
{
	struct stage stage;

	stage_init(&stage);
	cr_assert_eq(baton_timer_arm_every(&stage.bell.timer, 0, 10 * TICK, BATON_TIMER_SKIP), 0);
	cr_assert_eq(baton_timers_advance(stage.timers, TICK), 1);
	cr_assert_eq(baton_resource_cancel_pending(&stage.resource), 0);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(stage.bell.runs, 0);
	cr_assert_eq(baton_timer_state(&stage.bell.timer), BATON_TIMER_PENDING);
	cr_assert_eq(baton_timers_advance(stage.timers, 10 * TICK), 1);
	cr_assert_eq(baton_manual_run(stage.manual, 0), 1);
	cr_assert_eq(stage.bell.runs, 1);
	cr_assert_eq(baton_timer_stop(&stage.bell.timer).met, BATON_STOP_PREVENTED);
	stage_end(&stage);
}

static struct stage *hooked;
static enum baton_stop found;

static int stops_the_timer(struct baton_resource *resource)
{
	(void)resource;
	found = baton_timer_stop(&hooked->bell.timer).met;
	return 0;
}

/* The batch begins while the driver hands the timer over, on the driver's thread. */
Test(timer_stop, by_the_hook_that_begins_the_batch_of_its_run, .timeout = 5)
{
	struct stage stage;

	stage_init(&stage);
	hooked = &stage;
	stage.config.capture_max = 10;
	stage.config.batch_begin = stops_the_timer;
	cr_assert_eq(baton_timer_arm_after(&stage.bell.timer, TICK), 0);
	cr_assert_eq(baton_timers_advance(stage.timers, TICK), 1);
	cr_assert_eq(found, BATON_STOP_QUEUED);
	cr_assert_eq(stage.bell.runs, 0);
	stage_end(&stage);
}

static void *run_job(void *job)
{
	baton_job_run(job);
	return NULL;
}

/* An executor that returns when another thread has run the job. */
static int join_job(struct baton_executor *executor, struct baton_job *job)
{
	(void)executor;
	(void)thread_join(thread_start(run_job, job));
	return 0;
}

static const struct baton_executor_ops join_ops = {.schedule = join_job};

/* The first run takes longer than the period; the second one stops the timer. */
static int late_then_stops(struct bell *bell)
{
	if (bell->runs == 1)
		work_for_ns(10 * TICK);
	else
		found = baton_timer_stop(&bell->timer).met;
	return 0;
}

/* The driver has run the timer's task itself, and is still in its submit. */
Test(timer_stop, in_a_run_that_another_thread_took_over_waits_for_no_driver, .timeout = 5)
{
	struct baton_timers_options poll = {.source = BATON_TIMERS_POLL,
	                                    .submit = BATON_TIMERS_SUBMIT_INLINE};
	struct baton_executor joins = BATON_EXECUTOR_INIT(&join_ops);
	struct baton_resource_config config = {.executor = &joins, .capture_max = 1};
	struct baton_resource handed;
	struct baton_timers *timers;
	struct bell bell;

	cr_assert_eq(baton_timers_create(&poll, &timers), 0);
	baton_resource_init(&handed, &config);
	bell_init(&bell, timers, &handed);
	bell.then = late_then_stops;
	cr_assert_eq(baton_timer_arm_every(&bell.timer, 0, TICK, BATON_TIMER_CATCH_UP), 0);
	while (!bell.runs)
		cr_assert_geq(baton_timers_poll(timers), 0);
	cr_assert_eq(bell.runs, 2);
	cr_assert_eq(found, BATON_STOP_RUNNING);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_DONE);
	resource_end(&handed);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* The run of a timer calls another resource; the function, which another thread runs, stops the
 * timer. */
struct stopping_call {
	struct baton_resource other;
	struct occupant occupant;
	int caller;
};

static struct stopping_call stopping_call;

static void *let_go(void *unused)
{
	until_asleep(stopping_call.caller);
	gate_open(&stopping_call.occupant.leave);
	return NULL;
}

static void *stops_it(void *bell)
{
	found = baton_timer_stop(&((struct bell *)bell)->timer).met;
	return NULL;
}

static int calls_to_stop(struct bell *bell)
{
	pthread_t thread;

	stopping_call.caller = thread_id();
	occupy(&stopping_call.occupant, &stopping_call.other);
	thread = thread_start(let_go, NULL);
	MUST(baton_call(&stopping_call.other, stops_it, bell, NULL) == 0);
	thread_join(thread);
	thread_join(stopping_call.occupant.thread);
	return 0;
}

Test(timer_stop, in_a_function_that_its_run_calls_waits_for_no_driver, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_resource resource;
	struct bell bell;

	baton_resource_init(&resource, NULL);
	baton_resource_init(&stopping_call.other, NULL);
	bell_init(&bell, timers, &resource);
	bell.then = calls_to_stop;
	cr_assert_eq(baton_timer_arm_every(&bell.timer, TICK, TICK, BATON_TIMER_SKIP), 0);
	cr_assert_eq(baton_timers_advance(timers, TICK), 1);
	cr_assert_eq(found, BATON_STOP_RUNNING);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_DONE);
	resource_end(&resource);
	resource_end(&stopping_call.other);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}
