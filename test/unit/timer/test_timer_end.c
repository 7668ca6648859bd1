/* SPDX-License-Identifier: MIT */
/* The ends of time and of a wheel: what is armed for ever, closed wheels, a thread's own wheel. */
#include "timer/timer.h"

#include "timer_support.h"

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

static int dropped_count;
static int dropped_error;

static void note_dropped(struct baton_timer *timer, int error)
{
	dropped_count++;
	dropped_error = error;
}

static struct baton_timers *noted(enum baton_timers_source source)
{
	struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
	struct baton_timers *timers = NULL;

	dropped_count = 0;
	config.source = source;
	config.submit = BATON_TIMERS_SUBMIT_INLINE;
	config.dropped = note_dropped;
	MUST(baton_timers_create(&config, &timers) == 0);
	return timers;
}

Test(timer_end, close_finds_what_is_armed_for_ever_too, .timeout = 10)
{
	for (int source = BATON_TIMERS_THREAD; source <= BATON_TIMERS_VIRTUAL; source++) {
		struct baton_timers *timers = noted((enum baton_timers_source)source);
		struct bell bells[2];

		for (int i = 0; i < 2; i++)
			bell_init(&bells[i], timers, &resource);
		cr_assert_eq(baton_timer_arm_at(&bells[0].timer, BATON_NEVER), 0);
		cr_assert_eq(baton_timer_arm_after(&bells[1].timer, BATON_NEVER - 1), 0);
		cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_DROP), 0);
		cr_assert_eq(dropped_count, 2);
		cr_assert_eq(dropped_error, -ESHUTDOWN);
		cr_assert_eq(stats_of(timers).pending, 0);
		for (int i = 0; i < 2; i++)
			cr_assert_eq(baton_timer_state(&bells[i].timer), BATON_TIMER_IDLE);
		cr_assert_eq(baton_timers_destroy(timers), 0);
		/* The wheel is gone, and not touched. */
		cr_assert_eq(baton_timer_stop(&bells[0].timer).met, BATON_STOP_NOTHING);
	}
}

Test(timer_end, close_runs_what_is_armed_for_ever_if_asked_to, .timeout = 5)
{
	struct baton_timers *timers = noted(BATON_TIMERS_VIRTUAL);
	struct bell bell;

	bell_init(&bell, timers, &resource);
	cr_assert_eq(baton_timer_arm_at(&bell.timer, BATON_NEVER), 0);
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_RUN), 0);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(dropped_count, 0);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer_end, close_passes_what_was_disarmed, .timeout = 5)
{
	struct baton_timers *timers = noted(BATON_TIMERS_VIRTUAL);
	struct bell bell;

	bell_init(&bell, timers, &resource);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, BATON_SECOND), 0);
	baton_timer_disarm(&bell.timer);
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_RUN), 0);
	cr_assert_eq(bell.runs, 0);
	cr_assert_eq(dropped_count, 0);
	cr_assert_eq(stats_of(timers).cancelled, 1);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer_end, what_is_disarmed_on_its_way_to_the_wheel_counts_as_cancelled, .timeout = 5)
{
	struct baton_timers *timers = noted(BATON_TIMERS_VIRTUAL);
	struct baton_timers_stats stats;
	struct bell bell;

	bell_init(&bell, timers, &resource);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 2 * BATON_SECOND), 0);
	baton__timers_hold(timers);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, BATON_SECOND), 0);
	baton_timer_disarm(&bell.timer);
	baton__timers_release(timers, 0);
	stats = stats_of(timers);
	cr_assert_eq(stats.armed, 1);
	cr_assert_eq(stats.cancelled, 1);
	cr_assert_eq(stats.refused + stats.dropped + stats.fired + stats.pending, 0);
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_RUN), 0);
	cr_assert_eq(bell.runs, 0);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer_end, an_arm_that_is_refused_leaves_the_queued_run, .timeout = 5)
{
	struct baton_timers *timers = noted(BATON_TIMERS_VIRTUAL);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_manual *manual = NULL;
	struct baton_resource late;
	struct bell bell;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&late, &config);
	bell_init(&bell, timers, &late);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, TICK), 0);
	cr_assert_eq(baton_timers_close(timers, BATON_TIMERS_RUN), 0);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_QUEUED);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, TICK), -ESHUTDOWN);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_QUEUED);
	cr_assert_eq(baton_manual_run(manual, 0), 1);
	cr_assert_eq(bell.runs, 1);
	cr_assert_eq(baton_timer_state(&bell.timer), BATON_TIMER_DONE);
	resource_end(&late);
	baton_manual_destroy(manual);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* Too long a delay, or a rate's next deadline beyond the end of time: it runs no more. */
Test(timer_end, repetition_stops_at_the_end_of_time, .timeout = 5)
{
	struct baton_timers *timers = noted(BATON_TIMERS_VIRTUAL);
	const uint64_t last = BATON_NEVER - 10 * BATON_SECOND;
	struct bell bells[2];

	for (int i = 0; i < 2; i++)
		bell_init(&bells[i], timers, &resource);
	cr_assert_eq(baton_timer_arm_again_after(&bells[0].timer, BATON_NEVER), 0);
	cr_assert_eq(baton_timer_arm_every(&bells[1].timer, last, 20 * BATON_SECOND,
	                                   BATON_TIMER_CATCH_UP),
	             0);
	cr_assert_eq(baton_timers_advance_to(timers, BATON_NEVER - BATON_SECOND), 1);
	cr_assert_eq(bells[0].runs, 0);
	cr_assert_eq(bells[1].runs, 1);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton_timer_stop(&bells[i].timer).met, BATON_STOP_PREVENTED);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

