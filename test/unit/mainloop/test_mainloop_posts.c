/* SPDX-License-Identifier: MIT */
/* Sources that other threads start, and the owner takes in between the sources that it runs. */
#include "mainloop_support.h"

/* ---- Threads that start sources faster than the owner takes the starts in ---- */

static struct baton_source late[640];
static int rounds; /* of starts */

static void *start_late(void *arg)
{
	for (size_t i = 0; i < 640; i++)
		MUST(baton_source_start_after(&late[i], BATON_SECOND) == 0);
	return arg;
}

/* Starts all of them again whenever the owner has taken the starts in. */
static int start_late_again(struct lettered *lettered)
{
	(void)log_take();
	if (late[639]._state & 1)
		return 0;
	rounds++;
	thread_join(thread_start(start_late, NULL));
	return 0;
}

Test(mainloop_posts, starts_by_other_threads_leave_time_for_the_sources_that_are_ready,
     .timeout = 10)
{
	static struct lettered busy = LETTERED(idle_again, b);

	virtual_loop(0);
	for (size_t i = 0; i < 640; i++)
		baton_source_init(&late[i], &loop, &tick, "late");
	busy.act = start_late_again;
	cr_assert_eq(baton_source_start(&busy.source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 401), 401);
	cr_assert_eq(rounds, 11, "640 starts are taken in after each 40 runs");
	cr_assert_eq(baton_source_stop(&busy.source).met, BATON_STOP_PREVENTED);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 0, "and whenever nothing is ready");
	cr_assert_eq(late[639]._state & 1, 0);
	loop_end(640);
}

static int runs_quietly(struct baton_source *source)
{
	return 0;
}

static const struct baton_source_config quiet = {.fn = runs_quietly, .level = 7};
static const struct baton_source_config quiet_again = {
	.fn = runs_quietly, .level = 7, .again = true};

static void *put_off(void *arg)
{
	MUST(baton_source_start_after(arg, BATON_SECOND) == 0);
	return arg;
}

static int puts_off_the_next(struct lettered *lettered)
{
	thread_join(thread_start(put_off, &late[0]));
	return 0;
}

static struct lettered second = LETTERED(idle, s);

static void *start_all(void *arg)
{
	MUST(baton_source_start(&second.source) == 0);
	for (size_t i = 0; i < 32; i++)
		MUST(baton_source_start(&late[i]) == 0);
	return arg;
}

static int starts_all(struct lettered *lettered)
{
	thread_join(thread_start(start_all, NULL));
	return 0;
}

/* The owner takes in 33 starts, and runs two sources before it takes in more. */
Test(mainloop_posts, a_ready_source_that_another_thread_puts_off_does_not_run, .timeout = 10)
{
	static struct lettered first = LETTERED(idle, f);

	virtual_loop(0);
	for (size_t i = 0; i < 32; i++)
		baton_source_init(&late[i], &loop, &quiet, "late");
	first.act = starts_all;
	second.act = puts_off_the_next;
	cr_assert_eq(baton_source_start(&first.source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 100), 2 + 31);
	cr_assert(baton_source_is_active(&late[0]));
	cr_assert_eq(baton_mainloop_advance_to(&loop, BATON_SECOND, 100), 1);
	loop_end(0);
}

/* More than the executor runs of its jobs at a time. */
Test(mainloop_posts, a_round_has_as_many_runs_as_were_asked_for, .timeout = 20)
{
	struct baton_source source = BATON_SOURCE_INIT(&loop, &quiet_again, "again");

	virtual_loop(0);
	cr_assert_eq(baton_source_start(&source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 40 * 1024), 40 * 1024);
	cr_assert_eq(baton_source_stop(&source).met, BATON_STOP_PREVENTED);
	loop_end(0);
}
