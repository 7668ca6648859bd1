/* SPDX-License-Identifier: MIT */
/* Failing calls in: timers and wheels: creation, the default wheel, refused runs, ends. */
#include "job.h"
#include "pool/alarm.h"
#include "timer/timer.h"

#include <baton/suspend.h>
#include <baton/timer.h>
#include <baton/timers.h>

#define LOOK_US 50
#define PLUGS_MAX 1024
#define TURN_NS ((uint64_t)1 << 30) /* a whole number of ticks */

struct bell {
	struct baton_timer timer;
	struct baton_resource resource;
	struct baton_timers *timers;
	atomic_int runs;
	atomic_int dropped;
	int last_error;
};

static int ring(struct baton_timer *timer)
{
	atomic_fetch_add(&baton_container_of(timer, struct bell, timer)->runs, 1);
	return 0;
}

static void dropped(struct baton_timer *timer, int error)
{
	struct bell *bell = baton_container_of(timer, struct bell, timer);

	bell->last_error = error;
	atomic_fetch_add(&bell->dropped, 1);
}

static void bell_init(struct bell *bell, struct baton_timers *timers)
{
	atomic_init(&bell->runs, 0);
	atomic_init(&bell->dropped, 0);
	bell->timers = timers;
	USE(baton_resource_init(&bell->resource, NULL));
	USE(baton_timer_init(&bell->timer, timers, &bell->resource, ring));
	/* The default wheel tells nobody. */
	if (!timers)
		USE(baton_timer_set_dropped(&bell->timer, dropped));
}

/* A wheel that is looked after by who has it, or has a thread. */
static struct baton_timers *wheel(enum baton_timers_source source)
{
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
	struct baton_timers *timers = NULL;

	config.source = source;
	config.dropped = dropped;
	config.name = "wheel";
	INSIST(baton_timers_create(&config, &timers), !timers);
	return timers;
}

/* Until it has rung. A run that no pool could be had for was refused: then once more. */
static void until_rung(struct bell *bell)
{
	/* Ended by the wheel's thread. */
	while (!atomic_load(&bell->runs)) {
		if (USE(baton_timer_state(&bell->timer)) != BATON_TIMER_IDLE) {
			fault_pause_us(LOOK_US);
			continue;
		}
		EXPECT(fault_planned());
		fault_end();
		while (!atomic_load(&bell->dropped))
			fault_pause_us(LOOK_US);
		EXPECT(bell->last_error == -ENOMEM || bell->last_error == -EAGAIN ||
		       bell->last_error == -ESHUTDOWN);
		EXPECT(TRY(baton_timer_arm_after(&bell->timer, BATON_MICROSECOND)) == 0);
	}
	EXPECT(atomic_load(&bell->runs) == 1);
}

static void *stop_and_wait(void *arg)
{
	struct bell *bell = arg;

	INSIST(baton_timer_stop_wait(&bell->timer), true);
	return NULL;
}

static void *destroy(void *timers)
{
	INSIST(baton_timers_destroy(timers), true);
	return NULL;
}

static void bell_end(struct bell *bell)
{
	INSIST(baton_timer_stop_wait(&bell->timer), true);
	resource_end(&bell->resource);
}

/* ---- Wheels with a thread ---- */

SCENARIO(timers, create)
{
	struct baton_timers *timers = wheel(BATON_TIMERS_THREAD);
	struct baton_timers_stats stats;
	struct bell bell;

	bell_init(&bell, timers);
	EXPECT(USE(baton_timer_state(&bell.timer)) == BATON_TIMER_IDLE);
	EXPECT(TRY(baton_timer_arm_at(&bell.timer, USE(baton_timers_now(timers)))) == 0);
	until_rung(&bell);
	USE(baton_timers_stats_read(timers, &stats));
	EXPECT(stats.fired == 1 + stats.refused);
	bell_end(&bell);
	elsewhere(destroy, timers);
}

SCENARIO(timers, default)
{
	struct baton_timers *timers = NULL;
	struct baton_timers *again = NULL;
	struct bell bell;

	INSIST(baton_timers_default(&timers), !timers);
	INSIST(baton_timers_default(&again), !again);
	EXPECT(timers && timers == again);
	bell_init(&bell, NULL);
	EXPECT(TRY(baton_timer_arm_after(&bell.timer, BATON_MICROSECOND)) == 0);
	until_rung(&bell);
	bell_end(&bell);
	EXPECT(TRY(baton_timers_destroy(timers)) == -EPERM);
	INSIST(baton_timers_default_destroy(), baton__timers_default_peek() == timers);
	EXPECT(!baton__timers_default_peek());
	EXPECT(TRY(baton_timers_default_destroy()) == 0);
}

