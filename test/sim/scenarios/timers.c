/* SPDX-License-Identifier: MIT */
/*
 * Timers: arm, stop and expiry against each other, on a virtual clock that thread 0 drives.
 *
 * An execution fails when a function runs early, or more often than its timer was armed, or after a
 * stop that said that it would not; when it does not run although nobody has stopped it; when the
 * library touches a timer, a wheel or a resource after it was given back.
 */
#include "support.h"

#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/manual.h>

#define TICK 1024U

static struct baton_timers *timers;
static struct baton_resource resources[2];
static struct baton_timer timer_a;
static struct baton_timer timer_b;
static unsigned runs;       /* of timer_a, under its resource's baton */
static uint64_t not_before; /* timer_a's earliest deadline */
static uint32_t told;       /* what a thread has found, for another */
static struct baton_future gone;
static const struct baton_timers_options on_virtual = {.source = BATON_TIMERS_VIRTUAL};
static struct baton_task task, finaliser;

static int count(struct baton_timer *timer)
{
	runs++;
	sim_require(baton_timers_now(timers) >= not_before);
	return 0;
}

static void begin(void)
{
	sim_calm(true);
	sim_require(baton_timers_create(&on_virtual, &timers) == 0);
	for (unsigned i = 0; i < 2; i++)
		baton_resource_init(&resources[i], NULL);
	baton_timer_init(&timer_a, timers, &resources[0], count);
	baton_timer_init(&timer_b, timers, &resources[1], count);
	sim_calm(false);
}

static void end(void)
{
	sim_require(baton_timers_destroy(timers) == 0);
	sim_no_leaks();
}

static void advances(void *ticks)
{
	sim_require(baton_timers_advance(timers, (uintptr_t)ticks * TICK) >= 0);
}

/* Nobody else is at it: the memory is ours. */
static void give_back(struct baton_timer *timer)
{
	sim_retire(timer, sizeof(*timer));
}

static void does_arm_a(void *ticks)
{
	sim_require(baton_timer_arm_at(&timer_a, (uintptr_t)ticks * TICK) == 0);
}

static void does_arm_b(void *ticks)
{
	sim_require(baton_timer_arm_at(&timer_b, (uintptr_t)ticks * TICK) == 0);
}

SIM_SCENARIO(timers_arm_twice,
             "two threads arm one timer while it may expire: each arm once at most")
{
	unsigned before;

	begin();
	not_before = TICK;
	sim_start(does_arm_a, (void *)1);
	sim_start(does_arm_a, (void *)3);
	advances((void *)2);
	sim_join_all();
	advances((void *)2);
	before = runs;
	sim_require(before >= 1 && before <= 2);
	sim_require(baton_timer_stop(&timer_a).met == BATON_STOP_NOTHING);
	give_back(&timer_a);
	advances((void *)100);
	sim_require(runs == before);
	end();
}

SIM_SCENARIO(timers_arm_two, "arms of two timers meet at the wheel: both run")
{
	begin();
	sim_start(does_arm_a, (void *)1);
	sim_start(does_arm_b, (void *)2);
	advances((void *)1);
	sim_join_all();
	advances((void *)5);
	sim_require(runs == 2); /* they run inline, on this thread */
	end();
}

SIM_SCENARIO(timers_next, "the next deadline is asked for beside an arm: it is never too late")
{
	begin();
	does_arm_a((void *)100);
	sim_start(does_arm_b, (void *)3);
	sim_require(baton_timers_next(timers) <= 100 * TICK);
	sim_join_all();
	sim_require(baton_timers_next(timers) <= 3 * TICK);
	advances((void *)100);
	end();
}

SIM_SCENARIO(timers_earlier, "armed earlier while the wheel is held: runs in time")
{
	begin();
	does_arm_a((void *)200);
	sim_start(does_arm_a, (void *)3);
	sim_start(does_arm_b, (void *)300);
	sim_join_all();
	not_before = 3 * TICK;
	advances((void *)2);
	sim_require(runs == 0);
	advances((void *)1);
	sim_require(runs == 1);
	end();
}

SIM_SCENARIO(timers_later,
             "armed later while the wheel comes to the old slot: once, at one of the two")
{
	begin();
	not_before = TICK;
	does_arm_a((void *)1);
	sim_start(does_arm_a, (void *)70);
	advances((void *)1);
	sim_join_all();
	sim_require(runs <= 1);
	sim_require(baton_timer_state(&timer_a) == BATON_TIMER_PENDING);
	not_before = 70 * TICK;
	told = runs;
	advances((void *)69);
	sim_require(runs == told + 1);
	end();
}

/* Stops timer_a, and has its memory where stop says so. */
static void does_stop(void *unused)
{
	enum baton_stop met = baton_timer_stop(&timer_a).met;

	if (met < BATON_STOP_QUEUED)
		give_back(&timer_a);
	told = 1 + (unsigned)met;
}

static unsigned said; /* by who arms, before */

