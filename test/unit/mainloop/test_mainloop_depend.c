/* SPDX-License-Identifier: MIT */
/*
 * The main loop: a source that depends on others waits for them; cycles are refused; the end of
 * a loop with dependencies; bad arguments.
 */
#include "mainloop_support.h"

#include <limits.h>

#define START(lettered) cr_assert_eq(baton_source_start(&(lettered).source), 0)
#define EXPECT(text) cr_assert_str_eq(log_take(), text)
#define DEPEND(parent, child) baton_source_depend(&(parent).source, &(child).source)

static struct lettered a = LETTERED(idle, a);
static struct lettered b = LETTERED(idle, b);
static struct lettered c = LETTERED(idle, c);
static struct lettered t = LETTERED(tick, t);

Test(mainloop_depend, a_child_waits_for_its_active_parents, .timeout = 10)
{
	virtual_loop(0);
	cr_assert_eq(DEPEND(t, a), 0);
	cr_assert_eq(DEPEND(b, a), 0);
	START(a);
	START(t);
	START(b);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("b");
	cr_assert(baton_source_is_active(&a.source), "it waits for the timer");
	cr_assert_eq(baton_mainloop_advance_to(&loop, 20, 10), 2);
	EXPECT("ta");
	START(a);
	START(t);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_eq(baton_source_stop(&t.source).met, BATON_STOP_PREVENTED);
	cr_assert(loop_readable(0), "the stop has made the child ready");
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("a");
	START(a);
	START(t);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_not(loop_readable(0));
	cr_assert_eq(baton_source_undepend(&t.source, &a.source), 0);
	cr_assert(loop_readable(0), "so has the end of the dependency");
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("a");
	loop_end(1);
}

static void *stops(void *arg)
{
	struct lettered *lettered = arg;

	MUST(baton_source_stop(&lettered->source).met == BATON_STOP_QUEUED);
	return NULL;
}

Test(mainloop_depend, another_threads_stop_of_the_parent_wakes, .timeout = 10)
{
	real_loop();
	cr_assert_eq(DEPEND(t, a), 0);
	cr_assert_eq(baton_source_start_after(&t.source, 100 * BATON_SECOND), 0);
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_not(loop_readable(0));
	thread_join(thread_start(stops, &t));
	cr_assert(loop_readable(0));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("a");
	loop_end(0);
}

Test(mainloop_depend, a_parent_that_has_lost_one_of_two_children_is_still_one, .timeout = 10)
{
	real_loop();
	cr_assert_eq(DEPEND(t, a), 0);
	cr_assert_eq(DEPEND(t, b), 0);
	cr_assert_eq(baton_source_undepend(&t.source, &b.source), 0);
	cr_assert_eq(baton_source_start_after(&t.source, 100 * BATON_SECOND), 0);
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0);
	cr_assert_not(loop_readable(0));
	thread_join(thread_start(stops, &t));
	cr_assert(loop_readable(0), "the stop wakes");
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("a");
	loop_end(0);
}

static void *starts(void *arg)
{
	struct lettered *lettered = arg;

	MUST(baton_source_start(&lettered->source) == 0);
	return NULL;
}

/* Whatever the owner has done to it last. */
Test(mainloop_depend, another_threads_start_is_seen, .timeout = 10)
{
	real_loop();
	for (int last = 0; last < 6; last++) {
		if (last > 0)
			START(a);
		if (last == 1)
			cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
		else if (last == 2)
			cr_assert_eq(baton_source_stop(&a.source).met, BATON_STOP_PREVENTED);
		else if (last == 3)
			cr_assert_eq(baton_source_set_level(&a.source, 4), 0);
		else if (last == 4)
			cr_assert_eq(baton_source_start_after(&a.source, BATON_NEVER), 0);
		else if (last == 5)
			cr_assert_eq(forget(&a.source), BATON_STOP_PREVENTED);
		thread_join(thread_start(starts, &a));
		cr_assert(loop_readable(0), "%d", last);
		log_length = 0;
		cr_assert_eq(baton_mainloop_run(&loop, 10), 1, "%d", last);
		EXPECT("a");
		cr_assert_eq(baton_source_stop(&a.source).met, BATON_STOP_NOTHING);
	}
	loop_end(0);
}

static int runs_children(struct lettered *lettered)
{
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0, "its parent runs");
	return 0;
}

