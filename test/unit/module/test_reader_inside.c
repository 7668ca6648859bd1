/* SPDX-License-Identifier: MIT */
/* What a reader may do and may not do; what is told of it. */
#include "reader_support.h"
#include "misuse.h"

#include <baton/call.h>
#include <baton/detach.h>
#include <baton/hold.h>
#include <baton/tag.h>
#include <baton/undo.h>

/* ---- What a reader may do ---- */

static void *nothing(void *arg)
{
	return arg;
}

static int looks_around(struct look *look)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_detached token = BATON_DETACHED_INIT;
	void *value = NULL;

	look->result = baton_current() == &fix.resource && !baton_held(&fix.resource) &&
	               baton_reading(&fix.resource) && !baton_reading(&other) &&
	               baton_detach(&token, BATON_DETACH_EXCLUSIVE) == -EPERM &&
	               baton_call(&fix.resource, nothing, NULL, &value) == -EDEADLK &&
	               baton_resource_await(&fix.resource) == -EDEADLK &&
	               baton_call(&other, nothing, &value, &value) == 0 && value == &value;
	resource_end(&other);
	baton_set_result(look);
	return look->result ? 0 : -EIO;
}

/* The first one leads, the second one has joined. */
static void expect_of_two(int (*inside)(struct look *look), enum baton_future_state state)
{
	struct look looks[2];
	pthread_t thread;

	looks_init(looks, 2, false);
	looks[0].stays = true;
	looks[0].inside = looks[1].inside = inside;
	thread = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	look_end(&looks[0], thread);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(baton_future_state(&looks[i].future), state, "%d", i);
		cr_assert_eq(looks[i].result, 1);
	}
}

Test(reader_inside, is_in_its_resource_and_does_not_hold_it, .timeout = 10)
{
	expect_of_two(looks_around, BATON_DONE);
	cr_assert_not(baton_reading(&fix.resource));
	readers_end();
}

static int fails(struct look *look)
{
	look->result = 1;
	return -EIO;
}

static atomic_int told_failed, told_cancelled, entered, left;

static void on_enter(struct baton_resource *resource)
{
	atomic_fetch_add(&entered, resource == &fix.resource);
}

static void on_leave(struct baton_resource *resource)
{
	atomic_fetch_add(&left, resource == &fix.resource);
}

static void on_failed(struct baton_resource *resource, struct baton_task *task, int status)
{
	(void)resource;
	(void)task;
	atomic_fetch_add(&told_failed, status == -EIO);
}

static void on_cancelled(struct baton_task *task)
{
	(void)task;
	atomic_fetch_add(&told_cancelled, 1);
}

Test(reader_inside, that_fails_is_told_and_counted_as_any_task, .timeout = 10)
{
	fix.config.failed = on_failed;
	fix.config.enter = on_enter;
	fix.config.leave = on_leave;
	fix.counted = true;
	fixture_config();
	expect_of_two(fails, BATON_FAILED);
	resource_end(&fix.resource);
	cr_assert_eq(atomic_load(&told_failed), 0, "the futures tell");
	cr_assert_eq(atomic_load(&entered), 2);
	cr_assert_eq(atomic_load(&left), 2);
	cr_assert_eq(resource_counts(&fix.stats).failed, 2);
	cr_assert_eq(resource_counts(&fix.stats).executed, 2);
	cr_assert_eq(resource_counts(&fix.stats).submitted, 2);
	cr_assert_eq(resource_counts(&fix.stats).waiting, 0);
}

Test(reader_inside, without_a_future_tells_its_config, .timeout = 10)
{
	struct look looks[2];
	pthread_t thread;

	fix.config.failed = on_failed;
	fixture_config();
	looks_init(looks, 2, false);
	looks[0].stays = true;
	looks[1].inside = fails;
	looks[1].read.future = NULL;
	thread = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_eq(atomic_load(&told_failed), 1);
	look_end(&looks[0], thread);
	readers_end();
}