static int hears(struct baton_timer *timer)
{
	if (baton_timers_now(timers) >= 70 * TICK)
		sim_require(said == 1);
	return 0;
}

static void says_and_arms(void *unused)
{
	said = 1;
	does_arm_a((void *)70);
}

SIM_SCENARIO(timers_tells, "the run sees what was done before an arm of which only the word tells")
{
	begin();
	baton_timer_init(&timer_a, timers, &resources[0], hears);
	does_arm_a((void *)1);
	sim_start(says_and_arms, NULL);
	advances((void *)100);
	sim_join_all();
	advances((void *)1);
	end();
}

SIM_SCENARIO(timers_stop, "stop against the expiry: it runs, or stop says that it will not")
{
	begin();
	does_arm_a((void *)1);
	sim_start(does_stop, NULL);
	advances((void *)1);
	sim_join_all();
	if (told == 1 + BATON_STOP_PREVENTED || told == 1 + BATON_STOP_QUEUED)
		sim_require(runs == 0);
	else
		sim_require(runs == 1);
	end();
}

SIM_SCENARIO(timers_stop_posted, "stop of a timer that lies in the inbox of a held wheel")
{
	begin();
	sim_start(does_arm_b, (void *)1);
	does_arm_a((void *)5);
	does_stop(NULL);
	sim_require(told == 1 + BATON_STOP_PREVENTED);
	sim_join_all();
	advances((void *)10);
	sim_require(runs == 1);
	end();
}

SIM_SCENARIO(timers_repeat_stop, "stop of a repeated timer against its run, which arms it again")
{
	begin();
	sim_require(baton_timer_arm_every(&timer_a, TICK, TICK, BATON_TIMER_SKIP) == 0);
	sim_start(does_stop, NULL);
	advances((void *)2);
	sim_join_all();
	told = runs;
	advances((void *)5);
	sim_require(runs == told);
	end();
}

/* When the promise is complete nobody touches the timer. */
static void does_stop_then(void *unused)
{
	(void)baton_timer_stop_then(&timer_a, baton_stopped_complete, &gone);
	sim_require(baton_future_wait(&gone) == 0);
	sim_require(baton_future_status(&gone) == 0);
	give_back(&timer_a);
}

SIM_SCENARIO(timers_stop_then, "the promise of stop_then, for a timer that is repeated")
{
	begin();
	baton_promise_init(&gone);
	sim_require(baton_timer_arm_every(&timer_a, TICK, TICK, BATON_TIMER_SKIP) == 0);
	sim_start(does_stop_then, NULL);
	sim_start(does_arm_b, (void *)1);
	advances((void *)2);
	sim_join_all();
	advances((void *)5);
	end();
}

SIM_SCENARIO(timers_stop_then_refused, "the same for a timer whose run is refused meanwhile")
{
	begin();
	baton_promise_init(&gone);
	does_arm_a((void *)1);
	sim_require(baton_resource_close(&resources[0]) == 0);
	sim_start(does_stop_then, NULL);
	advances((void *)1);
	sim_join_all();
	sim_require(runs == 0);
	end();
}

static void does_stop_wait(void *unused)
{
	sim_require(baton_timer_stop_wait(&timer_a) == 0);
	give_back(&timer_a);
}

SIM_SCENARIO(timers_stop_wait, "stop_wait gives the memory back, whatever the timer does")
{
	begin();
	does_arm_a((void *)1);
	sim_start(does_stop_wait, NULL);
	advances((void *)1);
	sim_join_all();
	end();
}

/* The session's task: stops the timer, and has timer and resource freed by the finaliser. */
static int frees(struct baton_task *unused)
{
	give_back(&timer_a);
	sim_retire(&resources[0], sizeof(resources[0]));
	return 0;
}

static int ends_session(struct baton_task *unused)
{
	BATON_IGNORE(baton_timer_stop(&timer_a).met);
	told = runs;
	sim_require(baton_resource_close_then(&resources[0], &finaliser) == 0);
	return 0;
}

static void does_end_session(void *unused)
{
	sim_require(baton_submit(&resources[0], &task) == 0);
}

SIM_SCENARIO(timers_session,
             "a task stops its resource's timer and closes it: the finaliser may free both")
{
	begin();
	baton_task_init(&task, ends_session, NULL);
	baton_task_init(&finaliser, frees, NULL);
	does_arm_a((void *)1);
	sim_start(does_end_session, NULL);
	advances((void *)1);
	sim_join_all();
	sim_require(runs == told);
	end();
}

/* The task is in a call meanwhile, whose function another thread may run. */
static void *ends_callers_session(void *unused)
{
	(void)ends_session(NULL);
	return NULL;
}

static int calls_to_end(struct baton_task *unused)
{
	sim_require(baton_call(&resources[1], ends_callers_session, NULL, NULL) == 0);
	return 0;
}

static void *gives_way(void *unused)
{
	sim_yield();
	return NULL;
}

