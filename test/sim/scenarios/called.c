/* SPDX-License-Identifier: MIT */
/*
 * The chain of sleeping callers (core/called.h): a function that a worker runs for a call made
 * inside a task asks what the caller holds, and follows frames on the caller's stack meanwhile.
 */
#include "jobs.h"
#include "support.h"

#include <baton/detach.h>

#include "base/atomic.h"

#define TOPICS 3

static struct sim_topic topics[TOPICS];
static struct sim_note outer;  /* of topic 0; calls topic 1, or topic 2 by way of topic 1 */
static struct sim_note called; /* of the last topic, which only the worker runs */
static struct sim_note beside; /* of the last topic, by another thread */
static struct sim_note middle; /* of topic 1, where the last topic is topic 2 */
static struct baton_pool *pool;
static unsigned last;

static bool held(unsigned topic)
{
	return baton_held(&topics[topic].resource);
}

/* `last_`: the topic that outer calls, perhaps through topic 1; only the pool's worker runs it. */
static void set_up(unsigned last_, void (*body)(struct sim_note *note))
{
	last = last_;
	pool = sim_pool(1);
	for (unsigned i = 0; i < TOPICS; i++)
		sim_topic_init(&topics[i], i == last ? 0 : 2, 2, baton_pool_executor(pool));
	topics[last].only = SIM_NOBODY;
	sim_note_init(&outer, &topics[0], false);
	sim_note_init(&middle, &topics[1], false);
	sim_note_init(&called, &topics[last], false);
	sim_note_init(&beside, &topics[last], false);
	called.body = body;
}

static void end(void)
{
	sim_calm(true);
	sim_join_started();
	for (unsigned i = 0; i < TOPICS; i++)
		sim_topic_close(&topics[i]);
	sim_require(baton_pool_destroy(pool) == 0);
	for (unsigned i = 0; i < TOPICS; i++)
		sim_settled(&topics[i]);
	sim_no_leaks();
}

/* ---- Held ---- */

static void look(struct sim_note *note)
{
	for (unsigned i = 0; i < TOPICS; i++)
		sim_require(held(i) == (i == 0 || i == last || (i == 1 && last == 2)));
}

static void look_beside(struct sim_note *note)
{
	sim_require(held(last) && !held(0));
}

static void call_the_last(struct sim_note *note)
{
	sim_require(sim_note_call(&called) == 0);
	sim_require(held(0) && !held(last));
}

static void call_the_middle(struct sim_note *note)
{
	sim_require(sim_note_call(&middle) == 0);
	sim_require(held(0) && !held(1));
}

SIM_SCENARIO(called_elsewhere,
             "what a worker runs for a call is in the caller's topic; what it runs next is not")
{
	set_up(1, look);
	outer.body = call_the_last;
	beside.body = look_beside;
	sim_start(sim_does_submit, &beside);
	sim_require(sim_note_call(&outer) == 0);
	sim_require(!held(0) && called.fate == SIM_RAN);
	end();
}

/* The outermost baton has no frame, and the one above it has. */
SIM_SCENARIO(called_from_below, "the worker follows all batons of the caller, also the outermost",
             .bound = 1)
{
	set_up(2, look);
	outer.body = call_the_middle;
	middle.body = call_the_last;
	sim_require(sim_note_call(&outer) == 0);
	sim_require(called.fate == SIM_RAN);
	end();
}

/* ---- The chain has three threads: the worker's function calls a topic that is busy ---- */

static struct sim_note innermost; /* of topic 2 */

static void look_at_three(struct sim_note *note)
{
	sim_require(held(0) && held(1) && held(2));
}

static void call_the_innermost(struct sim_note *note)
{
	sim_require(held(0) && held(1) && !held(2));
	sim_require(sim_note_call(&innermost) == 0);
	sim_require(held(0) && held(1) && !held(2));
}

SIM_SCENARIO(called_by_called, "a chain of three threads is followed to its end", .bound = 1)
{
	struct sim_note busy;

	set_up(1, call_the_innermost);
	outer.body = call_the_last;
	sim_note_init(&innermost, &topics[2], false);
	innermost.body = look_at_three;
	sim_note_init(&busy, &topics[2], false);
	sim_start(sim_does_submit, &busy);
	sim_require(sim_note_call(&outer) == 0);
	sim_require(innermost.fate == SIM_RAN);
	end();
}

/* ---- What a wait runs is in no chain ---- */

static struct sim_note waited; /* of topic 2, with a future */

static void look_in_wait(struct sim_note *note)
{
	sim_require(held(2) && !held(0));
}

static void wait_for_look(struct sim_note *note)
{
	sim_require(sim_note_submit_later(&waited) == 0);
	sim_require(baton_future_wait(&waited.future) == 0);
	sim_require(held(0));
}