Test(mainloop_depend, a_running_parent_holds_its_children_back, .timeout = 10)
{
	virtual_loop(0);
	b.act = runs_children;
	cr_assert_eq(DEPEND(b, a), 0);
	START(a);
	START(b);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	EXPECT("ba");
	loop_end(0);
}

static int gets_a_child(struct lettered *lettered)
{
	cr_assert_eq(baton_source_depend(&lettered->source, &c.source), 0);
	START(c);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 0, "the child waits for what runs");
	return lettered->runs == 1 ? 0 : BATON_GONE;
}

static int runs_the_next(struct lettered *lettered)
{
	cr_assert_eq(baton_source_start_after(&t.source, 0), 0);
	cr_assert_gt(baton_mainloop_run(&loop, 10), 0);
	return 0;
}

/* Also where the parent is gone when it returns, and where it runs inside another source. */
Test(mainloop_depend, a_child_that_a_running_parent_gets_runs_after_it, .timeout = 10)
{
	const struct lettered new_a = a, new_t = t;

	for (int way = 0; way < 4; way++) {
		const bool inner = way % 2;

		virtual_loop(0);
		a = new_a;
		t = new_t;
		a.act = inner ? runs_the_next : gets_a_child;
		t.act = gets_a_child;
		a.runs = t.runs = way / 2;
		START(a);
		cr_assert_gt(baton_mainloop_run(&loop, 10), 0);
		EXPECT(inner ? "atc" : "ac");
		cr_assert_eq(forget(&c.source), BATON_STOP_NOTHING);
		loop_end(0);
	}
}

Test(mainloop_depend, a_cycle_is_refused_and_named, .timeout = 10)
{
	const char *names[4] = {NULL};
	static struct lettered chain[20];

	virtual_loop(0);
	cr_assert_eq(baton_mainloop_cycle(&loop, names, 4), 0);
	cr_assert_eq(DEPEND(a, b), 0);
	cr_assert_eq(DEPEND(b, c), 0);
	cr_assert_eq(DEPEND(a, c), 0);
	cr_assert_eq(DEPEND(b, t), 0);
	cr_assert_eq(DEPEND(t, c), 0);
	cr_assert_eq(DEPEND(c, a), -ELOOP);
	cr_assert_eq(baton_mainloop_cycle(&loop, names, 4), 2);
	cr_assert_str_eq(names[0], "c");
	cr_assert_str_eq(names[1], "a");
	cr_assert_eq(DEPEND(t, a), -ELOOP);
	cr_assert_eq(baton_mainloop_cycle(&loop, names, 4), 3);
	cr_assert_str_eq(names[0], "t");
	cr_assert_str_eq(names[1], "b");
	cr_assert_str_eq(names[2], "a");
	cr_assert_eq(DEPEND(a, a), -ELOOP);
	cr_assert_eq(baton_mainloop_cycle(&loop, names, 4), 1);
	for (int i = 0; i < 20; i++) {
		chain[i] = (struct lettered)LETTERED(idle, x);
		cr_assert_eq(DEPEND(chain[i], chain[i]), -ELOOP);
		cr_assert_null(chain[i].source._dependent, "the loop has forgotten it");
		if (i)
			cr_assert_eq(DEPEND(chain[i - 1], chain[i]), 0);
	}
	cr_assert_eq(DEPEND(chain[19], chain[0]), -ELOOP);
	cr_assert_eq(baton_mainloop_cycle(&loop, names, 4), 20);
	loop_end(0);
}

Test(mainloop_depend, of_a_long_cycle_so_many_names_are_kept, .timeout = 10)
{
	static struct lettered chain[BATON_MAINLOOP_CYCLE_MAX + 2];
	static const char *const end = "end";
	const char *names[BATON_MAINLOOP_CYCLE_MAX + 2];

	virtual_loop(0);
	for (size_t i = 0; i < BATON_MAINLOOP_CYCLE_MAX + 1; i++) {
		chain[i] = (struct lettered)LETTERED(idle, x);
		if (i == 0)
			continue;
		cr_assert_eq(DEPEND(chain[i - 1], chain[i]), 0);
		cr_assert_eq(DEPEND(chain[i], chain[0]), -ELOOP);
		for (size_t room = 0; room < BATON_MAINLOOP_CYCLE_MAX + 2; room++) {
			size_t kept =
				i + 1 < BATON_MAINLOOP_CYCLE_MAX ? i + 1 : BATON_MAINLOOP_CYCLE_MAX;

			for (size_t j = 0; j < BATON_MAINLOOP_CYCLE_MAX + 2; j++)
				names[j] = end;
			cr_assert_eq(baton_mainloop_cycle(&loop, names, room), i + 1);
			kept = room < kept ? room : kept;
			for (size_t j = 0; j < BATON_MAINLOOP_CYCLE_MAX + 2; j++)
				cr_assert_eq(names[j] == end, j >= kept, "%zu, room %zu: %zu",
				             i + 1, room, j);
		}
	}
	loop_end(0);
}

