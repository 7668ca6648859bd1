/* SPDX-License-Identifier: MIT */
/* Readers: tasks that run beside each other, and beside no ordinary task. */
#include "fixture.h"
#include "misuse.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/detach.h>
#include <baton/hooks.h>
#include <baton/lane.h>
#include <baton/reader.h>
#include <baton/suspend.h>
#include <baton/tag.h>
#include <baton/thread.h>
#include <baton/time.h>
#include <baton/undo.h>

#include "../../parts.h"

#define READERS 8

static struct baton_readers readers = BATON_READERS_INIT(&fix.resource);

/* A reader that says that it runs, and stays until it is let go. */
struct look {
	struct read_task read;
	struct baton_future future;
	sem_t entered;
	sem_t leave;
	int (*inside)(struct look *look); /* NULL: nothing */
	bool stays;
	bool ran;
	pthread_t thread;
	uint32_t beside; /* readers at work, itself included */
	int result;
	int status; /* of the submit */
};

static atomic_int looking; /* how many are in their functions */
static int seen[READERS];  /* written by writers */

static int look_run(struct baton_task *task)
{
	struct look *look = baton_container_of(task, struct look, read.task);
	int status;

	atomic_fetch_add(&looking, 1);
	look->ran = true;
	look->thread = pthread_self();
	look->beside = baton_readers_at_work(&readers);
	status = look->inside ? look->inside(look) : 0;
	gate_open(&look->entered);
	if (look->stays)
		gate_pass(&look->leave);
	atomic_fetch_sub(&looking, 1);
	return status;
}

static void look_init(struct look *look, bool stays)
{
	memset(look, 0, sizeof(*look));
	baton_future_init(&look->future);
	read_task_init(&look->read, &readers, look_run, &look->future);
	gate_init(&look->entered);
	gate_init(&look->leave);
	look->stays = stays;
}

static void looks_init(struct look *looks, size_t count, bool stays)
{
	for (size_t i = 0; i < count; i++)
		look_init(&looks[i], stays);
}

static int look_submit(struct look *look)
{
	return look->status = baton_submit(&fix.resource, &look->read.task);
}

static void *look_main(void *arg)
{
	BATON_IGNORE(baton_thread_attach());
	BATON_IGNORE(look_submit(arg));
	return NULL;
}

/* Submits it on a thread of its own. Returns when it runs. */
static pthread_t look_start(struct look *look)
{
	pthread_t thread = thread_start(look_main, look);

	gate_pass(&look->entered);
	return thread;
}

static void look_end(struct look *look, pthread_t thread)
{
	gate_open(&look->leave);
	(void)thread_join(thread);
}

static void readers_end(void)
{
	fixture_end();
	cr_assert_eq(baton_readers_at_work(&readers), 0);
	baton_readers_deinit(&readers);
}

/* A task that notes that no reader runs beside it. */
static int beside_write = -1;

static int write_run(struct baton_task *task)
{
	(void)task;
	beside_write = atomic_load(&looking);
	seen[0]++;
	return 0;
}

/* ---- Side by side ---- */

Test(reader, runs_alone_on_this_thread_like_any_task, .timeout = 10)
{
	struct look look;

	look_init(&look, false);
	cr_assert_eq(look_submit(&look), 0);
	cr_assert(look.ran);
	cr_assert(pthread_equal(look.thread, pthread_self()));
	cr_assert_eq(look.beside, 1);
	cr_assert_eq(baton_future_state(&look.future), BATON_DONE);
	cr_assert_eq(baton_readers_at_work(&readers), 0);
	readers_end();
}

Test(reader, joins_readers_at_work_on_this_thread, .timeout = 10)
{
	struct look looks[3];
	pthread_t thread;

	looks_init(looks, 3, false);
	looks[0].stays = true;
	thread = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_eq(baton_future_state(&looks[1].future), BATON_DONE);
	cr_assert(pthread_equal(looks[1].thread, pthread_self()));
	cr_assert_eq(looks[1].beside, 2);
	cr_assert_eq(look_submit(&looks[2]), 0);
	cr_assert(looks[2].ran);
	look_end(&looks[0], thread);
	readers_end();
}

Test(reader, a_writer_waits_for_all_readers_and_runs_on_the_thread_of_the_last, .timeout = 10)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct look looks[3];
	pthread_t threads[3];

	looks_init(looks, 3, true);
	for (int i = 0; i < 3; i++)
		threads[i] = look_start(&looks[i]);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	look_end(&looks[0], threads[0]); /* the first, which has the baton, leaves */
	cr_assert_eq(baton_readers_at_work(&readers), 2);
	look_end(&looks[2], threads[2]);
	cr_assert_eq(beside_write, -1);
	look_end(&looks[1], threads[1]);
	cr_assert_eq(beside_write, 0);
	readers_end();
}

