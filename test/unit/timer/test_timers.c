/* SPDX-License-Identifier: MIT */
/* Wheels: their end, their sources (thread, event loop), their counters, contended use. */
#include "timer_support.h"

#include "timer/timer.h"
#include "timer/wheel.h"

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

static struct baton_timer *dropped_timer;
static int dropped_error;
static int dropped_count;

static void note_dropped(struct baton_timer *timer, int error)
{
	dropped_timer = timer;
	dropped_error = error;
	dropped_count++;
}

static struct baton_timers *timers_of(enum baton_timers_source source,
                                      enum baton_timers_submit submit)
{
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
	struct baton_timers *timers;

	dropped_count = 0;
	config.source = source;
	config.submit = submit;
	config.resolution_ns = TICK;
	config.dropped = note_dropped;
	MUST(baton_timers_create(&config, &timers) == 0);
	return timers;
}

static struct baton_timers *virtual_and_noted(void)
{
	return timers_of(BATON_TIMERS_VIRTUAL, BATON_TIMERS_SUBMIT_DEFAULT);
}

Test(timers, each_counter_is_read_as_itself, .timeout = 5)
{
	struct baton_timers *timers = virtual_and_noted();
	const struct baton_timers_stats none = timers->stats;
	uint64_t *words = (uint64_t *)&timers->stats;
	struct baton_timers_stats copy;

	for (size_t i = 0; i < sizeof(copy) / sizeof(*words); i++)
		words[i] = 100 + i;
	baton_timers_stats_read(timers, &copy);
	cr_assert_eq(memcmp(&copy, words, sizeof(copy)), 0);
	timers->stats = none;
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timers, close_drops_what_is_pending_and_says_so, .timeout = 5)
{
	struct baton_timers *timers = virtual_and_noted();
	struct bell bells[3];

	for (int i = 0; i < 3; i++)
		bell_init(&bells[i], timers, &resource);
	cr_assert_eq(baton_timer_arm_after(&bells[0].timer, TICK), 0);
	cr_assert_eq(baton_timer_arm_every(&bells[1].timer, BATON_SECOND, 1, BATON_TIMER_SKIP), 0);
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_DROP), 0);
	cr_assert_eq(dropped_count, 2);
	cr_assert_eq(dropped_error, -ESHUTDOWN);
	cr_assert_eq(baton_timer_state(&bells[0].timer), BATON_TIMER_IDLE);
	cr_assert_eq(baton_timer_state(&bells[1].timer), BATON_TIMER_IDLE);
	cr_assert_eq(stats_of(timers).dropped, 2);
	cr_assert_eq(stats_of(timers).pending, 0);
	cr_assert_eq(baton_timer_arm_after(&bells[2].timer, TICK), -ESHUTDOWN);
	cr_assert_eq(baton_timer_state(&bells[2].timer), BATON_TIMER_IDLE);
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_DROP), -EALREADY);
	cr_assert_eq(baton_timers_advance(timers, TICK), -ESHUTDOWN);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timers, close_runs_what_is_pending_if_asked_to_but_once, .timeout = 5)
{
	struct baton_timers *timers = virtual_and_noted();
	struct bell bells[20];

	for (int i = 0; i < 20; i++) {
		bell_init(&bells[i], timers, &resource);
		cr_assert_eq(baton_timer_arm_after(&bells[i].timer, TICK << (2 * i)), 0);
	}
	cr_assert_eq(baton_timer_arm_every(&bells[7].timer, TICK, TICK, BATON_TIMER_CATCH_UP), 0);
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_RUN), 0);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(bells[i].runs, 1);
	/* The repeated one was refused its next run. */
	cr_assert_eq(dropped_count, 1);
	cr_assert_eq(dropped_timer, &bells[7].timer);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* bell_run() asks the wheel, which is gone. */
static int run_late(struct baton_timer *timer)
{
	baton_container_of(timer, struct bell, timer)->runs++;
	return 0;
}

Test(timers, a_queued_run_outlives_its_wheel, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource late;
	struct baton_manual *manual;
	struct bell bell;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&late, &config);
	bell = (struct bell){.runs = 0};
	baton_timer_init(&bell.timer, timers, &late, run_late);
	cr_assert_eq(baton_timer_arm_every(&bell.timer, TICK, TICK, BATON_TIMER_SKIP), 0);
	cr_assert_eq(baton_timers_advance(timers, TICK), 1);
	cr_assert_eq(baton_timers_destroy(timers), 0);
	cr_assert_eq(baton_manual_run(manual, 0), 1);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_DONE);
	resource_end(&late);
	baton_manual_destroy(manual);
}