SCENARIO(timers, submit_after)
{
	struct bell bell;

	bell_init(&bell, NULL);
	INSIST(baton_submit_after(&bell.resource, &bell.timer, BATON_SECOND * 3600, ring),
	       USE(baton_timer_state(&bell.timer)) == BATON_TIMER_IDLE);
	EXPECT(USE(baton_timer_stop(&bell.timer)).met == BATON_STOP_PREVENTED);
	bell_end(&bell);
	INSIST(baton_timers_default_destroy(), true);
}

struct attempt {
	int error;
	sem_t made;
	sem_t end;
};

/* Tries to end the default pool, and lives on. */
static void *try_to_end_pool(void *arg)
{
	struct attempt *attempt = arg;

	attempt->error = TRY(baton_pool_default_destroy());
	gate_open(&attempt->made);
	gate_pass(&attempt->end);
	return NULL;
}

/* The pool drives the wheel, and no thread may be had for the wheel when the pool is to end:
 * another thread may end the pool later. */
SCENARIO(timers, default_lent)
{
	struct attempt attempt = {0};
	struct baton_pool *pool = NULL;
	pthread_t other;
	struct bell bell;

	INSIST(baton_pool_default(&pool), !pool);
	bell_init(&bell, NULL);
	INSIST(baton_timer_arm_after(&bell.timer, BATON_MICROSECOND),
	       USE(baton_timer_state(&bell.timer)) == BATON_TIMER_IDLE);
	until_rung(&bell);
	gate_init(&attempt.made);
	gate_init(&attempt.end);
	other = thread_start(try_to_end_pool, &attempt);
	gate_pass(&attempt.made);
	if (attempt.error) {
		EXPECT(fault_planned());
		fault_end();
		EXPECT(TRY(baton_pool_default_destroy()) == 0);
	}
	gate_open(&attempt.end);
	thread_join(other);
	bell_end(&bell);
}

/* All workers of the default pool are in jobs, so the pool's sentry runs the wheel. Where the
 * sentry cannot be started, the timer waits for a worker. */
SCENARIO(timers, default_sentry)
{
	struct baton_timers_stats stats;
	struct baton_timers *timers = NULL;
	struct baton_pool *pool = NULL;
	static struct plug plugs[PLUGS_MAX];
	struct bell bell;
	size_t workers;

	INSIST(baton_pool_default(&pool), !pool);
	INSIST(baton_timers_default(&timers), !timers);
	workers = USE(baton_pool_workers(pool));
	EXPECT(workers <= PLUGS_MAX);
	for (size_t i = 0; i < workers; i++)
		plug_in(&plugs[i], pool);
	bell_init(&bell, NULL);
	INSIST(baton_timer_arm_after(&bell.timer, BATON_MICROSECOND),
	       USE(baton_timer_state(&bell.timer)) == BATON_TIMER_IDLE);
	/* Ended by the sentry; or by the failure, which the sentry notes. */
	do
		USE(baton_timers_stats_read(timers, &stats));
	while (!stats.fired && !load_relaxed(&baton__default_alarm.sentry.refused));
	EXPECT(stats.fired || fault_planned());
	for (size_t i = 0; i < workers; i++)
		gate_open(&plugs[i].leave);
	until_rung(&bell);
	bell_end(&bell);
	INSIST(baton_timers_default_destroy(), baton__timers_default_peek() == timers);
	EXPECT(TRY(baton_pool_default_destroy()) == 0);
}

/* Each sort of arm creates it. */
SCENARIO(timers, default_by_arm)
{
	struct bell bells[4];

	for (int i = 0; i < 4; i++)
		bell_init(&bells[i], NULL);
	INSIST(baton_timer_arm_after(&bells[0].timer, BATON_MICROSECOND),
	       USE(baton_timer_state(&bells[0].timer)) == BATON_TIMER_IDLE);
	INSIST(baton_timer_arm_at(&bells[1].timer, 1),
	       USE(baton_timer_state(&bells[1].timer)) == BATON_TIMER_IDLE);
	INSIST(baton_timer_arm_every(&bells[2].timer, 1, BATON_NEVER >> 3, BATON_TIMER_SKIP),
	       USE(baton_timer_state(&bells[2].timer)) == BATON_TIMER_IDLE);
	INSIST(baton_timer_arm_again_after(&bells[3].timer, 0),
	       USE(baton_timer_state(&bells[3].timer)) == BATON_TIMER_IDLE);
	USE(baton_timer_disarm(&bells[3].timer));
	for (int i = 0; i < 3; i++)
		until_rung(&bells[i]);
	for (int i = 0; i < 4; i++)
		bell_end(&bells[i]);
}

