/* SPDX-License-Identifier: MIT */
/* The main loop's sources: order, priorities, start and stop, on a virtual clock. */
#include "mainloop_support.h"

#define START(lettered) cr_assert_eq(baton_source_start(&(lettered).source), 0)
#define EXPECT(text) cr_assert_str_eq(log_take(), text)

static struct lettered a = LETTERED(idle, a);
static struct lettered b = LETTERED(idle, b);
static struct lettered c = LETTERED(idle, c);
static struct lettered t = LETTERED(tick, t);
static struct lettered u = LETTERED(tick, u);

Test(mainloop, lower_priorities_run_first_and_equal_ones_in_order, .timeout = 10)
{
	virtual_loop(0);
	START(a);
	START(b);
	START(c);
	START(t);
	cr_assert_eq(baton_source_set_level(&c.source, BATON_PRIORITY_HIGHEST), 0);
	cr_assert_eq(baton_source_set_level(&a.source, BATON_PRIORITY_DEFAULT_IDLE), 0,
	             "its own: it keeps its place");
	cr_assert_eq(baton_mainloop_run(&loop, 10), 3);
	EXPECT("cab");
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0, "the timer is not due");
	cr_assert_eq(baton_mainloop_advance_to(&loop, 10, 10), 1);
	EXPECT("t");
	cr_assert(!baton_source_is_active(&t.source));
	loop_end(0);
}

Test(mainloop, without_a_level_a_source_has_the_default, .timeout = 10)
{
	static const struct baton_source_config nothing = {.fn = lettered_run};
	static struct lettered d = LETTERED(nothing, d);

	virtual_loop(0);
	START(a);
	START(b);
	START(c);
	START(d);
	cr_assert_eq(baton_source_set_level(&a.source, BATON_PRIORITY_HIGH_IDLE), 0);
	cr_assert_eq(baton_source_set_level(&b.source, 0), 0);
	cr_assert_eq(baton_source_set_level(&c.source, BATON_PRIORITY_HIGHEST), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 4);
	EXPECT("cdba");
	loop_end(0);
}

Test(mainloop, an_active_source_is_started_anew_and_runs_once, .timeout = 10)
{
	virtual_loop(0);
	START(a);
	START(b);
	START(a);
	START(t);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 6, 10), 2);
	EXPECT("ab");
	START(t);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 15, 10), 0, "the deadline counts anew");
	cr_assert_eq(baton_mainloop_next(&loop), 16);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 16, 10), 1);
	START(t);
	cr_assert_eq(baton_source_start_after(&t.source, 3), 0, "nearer");
	cr_assert_eq(baton_mainloop_advance_to(&loop, 100, 10), 1);
	EXPECT("tt");
	loop_end(0);
}

Test(mainloop, stop_says_what_it_met, .timeout = 10)
{
	virtual_loop(0);
	cr_assert_eq(baton_source_stop(&a.source).met, BATON_STOP_NOTHING);
	START(a);
	START(t);
	cr_assert(baton_source_is_active(&a.source));
	cr_assert_eq(baton_source_stop(&a.source).met, BATON_STOP_PREVENTED);
	cr_assert_eq(baton_source_stop(&t.source).met, BATON_STOP_PREVENTED);
	cr_assert(!baton_source_is_active(&a.source));
	cr_assert_eq(baton_mainloop_next(&loop), 0, "the start had woken the host");
	cr_assert_eq(baton_mainloop_advance_to(&loop, 100, 10), 0);
	cr_assert_eq(baton_mainloop_next(&loop), BATON_NEVER);
	loop_end(0);
}

static int stops_itself(struct lettered *lettered)
{
	cr_assert(baton_source_is_active(&lettered->source));
	if (lettered->runs < 3)
		return 0;
	cr_assert_eq(baton_source_stop(&lettered->source).met, BATON_STOP_RUNNING);
	return 0;
}

Test(mainloop, again_runs_until_it_is_stopped, .timeout = 10)
{
	static struct lettered i = LETTERED(idle_again, i);
	static struct lettered p = LETTERED(tick_again, p);

	i.act = p.act = stops_itself;
	virtual_loop(0);
	START(i);
	START(p);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 9, 10), 3);
	EXPECT("iii");
	cr_assert_eq(baton_mainloop_advance_to(&loop, 20, 10), 2);
	cr_assert_eq(baton_mainloop_next(&loop), 30);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 1000, 10), 1);
	EXPECT("ppp");
	loop_end(0);
}