Test(reader_inside, of_a_cancelled_tag_does_not_run, .timeout = 10)
{
	struct baton_tag tag = BATON_TAG_INIT;
	struct look looks[2];
	pthread_t thread;

	fix.config.cancelled = on_cancelled;
	fix.counted = true;
	fixture_config();
	looks_init(looks, 2, false);
	looks[0].stays = true;
	looks[1].read.future = NULL;
	baton_stamp_hold_tag(&looks[1].read.stamp, &tag);
	baton_tag_cancel(&tag);
	thread = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_not(looks[1].ran);
	cr_assert_eq(atomic_load(&told_cancelled), 1);
	cr_assert_eq(baton_tag_held(&tag), 0);
	look_end(&looks[0], thread);
	resource_end(&fix.resource);
	cr_assert_eq(resource_counts(&fix.stats).cancelled, 1);
	cr_assert_eq(resource_counts(&fix.stats).executed, 1);
	cr_assert_eq(resource_counts(&fix.stats).submitted, 2);
}

static struct baton_detached token = BATON_DETACHED_INIT;

static int detaches(struct look *look)
{
	look->result = baton_detach(&token, 0);
	return 0;
}

Test(reader_inside, may_detach_itself, .timeout = 10)
{
	struct look looks[2];
	pthread_t thread;

	looks_init(looks, 2, false);
	looks[0].stays = true;
	looks[1].inside = detaches;
	thread = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_eq(looks[1].result, 0);
	cr_assert_eq(baton_readers_at_work(&readers), 1);
	cr_assert_eq(baton_future_state(&looks[1].future), BATON_RUNNING);
	look_end(&looks[0], thread);
	cr_assert_eq(baton_detached_complete(&token, 0, NULL), 0);
	cr_assert_eq(baton_future_state(&looks[1].future), BATON_DONE);
	readers_end();
}

/* When the leader has left, and the baton is on the shelf. */
static int detaches_late(struct look *look)
{
	struct baton_detached exclusive = BATON_DETACHED_INIT;

	gate_open(&look->entered);
	gate_pass(&look->leave);
	look->stays = false;
	look->result = baton_detach(&exclusive, BATON_DETACH_EXCLUSIVE);
	return 0;
}

Test(reader_inside, may_not_detach_exclusively_when_its_leader_has_left, .timeout = 10)
{
	struct look looks[2];
	pthread_t threads[2];

	looks_init(looks, 2, true);
	looks[1].inside = detaches_late;
	for (int i = 0; i < 2; i++)
		threads[i] = look_start(&looks[i]);
	look_end(&looks[0], threads[0]);
	look_end(&looks[1], threads[1]);
	cr_assert_eq(looks[1].result, -EPERM);
	readers_end();
}

static struct look inner;

static int submits_another(struct look *look)
{
	look->result = look_submit(&inner);
	return 0;
}

Test(reader_inside, that_submits_another_one_comes_before_it, .timeout = 10)
{
	struct look look;

	look_init(&look, false);
	look_init(&inner, false);
	look.inside = submits_another;
	cr_assert_eq(look_submit(&look), 0);
	cr_assert_eq(look.result, 0);
	cr_assert_eq(inner.beside, 1, "in a group of its own");
	readers_end();
}

static int asks(struct look *look)
{
	look->result = baton_should_yield();
	return 0;
}

/* The second question comes when the writer waits. */
static int asks_again(struct look *look)
{
	gate_open(&look->entered);
	gate_pass(&look->leave);
	look->stays = false;
	return asks(look);
}

Test(reader_inside, should_make_room_when_a_writer_waits, .timeout = 10)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct look looks[2];
	pthread_t threads[2];

	looks_init(looks, 2, false);
	looks[0].stays = true;
	looks[1].inside = asks;
	threads[0] = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_eq(looks[1].result, 0);
	look_init(&looks[1], true);
	looks[1].inside = asks_again;
	threads[1] = look_start(&looks[1]);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	gate_open(&looks[1].leave);
	(void)thread_join(threads[1]);
	cr_assert_eq(looks[1].result, 1);
	look_end(&looks[0], threads[0]);
	readers_end();
}

/* ---- Cycles ---- */

static struct baton_resource guarded = BATON_RESOURCE_INIT(NULL);
static struct baton_resource slow = BATON_RESOURCE_INIT(NULL);
static atomic_int asking;

static int asks_for(struct look *look, struct baton_resource *resource)
{
	atomic_store(&asking, thread_id());
	look->result = baton_call(resource, nothing, NULL, NULL);
	return 0;
}

static int asks_guarded(struct look *look)
{
	return asks_for(look, &guarded);
}

