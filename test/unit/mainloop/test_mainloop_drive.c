/* SPDX-License-Identifier: MIT */
/* The main loop and its host: the descriptor, wakes, nested runs, input, tasks, other threads. */
#include "mainloop_support.h"

#include "companion/mainloop/mainloop.h"

#include <baton/stats.h>
#include <baton/suspend.h>

#define START(lettered) cr_assert_eq(baton_source_start(&(lettered).source), 0)
#define EXPECT(text) cr_assert_str_eq(log_take(), text)

static struct lettered a = LETTERED(idle, a);
static struct lettered b = LETTERED(idle, b);
static struct lettered t = LETTERED(tick, t);

static uint64_t wakes(void)
{
	struct baton_mainloop_stats stats;

	baton_mainloop_stats_read(&loop, &stats);
	return stats.wakes;
}

static void *starts_many(void *arg)
{
	struct lettered *many = arg;

	for (int i = 0; i < 1000; i++)
		MUST(baton_source_start(&many[i].source) == 0);
	return NULL;
}

Test(mainloop_drive, a_thousand_starts_of_another_thread_wake_once, .timeout = 10)
{
	static struct lettered many[1000];

	real_loop();
	for (int i = 0; i < 1000; i++)
		many[i] = (struct lettered)LETTERED(idle, m);
	cr_assert_not(loop_readable(0));
	thread_join(thread_start(starts_many, many));
	cr_assert(loop_readable(0));
	cr_assert_eq(wakes(), 1);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(baton_mainloop_run(&loop, 250), 250);
		cr_assert_eq(loop_readable(0), i < 3);
		log_length = 0;
	}
	cr_assert_eq(baton_mainloop_next(&loop), BATON_NEVER);
	cr_assert_eq(wakes(), 1, "what a run leaves is no wake");
	loop_end(0);
}

static void *starts_later(void *arg)
{
	struct lettered *lettered = arg;

	MUST(baton_source_start_after(&lettered->source, 10 * BATON_SECOND) == 0);
	return NULL;
}

Test(mainloop_drive, only_an_earlier_deadline_wakes, .timeout = 10)
{
	uint64_t next;

	real_loop();
	cr_assert_eq(baton_source_start_after(&t.source, 5 * BATON_SECOND), 0);
	cr_assert_eq(wakes(), 1);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0, "too early a wake");
	next = baton_mainloop_next(&loop);
	cr_assert_gt(next, baton_mainloop_now(&loop));
	thread_join(thread_start(starts_later, &a));
	cr_assert_eq(baton_source_start_after(&b.source, 10 * BATON_SECOND), 0);
	cr_assert_eq(baton_source_stop(&t.source).met, BATON_STOP_PREVENTED);
	cr_assert_eq(wakes(), 1);
	cr_assert_not(loop_readable(0));
	cr_assert_eq(baton_mainloop_next(&loop), next);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_gt(baton_mainloop_next(&loop), next, "re-armed");
	cr_assert_eq(baton_source_start_after(&a.source, 0), 0);
	cr_assert_eq(wakes(), 2);
	loop_end(2);
}

Test(mainloop_drive, a_timer_runs_when_the_host_comes_at_its_deadline, .timeout = 10)
{
	real_loop();
	cr_assert_eq(baton_source_start_after(&t.source, 2 * BATON_MILLISECOND), 0);
	while (!t.runs) {
		const uint64_t next = baton_mainloop_next(&loop);
		const uint64_t now = baton_mainloop_now(&loop);
		const int wait = next > now ? (int)((next - now) / BATON_MILLISECOND + 1) : 0;

		(void)loop_readable(wait);
		BATON_IGNORE(baton_mainloop_run(&loop, 1));
	}
	EXPECT("t");
	loop_end(0);
}