static int restarts(struct lettered *lettered)
{
	cr_assert(!baton_source_is_active(&lettered->source));
	cr_assert_eq(baton_source_start_after(&lettered->source, lettered->runs < 3 ? 5 : 0), 0);
	cr_assert(baton_source_is_active(&lettered->source));
	if (lettered->runs == 4)
		cr_assert_eq(baton_source_stop(&lettered->source).met, BATON_STOP_RUNNING);
	return 0;
}

/* The end of the period is beyond the last time. */
Test(mainloop, again_after_a_period_without_end_is_never, .timeout = 10)
{
	static const uint64_t periods[] = {BATON_NEVER, BATON_MAINLOOP_TIME_MAX,
	                                   BATON_MAINLOOP_TIME_MAX - 50};

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		const struct baton_source_config rare = {.level = BATON_PRIORITY_HIGHEST,
		                                         .fn = lettered_run,
		                                         .kind = BATON_SOURCE_TIMER,
		                                         .period_ns = periods[i],
		                                         .again = true};
		struct lettered lettered = LETTERED(rare, r);

		virtual_loop(0);
		cr_assert_eq(baton_source_start_after(&lettered.source, 100), 0);
		cr_assert_eq(baton_mainloop_advance_to(&loop, 1000, 10), 1);
		cr_assert(baton_source_is_active(&lettered.source));
		cr_assert_eq(baton_mainloop_next(&loop), BATON_NEVER, "%zu", i);
		cr_assert_eq(baton_source_stop(&lettered.source).met, BATON_STOP_PREVENTED);
		loop_end(0);
	}
}

Test(mainloop, a_function_may_start_its_own_source, .timeout = 10)
{
	virtual_loop(0);
	a.act = restarts;
	START(a);
	START(b);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 100, 10), 3);
	EXPECT("abaaa");
	cr_assert_eq(a.runs, 4);
	loop_end(0);
}

static int frees(struct lettered *lettered)
{
	free(lettered);
	return BATON_GONE;
}

Test(mainloop, a_function_may_free_its_source, .timeout = 10)
{
	struct lettered *one = malloc(sizeof(*one));
	struct lettered *two = malloc(sizeof(*two));

	virtual_loop(0);
	cr_assert(one && two);
	*one = (struct lettered)LETTERED(idle, 1);
	*two = (struct lettered)LETTERED(idle, 2);
	one->act = two->act = frees;
	cr_assert_eq(baton_source_depend(&one->source, &two->source), 0);
	cr_assert_eq(baton_source_depend(&two->source, &a.source), 0);
	START(*two);
	START(*one);
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 3);
	EXPECT("12a");
	loop_end(0);
}

static int gives_up_its_last(struct lettered *lettered)
{
	cr_assert_eq(lettered->runs == 1 ? baton_source_depend(&t.source, &b.source)
	                                 : baton_source_depend(&b.source, &t.source),
	             0);
	cr_assert_eq(lettered->runs == 1 ? baton_source_undepend(&t.source, &b.source)
	                                 : baton_source_undepend(&b.source, &t.source),
	             0);
	return BATON_GONE;
}

/* It has none when it returns, and is gone. */
Test(mainloop, a_source_that_gives_up_its_last_dependency_may_be_gone, .timeout = 10)
{
	const struct lettered new_t = t;

	virtual_loop(0);
	for (int run = 0; run < 2; run++) {
		t = new_t;
		t.runs = run;
		t.act = gives_up_its_last;
		cr_assert_eq(baton_source_start_after(&t.source, 0), 0);
		cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	}
	START(b);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("ttb");
	loop_end(0);
}

Test(mainloop, deadlines_run_in_order_and_ties_by_start, .timeout = 10)
{
	virtual_loop(0);
	cr_assert_eq(baton_source_start_after(&a.source, 1000), 0);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 990, 10), 0);
	START(t);
	START(u);
	cr_assert_eq(baton_source_start_after(&b.source, 10), 0);
	cr_assert_eq(baton_source_start_after(&c.source, 9), 0);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 999, 10), 1);
	EXPECT("c");
	cr_assert_eq(baton_mainloop_advance_to(&loop, 1000, 10), 4);
	EXPECT("tuab");
	loop_end(0);
}

static int notes_time(struct lettered *lettered)
{
	lettered->runs = (int)baton_mainloop_now(&loop);
	return 0;
}

