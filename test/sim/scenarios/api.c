/* SPDX-License-Identifier: MIT */
/*
 * Programs made at random, of everything public that can be called at any time: three threads, each
 * with some calls, on two resources with an executor. What is called is a choice like who goes on:
 * from random numbers, or, under the fuzzer, from its bytes.
 *
 * A note's memory is given back as soon as its owner may; what others touch is kept to the end.
 */
#include "api_more.h"
#include "posts.h"
#include "support.h"

#include "base/atomic.h"

#define TOPICS 2
#define ACTORS 3
#define CALLS_MAX 5
#define NOTES 3 /* of each actor */

struct actor {
	struct sim_note *notes[NOTES];
	bool given_back[NOTES];
	unsigned count;
};

struct link {
	struct baton_continuation continuation;
	struct sim_note *note;
};

static struct sim_topic topics[TOPICS];
static struct actor actors[ACTORS];
static struct baton_manual *manual;
static struct baton_pool *pool;
static struct baton_future *promise;
static bool may_shut_down;

static struct sim_topic *any_topic(void)
{
	return &topics[sim_pick(TOPICS)];
}

/* ---- Inside tasks ---- */

static void submit_nested(struct sim_topic *topic)
{
	struct sim_note *note = sim_alloc(sizeof(*note));

	if (topic->note_count >= SIM_NOTES_MAX - 2 * ACTORS * CALLS_MAX)
		return;
	sim_note_init(note, topic, false);
	(void)sim_note_submit(note);
}

static void inside(struct sim_note *note)
{
	struct sim_topic *other = note->topic == &topics[0] ? &topics[1] : &topics[0];
	int status;

	switch (sim_pick(8)) {
	case 1:
		submit_nested(other);
		break;
	case 2:
		submit_nested(note->topic);
		break;
	case 3:
		sim_post(&other->resource);
		break;
	case 4:
		sim_call(&other->resource, true);
		break;
	case 5:
		status = sim_call_inside(&note->topic->resource);
		sim_require(status == -EDEADLK || status == -EPIPE);
		break;
	case 6:
		status = baton_resource_await(&note->topic->resource);
		sim_require(status == -EDEADLK);
		break;
	case 7:
		baton_set_result(note);
		sim_require(baton_current() == &note->topic->resource);
		sim_require(baton_held(&note->topic->resource) == !note->reads);
		break;
	default:
		break;
	}
}

/* ---- Notes ---- */

static void submit(struct actor *actor, bool with_future)
{
	struct sim_note *note;
	struct sim_topic *topic = any_topic();

	if (actor->count == NOTES)
		return;
	note = sim_alloc(sizeof(*note));
	sim_note_init(note, topic, with_future);
	note->body = inside;
	note->status = (int)sim_pick(2);
	if (sim_pick(3) == 2)
		sim_more_reads(note, with_future && sim_pick(3) == 2);
	else if (with_future && sim_pick(3) == 2)
		note->task._run = sim_more_run_detached;
	if (sim_pick(4) == 3) {
		sim_note_begin(note);
		(void)sim_note_end(note, baton_submit_later(&topic->resource, note->entry));
	} else {
		(void)sim_note_submit(note);
	}
	if (note->fate == SIM_REFUSED) {
		/* It is untouched: the other one may take it. */
		note->topic = topic == &topics[0] ? &topics[1] : &topics[0];
		if (note->reads)
			sim_more_moved(note);
		(void)sim_note_submit(note);
	}
	if (with_future && note->fate != SIM_REFUSED)
		store_release(&actor->notes[actor->count++], note);
}

static void submit_batch(void)
{
	struct sim_topic *topic = any_topic();
	struct sim_note *notes = sim_alloc(2 * sizeof(*notes));
	struct baton_task *tasks[] = {&notes[0].task, &notes[1].task};
	int status;

	for (int i = 0; i < 2; i++) {
		sim_note_init(&notes[i], topic, false);
		sim_note_begin(&notes[i]);
	}
	status = baton_submit_batch(&topic->resource, tasks, 2);
	for (int i = 0; i < 2; i++)
		(void)sim_note_end(&notes[i], status);
}

/* A note with a future, perhaps another actor's; NULL if there is none. */
static struct sim_note *any_note(void)
{
	struct actor *actor = &actors[sim_pick(ACTORS)];

	return load_acquire(&actor->notes[sim_pick(NOTES)]);
}

static void wait_for(struct sim_note *note)
{
	uint64_t deadline = sim_in(20000);
	struct baton_future *both[] = {&note->future, promise};
	size_t index;
	int status;

	if (sim_pick(2))
		status = baton_future_wait_until(&note->future, deadline);
	else
		status = baton_future_wait_any_until(both, 2, deadline, &index);
	sim_require(status == 0 || status == -ETIMEDOUT);
}

static void chain(struct sim_note *note)
{
	struct link *link = sim_alloc(sizeof(*link));
	struct sim_topic *topic = any_topic();

	link->note = sim_alloc(sizeof(*link->note));
	sim_note_init(link->note, topic, false);
	sim_note_begin(link->note);
	baton_continuation_task(&link->continuation, &topic->resource, &link->note->task);
	baton_future_then(&note->future, &link->continuation);
}

/* What nobody had taken is run, or cancelled, here. */
static void shut_down_now(void)
{
	struct baton_job *jobs;

	if (baton_pool_shutdown_now(pool, &jobs))
		return;
	while (jobs) {
		struct baton_job *job = jobs;

		jobs = baton_job_next(job);
		if (sim_pick(2)) {
			sim_posts_cancelled();
			baton_job_cancel(job);
		} else {
			baton_job_run(job);
		}
	}
}