Test(mainloop_depend, forget_ends_them, .timeout = 10)
{
	virtual_loop(0);
	cr_assert_eq(DEPEND(a, b), 0);
	cr_assert_eq(DEPEND(b, c), 0);
	START(a);
	START(b);
	START(c);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	cr_assert_eq(forget(&b.source), BATON_STOP_PREVENTED);
	cr_assert_eq(b.source._state, 0, "nor is it a parent any more");
	memset(&b, 0xEE, sizeof(b));
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("ac");
	START(a);
	cr_assert_eq(forget(&c.source), BATON_STOP_NOTHING);
	cr_assert_eq(forget(&a.source), BATON_STOP_PREVENTED);
	loop_end(0);
}

static char named[16];

static void name_active(void *arg, struct baton_source *source)
{
	cr_assert_eq(arg, named);
	cr_assert_eq(source->_state, 0, "as initialised");
	strcat(named, baton_source_name(source));
	memset(source, 0xEE, sizeof(*source));
}

Test(mainloop_depend, destroy_names_what_is_active, .timeout = 10)
{
	struct baton_mainloop_options options = {.still_active = name_active, .arg = named};

	cr_assert_eq(baton_mainloop_init(&loop, &options), 0);
	cr_assert_eq(DEPEND(a, b), 0);
	START(a);
	START(b);
	START(t);
	cr_assert_eq(baton_mainloop_deinit(&loop), 3);
	cr_assert(strchr(named, 'a') && strchr(named, 'b') && strchr(named, 't'));
	cr_assert_eq(baton_source_start(&c.source), -ESHUTDOWN);
	real_loop();
	START(c);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	loop_end(0);
}

static int misuses(struct lettered *lettered)
{
	cr_assert_eq(baton_mainloop_deinit(&loop), -EDEADLK);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 100, 1), -EDEADLK);
	cr_assert_eq(baton_mainloop_pass(&loop, BATON_NEVER), -EINVAL);
	return -EIO;
}

static void *misuses_task(void *arg)
{
	cr_assert_eq(baton_mainloop_deinit(&loop), -EDEADLK);
	cr_assert_eq(baton_mainloop_pass(&loop, 1), -EINVAL);
	cr_assert_eq(baton_mainloop_advance_to(&loop, baton_mainloop_now(&loop), 1), -EDEADLK);
	return arg;
}

static void *misuses_thread(void *arg)
{
	MUST(baton_mainloop_run(&loop, 1) == -EPERM);
	MUST(baton_mainloop_drain_until(&loop, 1) == -EPERM);
	MUST(baton_mainloop_advance_to(&loop, 1, 1) == -EPERM);
	MUST(baton_mainloop_pass(&loop, 1) == -EPERM);
	MUST(baton_mainloop_deinit(&loop) == -EPERM);
	MUST(DEPEND(a, b) == -EPERM);
	MUST(baton_source_undepend(&a.source, &b.source) == -EPERM);
	MUST(baton_source_undepend_all(&a.source) == -EPERM);
	MUST(!baton_mainloop_should_yield(&loop));
	return arg;
}