Test(mainloop, a_virtual_timer_runs_exactly_at_its_deadline, .timeout = 10)
{
	static const uint64_t delays[] = {1, 63, 64, 65, 4095, 4096, 4097, 262143, 262144, 999999};

	virtual_loop(0);
	t.act = notes_time;
	for (size_t i = 0; i < sizeof(delays) / sizeof(*delays); i++) {
		const uint64_t begin = baton_mainloop_now(&loop);

		cr_assert_eq(baton_source_start_after(&t.source, delays[i]), 0);
		cr_assert_eq(baton_mainloop_advance_to(&loop, begin + delays[i] + i, 10), 1);
		cr_assert_eq(t.runs, begin + delays[i]);
		cr_assert_eq(baton_mainloop_now(&loop), begin + delays[i] + i);
	}
	cr_assert_eq(baton_source_start_after(&t.source, BATON_NEVER), 0);
	cr_assert_eq(baton_mainloop_advance_to(&loop, BATON_MAINLOOP_TIME_MAX, 10), 0);
	cr_assert(baton_source_is_active(&t.source));
	loop_end(1);
}

Test(mainloop, equal_priorities_take_turns, .timeout = 10)
{
	static struct lettered i = LETTERED(idle_again, i);
	static struct lettered j = LETTERED(idle_again, j);

	virtual_loop(0);
	START(i);
	START(j);
	START(a);
	cr_assert_eq(baton_source_set_level(&a.source, 8), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 6), 6);
	EXPECT("ijijij");
	loop_end(3);
}

Test(mainloop, with_aging_no_source_starves, .timeout = 10)
{
	static struct lettered i = LETTERED(idle_again, i);
	struct baton_mainloop_stats stats;

	virtual_loop(4);
	START(i);
	START(a);
	START(b);
	cr_assert_eq(baton_source_set_level(&a.source, 16), 0);
	cr_assert_eq(baton_source_set_level(&b.source, 8), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 10);
	EXPECT("iiiaiiibii");
	baton_mainloop_stats_read(&loop, &stats);
	cr_assert_eq(stats.out_of_order, 2);
	cr_assert_eq(stats.runs, 10);
	loop_end(1);
}

static int asked;
static uint64_t answer;

static uint64_t answers(struct baton_source *source, uint64_t now)
{
	(void)source;
	(void)now;
	asked++;
	return answer;
}

Test(mainloop, a_custom_source_runs_when_it_says_so, .timeout = 10)
{
	static const struct baton_source_config custom = {.level = BATON_PRIORITY_HIGHEST,
	                                                  .fn = lettered_run,
	                                                  .kind = BATON_SOURCE_CUSTOM,
	                                                  .ready = answers};
	static struct lettered q = LETTERED(custom, q);

	virtual_loop(0);
	answer = BATON_NEVER;
	START(q);
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_eq(asked, 1, "once a round");
	cr_assert_eq(baton_mainloop_next(&loop), BATON_NEVER);
	answer = 30;
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(asked, 2);
	cr_assert_eq(baton_mainloop_next(&loop), 30);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 29, 10), 0);
	cr_assert_eq(asked, 2, "not before it wants to be");
	answer = 0;
	cr_assert_eq(baton_mainloop_advance_to(&loop, 30, 10), 1);
	EXPECT("aq");
	cr_assert(!baton_source_is_active(&q.source));
	/* Waits that end at BATON_MAINLOOP_TIME_MAX, and later. */
	for (int i = 0; i < 3; i++) {
		answer = i < 2 ? BATON_MAINLOOP_TIME_MAX - 30 * (uint64_t)!i : BATON_NEVER - 1;
		START(q);
		cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
		cr_assert_eq(baton_mainloop_next(&loop), BATON_NEVER);
	}
	cr_assert_eq(baton_mainloop_advance_to(&loop, BATON_MAINLOOP_TIME_MAX, 10), 0);
	loop_end(1);
}

static struct lettered other_custom;
static int times_asked;

/* Each of two has the other asked once more, so the round has always something to ask. */
static uint64_t starts_the_other(struct baton_source *source, uint64_t now)
{
	struct lettered *one = baton_container_of(source, struct lettered, source);

	(void)now;
	times_asked++;
	MUST(baton_source_start(one->letter == 'c' ? &other_custom.source : &a.source) == 0);
	return BATON_NEVER;
}

Test(mainloop, drain_ends_at_its_deadline_if_sources_have_each_other_asked, .timeout = 10)
{
	static const struct baton_source_config custom = {.level = BATON_PRIORITY_HIGHEST,
	                                                  .fn = lettered_run,
	                                                  .kind = BATON_SOURCE_CUSTOM,
	                                                  .ready = starts_the_other};

	virtual_loop(0);
	a = (struct lettered)LETTERED(custom, c);
	other_custom = (struct lettered)LETTERED(custom, d);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 100, 1), 0);
	START(a);
	cr_assert_eq(baton_mainloop_drain_until(&loop, baton_mainloop_now(&loop)), 0);
	cr_assert_gt(times_asked, 0);
	loop_end(2);
}

