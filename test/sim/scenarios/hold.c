/* SPDX-License-Identifier: MIT */
/*
 * Holds. The thread that holds a topic writes what otherwise only tasks write: an edge that is
 * missing is a race.
 */
#include "script.h"

#include <baton/hold.h>

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct sim_topic *const other = &sim_script_other;
static struct baton_hold holds[4]; /* of the topic, by their numbers */
static struct baton_hold others[4];
static struct baton_hold pairs[4][2];

static void alone_in(struct sim_topic *held)
{
	int before = ++held->changes;

	sim_require(baton_held(&held->resource));
	sim_point();
	sim_require(held->changes == before);
}

SIM_VERB(holds, SIM_OK)
{
	int status = baton_hold(&topic->resource, &holds[number]);

	if (status == 0)
		sim_require(baton_current() == &topic->resource);
	return status;
}

SIM_VERB(hold_soon, SIM_OK)
{
	uint64_t deadline = sim_in(1000000000);

	return baton_hold_until(&topic->resource, &holds[number], deadline);
}

SIM_VERB(hold_now, SIM_OK)
{
	return baton_hold_until(&topic->resource, &holds[number], 0);
}

SIM_VERB(in_hold, SIM_OK)
{
	alone_in(topic);
	return 0;
}

SIM_VERB(releases, SIM_OK)
{
	return baton_release(&holds[number]);
}

SIM_VERB(hold_other, SIM_OK)
{
	return baton_hold(&other->resource, &others[number]);
}

SIM_VERB(in_other, SIM_OK)
{
	alone_in(other);
	return 0;
}

SIM_VERB(release_other, SIM_OK)
{
	return baton_release(&others[number]);
}

SIM_VERB(hold_both, SIM_OK)
{
	/* In an order that the addresses do not have, for one of two numbers. */
	struct baton_resource *const both[] = {number % 2 ? &topic->resource : &other->resource,
	                                       number % 2 ? &other->resource : &topic->resource};
	int status = baton_hold_many(both, 2, pairs[number]);

	if (status)
		sim_require(!baton_held(both[0]) && !baton_held(both[1]));
	return status;
}

SIM_VERB(hold_both_now, SIM_OK)
{
	struct baton_resource *const both[] = {&topic->resource, &other->resource};
	int status = baton_hold_many_until(both, 2, pairs[number], 0);

	if (status)
		sim_require(!baton_held(both[0]) && !baton_held(both[1]));
	return status;
}

SIM_VERB(in_both, SIM_OK)
{
	alone_in(topic);
	alone_in(other);
	return 0;
}

SIM_VERB(release_both, SIM_OK)
{
	int status = baton_release(&pairs[number][1]);

	return status ? status : baton_release(&pairs[number][0]);
}

/* ---- One resource ---- */

SIM_SCRIPT(hold_submit, 2, "a hold beside submitters",
           "| A: holds 0; in_hold; releases 0 | B: submit a b | C: submit c")

SIM_SCRIPT(hold_twice, 2, "two holds, one after the other, beside a submit",
           "| A: holds 0; in_hold; releases 0 | B: holds 1; in_hold; releases 1 | C: submit a")

SIM_SCRIPT(hold_three, 1, "three holds, and each twice",
           "| A: holds 0; in_hold; releases 0; holds 0; in_hold; releases 0"
           "| B: holds 1; in_hold; releases 1"
           "| C: holds 2; in_hold; releases 2; submit a")

SIM_SCRIPT(hold_queued, 1, "a queued resource: the holder, its executor and a helper",
           "quantum 1; queued a b | A: holds 0; in_hold; releases 0 | B: wait b")

SIM_SCRIPT(hold_queued_submit, 1, "the same, beside a submitter; the holder submits, too",
           "quantum 1; queued a | A: holds 0; in_hold; submit b; releases 0 | B: submit c")

/* Only the thread that drives the executor may hold. */
SIM_SCRIPT(hold_bound, 1, "limit 0: the executor's thread holds, and no other one",
           "limit 0; queued a | A: submit b | holds 0; in_hold; releases 0")

SIM_SCRIPT(
	hold_future, 1, "inside a hold the thread submits and sees its task wait",
           "futures a"
           "| A: holds 0; submit a; has_not_run a; in_hold; releases 0; wait a"
           "| B: submit b")

/* ---- Other ends of the wait ---- */

SIM_SCRIPT(hold_deadline, 2, "a deadline passes before the grant, or the grant wins",
           "queued a | A: hold_soon 0 = ok / late; in_hold; releases 0 | B: submit b")

SIM_SCRIPT(hold_deadline_twice, 1, "the same of two, one of which holds",
           "| A: hold_soon 0 = ok / late; in_hold; releases 0"
           "| B: hold_soon 1 = ok / late; in_hold; releases 1"
           "| C: submit a")

SIM_SCRIPT(hold_past, 2, "a deadline in the past never enters the inbox",
           "| A: hold_now 0 = ok / late; in_hold; releases 0 | B: submit a b")

SIM_SCRIPT(hold_cancel, 2, "a cancel of all that waits, and of one task, beside a hold",
           "queued a b"
           "| A: holds 0 = ok / cancelled; in_hold; releases 0"
           "| B: cancel_all; cancel b")

SIM_SCRIPT(hold_close, 1, "a close and an await beside a hold",
           "queued a"
           "| A: holds 0 = ok / closed; in_hold; releases 0"
           "| B: close; await; settled")