Test(reader, does_not_overtake_a_writer_that_waits, .timeout = 10)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct look looks[2];
	pthread_t thread;

	looks_init(looks, 2, false);
	looks[0].stays = true;
	thread = look_start(&looks[0]);
	cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_not(looks[1].ran);
	cr_assert_eq(beside_write, -1);
	look_end(&looks[0], thread);
	cr_assert_eq(beside_write, 0);
	cr_assert_eq(baton_future_wait(&looks[1].future), 0);
	readers_end();
}

static atomic_int met;

/* Stays until three of these are there. */
static int meets(struct look *look)
{
	atomic_fetch_add(&met, 1);
	until_at_least(&met, 3);
	look->result = 1;
	return 0;
}

Test(reader, those_that_have_waited_run_side_by_side_on_a_pool, .timeout = 20)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct look looks[6];

	fix.config.capture_max = 1;
	fixture_pool(3);
	looks_init(looks, 6, false);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 6; i++) {
		/* Each waits for two others. */
		looks[i].inside = i < 3 ? meets : NULL;
		if (i == 3)
			cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
		cr_assert_eq(look_submit(&looks[i]), 0);
	}
	release(&fix.occupant);
	for (int i = 0; i < 6; i++)
		gate_pass(&looks[i].entered); /* a wait would help, and run them one by one */
	cr_assert_eq(beside_write, 0);
	readers_end();
}

Test(reader, many_that_have_waited_run_once_each_in_groups, .timeout = 20)
{
	static struct look looks[200];
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	uint32_t most = 0;

	fix.config.capture_max = 1;
	fix.counted = true;
	fixture_pool(2);
	looks_init(looks, 200, false);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 200; i++) {
		if (i == 150)
			cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
		cr_assert_eq(look_submit(&looks[i]), 0);
	}
	release(&fix.occupant);
	for (int i = 0; i < 200; i++) {
		gate_pass(&looks[i].entered); /* does not help */
		most = looks[i].beside > most ? looks[i].beside : most;
	}
	cr_assert_eq(most, 32);
	cr_assert_eq(beside_write, 0);
	resource_end(&fix.resource);
	cr_assert_eq(resource_counts(&fix.stats).executed, 202);
	cr_assert_eq(resource_counts(&fix.stats).outstanding, 0);
	cr_assert_eq(baton_pool_destroy(fix.pool), 0);
	baton_readers_deinit(&readers);
}

/* The first two begin, and keep the third one waiting until both have ended. */
Test(reader, a_worker_leads_while_another_runs_what_it_has_taken, .timeout = 20)
{
	struct look looks[3];

	fix.config.capture_max = 1;
	fixture_pool(2);
	looks_init(looks, 3, true);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(look_submit(&looks[i]), 0);
	release(&fix.occupant);
	gate_pass(&looks[0].entered);
	gate_pass(&looks[1].entered);
	cr_assert_eq(baton_readers_at_work(&readers), 3);
	cr_assert_not(looks[2].ran);
	cr_assert_eq(baton_future_cancel(&looks[2].future), 0, "it has not begun");
	for (int i = 0; i < 2; i++)
		gate_open(&looks[i].leave);
	cr_assert_eq(baton_future_wait(&looks[2].future), 0);
	cr_assert_eq(baton_future_state(&looks[2].future), BATON_CANCELLED);
	cr_assert_not(looks[2].ran);
	readers_end();
}

/* ---- One after the other ---- */

static int is_alone(struct look *look)
{
	look->result = atomic_load(&looking) == 1 && !baton_held(&fix.resource) &&
	               baton_reading(&fix.resource);
	return 0;
}

static void expect_one_after_the_other(void)
{
	struct look looks[3];

	looks_init(looks, 3, false);
	for (int i = 0; i < 3; i++)
		looks[i].inside = is_alone;
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(look_submit(&looks[i]), 0);
	release(&fix.occupant);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(baton_future_wait(&looks[i].future), 0);
		cr_assert_eq(looks[i].result, 1);
		cr_assert_eq(looks[i].beside, 0, "no group");
	}
	readers_end();
}

Test(reader, runs_one_after_the_other_where_the_executor_is_not_a_pool, .timeout = 10)
{
	fixture_manual();
	expect_one_after_the_other();
}

static int begin_batch(struct baton_resource *resource)
{
	(void)resource;
	return 0;
}

Test(reader, runs_one_after_the_other_with_drain_hooks, .timeout = 10)
{
	fix.config.batch_begin = begin_batch;
	fixture_pool(2);
	expect_one_after_the_other();
}

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

Test(reader, is_in_its_resource_and_does_not_hold_it, .timeout = 10)
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

Test(reader, that_fails_is_told_and_counted_as_any_task, .timeout = 10)
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