static void end_something(void)
{
	switch (sim_pick(may_shut_down ? 5 : 3)) {
	case 0:
		(void)baton_resource_close(&topics[1].resource);
		break;
	case 1:
		(void)baton_future_complete(promise, 0, NULL);
		break;
	case 2:
		(void)baton_future_cancel(promise);
		break;
	case 3:
		(void)baton_pool_shutdown(pool);
		break;
	default:
		shut_down_now();
		break;
	}
}

static void cancel_pending(void)
{
	sim_posts_cancelled();
	(void)baton_resource_cancel_pending(&any_topic()->resource);
}

/* For a moment; in effect or not. */
static void suspend(struct baton_resource *resource)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	uint64_t deadline = sim_in(5000);
	int status = baton_resource_suspend(resource, &suspension);

	sim_require(status == 0 || status == -EPIPE);
	if (status)
		return;
	status = sim_pick(2) ? baton_suspension_wait_until(&suspension, deadline) : 0;
	sim_require(status == 0 || status == -ETIMEDOUT);
	status = sim_pick(2) ? baton_resource_resume(&suspension)
	                     : baton_resource_resume_later(&suspension);
	sim_require(status == 0);
}

__attribute__((no_sanitize("thread"))) static void touch_note(unsigned what)
{
	struct sim_note *note = any_note();

	if (!note)
		return;
	switch (what) {
	case 0:
		(void)baton_future_cancel(&note->future);
		break;
	case 1:
		wait_for(note);
		break;
	case 2:
		chain(note);
		break;
	default:
		(void)baton_future_state(&note->future);
		break;
	}
}

/* ---- Actors ---- */

__attribute__((no_sanitize("thread"))) static void act(struct actor *actor)
{
	uint64_t deadline = sim_in(10000);
	struct baton_resource *resource = &any_topic()->resource;

	switch (sim_pick(19)) {
	case 0:
	case 1:
	case 2:
		submit(actor, true);
		break;
	case 3:
		submit(actor, false);
		break;
	case 4:
		submit_batch();
		break;
	case 5:
		sim_post(resource);
		break;
	case 6:
		sim_async(resource, false);
		break;
	case 7:
		sim_async(resource, true);
		break;
	case 8:
		sim_call(resource, false);
		break;
	case 9:
		sim_call(resource, true);
		break;
	case 10:
		cancel_pending();
		break;
	case 11:
		sim_require(baton_resource_await_until(resource, deadline) <= 0);
		break;
	case 12:
		end_something();
		break;
	case 13:
		suspend(resource);
		break;
	case 14:
	case 15:
		sim_more_act();
		break;
	default:
		touch_note(sim_pick(4));
		break;
	}
}

static void run_actor(void *argument)
{
	struct actor *actor = argument;

	for (unsigned left = sim_pick(CALLS_MAX) + 1; left; left--)
		act(actor);
	for (unsigned i = 0; i < actor->count; i++)
		sim_require(baton_future_wait(&actor->notes[i]->future) == 0);
}

/* ---- The whole ---- */

static void make_executor(unsigned workers)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_executor *executor;
	static const uint32_t limits[] = {10, 1, 2, 0};

	options.workers = workers;
	if (workers) {
		sim_require(baton_pool_create(&options, &pool) == 0);
		executor = baton_pool_executor(pool);
	} else {
		sim_require(baton_manual_create(&manual) == 0);
		executor = baton_manual_executor(manual);
	}
	for (int i = 0; i < TOPICS; i++)
		sim_topic_init(&topics[i], limits[sim_pick(4)], sim_pick(2) + 1, executor);
	sim_more_begin(topics);
}

static void run_api(unsigned workers)
{
	unsigned first;

	promise = sim_alloc(sizeof(*promise));
	baton_promise_init(promise);
	make_executor(workers);
	first = sim_start(run_actor, &actors[0]);
	for (int i = 1; i < ACTORS; i++)
		sim_start(run_actor, &actors[i]);
	if (manual)
		sim_drive(manual);
	for (unsigned i = 0; i < ACTORS; i++)
		sim_join(first + i);
	for (int i = 0; i < ACTORS; i++)
		for (unsigned k = 0; k < actors[i].count; k++)
			sim_note_over(actors[i].notes[k]);
	/* Tasks of the one submit to the other: both have ended before either is given back. */
	for (int i = 0; i < TOPICS; i++)
		(void)baton_resource_close(&topics[i].resource);
	sim_more_close();
	for (int i = 0; i < TOPICS; i++)
		sim_require(baton_resource_await(&topics[i].resource) == 0);
	sim_more_end();
	for (int i = 0; i < TOPICS; i++) {
		if (sim_pick(2))
			sim_topic_close(&topics[i]);
		else
			sim_require(sim_topic_close_then(&topics[i]) == 0);
	}
	if (manual) {
		while (baton_manual_run(manual, 1))
			;
		baton_manual_destroy(manual);
	} else {
		sim_require(baton_pool_destroy(pool) == 0);
	}
	for (int i = 0; i < TOPICS; i++)
		sim_settled(&topics[i]);
	sim_check_posts();
}

SIM_SCENARIO(api_manual, "random programs, an executor driven by hand", .walk_only = true)
{
	run_api(0);
}

SIM_SCENARIO(api_pool, "random programs, a pool with two workers", .walk_only = true)
{
	run_api(2);
}

SIM_SCENARIO(api_shutdown, "random programs that shut down their pool", .walk_only = true)
{
	may_shut_down = true;
	run_api(1);
}
