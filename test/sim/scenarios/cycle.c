/* SPDX-License-Identifier: MIT */
/*
 * Cycles of waits (cycle.c): threads that hold topics and wait for each other's. A cycle that
 * nobody is told of is a deadlock of the explorer's; an error without a cycle is a false alarm.
 */

#include "jobs.h"
#include "support.h"

#include "base/atomic.h"
#include "thread/thread.h"

#define TOPICS 3

static struct sim_topic topics[TOPICS];
static struct sim_note outer[TOPICS]; /* of topic i, run by thread i */
static struct sim_note inner[TOPICS]; /* waited for inside outer[i] */
static uint32_t refused;
static bool calls_back; /* a called function asks for its caller's topic */
static struct baton_pool *pool;

static void set_up(void)
{
	pool = sim_pool(1);
	for (unsigned i = 0; i < TOPICS; i++) {
		sim_topic_init(&topics[i], 2, 2, baton_pool_executor(pool));
		sim_note_init(&outer[i], &topics[i], true);
	}
}

/* `count` outer tasks have been submitted; and inner ones with futures, or not. */
static void end(unsigned count, bool futures)
{
	for (unsigned i = 0; i < count; i++)
		sim_require(baton_future_wait(&outer[i].future) == 0);
	for (unsigned i = 0; i < count && futures; i++)
		if (inner[i].topic)
			sim_require(baton_future_wait(&inner[i].future) == 0);
	sim_calm(true);
	sim_join_started();
	for (unsigned i = 0; i < TOPICS; i++)
		sim_topic_close(&topics[i]);
	sim_require(baton_pool_destroy(pool) == 0);
	for (unsigned i = 0; i < TOPICS; i++)
		sim_settled(&topics[i]);
	sim_no_leaks();
	/* One of the waits at most: without it nobody has to wait for ever. */
	sim_require(load_relaxed(&refused) <= 1);
}

/* The cycle begins with what was waited for, and ends with what this thread holds; it is shorter
 * where a thread has helped, and holds more than one. The rest is held only by sleeping callers of
 * this function. */
static void look_at_cycle(const struct sim_topic *wanted, size_t longest)
{
	struct baton_deadlock_link links[TOPICS];
	size_t length = baton_deadlock_cycle(links, TOPICS);

	sim_require(length >= 1 && length <= longest);
	sim_require(links[0].resource == &wanted->resource);
	sim_require(baton_held(links[length - 1].resource));
	for (size_t i = 0; i + 1 < length; i++)
		sim_require(baton_held(links[i].resource) == calls_back);
	(void)add_relaxed(&refused, 1);
}

static void wait_for_note(struct sim_note *note, size_t longest)
{
	int status = baton_future_wait(&note->future);

	if (status == 0)
		return;
	sim_require(status == -EDEADLK);
	look_at_cycle(note->topic, longest);
}

/* ---- Futures ---- */

static unsigned size;

static void wait_for_next(struct sim_note *note)
{
	unsigned own = (unsigned)(note - outer);

	sim_require(sim_note_submit(&inner[own]) == 0);
	wait_for_note(&inner[own], size);
}

static void ring(unsigned count, bool futures, void (*body)(struct sim_note *note))
{
	set_up();
	size = count;
	for (unsigned i = 0; i < count; i++) {
		sim_note_init(&inner[i], &topics[(i + 1) % count], futures);
		outer[i].body = body;
	}
	for (unsigned i = 1; i < count; i++)
		sim_start(sim_does_submit, &outer[i]);
	sim_does_submit(&outer[0]);
	end(count, futures);
}

SIM_SCENARIO(cycle_of_two, "two threads wait for each other's topics: one of them is told")
{
	ring(2, true, wait_for_next);
}

/* ---- Any of several ---- */

static struct baton_future promise;

static void wait_for_any(struct sim_note *note)
{
	struct baton_future *futures[2];
	size_t index;

	sim_require(sim_note_submit(&inner[0]) == 0);
	futures[0] = &inner[0].future;
	futures[1] = &promise;
	sim_require(baton_future_wait_any(futures, 2, &index) == 0);
}

static void does_fulfil(void *unused)
{
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
}