static int asks_slow(struct look *look)
{
	return asks_for(look, &slow);
}

/* Starts a reader that sleeps in its call. */
static pthread_t ask(struct look *look, int (*inside)(struct look *look))
{
	pthread_t thread;

	look_init(look, false);
	look->inside = inside;
	atomic_store(&asking, 0);
	thread = thread_start(look_main, look);
	until_at_least(&asking, 1);
	until_asleep(atomic_load(&asking));
	return thread;
}

/* All readers must end before a writer can begin. */
Test(reader_inside, a_cycle_through_the_older_of_two_sleeping_readers_is_refused, .timeout = 10)
{
	struct baton_hold hold = BATON_HOLD_INIT;
	struct occupant occupant;
	struct look looks[2];
	pthread_t threads[2];

	occupy(&occupant, &slow);
	cr_assert_eq(baton_hold(&guarded, &hold), 0);
	threads[0] = ask(&looks[0], asks_guarded);
	threads[1] = ask(&looks[1], asks_slow);
	cr_assert_eq(baton_call(&fix.resource, nothing, NULL, NULL), -EDEADLK);
	cr_assert_eq(baton_release(&hold), 0);
	release(&occupant);
	thread_join(threads[0]);
	thread_join(threads[1]);
	cr_assert_eq(looks[0].result, 0);
	cr_assert_eq(looks[1].result, 0);
	readers_end();
}

Test(reader_inside, a_wait_for_one_that_has_joined_closes_a_cycle, .timeout = 10)
{
	struct baton_hold hold = BATON_HOLD_INIT;
	struct look looks[2];
	pthread_t threads[2];

	cr_assert_eq(baton_hold(&guarded, &hold), 0);
	look_init(&looks[0], true);
	threads[0] = look_start(&looks[0]);
	threads[1] = ask(&looks[1], asks_guarded);
	cr_assert_eq(baton_future_wait(&looks[1].future), -EDEADLK);
	cr_assert_eq(baton_release(&hold), 0);
	thread_join(threads[1]);
	cr_assert_eq(looks[1].result, 0);
	look_end(&looks[0], threads[0]);
	readers_end();
}

/* ---- Misuse ---- */

static int asserts_held(struct baton_task *task)
{
	(void)task;
	baton_assert_held(&topic);
	return 0;
}

static void held_in_a_reader(void)
{
	struct baton_readers mine = BATON_READERS_INIT(&topic);
	struct read_task read;

	read_task_init(&read, &mine, asserts_held, NULL);
	BATON_IGNORE(baton_submit(&topic, &read.task));
}

static void another_resources_reader(void)
{
	struct read_task read;

	read_task_init(&read, &readers, idle_run, NULL);
	BATON_IGNORE(baton_submit(&topic, &read.task));
}

static int begins_a_log(struct baton_task *task)
{
	struct baton_undo_log log;

	(void)task;
	baton_undo_log_begin(&log);
	return baton_undo_log_end(&log, 0);
}

static void undo_in_a_reader(void)
{
	struct baton_readers mine = BATON_READERS_INIT(&topic);
	struct read_task read;

	read_task_init(&read, &mine, begins_a_log, NULL);
	BATON_IGNORE(baton_submit(&topic, &read.task));
}

static struct baton_readers ended_early = BATON_READERS_INIT(&topic);

static int ends_readers(struct baton_task *task)
{
	(void)task;
	baton_readers_deinit(&ended_early);
	return 0;
}

static void readers_end_at_work(void)
{
	struct read_task read;

	read_task_init(&read, &ended_early, ends_readers, NULL);
	BATON_IGNORE(baton_submit(&topic, &read.task));
}

Test(reader_inside, misuses_are_named, .timeout = 20)
{
	static const struct mistake mistakes[] = {
		{held_in_a_reader, "baton_assert_held: \"topic/7\" is held by this thread as a "
	                           "reader"},
		{another_resources_reader,
	         "baton_submit: \"topic/7\" was given a reader of another resource"},
		{undo_in_a_reader, "baton_undo_log_end: \"topic/7\" is not held by this thread"},
		{readers_end_at_work, "baton_readers_deinit: \"topic/7\" has readers at work"},
	};

	mistakes_are_said(mistakes, sizeof(mistakes) / sizeof(*mistakes));
}