Test(mainloop_depend, bad_arguments_are_errors_and_nothing_is_lost, .timeout = 10)
{
	static struct baton_mainloop other;
	static struct lettered o = {BATON_SOURCE_INIT(&other, &idle, "o"), 'o', NULL, 0};
	struct baton_mainloop_options options = {.slice_ns = BATON_NEVER};
	struct baton_mainloop_options unknown = {._reserved = {0, 0, 0, 1}};
	struct baton_mainloop_stats stats;

	cr_assert_eq(baton_mainloop_init(&loop, &options), -EINVAL);
	cr_assert_eq(baton_mainloop_init(&loop, &unknown), -EINVAL);
	virtual_loop(0);
	cr_assert_eq(baton_mainloop_init(&other, NULL), 0);
	START(a);
	a.act = misuses;
	cr_assert_eq(DEPEND(a, o), -EXDEV);
	cr_assert_eq(DEPEND(b, c), 0);
	cr_assert_eq(DEPEND(b, c), -EEXIST);
	cr_assert_eq(baton_source_undepend(&a.source, &o.source), -EXDEV);
	cr_assert_eq(baton_source_undepend(&a.source, &b.source), -ENOENT);
	cr_assert_eq(baton_source_undepend(&b.source, &c.source), 0);
	cr_assert_eq(baton_source_set_level(&a.source, BATON_PRIORITIES + 1), -EINVAL);
	cr_assert_eq(baton_source_start_after(&a.source, BATON_MAINLOOP_TIME_MAX + 1), -EINVAL);
	cr_assert_eq(baton_mainloop_advance_to(&loop, BATON_MAINLOOP_TIME_MAX + 1, 1), -EINVAL);
	cr_assert_eq(baton_mainloop_advance_to(&other, BATON_MAINLOOP_TIME_MAX, 1), -EINVAL);
	thread_join(thread_start(misuses_thread, NULL));
	cr_assert_eq(baton_call(baton_mainloop_resource(&loop), misuses_task, NULL, NULL), 0);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 10, 10), 1);
	EXPECT("a");
	cr_assert_eq(baton_mainloop_advance_to(&loop, 9, 1), -EINVAL);
	baton_mainloop_stats_read(&loop, &stats);
	cr_assert_eq(stats.failed, 1);
	baton_resource_close(baton_mainloop_resource(&loop));
	START(b);
	cr_assert_eq(baton_mainloop_run(&loop, 1), -EPIPE);
	cr_assert(baton_source_is_active(&b.source));
	loop_end(1);
	cr_assert_eq(baton_mainloop_deinit(&other), 0);
}

static int answer;

static int answers(struct lettered *lettered)
{
	return answer;
}

Test(mainloop_depend, a_source_has_failed_where_it_returns_an_error, .timeout = 10)
{
	static const int answers_of[] = {0, -EIO, 2, INT_MAX, -1, INT_MIN, BATON_GONE};
	struct baton_mainloop_stats stats;

	virtual_loop(0);
	a.act = answers;
	for (size_t i = 0; i < sizeof(answers_of) / sizeof(answers_of[0]); i++) {
		answer = answers_of[i];
		START(a);
		cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	}
	baton_mainloop_stats_read(&loop, &stats);
	cr_assert_eq(stats.failed, 3);
	cr_assert_eq(stats.runs, 7);
	loop_end(0);
}

static int passes(struct lettered *lettered)
{
	const uint64_t left = BATON_MAINLOOP_TIME_MAX - baton_mainloop_now(&loop);

	MUST(baton_mainloop_pass(&loop, left + 1) == -EINVAL);
	MUST(baton_mainloop_pass(&loop, left) == 0);
	return 0;
}

Test(mainloop_depend, times_are_taken_up_to_the_last_one, .timeout = 10)
{
	static const struct baton_source_config last = {.level = BATON_PRIORITY_HIGHEST,
	                                                .fn = lettered_run,
	                                                .kind = BATON_SOURCE_TIMER,
	                                                .period_ns = BATON_MAINLOOP_TIME_MAX};
	const struct baton_mainloop_options options = {.deterministic = true,
	                                               .slice_ns = BATON_MAINLOOP_TIME_MAX};
	static const struct baton_source_config for_ever = {.level = BATON_PRIORITY_HIGHEST,
	                                                    .fn = lettered_run,
	                                                    .kind = BATON_SOURCE_TIMER,
	                                                    .period_ns = BATON_NEVER};
	struct baton_source source, never;

	cr_assert_eq(baton_mainloop_init(&loop, &options), 0);
	baton_source_init(&source, &loop, &last, "last");
	cr_assert_eq(baton_source_start(&source), 0);
	cr_assert_eq(baton_source_start_after(&t.source, BATON_MAINLOOP_TIME_MAX), 0);
	cr_assert_eq(baton_source_start_after(&b.source, BATON_MAINLOOP_TIME_MAX - 1), 0);
	START(a);
	a.act = passes;
	cr_assert_eq(baton_mainloop_advance_to(&loop, 10, 1), 1);
	EXPECT("a");
	cr_assert_eq(baton_mainloop_now(&loop), BATON_MAINLOOP_TIME_MAX);
	cr_assert_eq(baton_mainloop_advance_to(&loop, BATON_MAINLOOP_TIME_MAX, 9), 1);
	EXPECT("b");
	cr_assert(baton_source_is_active(&t.source), "what is due from there on never comes");
	cr_assert(baton_source_is_active(&source));
	cr_assert_eq(baton_source_start_after(&t.source, 10), 0);
	cr_assert_eq(baton_source_start_after(&source, BATON_NEVER), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 9), 0);
	baton_source_init(&never, &loop, &for_ever, "never");
	cr_assert_eq(baton_source_start(&never), 0);
	cr_assert_eq(baton_mainloop_advance_to(&loop, BATON_MAINLOOP_TIME_MAX, 9), 0);
	loop_end(3);
}