Test(reader, without_a_future_tells_its_config, .timeout = 10)
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

Test(reader, of_a_cancelled_tag_does_not_run, .timeout = 10)
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

Test(reader, may_detach_itself, .timeout = 10)
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

static struct look inner;

static int submits_another(struct look *look)
{
	look->result = look_submit(&inner);
	return 0;
}

Test(reader, that_submits_another_one_comes_before_it, .timeout = 10)
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

Test(reader, should_make_room_when_a_writer_waits, .timeout = 10)
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

/* ---- The resource's end, suspensions, lanes, bounds ---- */

Test(reader, is_refused_by_a_closed_resource_whose_end_waits_for_those_at_work, .timeout = 10)
{
	struct look looks[3];
	pthread_t threads[2];

	looks_init(looks, 3, true);
	for (int i = 0; i < 2; i++)
		threads[i] = look_start(&looks[i]);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(look_submit(&looks[2]), -EPIPE);
	cr_assert_eq(baton_resource_await_until(&fix.resource, baton_after(1000)), -ETIMEDOUT);
	look_end(&looks[0], threads[0]);
	cr_assert_eq(baton_resource_await_until(&fix.resource, baton_after(1000)), -ETIMEDOUT);
	look_end(&looks[1], threads[1]);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	baton_readers_deinit(&readers);
}

Test(reader, delays_a_suspension_and_waits_behind_it, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct look looks[3];
	pthread_t threads[2];

	looks_init(looks, 3, false);
	for (int i = 0; i < 2; i++) {
		looks[i].stays = true;
		threads[i] = look_start(&looks[i]);
	}
	cr_assert_eq(baton_resource_suspend(&fix.resource, &suspension), 0);
	cr_assert_eq(look_submit(&looks[2]), 0);
	cr_assert_not(looks[2].ran);
	look_end(&looks[0], threads[0]);
	cr_assert_not(baton_suspension_is_effective(&suspension));
	look_end(&looks[1], threads[1]);
	cr_assert(baton_suspension_is_effective(&suspension));
	cr_assert_not(looks[2].ran);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
	cr_assert(looks[2].ran);
	readers_end();
}

static struct baton_lane lane[2];
static struct baton_lanes lanes;

/* Of the readers of a lane, the first leads; another one, which comes then, waits. */
static void expect_no_join(void)
{
	struct look looks[2];
	pthread_t thread;

	looks_init(looks, 2, false);
	looks[0].stays = true;
	thread = look_start(&looks[0]);
	cr_assert_eq(look_submit(&looks[1]), 0);
	cr_assert_not(looks[1].ran);
	look_end(&looks[0], thread);
	cr_assert(looks[1].ran);
	readers_end();
}

Test(reader, joins_none_in_a_resource_with_lanes, .timeout = 10)
{
	fixture_config();
	baton_lanes_init(&lanes, lane, 2, NULL);
	baton_resource_set_lanes(&fix.resource, &lanes);
	expect_no_join();
}

Test(reader, joins_none_in_a_resource_with_a_bound, .timeout = 10)
{
	static const struct baton_bound_config config = {.tasks_max = 8};
	static struct baton_bound bound;

	fixture_config();
	baton_bound_init(&bound, &config);
	baton_resource_set_bound(&fix.resource, &bound);
	expect_no_join();
}

Test(reader, of_one_lane_run_side_by_side_when_they_have_waited, .timeout = 20)
{
	struct baton_task writer = BATON_TASK_INIT(write_run, NULL);
	struct look looks[4];

	fix.config.capture_max = 1;
	fixture_pool(3);
	baton_lanes_init(&lanes, lane, 2, NULL);
	baton_resource_set_lanes(&fix.resource, &lanes);
	looks_init(looks, 4, false);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 4; i++) {
		looks[i].inside = i < 3 ? meets : NULL;
		baton_stamp_set_lane(&looks[i].read.stamp, 1);
		if (i == 3)
			cr_assert_eq(baton_submit(&fix.resource, &writer), 0);
		cr_assert_eq(look_submit(&looks[i]), 0);
	}
	release(&fix.occupant);
	for (int i = 0; i < 4; i++)
		gate_pass(&looks[i].entered);
	readers_end();
	cr_assert_eq(beside_write, 0);
}

/* The readers' invitation lies in the pool, whose only worker leads: it is gone with the pool. */
Test(reader, an_invitation_outlives_the_readers, .timeout = 20)
{
	struct look looks[3];

	fix.config.capture_max = 1;
	fixture_pool(1);
	looks_init(looks, 3, false);
	occupy(&fix.occupant, &fix.resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(look_submit(&looks[i]), 0);
	release(&fix.occupant);
	for (int i = 0; i < 3; i++)
		gate_pass(&looks[i].entered);
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

Test(reader, misuses_are_named, .timeout = 20)
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
