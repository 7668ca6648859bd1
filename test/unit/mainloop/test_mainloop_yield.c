/* SPDX-License-Identifier: MIT */
/* A long idle that asks whether to yield: its slice, more important sources, many posts. */
#include "mainloop_support.h"

#include <errno.h>
#include <string.h>

#include "companion/mainloop/mainloop.h"

#define START(lettered) cr_assert_eq(baton_source_start(&(lettered).source), 0)
#define EXPECT(text) cr_assert_str_eq(log_take(), text)

static struct lettered a = LETTERED(idle, a);
static struct lettered b = LETTERED(idle, b);
static struct lettered t = LETTERED(tick, t);

static int yields(struct lettered *lettered)
{
	while (!baton_mainloop_should_yield(&loop)) {
		cr_assert_not(baton_should_yield());
		log_letter('.');
		if (lettered->runs == 1)
			cr_assert_eq(baton_mainloop_pass(&loop, 20 * BATON_MILLISECOND), 0);
		else
			cr_assert_eq(baton_source_start_after(&t.source, 0), 0);
	}
	cr_assert(baton_should_yield());
	return lettered->runs < 2 ? baton_source_start(&lettered->source) : 0;
}

Test(mainloop_yield, a_long_idle_yields_after_its_slice_and_to_a_more_important_source,
     .timeout = 10)
{
	virtual_loop(0);
	a.act = yields;
	START(a);
	START(b);
	cr_assert_not(baton_mainloop_should_yield(&loop));
	cr_assert_eq(baton_mainloop_drain_until(&loop, BATON_NEVER), 4);
	EXPECT("a...ba.t");
	cr_assert_eq(baton_mainloop_now(&loop), 60 * BATON_MILLISECOND);
	loop_end(0);
}

/* Sources that another thread has started, and the owner has not taken in. */
#define POSTS 5000
static struct lettered posts_many[POSTS];

static void *posts_and_then_one(void *arg)
{
	for (int i = 0; i < POSTS; i++)
		MUST(baton_source_start(&posts_many[i].source) == 0);
	MUST(baton_source_start_after(arg, 0) == 0);
	return NULL;
}

static int taken_in(void)
{
	int count = 0;

	for (int i = 0; i < POSTS; i++)
		count += !(posts_many[i].source._state & BATON__SOURCE_POSTED);
	return count;
}

static int asks_beside_posts(struct lettered *lettered)
{
	int before = 0, asked = 0;
	bool yields;

	thread_join(thread_start(posts_and_then_one, &t.source));
	do {
		int now;

		yields = baton_mainloop_should_yield(&loop);
		now = taken_in();
		cr_assert_leq(now - before, 1024, "one call takes in %d", now - before);
		before = now;
		asked++;
	} while (!yields);
	cr_assert_eq(before, POSTS, "the important one was posted last");
	cr_assert_leq(asked, 2 * (POSTS + 1) / 1024 + 2);
	return 0;
}

Test(mainloop_yield, to_ask_whether_to_yield_takes_in_a_bounded_number_of_posts, .timeout = 10)
{
	virtual_loop(0);
	for (int i = 0; i < POSTS; i++)
		posts_many[i] = (struct lettered)LETTERED(idle, m);
	a.act = asks_beside_posts;
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 1), 1);
	log_length = 0;
	cr_assert_eq(baton_mainloop_run(&loop, 2), 2);
	EXPECT("tm");
	loop_end(POSTS - 1);
}

static int stops_what_is_half_taken_in(struct lettered *lettered)
{
	thread_join(thread_start(posts_and_then_one, &t.source));
	cr_assert_not(baton_mainloop_should_yield(&loop));
	for (int i = 0; i < POSTS; i++)
		cr_assert_eq(baton_source_stop(&posts_many[i].source).met, BATON_STOP_PREVENTED);
	memset(posts_many, 0xff, sizeof(posts_many)); /* the memory is the caller's again */
	return 0;
}

Test(mainloop_yield, what_a_call_has_half_taken_in_can_be_stopped_and_freed, .timeout = 10)
{
	virtual_loop(0);
	for (int i = 0; i < POSTS; i++)
		posts_many[i] = (struct lettered)LETTERED(idle, m);
	a.act = stops_what_is_half_taken_in;
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 2);
	EXPECT("at");
	loop_end(0);
}

static bool no_input(void *arg, uint32_t kinds)
{
	(void)arg;
	(void)kinds;
	return false;
}

static struct lettered asker;

static int starts_and_runs(struct lettered *lettered)
{
	(void)lettered;
	cr_assert_eq(baton_source_start(&asker.source), 0);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	return 0;
}

static uint64_t asks_whether_to_yield(struct baton_source *source, uint64_t now)
{
	(void)source;
	(void)now;
	cr_assert_not(baton_mainloop_should_yield(&loop));
	cr_assert_eq(baton_mainloop_run(&loop, 10), -EDEADLK);
	return 0;
}

Test(mainloop_yield, what_is_asked_inside_a_ready_lets_it_not_run_the_loop, .timeout = 10)
{
	static const struct baton_source_config custom = {.level = BATON_PRIORITY_HIGHEST,
	                                                  .fn = lettered_run,
	                                                  .kind = BATON_SOURCE_CUSTOM,
	                                                  .ready = asks_whether_to_yield};
	const struct baton_mainloop_options options = {.any_input = no_input};

	cr_assert_eq(baton_mainloop_init(&loop, &options), 0);
	asker = (struct lettered)LETTERED(custom, q);
	a.act = starts_and_runs;
	START(a);
	cr_assert_eq(baton_mainloop_run(&loop, 10), 1);
	EXPECT("aq");
	loop_end(0);
}