/* The first arm is one at a time, which asks for the wheel later than the others. */
SCENARIO(timers, default_by_arm_at)
{
	struct bell bell;

	bell_init(&bell, NULL);
	INSIST(baton_timer_arm_at(&bell.timer, 1),
	       USE(baton_timer_state(&bell.timer)) == BATON_TIMER_IDLE);
	until_rung(&bell);
	bell_end(&bell);
}

SCENARIO(timers, default_by_arm_again)
{
	struct bell bell;

	bell_init(&bell, NULL);
	INSIST(baton_timer_arm_again_after(&bell.timer, BATON_NEVER),
	       USE(baton_timer_state(&bell.timer)) == BATON_TIMER_IDLE);
	EXPECT(USE(baton_timer_state(&bell.timer)) == BATON_TIMER_PENDING);
	bell_end(&bell);
	EXPECT(!atomic_load(&bell.runs));
}

static void *get_default(void *arg)
{
	struct baton_timers **timers = arg;

	INSIST(baton_timers_default(timers), !*timers);
	return NULL;
}

/* Who waits for a creator that fails becomes the next. */
SCENARIO(timers, default_for_two)
{
	struct baton_timers *timers[2] = {NULL, NULL};
	pthread_t other = thread_start(get_default, &timers[0]);

	(void)get_default(&timers[1]);
	thread_join(other);
	EXPECT(timers[0] && timers[0] == timers[1]);
}

/* The run waits in the queue of a resource that is busy. */
SCENARIO(timers, stop_wait)
{
	struct baton_timers *timers = wheel(BATON_TIMERS_THREAD);
	struct occupant occupant;
	struct bell bell;
	pthread_t stopper;
	uint32_t waits;

	bell_init(&bell, timers);
	occupy(&occupant, &bell.resource);
	EXPECT(TRY(baton_timer_arm_after(&bell.timer, 0)) == 0);
	/* Ended by the wheel's thread. */
	while (USE(baton_timer_state(&bell.timer)) == BATON_TIMER_PENDING)
		fault_pause_us(LOOK_US);
	EXPECT(USE(baton_timer_stop(&bell.timer)).met == BATON_STOP_QUEUED ||
	       (fault_planned() && atomic_load(&bell.dropped)));
	waits = fault_waits();
	stopper = thread_start(stop_and_wait, &bell);
	if (!atomic_load(&bell.dropped))
		until_waiting(waits);
	leave(&occupant);
	thread_join(stopper);
	EXPECT(!atomic_load(&bell.runs));
	EXPECT(TRY(baton_timer_stop_wait_until(&bell.timer, 0)) == 0);
	bell_end(&bell);
	elsewhere(destroy, timers);
}

static void *close_running(void *arg)
{
	struct baton_timers *timers = arg;

	INSIST(baton_timers_close(timers, BATON_TIMERS_RUN), true);
	return NULL;
}

/* A wheel is closed while one timer is pending; it is run at once, or dropped. */
static void close_with(enum baton_timers_source source, enum baton_timers_pending pending)
{
	struct baton_timers *timers = wheel(source);
	struct bell bell;
	int status;

	bell_init(&bell, timers);
	USE(baton_timer_set_dropped(&bell.timer, dropped));
	EXPECT(TRY(baton_timer_arm_at(&bell.timer, BATON_NEVER)) == 0);
	if (pending == BATON_TIMERS_RUN)
		elsewhere(close_running, timers);
	else
		INSIST(baton_timers_close(timers, BATON_TIMERS_DROP), !atomic_load(&bell.dropped));
	status = TRY(baton_timers_close(timers, BATON_TIMERS_DROP));
	EXPECT(status == -EALREADY || (status == -ENOMEM && fault_planned()));
	EXPECT(TRY(baton_timer_arm_after(&bell.timer, 0)) == -ESHUTDOWN);
	/* Ended by the pool that runs it; a run may have been refused. */
	while (!atomic_load(&bell.runs) && !atomic_load(&bell.dropped))
		fault_pause_us(LOOK_US);
	EXPECT(atomic_load(&bell.runs) + atomic_load(&bell.dropped) == 1);
	if (pending == BATON_TIMERS_DROP)
		EXPECT(bell.last_error == -ESHUTDOWN);
	else
		EXPECT(!atomic_load(&bell.dropped) || fault_planned());
	bell_end(&bell);
	elsewhere(destroy, timers);
}