struct rounds {
	struct baton_task task;
	struct baton_resource resource;
	int runs;
};

static int runs_on(struct baton_task *task)
{
	struct rounds *rounds = baton_container_of(task, struct rounds, task);

	rounds->runs++;
	return rounds->runs < 100 ? baton_submit_later(&rounds->resource, task) : 0;
}

Test(mainloop, a_run_ends_with_its_sources_though_the_executor_has_more, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct rounds rounds = {.task = BATON_TASK_INIT(runs_on, NULL)};

	virtual_loop(0);
	config.capture_max = BATON_CAPTURE_NONE;
	config.quantum = 1;
	config.executor = baton_mainloop_executor(&loop);
	baton_resource_init(&rounds.resource, &config);
	cr_assert_eq(baton_submit(&rounds.resource, &rounds.task), 0);
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	cr_assert_leq(rounds.runs, 2, "%d", rounds.runs);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 0);
	cr_assert_leq(rounds.runs, 3, "%d", rounds.runs);
	cr_assert(loop_readable(0));
	while (rounds.runs < 100)
		BATON_IGNORE(baton_mainloop_run(&loop, 1));
	cr_assert_eq(baton_resource_close(&rounds.resource), 0);
	BATON_IGNORE(baton_mainloop_run(&loop, 1));
	cr_assert_eq(baton_resource_await(&rounds.resource), 0);
	loop_end(0);
}

Test(mainloop, a_thousand_sources_leave_the_heap_in_order, .timeout = 10)
{
	enum { COUNT = 1000 };
	static struct lettered many[COUNT];
	uint64_t rng = rng_fork(test_seed(), 0);
	int expected = 0;

	virtual_loop(0);
	for (int i = 0; i < COUNT; i++) {
		many[i] = (struct lettered)LETTERED(tick, m);
		many[i].act = notes_time;
	}
	for (int i = 0; i < 3 * COUNT; i++) {
		struct baton_source *source = &many[rng_below(&rng, COUNT)].source;

		if (rng_below(&rng, 4))
			cr_assert_eq(baton_source_start_after(source, 1 + rng_below(&rng, 500)), 0);
		else
			cr_assert_geq(baton_source_stop(source).met, 0);
	}
	for (int i = 0; i < COUNT; i++)
		expected += baton_source_is_active(&many[i].source);
	for (uint64_t time = 1; time <= 500; time++) {
		int64_t count = baton_mainloop_advance_to(&loop, time, COUNT);

		for (int i = 0; i < COUNT; i++)
			count -= many[i].runs == (int)time;
		cr_assert_eq(count, 0);
		log_length = 0;
	}
	for (int i = 0; i < COUNT; i++)
		expected -= many[i].runs > 0;
	cr_assert_eq(expected, 0);
	loop_end(0);
}

/* ---- Inside a round ---- */

static void *starts_a(void *unused)
{
	MUST(baton_source_start(&a.source) == 0);
	return unused;
}

static int lets_another_start(struct lettered *lettered)
{
	(void)lettered;
	thread_join(thread_start(starts_a, NULL));
	return 0;
}

Test(mainloop, a_start_by_another_thread_while_the_clock_moves_wakes_nobody, .timeout = 10)
{
	struct baton_mainloop_stats before, after;

	virtual_loop(0);
	t.act = lets_another_start;
	cr_assert_eq(baton_source_start_after(&t.source, 20), 0);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 10, 10), 0);
	cr_assert_eq(baton_mainloop_next(&loop), 20);
	baton_mainloop_stats_read(&loop, &before);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 20, 10), 2);
	EXPECT("ta");
	baton_mainloop_stats_read(&loop, &after);
	cr_assert_eq(after.wakes, before.wakes);
	loop_end(0);
}

static void *destroys(void *result)
{
	*(int64_t *)result = baton_mainloop_deinit(&loop);
	return NULL;
}

/* The task neither holds the loop's resource nor runs inside a source. */
Test(mainloop, a_task_that_runs_in_a_round_cannot_destroy_the_loop, .timeout = 10)
{
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE};
	struct baton_resource other;
	int64_t result = 0;

	virtual_loop(0);
	config.executor = baton_mainloop_executor(&loop);
	baton_resource_init(&other, &config);
	cr_assert_eq(baton_post(&other, destroys, &result), 0);
	cr_assert_eq(result, 0, "it comes in the round");
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(result, -EDEADLK);
	resource_end(&other);
	loop_end(0);
}