static void does_occupy(void *unused)
{
	sim_require(baton_post(&resources[1], gives_way, NULL) == 0);
}

SIM_SCENARIO(timers_session_called, "the same by a function that the task calls", .bound = 2)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_manual *manual;

	begin();
	sim_calm(true);
	sim_require(baton_manual_create(&manual) == 0);
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&resources[0], &config);
	baton_resource_init(&resources[1], &config);
	baton_task_init(&task, calls_to_end, NULL);
	baton_task_init(&finaliser, frees, NULL);
	does_arm_a((void *)1);
	sim_calm(false);
	sim_start(does_occupy, NULL);
	sim_start(does_end_session, NULL);
	advances((void *)1);
	sim_join_all();
	(void)baton_manual_run(manual, 0);
	sim_require(runs == told);
	baton_manual_destroy(manual);
	end();
}

static int is_nothing(struct baton_timer *unused)
{
	(void)unused;
	return 0;
}

SIM_SCENARIO(timers_session_beside, "the same while a run of another timer ends", .bound = 2)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_manual *manual;

	begin();
	sim_calm(true);
	baton_task_init(&task, ends_session, NULL);
	baton_task_init(&finaliser, frees, NULL);
	sim_require(baton_manual_create(&manual) == 0);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&resources[1], &config);
	baton_timer_init(&timer_b, timers, &resources[1], is_nothing);
	does_arm_b((void *)1);
	advances((void *)1);
	does_arm_a((void *)2);
	sim_calm(false);
	sim_start(does_end_session, NULL);
	sim_start(advances, (void *)1);
	sim_require(baton_manual_run(manual, 1));
	sim_join_all();
	baton_manual_destroy(manual);
	end();
}

SIM_SCENARIO(timers_session_repeat, "the same with a repeated timer")
{
	begin();
	baton_task_init(&task, ends_session, NULL);
	baton_task_init(&finaliser, frees, NULL);
	sim_require(baton_timer_arm_every(&timer_a, TICK, TICK, BATON_TIMER_SKIP) == 0);
	sim_start(does_end_session, NULL);
	advances((void *)2);
	sim_join_all();
	sim_require(runs == told);
	end();
}

/* A task of the timer's resource arms it for later: the earlier expiry then counts no more. */
static int arms_again(struct baton_task *unused)
{
	not_before = 3 * TICK;
	told = runs;
	does_arm_a((void *)3);
	return 0;
}

static void does_arm_again(void *unused)
{
	sim_require(baton_submit(&resources[0], &task) == 0);
}

SIM_SCENARIO(timers_replace,
             "armed for later in a task of its resource: not run before, even if queued")
{
	begin();
	baton_task_init(&task, arms_again, NULL);
	not_before = TICK;
	does_arm_a((void *)1);
	sim_start(does_arm_again, NULL);
	advances((void *)1);
	advances((void *)2);
	sim_join_all();
	advances((void *)1);
	sim_require(runs == told + 1);
	sim_require(baton_timer_stop(&timer_a).met == BATON_STOP_NOTHING);
	end();
}

static void does_cancel_pending(void *unused)
{
	sim_require(baton_resource_cancel_pending(&resources[0]) == 0);
}

SIM_SCENARIO(timers_cancel,
             "a run cancelled in the queue: left out, and the timer's memory is free")
{
	struct baton_manual *manual;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	begin();
	sim_require(baton_manual_create(&manual) == 0);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&resources[0], &config);
	does_arm_a((void *)1);
	sim_start(does_cancel_pending, NULL);
	advances((void *)1);
	(void)baton_manual_run(manual, 0);
	sim_join_all();
	(void)baton_manual_run(manual, 0);
	sim_require(baton_timer_state(&timer_a) == (runs ? BATON_TIMER_DONE : BATON_TIMER_IDLE));
	sim_require(baton_timer_stop(&timer_a).met == BATON_STOP_NOTHING);
	give_back(&timer_a);
	baton_manual_destroy(manual);
	end();
}

static int armed;

static void does_try_arm(void *ticks)
{
	armed = baton_timer_arm_at(&timer_a, (uintptr_t)ticks * TICK);
	sim_require(armed == 0 || armed == -ESHUTDOWN);
}

SIM_SCENARIO(timers_close,
             "close against an arm: refused, or dropped; then nobody touches the timer")
{
	begin();
	sim_start(does_try_arm, (void *)1);
	sim_require(baton_timers_close(timers, BATON_TIMERS_DROP) == 0);
	sim_join_all();
	sim_require(baton_timer_state(&timer_a) == BATON_TIMER_IDLE);
	give_back(&timer_a);
	sim_require(runs == 0);
	end();
}

SIM_SCENARIO(timers_close_run, "close that runs what is pending, against an arm")
{
	begin();
	sim_start(does_try_arm, (void *)100);
	sim_require(baton_timers_close(timers, BATON_TIMERS_RUN) == 0);
	sim_join_all();
	sim_require(runs == (armed == 0));
	give_back(&timer_a);
	end();
}