SCENARIO(timers, close_and_drop)
{
	close_with(BATON_TIMERS_THREAD, BATON_TIMERS_DROP);
}

SCENARIO(timers, close_and_run)
{
	close_with(BATON_TIMERS_THREAD, BATON_TIMERS_RUN);
}

SCENARIO(timers, close_one_that_is_polled)
{
	close_with(BATON_TIMERS_POLL, BATON_TIMERS_RUN);
}

/* ---- Wheels that are driven ---- */

static int64_t drive(struct baton_timers *timers, enum baton_timers_source source)
{
	if (source == BATON_TIMERS_POLL)
		return COUNT(baton_timers_poll(timers));
	return COUNT(baton_timers_advance(timers, TURN_NS));
}

/* Drives the wheel until the bell has rung. */
static void drive_until_rung(struct bell *bell, enum baton_timers_source source)
{
	/* Each turn of a virtual clock moves it; the other one is read. */
	while (!atomic_load(&bell->runs)) {
		int64_t count = drive(bell->timers, source);

		EXPECT(count == 0 || count == 1 || fault_planned());
		if (count < 0)
			fault_end();
	}
}

static void *drive_polled(void *bell)
{
	drive_until_rung(bell, BATON_TIMERS_POLL);
	return NULL;
}

static void *drive_virtual(void *bell)
{
	drive_until_rung(bell, BATON_TIMERS_VIRTUAL);
	return NULL;
}

SCENARIO(timers, poll)
{
	struct baton_timers *timers = wheel(BATON_TIMERS_POLL);
	struct bell bell;

	bell_init(&bell, timers);
	EXPECT(USE(baton_timers_next(timers)) == BATON_NEVER);
	EXPECT(TRY(baton_timer_arm_after(&bell.timer, BATON_MICROSECOND)) == 0);
	EXPECT(USE(baton_timers_next(timers)) != BATON_NEVER);
	elsewhere(drive_polled, &bell);
	EXPECT(USE(baton_timer_stop(&bell.timer)).met == BATON_STOP_NOTHING);
	resource_end(&bell.resource);
	elsewhere(destroy, timers);
}

static void *cancel_queued(void *arg)
{
	struct bell *bell = arg;

	INSIST(baton_resource_cancel_pending(&bell->resource), true);
	return NULL;
}

/* The run that waits in a suspended resource is cancelled. */
SCENARIO(timers, cancelled)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_timers *timers = wheel(BATON_TIMERS_VIRTUAL);
	struct bell bell;

	bell_init(&bell, timers);
	INSIST(baton_resource_suspend(&bell.resource, &suspension), true);
	EXPECT(TRY(baton_timer_arm_after(&bell.timer, TURN_NS)) == 0);
	/* Ended by the turn of the clock that is not faulted. */
	while (USE(baton_timer_state(&bell.timer)) == BATON_TIMER_PENDING)
		if (drive(timers, BATON_TIMERS_VIRTUAL) < 0)
			fault_end();
	elsewhere(cancel_queued, &bell);
	INSIST(baton_resource_resume(&suspension), true);
	EXPECT(!atomic_load(&bell.runs) && atomic_load(&bell.dropped) == 1);
	EXPECT(bell.last_error == -ECANCELED || fault_planned());
	bell_end(&bell);
	elsewhere(destroy, timers);
}

SCENARIO(timers, virtual)
{
	struct baton_future gone = BATON_PROMISE_INIT;
	struct baton_timers *timers = NULL;
	struct bell bell;

	INSIST(baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                           &timers),
	       !timers);
	bell_init(&bell, timers);
	EXPECT(TRY(baton_timer_arm_every(&bell.timer, TURN_NS, TURN_NS, BATON_TIMER_CATCH_UP)) ==
	       0);
	elsewhere(drive_virtual, &bell);
	EXPECT(atomic_load(&bell.runs) == 1);
	EXPECT(USE(baton_timer_stop_then(&bell.timer, baton_stopped_complete, &gone)).met ==
	       BATON_STOP_PREVENTED);
	EXPECT(baton_future_state(&gone) == BATON_DONE);
	INSIST(baton_resource_await(&bell.resource), true); /* the thread has its record */
	EXPECT(TRY(baton_timer_arm_again_after(&bell.timer, TURN_NS)) == 0);
	EXPECT(COUNT(baton_timers_advance_to(timers, 4 * TURN_NS)) == 3 || fault_planned());
	EXPECT(USE(baton_timer_stop(&bell.timer)).met == BATON_STOP_PREVENTED);
	resource_end(&bell.resource);
	INSIST(baton_timers_destroy(timers), true);
}