SIM_SCENARIO(cycle_or_promise, "a wait for any, one of which is on no cycle, is on none",
             .bound = 1)
{
	set_up();
	size = 2;
	baton_promise_init(&promise);
	sim_note_init(&inner[0], &topics[1], true);
	sim_note_init(&inner[1], &topics[0], true);
	outer[0].body = wait_for_any;
	outer[1].body = wait_for_next;
	sim_start(sim_does_submit, &outer[1]);
	sim_start(does_fulfil, NULL);
	sim_does_submit(&outer[0]);
	end(2, true);
	sim_require(load_relaxed(&refused) == 0);
}

SIM_SCENARIO(cycle_of_three, "three threads, three topics", .bound = 1)
{
	ring(3, true, wait_for_next);
}

/* ---- Calls ---- */

static void call_next(struct sim_note *note)
{
	struct sim_note *call = &inner[note - outer];
	int status;

	sim_note_begin(call);
	status = baton_call(&call->topic->resource, sim_note_run, call, NULL);
	if (status == -EDEADLK)
		look_at_cycle(call->topic, size);
	(void)sim_note_end(call, status);
}

SIM_SCENARIO(cycle_of_calls, "two threads call into each other's topics: one call is withdrawn")
{
	ring(2, false, call_next);
}

SIM_SCENARIO(cycle_of_three_calls, "three threads, three topics, calls", .bound = 1)
{
	ring(3, false, call_next);
}

/* A call that has been entered waits for its caller's topic: only the inner one can be refused. */
static void call_back(struct sim_note *note)
{
	call_next(&outer[1]);
}

static void call_into_1(struct sim_note *note)
{
	struct sim_note *call = note->argument;

	sim_note_begin(call);
	(void)sim_note_end(call, baton_call(&topics[1].resource, sim_note_run, call, NULL));
}

static struct sim_note called;

SIM_SCENARIO(cycle_entered, "a call that runs already is not refused; what it does is")
{
	set_up();
	calls_back = true;
	size = 2; /* topic 1's next is topic 0 */
	sim_note_init(&called, &topics[1], false);
	sim_note_init(&inner[1], &topics[0], false);
	called.body = call_back;
	outer[0].body = call_into_1;
	outer[0].argument = &called;
	sim_start(sim_does_submit, &outer[1]); /* so that topic 1 may be busy */
	sim_does_submit(&outer[0]);
	end(2, false);
	sim_require(called.fate == SIM_RAN);
}

SIM_SCENARIO(cycle_entered_elsewhere,
             "a call that a worker runs calls back: the inner call is refused, also asleep")
{
	set_up();
	calls_back = true;
	size = 2;
	sim_topic_init(&topics[1], 0, 2, baton_pool_executor(pool));
	topics[1].only = SIM_NOBODY;
	sim_note_init(&called, &topics[1], false);
	sim_note_init(&inner[1], &topics[0], false);
	called.body = call_back;
	outer[0].body = call_into_1;
	outer[0].argument = &called;
	sim_does_submit(&outer[0]);
	end(1, false);
	sim_require(called.fate == SIM_RAN);
	sim_require(inner[1].fate == SIM_REFUSED);
}

/* ---- Quiesces ---- */

static void quiesce_two(void *unused)
{
	struct baton_resource *both[2] = {&topics[1].resource, &topics[0].resource};
	struct baton_suspension held[2];
	int status = baton_quiesce(both, 2, held);

	if (status == 0)
		sim_require(baton_quiesce_end(held, 2) == 0);
	else
		sim_require(status == -EDEADLK);
	if (status)
		(void)add_relaxed(&refused, 1);
}

/* A task of topic `own` calls the other topic; the quiesce suspends topic 0 first. */
static void call_beside_quiesce(unsigned own)
{
	set_up();
	size = 2;
	sim_note_init(&inner[own], &topics[1 - own], false);
	outer[own].body = call_next;
	sim_start(quiesce_two, NULL);
	sim_does_submit(&outer[own]);
	sim_require(baton_future_wait(&outer[own].future) == 0);
	end(0, false);
}

SIM_SCENARIO(cycle_of_quiesce, "a quiesce beside a call down the addresses: one of them is told",
             .bound = 1)
{
	call_beside_quiesce(1);
}

SIM_SCENARIO(cycle_quiesce_none, "a quiesce beside a call up the addresses: no cycle", .bound = 1)
{
	call_beside_quiesce(0);
	sim_require(!load_relaxed(&refused));
}

/* ---- No cycles ---- */