SIM_SCRIPT(hold_close_both, 1, "the same, beside two holds",
           "| A: holds 0 = ok / closed; in_hold; releases 0"
           "| B: holds 1 = ok / closed; in_hold; releases 1"
           "| C: close; await; settled")

SIM_SCRIPT(hold_finalised, 1, "the holder closes, and the finaliser comes after the release",
           "bare"
           "| A: holds 0; in_hold; close_then_settled; in_hold; releases 0"
           "| B: submit a = ok / closed")

SIM_SCRIPT(hold_finalised_beside, 1, "the same, beside a close by another thread",
           "bare"
           "| A: holds 0 = ok / closed; in_hold; releases 0"
           "| B: submit a = ok / closed; close_then_settled")

SIM_SCRIPT(hold_suspend, 1, "a suspension beside a hold, each alone",
           "| A: holds 0; in_hold; releases 0"
           "| B: suspend 0; effective 0; alone; resume 0"
           "| C: submit a")

SIM_SCRIPT(
	hold_suspend_inside, 1, "a holder suspends its resource: after the hold",
	"| A: holds 0; suspend 0; ineffective 0; in_hold; releases 0; effective 0; alone; resume 0"
	"| B: submit a; holds 1; in_hold; releases 1")

SIM_SCRIPT(hold_await, 2, "an await waits for a hold that was accepted before",
           "| A: holds 0; in_hold; releases 0 | B: submit a; await | C: submit b")

/* ---- Hooks ---- */

SIM_SCRIPT(hold_hooks, 1, "a hold is a batch of its own",
           "hooks; queued a b | A: holds 0; in_hold; releases 0 | B: wait b; committed b")

SIM_SCRIPT(
	hold_hooks_twice, 1, "two holds and a task, each a batch of its own",
	"hooks | A: holds 0; in_hold; releases 0 | B: holds 1; in_hold; releases 1 | C: submit a")

/* ---- Several resources ---- */

SIM_SCRIPT(hold_both, 2, "two threads hold both resources, named in two orders",
           "other 10"
           "| A: hold_both 0; in_both; release_both 0"
           "| B: hold_both 1; in_both; release_both 1")

SIM_SCRIPT(hold_both_beside, 1, "the same beside tasks of both",
           "other 10; elsewhere b"
           "| A: hold_both 0; in_both; release_both 0"
           "| B: submit a b"
           "| C: hold_other 0; in_other; release_other 0")

SIM_SCRIPT(hold_both_now, 1, "all or none, where one of them is busy",
           "other 10"
           "| A: hold_both_now 0 = ok / late; in_both; release_both 0"
           "| B: hold_other 0; in_other; release_other 0"
           "| C: holds 0; in_hold; releases 0")

/* One of the two is refused, unless one has both before the other begins. */
static bool refused[2];

SIM_VERB(refused, SIM_OK)
{
	refused[number] = true;
	return 0;
}

static void one_refused(void)
{
	sim_require(!(refused[0] && refused[1]));
}

SIM_VERB(at_most_one_refused, SIM_OK)
{
	refused[0] = refused[1] = false;
	sim_script_before_close(one_refused);
	return 0;
}

SIM_VERB(then_other, SIM_OK)
{
	int status = baton_hold(&other->resource, &others[number]);

	sim_require(status == 0 || status == -EDEADLK);
	if (status)
		return sim_verb_refused(NULL, number);
	alone_in(other);
	return baton_release(&others[number]);
}

SIM_VERB(then_topic, SIM_OK)
{
	int status = baton_hold(&topic->resource, &holds[number]);

	sim_require(status == 0 || status == -EDEADLK);
	if (status)
		return sim_verb_refused(NULL, number);
	alone_in(topic);
	return baton_release(&holds[number]);
}

SIM_SCRIPT(hold_cycle, 2, "two holds in two orders: one of the waits is refused, and never both",
           "other 10; at_most_one_refused"
           "| A: holds 0; then_other 0; releases 0"
           "| B: hold_other 1; then_topic 1; release_other 1")

SIM_SCRIPT(hold_cycle_call, 1, "a hold and a call in two orders",
           "other 10; elsewhere b; at_most_one_refused"
           "| A: holds 0; then_other 0; releases 0"
           "| b: then_topic 1"
           "| B: submit b")

/* ---- Inside a task ---- */

SIM_SCRIPT(hold_inside, 1, "a task holds another resource, beside that one's tasks",
           "other 10; elsewhere b"
           "| a: hold_other 0; in_other; submit b; release_other 0"
           "| A: submit a"
           "| B: hold_other 1; in_other; release_other 1")

/* ---- A stopped thread ---- */

SIM_SCRIPT_FROZEN(hold_frozen, "a stopped holder delays its own resource only",
                  "other 10; elsewhere b c"
                  "| A: holds 0; in_hold; releases 0"
                  "| B: submit a b; hold_other 1; in_other; release_other 1"
                  "| C: submit c")

SIM_SCRIPT_FROZEN(hold_frozen_both, "a stopped holder of two delays these two only",
                  "other 10; elsewhere b"
                  "| A: hold_both 0; in_both; release_both 0"
                  "| B: submit a b")

SIM_SCRIPT_FROZEN(hold_frozen_waiter, "a holder that is stopped in its wait delays no submit",
                  "other 10; elsewhere a b"
                  "| A: hold_soon 0 = ok / late; in_hold; releases 0"
                  "| B: submit a; hold_now 1 = ok / late; in_hold; releases 1"
                  "| C: submit b; hold_now 2 = ok / late; in_hold; releases 2")