Test(timers, a_closed_resource_ends_a_timer_and_it_is_told, .timeout = 5)
{
	struct baton_timers *timers = virtual_and_noted();
	struct baton_resource closed = BATON_RESOURCE_INIT(NULL);
	struct bell bell;

	bell_init(&bell, timers, &closed);
	cr_assert_eq(baton_timer_arm_every(&bell.timer, TICK, TICK, BATON_TIMER_SKIP), 0);
	cr_assert_eq(baton_timers_advance(timers, TICK), 1);
	cr_assert_eq(baton_resource_close(&closed), 0);
	cr_assert_eq(baton_timers_advance(timers, 10 * TICK), 1);
	cr_assert_eq(dropped_count, 1);
	cr_assert_eq(dropped_error, -EPIPE);
	cr_assert_eq(stats_of(timers).refused, 1);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_IDLE);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

static int drive_and_destroy(struct bell *bell)
{
	MUST(baton_timers_advance(bell->timers, TICK) == -EDEADLK);
	MUST(baton_timers_destroy(bell->timers) == -EDEADLK);
	return 0;
}

Test(timers, a_function_cannot_drive_or_end_the_wheel_that_runs_it, .timeout = 5)
{
	struct baton_timers *timers = virtual_timers();
	struct bell bell;

	bell_init(&bell, timers, &resource);
	bell.then = drive_and_destroy;
	cr_assert_eq(baton_timer_arm_after(&bell.timer, TICK), 0);
	cr_assert_eq(baton_timers_advance(timers, TICK), 1);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

struct meeting {
	struct baton_timers *timers;
	sem_t entered;
	sem_t leave;
};

static int meet(struct bell *bell)
{
	struct meeting *meeting = bell->argument;

	gate_open(&meeting->entered);
	gate_pass(&meeting->leave);
	return 0;
}

static void *advance_main(void *arg)
{
	struct meeting *meeting = arg;

	return (void *)(intptr_t)baton_timers_advance(meeting->timers, TICK);
}

Test(timers, one_thread_drives_and_the_wheel_is_not_ended_beside_it, .timeout = 5)
{
	struct meeting meeting = {.timers = virtual_timers()};
	struct bell bell;
	pthread_t thread;

	gate_init(&meeting.entered);
	gate_init(&meeting.leave);
	bell_init(&bell, meeting.timers, &resource);
	bell.then = meet;
	bell.argument = &meeting;
	cr_assert_eq(baton_timer_arm_after(&bell.timer, TICK), 0);
	thread = thread_start(advance_main, &meeting);
	gate_pass(&meeting.entered);
	cr_assert_eq(baton_timers_advance(meeting.timers, TICK), -EBUSY);
	cr_assert_eq(baton_timers_destroy(meeting.timers), -EBUSY);
	/* On another thread's stack: running, and its memory is not ours. */
	cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_RUNNING);
	gate_open(&meeting.leave);
	cr_assert_eq((intptr_t)thread_join(thread), 1);
	cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_NOTHING);
	cr_assert_eq(baton_timers_destroy(meeting.timers), 0);
}

static int wakes;

static void count_wake(void *arg)
{
	(void)arg;
	wakes++;
}