static void two(void (*body)(struct sim_note *note))
{
	for (unsigned i = 0; i < 2; i++) {
		sim_note_init(&inner[i], &topics[1 - i], true);
		outer[i].body = body;
	}
	sim_start(sim_does_submit, &outer[1]);
	sim_does_submit(&outer[0]);
	end(2, true);
	sim_require(!load_relaxed(&refused));
}

static struct baton_future promise;

static void wait_for_either(struct sim_note *note)
{
	unsigned own = (unsigned)(note - outer);
	struct baton_future *futures[2] = {&inner[own].future, &promise};

	sim_require(sim_note_submit(&inner[own]) == 0);
	sim_require(baton_future_wait_any(futures, 2, NULL) == 0);
}

static void fulfil(void *argument)
{
	sim_require(baton_future_complete(&promise, 0, NULL) == 0);
}

SIM_SCENARIO(cycle_with_promise, "each waits for the other's topic, or a promise: no cycle",
             .bound = 1)
{
	set_up();
	baton_promise_init(&promise);
	sim_start(fulfil, NULL);
	two(wait_for_either);
}

static void wait_timed(struct sim_note *note)
{
	unsigned own = (unsigned)(note - outer);
	uint64_t deadline = sim_in(1000000);
	int status;

	sim_require(sim_note_submit(&inner[own]) == 0);
	status = baton_future_wait_until(&inner[own].future, own ? deadline : BATON_FOREVER);
	sim_require(status == 0 || (own && status == -ETIMEDOUT));
}

SIM_SCENARIO(cycle_with_deadline, "one of the two waits has a deadline: no cycle")
{
	set_up();
	two(wait_timed);
}

/* A chain: the last one waits for nobody. */
static void wait_in_chain(struct sim_note *note)
{
	unsigned own = (unsigned)(note - outer);

	sim_require(sim_note_submit(&inner[own]) == 0);
	sim_require(baton_future_wait(&inner[own].future) == 0);
}

SIM_SCENARIO(cycle_chain, "a chain of waits is no cycle", .bound = 1)
{
	set_up();
	for (unsigned i = 0; i < 2; i++) {
		sim_note_init(&inner[i], &topics[i + 1], true);
		outer[i].body = wait_in_chain;
	}
	sim_start(sim_does_submit, &outer[1]);
	sim_start(sim_does_submit, &outer[2]);
	sim_does_submit(&outer[0]);
	end(3, true);
}

/* Topic 1's runner has completed what the other waits for, and then waits for that one, who has not
 * woken yet. */
static void submit_outer_1(struct sim_note *note)
{
	sim_require(sim_note_submit(&outer[1]) == 0);
}

static void wait_in_time(struct sim_note *note)
{
	struct sim_note *wanted = &inner[note - outer];

	sim_require(sim_note_submit(wanted) == 0);
	sim_require(baton_future_wait(&wanted->future) == 0);
}

SIM_SCENARIO(cycle_completed, "a wait that is over, though not woken, is none", .bound = 2)
{
	set_up();
	sim_note_init(&inner[0], &topics[1], true);
	sim_note_init(&inner[1], &topics[0], true);
	inner[0].body = submit_outer_1;
	outer[0].body = wait_in_time;
	outer[1].body = wait_in_time;
	sim_start(sim_does_submit, &outer[0]);
	end(2, true);
	sim_require(!load_relaxed(&refused));
}

/* ---- Bound late ---- */

/* Of topic 0: waits for what thread 2 submits to topic 1, whose runner waits for topic 0. */
static void wait_for_late(struct sim_note *note)
{
	wait_for_note(&inner[0], 2);
}

static void wait_for_0(struct sim_note *note)
{
	sim_require(sim_note_submit(&inner[1]) == 0);
	wait_for_note(&inner[1], 2);
}

SIM_SCENARIO(cycle_bound_late, "a submit for a future that is waited for closes the cycle",
             .bound = 1, .ordered = true)
{
	set_up();
	sim_note_init(&inner[0], &topics[1], true);
	sim_note_init(&inner[1], &topics[0], true);
	outer[0].body = wait_for_late;
	outer[1].body = wait_for_0;
	sim_start(sim_does_submit, &outer[0]);
	sim_start(sim_does_submit, &outer[1]);
	sim_require(sim_note_submit(&inner[0]) == 0);
	end(2, true);
}