Test(mainloop_depend, a_config_that_cannot_run_is_refused, .timeout = 10)
{
	static const struct baton_source_config bad[] = {
		{.fn = NULL},
		{.fn = lettered_run, .level = BATON_PRIORITIES + 1},
		{.fn = lettered_run, ._reserved = {0, 0, 0, 1}},
		{.fn = lettered_run, .kind = (enum baton_source_kind)(BATON_SOURCE_WRITABLE + 1)},
		{.fn = lettered_run, .kind = BATON_SOURCE_CUSTOM},
		{.fn = lettered_run, .kind = BATON_SOURCE_TIMER, .again = true},
		{.fn = lettered_run,
	         .kind = BATON_SOURCE_TIMER,
	         .period_ns = BATON_MAINLOOP_TIME_MAX + 1},
	};

	virtual_loop(0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct baton_source source;

		baton_source_init(&source, &loop, &bad[i], "bad");
		cr_assert_eq(baton_source_start(&source), -EINVAL);
		cr_assert_eq(baton_source_start_after(&source, 1), -EINVAL);
		cr_assert_not(baton_source_is_active(&source));
	}
	loop_end(0);
}

Test(mainloop_depend, a_loop_that_does_not_exist_is_an_error, .timeout = 10)
{
	const char *name;
	struct baton_mainloop_stats stats;

	cr_assert_eq(baton_source_start(&a.source), -ESHUTDOWN);
	cr_assert_eq(baton_source_start_after(&a.source, 1), -ESHUTDOWN);
	cr_assert_eq(baton_source_stop(&a.source).met, BATON_STOP_NOTHING);
	cr_assert_eq(baton_source_set_level(&a.source, 2), -ESHUTDOWN);
	cr_assert_eq(DEPEND(a, b), -ESHUTDOWN);
	cr_assert_eq(baton_source_undepend(&a.source, &b.source), -ESHUTDOWN);
	cr_assert_eq(baton_source_undepend_all(&a.source), -ESHUTDOWN);
	cr_assert_eq(baton_mainloop_run(&loop, 1), -ESHUTDOWN);
	cr_assert_eq(baton_mainloop_drain_until(&loop, 1), -ESHUTDOWN);
	cr_assert_eq(baton_mainloop_advance_to(&loop, 1, 1), -ESHUTDOWN);
	cr_assert_eq(baton_mainloop_pass(&loop, 1), -ESHUTDOWN);
	cr_assert_eq(baton_mainloop_adopt(&loop), -ESHUTDOWN);
	cr_assert_eq(baton_mainloop_fd(&loop), -ESHUTDOWN);
	cr_assert_eq(baton_mainloop_next(&loop), BATON_NEVER);
	cr_assert_eq(baton_mainloop_now(&loop), 0);
	cr_assert_eq(baton_mainloop_cycle(&loop, &name, 1), 0);
	cr_assert_null(baton_mainloop_resource(&loop));
	cr_assert_null(baton_mainloop_executor(&loop));
	cr_assert_not(baton_mainloop_should_yield(&loop));
	baton_mainloop_stats_read(&loop, &stats);
	cr_assert_eq(stats.runs, 0);
	cr_assert_eq(baton_mainloop_deinit(&loop), -ESHUTDOWN);
}