/* The next longer period is for ever. */
Test(timer_end, the_longest_period_ends, .timeout = 5)
{
	const uint64_t longest = (UINT64_MAX >> BATON__REPEAT_SHIFT) - 1;

	for (int beyond = 0; beyond < 2; beyond++) {
		struct baton_timers *timers = noted(BATON_TIMERS_VIRTUAL);
		struct bell bell;

		bell_init(&bell, timers, &resource);
		cr_assert_eq(baton_timer_arm_every(&bell.timer, 1, longest + (unsigned)beyond,
		                                   BATON_TIMER_CATCH_UP),
		             0);
		cr_assert_eq(baton_timers_advance_to(timers, longest), 1);
		/* Deadlines as distant as this are rounded up to a microsecond. */
		cr_assert_eq(baton_timers_advance_to(timers, longest + 1 + TICK), !beyond);
		cr_assert_eq(baton_timers_advance_to(timers, BATON_NEVER - 1), beyond ? 0 : 2);
		cr_assert_eq(baton_timer_stop(&bell.timer).met, BATON_STOP_PREVENTED);
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

Test(timer_end, a_tick_is_the_resolution_rounded_down_to_a_power_of_two, .timeout = 5)
{
	static const struct {
		uint64_t resolution_ns;
		unsigned shift;
	} rows[] = {
		{1, 10},
		{1023, 10},
		{1024, 10},
		{1500, 10},
		{2047, 10},
		{2048, 11},
		{2049, 11},
		{1000000, 19},
		{(UINT64_C(1) << 40) - 1, 39},
		{0, 20},
		{UINT64_C(1) << 40, 40},
		{UINT64_C(1) << 41, 40},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
		struct baton_timers *timers;

		config.source = BATON_TIMERS_POLL;
		config.resolution_ns = rows[i].resolution_ns;
		cr_assert_eq(baton_timers_create(&config, &timers), 0);
		cr_assert_eq(timers->shift, rows[i].shift, "row %zu: %u", i,
		             (unsigned)timers->shift);
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

Test(timer_end, lateness_is_counted_in_powers_of_two, .timeout = 5)
{
	static const struct {
		uint64_t late_ns;
		unsigned bucket;
	} rows[] = {
		{0, 0},
		{999, 0},
		{1000, 1},
		{1999, 1},
		{2000, 2},
		{3999, 2},
		{4000, 3},
		{UINT64_C(4194303999), 22},
		{UINT64_C(4194304000), 23},
		{UINT64_C(8388608000), 23},
		{UINT64_C(1) << 50, 23},
		{BATON_NEVER - 1, 23},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton_timers *timers = noted(BATON_TIMERS_VIRTUAL);
		struct bell bell;

		bell_init(&bell, timers, &resource);
		cr_assert_eq(baton_timers_advance_to(timers, rows[i].late_ns), 0);
		cr_assert_eq(baton_timer_arm_at(&bell.timer, 0), 0);
		cr_assert_eq(baton_timers_advance(timers, 0), 1);
		for (unsigned b = 0; b < BATON_TIMERS_LATE_BUCKETS; b++)
			cr_assert_eq(stats_of(timers).late[b], b == rows[i].bucket, "row %zu: %u",
			             i, b);
		cr_assert_eq(stats_of(timers).dropped, 0);
		cr_assert_eq(baton_timers_destroy(timers), 0);
	}
}

static int end_own_wheel(struct bell *bell)
{
	int *result = bell->argument;

	result[0] = baton_timers_close(bell->timers, BATON_TIMERS_DROP);
	result[1] = baton_timers_destroy(bell->timers);
	return 0;
}

Test(timer_end, a_function_cannot_end_the_thread_that_runs_it, .timeout = 10)
{
	struct baton_timers *timers = noted(BATON_TIMERS_THREAD);
	int results[2] = {1, 1};
	struct bell bell;

	bell_init(&bell, timers, &resource);
	bell.then = end_own_wheel;
	bell.argument = results;
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 0), 0);
	/* Ended by the wheel's thread. */
	while (baton_timer_state(&bell.timer) != BATON_TIMER_DONE)
		(void)sched_yield();
	cr_assert_eq(results[0], -EDEADLK);
	cr_assert_eq(results[1], -EDEADLK);
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

Test(timer_end, each_poll_is_a_round, .timeout = 5)
{
	struct baton_timers *timers = noted(BATON_TIMERS_POLL);

	for (uint64_t polls = 0; polls < 3; polls++) {
		cr_assert_eq(stats_of(timers).rounds, polls);
		cr_assert_eq(baton_timers_poll(timers), 0);
	}
	cr_assert_eq(baton_timers_destroy(timers), 0);
}

static int note_name(struct bell *bell)
{
	MUST(pthread_getname_np(pthread_self(), bell->argument, 16) == 0);
	return 0;
}

Test(timer_end, its_thread_has_the_configs_name, .timeout = 10)
{
	static const char *const rows[][2] = {{NULL, "baton-timers"},
	                                      {"wheel", "wheel"},
	                                      {"0123456789abcdef", "0123456789abcde"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct baton_timers_options config = BATON_TIMERS_OPTIONS_INIT;
		struct baton_timers *timers;
		struct bell bell;
		char name[16] = "";

		config.name = rows[i][0];
		config.submit = BATON_TIMERS_SUBMIT_INLINE;
		cr_assert_eq(baton_timers_create(&config, &timers), 0);
		bell_init(&bell, timers, &resource);
		bell.then = note_name;
		bell.argument = name;
		cr_assert_eq(baton_timer_arm_after(&bell.timer, 1), 0);
		while (baton_timer_state(&bell.timer) != BATON_TIMER_DONE)
			sched_yield();
		cr_assert_eq(baton_timers_destroy(timers), 0);
		cr_assert_str_eq(name, rows[i][1]);
	}
}