Test(timers, an_event_loop_is_woken_for_an_earlier_deadline_only, .timeout = 5)
{
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
	struct baton_timers *timers;
	struct bell bells[4];
	uint64_t next;

	wakes = 0;
	config.source = BATON_TIMERS_POLL;
	config.wake = count_wake;
	cr_assert_eq(baton_timers_create(&config, &timers), 0);
	for (int i = 0; i < 4; i++)
		bell_init(&bells[i], timers, &resource);
	cr_assert_eq(baton_timers_next(timers), BATON_NEVER);
	/* So far away that a slow machine does not come near the loop's next look. */
	cr_assert_eq(baton_timer_arm_after(&bells[0].timer, 3600 * BATON_SECOND), 0);
	cr_assert_eq(baton_timer_arm_after(&bells[1].timer, 7200 * BATON_SECOND), 0);
	cr_assert_eq(wakes, 1);
	next = baton_timers_next(timers);
	cr_assert_leq(next, now_ns() + 3601 * BATON_SECOND);
	cr_assert_eq(baton_timer_arm_after(&bells[2].timer, 10800 * BATON_SECOND), 0);
	cr_assert_eq(wakes, 1);
	cr_assert_eq(baton_timer_arm_after(&bells[3].timer, 20 * BATON_MILLISECOND), 0);
	cr_assert_eq(wakes, 2);
	next = baton_timers_next(timers);
	cr_assert_leq(next, now_ns() + 22 * BATON_MILLISECOND);
	while (!bells[3].runs)
		cr_assert_geq(baton_timers_poll(timers), 0);
	cr_assert_eq(bells[0].runs, 0);
	cr_assert_eq(bells[1].runs, 0);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* On the real clock, through a thread. */
static void real(enum baton_timers_submit submit)
{
	enum { COUNT = 200 };
	struct baton_timers *timers = timers_of(BATON_TIMERS_THREAD, submit);
	struct bell bells[COUNT];
	atomic_int rung = 0;
	uint64_t sum = 0;
	struct baton_timers_stats stats;

	for (int i = 0; i < COUNT; i++) {
		bell_init(&bells[i], timers, &resource);
		bells[i].then = bell_rings;
		bells[i].argument = &rung;
		bells[i].asked = now_ns() + (uint64_t)(i * 37 % 40) * BATON_MILLISECOND;
		cr_assert_eq(baton_timer_arm_at(&bells[i].timer, bells[i].asked), 0);
	}
	until_at_least(&rung, COUNT);
	cr_assert_eq(baton_resource_await(&resource), 0);
	for (int i = 0; i < COUNT; i++) {
		cr_assert_eq(baton_timer_stop_wait(&bells[i].timer), 0);
		cr_assert_eq(bells[i].runs, 1);
		cr_assert_eq(bells[i].early, 0);
	}
	stats = stats_of(timers);
	cr_assert_eq(stats.fired, COUNT);
	for (int i = 0; i < BATON_TIMERS_LATE_BUCKETS; i++)
		sum += stats.late[i];
	cr_assert_eq(sum, COUNT);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timers, a_thread_submits_what_has_expired_never_early, .timeout = 20)
{
	real(BATON_TIMERS_SUBMIT_DEFAULT);
}

/* So that a timer is placed in its own slot, and is not looked at before its time. */
Test(timers, a_wheel_follows_the_clock_while_nothing_is_due, .timeout = 5)
{
	struct baton_timer_link entry = {0};
	struct baton__wheel wheel;

	baton__wheel_init(&wheel, 0);
	cr_assert_null(baton__wheel_look(&wheel, 5000));
	cr_assert_eq(baton__wheel_place(&wheel, &entry, 5001), 5001);
	cr_assert_null(baton__wheel_look(&wheel, 5000));
	cr_assert_eq(baton__wheel_look(&wheel, 5001), &entry);
}

Test(timers, a_thread_may_run_it_itself, .timeout = 20)
{
	real(BATON_TIMERS_SUBMIT_INLINE);
}

Test(timers, a_sleeping_thread_is_woken_for_an_earlier_deadline_only, .timeout = 20)
{
	struct baton_timers *timers = timers_of(BATON_TIMERS_THREAD, BATON_TIMERS_SUBMIT_INLINE);
	struct bell bells[3];
	atomic_int rung = 0;

	for (int i = 0; i < 3; i++) {
		bell_init(&bells[i], timers, &resource);
		bells[i].then = bell_rings;
		bells[i].argument = &rung;
	}
	while (stats_of(timers).rounds < 1) /* until it sleeps: for ever */
		sched_yield();
	cr_assert_eq(baton_timer_arm_after(&bells[0].timer, 3600 * BATON_SECOND), 0);
	while (stats_of(timers).rounds < 2)
		sched_yield();
	cr_assert_eq(stats_of(timers).wakes, 1);
	for (uint64_t i = 1; i < 1000; i++)
		cr_assert_eq(baton_timer_arm_after(&bells[1].timer, (3600 + i) * BATON_SECOND), 0);
	cr_assert_eq(stats_of(timers).wakes, 1);
	cr_assert_eq(baton_timer_arm_after(&bells[2].timer, 0), 0);
	until_at_least(&rung, 1);
	cr_assert_eq(stats_of(timers).wakes, 2);
	cr_assert_eq(baton_timers_destroy(timers), 0);
	cr_assert_eq(dropped_count, 2);
}

Test(timers, the_default_wheel_comes_with_the_first_arm, .timeout = 20)
{
	struct bell bell;
	atomic_int rung = 0;
	struct baton_timers *timers;
	struct baton_timer timer = BATON_TIMER_INIT(NULL, &resource, bell_run);

	cr_assert_eq(baton_timer_stop(&timer).met, BATON_STOP_NOTHING);
	cr_assert_eq(baton_timers_default(&timers), 0);
	bell_init(&bell, NULL, &resource);
	bell.timers = timers;
	bell.then = bell_rings;
	bell.argument = &rung;
	cr_assert_eq(baton_timer_arm_after(&bell.timer, BATON_MILLISECOND), 0);
	until_at_least(&rung, 1);
	cr_assert_eq(baton_timer_stop_wait(&bell.timer), 0);
}

/* Threads that arm and stop the same and different timers while the wheel's thread fires them. */
struct crowd {
	struct baton_timers *timers;
	struct bell bells[16];
	atomic_int rung;
	uint64_t seed;
	atomic_int next;
};

static void *crowd_main(void *arg)
{
	struct crowd *crowd = arg;
	uint64_t state = rng_fork(crowd->seed, (uint64_t)atomic_fetch_add(&crowd->next, 1));

	for (int i = scaled(20000); i > 0; i--) {
		struct baton_timer *timer = &crowd->bells[rng_below(&state, 16)].timer;

		switch (rng_below(&state, 6)) {
		case 0:
			BATON_IGNORE(baton_timer_stop(timer).met);
			break;
		case 1:
			baton_timer_disarm(timer);
			break;
		case 2:
			MUST(baton_timer_arm_every(timer, 0, 1 + rng_below(&state, 30000),
			                           BATON_TIMER_SKIP) == 0);
			break;
		default:
			MUST(baton_timer_arm_after(timer, rng_below(&state, 100000)) == 0);
		}
	}
	return NULL;
}

static void crowded(enum baton_timers_submit submit)
{
	struct crowd crowd = {.timers = timers_of(BATON_TIMERS_THREAD, submit),
	                      .seed = test_seed()};
	pthread_t threads[3];
	struct baton_resource own[16];
	uint64_t runs = 0;
	int rung;

	for (int i = 0; i < 16; i++) {
		baton_resource_init(&own[i], NULL);
		bell_init(&crowd.bells[i], crowd.timers, &own[i]);
		crowd.bells[i].then = bell_rings;
		crowd.bells[i].argument = &crowd.rung;
	}
	for (int i = 0; i < 3; i++)
		threads[i] = thread_start(crowd_main, &crowd);
	for (int i = 0; i < 3; i++)
		(void)thread_join(threads[i]);
	for (int i = 0; i < 16; i++)
		cr_assert_eq(baton_timer_stop_wait(&crowd.bells[i].timer), 0);
	rung = crowd.rung;
	/* Now each is good for exactly one run. */
	for (int i = 0; i < 16; i++)
		cr_assert_eq(baton_timer_arm_after(&crowd.bells[i].timer, 0), 0);
	until_at_least(&crowd.rung, rung + 16);
	for (int i = 0; i < 16; i++) {
		cr_assert_eq(baton_timer_stop_wait(&crowd.bells[i].timer), 0);
		runs += crowd.bells[i].runs;
		resource_end(&own[i]);
	}
	cr_assert_eq(runs, (uint64_t)rung + 16);
	cr_assert_eq(stats_of(crowd.timers).pending, 0);
	cr_assert_eq(baton_timers_destroy(crowd.timers), 0);
	cr_assert_eq(dropped_count, 0);
}

Test(timers, many_threads_arm_and_stop_while_they_expire, .timeout = 60)
{
	crowded(BATON_TIMERS_SUBMIT_INLINE);
}

Test(timers, many_threads_arm_and_stop_while_a_pool_runs_them, .timeout = 60)
{
	crowded(BATON_TIMERS_SUBMIT_LATER);
}

struct taker {
	struct baton_timers *timers;
	atomic_int tid;
};

static void *taker_main(void *arg)
{
	struct taker *taker = arg;

	atomic_store(&taker->tid, thread_id());
	baton__timers_hold(taker->timers);
	baton__timers_release(taker->timers, 0);
	return NULL;
}

Test(timers, a_thread_sleeps_until_the_holder_releases_the_wheel, .timeout = 5)
{
	struct taker taker = {.timers = virtual_and_noted()};
	pthread_t thread;

	baton__timers_hold(taker.timers);
	thread = thread_start(taker_main, &taker);
	until_at_least(&taker.tid, 1);
	until_asleep(atomic_load(&taker.tid));
	baton__timers_release(taker.timers, 0);
	thread_join(thread);
	cr_assert_eq(baton_timers_destroy(taker.timers), 0);
}