static int runs_nested(struct lettered *lettered)
{
	cr_assert_eq(baton_source_start(&lettered->source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	cr_assert_eq(baton_mainloop_drain_until(&loop, BATON_NEVER), 0);
	log_letter('.');
	lettered->act = NULL;
	return 0;
}

Test(mainloop_drive, a_nested_run_takes_no_less_important_source_nor_the_running_one, .timeout = 10)
{
	virtual_loop(0);
	cr_assert_eq(baton_source_set_level(&a.source, 4), 0);
	a.act = runs_nested;
	START(a);
	START(b);
	START(t);
	cr_assert_eq(baton_source_set_level(&b.source, 5), 0);
	cr_assert_eq(baton_source_start_after(&t.source, 0), 0);
	cr_assert_eq(baton_source_set_level(&t.source, 4), 0);
	static struct lettered h = LETTERED(idle, h);
	cr_assert_eq(baton_source_set_level(&h.source, 4), 0);
	START(h);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 3);
	EXPECT("ath.ab");
	loop_end(0);
}

static int nests(struct lettered *lettered)
{
	int64_t ran;

	if (lettered->runs == 20)
		return 0;
	/* The next one of an array. */
	MUST(baton_source_start(&lettered[1].source) == 0);
	ran = baton_mainloop_run(&loop, 1);
	MUST(ran == 1 || ran == -EDEADLK);
	log_letter(ran < 0 ? '!' : '.');
	return 0;
}

Test(mainloop_drive, nested_runs_are_bounded, .timeout = 10)
{
	static struct lettered many[BATON_NESTING_MAX + 2];

	virtual_loop(0);
	for (int i = 0; i < BATON_NESTING_MAX + 2; i++) {
		many[i] = (struct lettered)LETTERED(idle, n);
		many[i].act = i < BATON_NESTING_MAX + 1 ? nests : NULL;
	}
	START(many[0]);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	EXPECT("nnnnnnnn!.......");
	cr_assert_eq(baton_mainloop_deinit(&loop), 1);
}

static bool input;
static uint32_t kinds_asked;

static bool any_input(void *arg, uint32_t kinds)
{
	cr_assert_eq(arg, &input);
	kinds_asked = kinds;
	cr_assert_eq(baton_mainloop_run(&loop, 1), -EDEADLK);
	return input;
}

Test(mainloop_drive, each_counter_is_read_as_itself, .timeout = 10)
{
	struct baton_mainloop_stats copy;
	uint64_t *words;

	real_loop();
	words = (uint64_t *)&baton__mainloop_of(&loop)->stats;
	for (size_t i = 0; i < sizeof(copy) / sizeof(*words); i++)
		words[i] = 100 + i;
	baton_mainloop_stats_read(&loop, &copy);
	cr_assert_eq(memcmp(&copy, words, sizeof(copy)), 0);
	loop_end(0);
	baton_mainloop_stats_read(&loop, &copy);
	cr_assert_eq(copy.runs | copy.rounds | copy.wakes, 0, "of no loop");
}

Test(mainloop_drive, an_idle_gives_way_to_input, .timeout = 10)
{
	struct baton_mainloop_options options = {
		.any_input = any_input, .arg = &input, .input_kinds = 6};
	struct baton_mainloop_stats stats;

	cr_assert_eq(baton_mainloop_init(&loop, &options), 0);
	START(a);
	cr_assert_eq(baton_source_start_after(&t.source, 0), 0);
	input = true;
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("t");
	cr_assert_eq(kinds_asked, 6);
	cr_assert(loop_readable(0), "the host goes first, and comes again");
	cr_assert_eq(baton_mainloop_drain_until(&loop, BATON_NEVER), 0);
	baton_mainloop_stats_read(&loop, &stats);
	cr_assert_eq(stats.gave_way, 2);
	input = false;
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("a");
	loop_end(0);
}

static int input_comes(struct lettered *lettered)
{
	cr_assert_not(baton_mainloop_should_yield(&loop));
	input = true;
	cr_assert(baton_mainloop_should_yield(&loop));
	return 0;
}

Test(mainloop_drive, a_long_idle_yields_to_input, .timeout = 10)
{
	struct baton_mainloop_options options = {
		.any_input = any_input, .arg = &input, .slice_ns = BATON_MAINLOOP_TIME_MAX};

	cr_assert_eq(baton_mainloop_init(&loop, &options), 0);
	a.act = input_comes;
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	cr_assert_eq(kinds_asked, UINT32_MAX);
	loop_end(0);
}

static void *posted(void *arg)
{
	log_letter(*(char *)arg);
	return NULL;
}

static int posts(struct lettered *lettered)
{
	cr_assert_not(baton_should_yield());
	cr_assert_eq(baton_post(baton_mainloop_resource(&loop), posted, "p"), 0);
	cr_assert(baton_should_yield());
	cr_assert_eq(baton_call(baton_mainloop_resource(&loop), posted, "c", NULL), -EDEADLK);
	return 0;
}

Test(mainloop_drive, tasks_of_the_loops_resource_run_between_sources, .timeout = 10)
{
	virtual_loop(0);
	a.act = posts;
	START(a);
	START(b);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	EXPECT("apb");
	cr_assert_eq(baton_call(baton_mainloop_resource(&loop), posted, "w", NULL), 0);
	cr_assert_eq(baton_post(baton_mainloop_resource(&loop), posted, "q"), 0);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	EXPECT("wq");
	loop_end(0);
}

/* Nor does a turn that the owner comes to in a wait, outside of a run. */
Test(mainloop_drive, no_turn_counts_as_a_task_that_has_failed, .timeout = 10)
{
	struct baton_resource_stats stats = {0}, copy;
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	virtual_loop(0);
	baton_resource_set_stats(baton_mainloop_resource(&loop), &stats);
	START(a);
	START(b);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	cr_assert_eq(baton_resource_suspend(baton_mainloop_resource(&loop), &suspension), 0);
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert_eq(baton_call(baton_mainloop_resource(&loop), posted, "c", NULL), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("abca");
	copy = resource_counts(&stats);
	cr_assert_geq(copy.executed, 3);
	cr_assert_eq(copy.failed, 0);
	loop_end(0);
}

static void *drains(void *arg)
{
	cr_assert_eq(baton_mainloop_drain_until(&loop, BATON_NEVER), 2);
	return arg;
}

Test(mainloop_drive, a_run_inside_a_task_runs_all_sources, .timeout = 10)
{
	virtual_loop(0);
	START(a);
	START(b);
	cr_assert_eq(baton_call(baton_mainloop_resource(&loop), drains, NULL, NULL), 0);
	EXPECT("ab");
	loop_end(0);
}

static int takes_time(struct lettered *lettered)
{
	return baton_mainloop_pass(&loop, 10);
}

Test(mainloop_drive, drain_ends_at_its_deadline, .timeout = 10)
{
	static struct lettered i = LETTERED(idle_again, i);

	virtual_loop(0);
	i.act = takes_time;
	START(i);
	cr_assert_eq(baton_mainloop_drain_until(&loop, 95), 10);
	cr_assert_eq(baton_mainloop_now(&loop), 100);
	cr_assert_eq(baton_mainloop_drain_until(&loop, 100), 0);
	cr_assert_eq(baton_mainloop_drain_until(&loop, 2000), 190, "more than one round");
	loop_end(1);
}

/* Other threads start and stop while the owner lives in poll(). */
enum { SOURCES = 8, THREADS = 3 };

struct life {
	struct lettered sources[SOURCES];
	atomic_int finished;
	int rounds;
	uint64_t seed;
};

static void *life_main(void *arg)
{
	struct life *life = arg;
	uint64_t rng = rng_fork(life->seed, (uint64_t)(uintptr_t)&rng);

	for (int i = 0; i < life->rounds; i++) {
		struct baton_source *source = &life->sources[rng_below(&rng, SOURCES)].source;

		switch (rng_below(&rng, 4)) {
		case 0:
			MUST(baton_source_stop(source).met >= 0);
			break;
		case 1:
			MUST(baton_source_set_level(source, 1 + rng_below(&rng, 16)) == 0);
			break;
		case 2:
			MUST(baton_source_start_after(source, rng_below(&rng, 20000)) == 0);
			break;
		default:
			MUST(baton_source_start(source) == 0);
			break;
		}
	}
	atomic_fetch_add(&life->finished, 1);
	return NULL;
}

static int forgets_log(struct lettered *lettered)
{
	log_length = 0;
	return 0;
}

Test(mainloop_drive, threads_start_and_stop_while_the_owner_runs, .timeout = 20)
{
	static struct life life;
	pthread_t threads[THREADS];

	real_loop();
	life.rounds = scaled(20000);
	life.seed = test_seed();
	for (int i = 0; i < SOURCES; i++) {
		life.sources[i] = (struct lettered)LETTERED(idle, s);
		if (i % 2)
			life.sources[i].source._config = &tick;
		life.sources[i].act = forgets_log;
	}
	cr_assert_eq(baton_source_depend(&life.sources[0].source, &life.sources[1].source), 0);
	cr_assert_eq(baton_source_depend(&life.sources[1].source, &life.sources[2].source), 0);
	for (int i = 0; i < THREADS; i++)
		threads[i] = thread_start(life_main, &life);
	while (atomic_load(&life.finished) < THREADS) {
		(void)loop_readable(1);
		BATON_IGNORE(baton_mainloop_run(&loop, 3));
	}
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	/* Every source that is active still comes, without a wake that would be lost. */
	for (int i = 0; i < SOURCES; i++) {
		const int before = life.sources[i].runs;

		START(life.sources[i]);
		while (life.sources[i].runs == before) {
			(void)loop_readable(1);
			cr_assert_geq(baton_mainloop_run(&loop, 1), 0);
		}
	}
	while (baton_mainloop_next(&loop) != BATON_NEVER)
		BATON_IGNORE(baton_mainloop_drain_until(&loop, BATON_NEVER));
	loop_end(0);
}

static atomic_bool made_ready;
static int questions;

static uint64_t is_made_ready(struct baton_source *source, uint64_t now)
{
	questions++;
	return atomic_load(&made_ready) ? 0 : BATON_NEVER;
}

static void *make_ready(void *arg)
{
	atomic_store(&made_ready, true);
	MUST(baton_source_start(arg) == 0);
	return NULL;
}

Test(mainloop_drive, a_custom_that_says_no_is_asked_after_a_start_or_in_another_round,
     .timeout = 10)
{
	static const struct baton_source_config custom = {.level = BATON_PRIORITY_HIGHEST,
	                                                  .fn = lettered_run,
	                                                  .kind = BATON_SOURCE_CUSTOM,
	                                                  .ready = is_made_ready};
	static struct lettered asked = LETTERED(custom, q);
	static struct lettered other = LETTERED(idle, o);

	real_loop();
	cr_assert_eq(baton_source_start(&asked.source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(questions, 1);
	/* The host has no reason to run the loop. */
	cr_assert_eq(baton_mainloop_next(&loop), BATON_NEVER);
	cr_assert(!loop_readable(0));
	/* A round for another source asks again. */
	cr_assert_eq(baton_source_start(&other.source), 0);
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_eq(questions, 2);
	cr_assert(!loop_readable(0));
	/* A thread that makes the source ready starts it, and so wakes the host. */
	thread_join(thread_start(make_ready, &asked.source));
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	cr_assert_eq(questions, 3);
	cr_assert_eq(asked.runs, 1);
	loop_end(0);
}

static int starts_b(struct lettered *lettered)
{
	(void)lettered;
	return baton_source_start(&b.source);
}

Test(mainloop_drive, without_a_maximum_a_run_ends_when_none_is_ready, .timeout = 10)
{
	virtual_loop(0);
	START(a);
	START(t);
	a.act = starts_b;
	cr_assert_eq(baton_mainloop_run(&loop, 0), 2);
	EXPECT("ab");
	cr_assert_eq(baton_mainloop_run(&loop, 0), 0);
	START(a);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 10, 0), 3);
	EXPECT("abt");
	loop_end(0);
}