SIM_SCENARIO(called_waits, "what the called function's wait runs is not in the caller's topic",
             .bound = 1)
{
	set_up(1, wait_for_look);
	sim_note_init(&waited, &topics[2], true);
	waited.body = look_in_wait;
	outer.body = call_the_last;
	sim_require(sim_note_call(&outer) == 0);
	end();
}

/* The caller runs in a wait of a task of topic 0, or on the worker. */
static void look_past_help(struct sim_note *note)
{
	sim_require(held(1) && held(2) && !held(0));
}

static void call_in_wait(struct sim_note *note)
{
	sim_require(sim_note_call(&called) == 0);
}

static void wait_for_caller(struct sim_note *note)
{
	sim_require(sim_note_submit_later(&waited) == 0);
	sim_require(baton_future_wait(&waited.future) == 0);
}

SIM_SCENARIO(called_from_wait, "nor does the chain lead to what a helping caller holds below",
             .bound = 1)
{
	set_up(1, look_past_help);
	sim_note_init(&waited, &topics[2], true);
	waited.body = call_in_wait;
	outer.body = wait_for_caller;
	sim_require(sim_note_call(&outer) == 0);
	end();
}

/* ---- Ends of the chain ---- */

static struct baton_detached token;
static uint32_t told; /* the token is known */

static void detach(struct sim_note *note)
{
	sim_require(held(0));
	sim_require(baton_detach(&token, 0) == 0);
	store_release(&told, 1);
	/* The caller may have returned by now. */
	sim_require(!held(0) && held(1));
}

static void complete(void *unused)
{
	while (!load_acquire(&told))
		sim_yield();
	sim_require(baton_detached_complete(&token, 0, &called) == 0);
}

SIM_SCENARIO(called_detaches, "a function that detaches itself no longer looks at its caller",
             .bound = 1)
{
	set_up(1, detach);
	baton_detached_init(&token);
	outer.body = call_the_last;
	sim_start(complete, NULL);
	sim_require(sim_note_call(&outer) == 0);
	end();
}

/* The caller withdraws the call at its deadline, or waits on: the task was entered. */
static void call_in_time(struct sim_note *note)
{
	const struct baton_call_options options = {
		.fn = sim_note_run, .arg = &called, .timeout_ns = 1000000};
	int status;

	sim_note_begin(&called);
	status = baton_call_with(&topics[1].resource, &options, NULL);
	sim_require(status == 0 || status == -ETIMEDOUT);
	(void)sim_note_end(&called, status);
}

SIM_SCENARIO(called_in_time, "a call that is withdrawn at its deadline leaves no chain")
{
	set_up(1, look);
	outer.body = call_in_time;
	beside.body = look_beside;
	sim_start(sim_does_submit, &beside);
	sim_require(sim_note_call(&outer) == 0);
	end();
}

/* ---- Deadlocks ---- */

static struct sim_note wanted; /* of topic 0, with a future */

static void *nothing(void *unused)
{
	return unused;
}

/* Each at once, whatever the other threads do. */
static void ask_for_outer(struct sim_note *note)
{
	struct baton_deadlock_link links[TOPICS];
	struct baton_resource *resource = &topics[0].resource;
	uint64_t deadline = sim_in(1000000000);

	sim_require(baton_call(resource, nothing, NULL, NULL) == -EDEADLK);
	sim_require(baton_deadlock_cycle(links, TOPICS) == 2);
	sim_require(links[0].resource == resource && links[1].resource == &topics[1].resource);
	sim_require(baton_try_call(resource, nothing, NULL, NULL) == -EDEADLK);
	sim_require(sim_note_submit(&wanted) == 0);
	sim_require(baton_future_wait(&wanted.future) == -EDEADLK);
	sim_require(baton_future_wait_until(&wanted.future, deadline) == -EDEADLK);
	sim_require(baton_resource_await(resource) == -EDEADLK);
}

SIM_SCENARIO(called_asks_back, "a called function that asks for its caller's topic is refused")
{
	set_up(1, ask_for_outer);
	sim_note_init(&wanted, &topics[0], true);
	outer.body = call_the_last;
	sim_require(sim_note_call(&outer) == 0);
	sim_require(baton_future_wait(&wanted.future) == 0);
	end();
}

/* Topic 2 is in nobody's chain: it is busy, and becomes free. */
static void ask_for_another(struct sim_note *note)
{
	int status;

	sim_require(baton_call(&topics[2].resource, nothing, NULL, NULL) == 0);
	status = baton_try_call(&topics[2].resource, nothing, NULL, NULL);
	sim_require(status == 0 || status == -EAGAIN);
}

static void call_topic_2(void *unused)
{
	sim_require(baton_call(&topics[2].resource, nothing, NULL, NULL) == 0);
}

SIM_SCENARIO(called_asks_another, "one that asks for another topic is not", .bound = 1)
{
	set_up(1, ask_for_another);
	outer.body = call_the_last;
	sim_start(call_topic_2, NULL);
	sim_require(sim_note_call(&outer) == 0);
	end();
}
