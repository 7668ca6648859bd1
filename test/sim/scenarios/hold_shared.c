/* SPDX-License-Identifier: MIT */
/*
 * Shared holds: beside each other, beside reader tasks, writers and holds. What writers write the
 * thread of a shared hold looks at, as a plain word: an edge that is missing is a race.
 */
#include "script.h"

#include <baton/hold.h>
#include <baton/reader.h>

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct baton_shared_hold holds[4]; /* of the topic, by their numbers */

static int begun(int status)
{
	if (status)
		return status;
	sim_reading_begin(topic);
	sim_require(baton_current() == &topic->resource && baton_reading(&topic->resource) &&
	            !baton_held(&topic->resource));
	return 0;
}

SIM_VERB(shares, SIM_OK)
{
	return begun(baton_hold_shared(&sim_script_readers, &holds[number]));
}

SIM_VERB(share_soon, SIM_OK)
{
	uint64_t deadline = sim_in(1000000000);

	return begun(baton_hold_shared_until(&sim_script_readers, &holds[number], deadline));
}

SIM_VERB(share_now, SIM_OK)
{
	return begun(baton_hold_shared_until(&sim_script_readers, &holds[number], 0));
}

SIM_VERB(in_shared, SIM_OK)
{
	int changes = topic->changes;

	sim_point();
	sim_require(topic->changes == changes);
	return 0;
}

static SIM_UNSEEN void check_alone(void)
{
	if (topic->reading != 1)
		sim_fail("another reader runs beside the shared hold");
}

SIM_VERB(in_shared_alone, SIM_OK)
{
	int changes = topic->changes;

	check_alone();
	sim_point();
	check_alone();
	sim_require(topic->changes == changes);
	return 0;
}

SIM_VERB(unshares, SIM_OK)
{
	sim_reading_end(topic);
	return baton_release_shared(&holds[number]);
}

/* ---- One resource ---- */

SIM_SCRIPT(hold_shared_two, 0, "two shared holds and a writer, on an idle resource",
           "bare; readers"
           "| A: shares 0; in_shared; unshares 0 | B: shares 1; in_shared; unshares 1"
           "| C: submit c")

SIM_SCRIPT(hold_shared_beside, 2, "shared holds beside reader tasks and a writer",
           "bare; readers; reads a"
           "| A: attach; submit a | B: shares 0; in_shared; unshares 0"
           "| C: submit c | shares 1; in_shared; unshares 1")

SIM_SCRIPT(hold_shared_three, 1, "three shared holds, one of them twice, beside a writer",
           "bare; readers"
           "| A: shares 0; in_shared; unshares 0; shares 0; in_shared; unshares 0"
           "| B: shares 1; in_shared; unshares 1"
           "| C: shares 2; in_shared; unshares 2; submit a")

SIM_SCRIPT(hold_shared_hold, 2, "a hold alone and two shared ones",
           "bare; readers"
           "| A: holds 0; in_hold; releases 0"
           "| B: shares 1; in_shared; unshares 1 | C: shares 2; in_shared; unshares 2")

SIM_SCRIPT(hold_shared_told, 2, "no shared hold overtakes a writer whose submit has ended",
           "readers; reads a; futures c"
           "| A: attach; submit a | B: attach; submit c; fulfil"
           "| C: until_fulfilled; shares 0; in_shared; unshares 0; wait c")

SIM_SCRIPT(hold_shared_queued, 1, "a queued resource: shared holds help up to their places",
           "quantum 1; readers; queued a b"
           "| A: shares 0; in_shared; unshares 0 | B: shares 1; in_shared; unshares 1")

SIM_SCRIPT(hold_shared_help, 1, "a helper that wants to hold runs readers before its place",
           "limit 1; quantum 1; readers; futures b; reads b"
           "| A: attach; submit a b | B: shares 0; in_shared; unshares 0 | C: wait b")

SIM_SCRIPT(hold_shared_submit, 2, "inside, submits queue their tasks, readers or not",
           "bare; readers; reads b"
           "| A: shares 0; submit a b; has_not_run a; has_not_run b; in_shared; unshares 0"
           "| B: shares 1; in_shared; unshares 1")

SIM_SCRIPT(hold_shared_bound, 1, "limit 0: the executor's thread alone, and as a reader",
           "limit 0; readers; queued a | A: submit b | shares 0; in_shared; unshares 0")

SIM_SCRIPT(hold_shared_hooks, 1, "with hooks, shared holds come one after the other",
           "hooks; readers; queued a"
           "| A: shares 0; in_shared_alone; unshares 0"
           "| B: shares 1; in_shared_alone; unshares 1")

SIM_SCRIPT(hold_shared_party, 2, "a worker takes readers along, and grants holds among them",
           "readers; reads b c"
           "| A: attach; help | B: shares 0; in_shared; unshares 0"
           "| works; later a b c d; drive; help")

SIM_SCRIPT(hold_shared_counts, 2, "statistics count each once",
           "bare; count_readers; readers; reads a"
           "| A: attach; submit a | B: shares 0; in_shared; unshares 0"
           "| C: shares 1; in_shared; unshares 1 | submit c")

/* ---- Other ends of the wait ---- */

SIM_SCRIPT(hold_shared_deadline, 2, "a deadline passes before the grant, or the grant wins",
           "readers; queued a"
           "| A: share_soon 0 = ok / late; in_shared; unshares 0"
           "| B: shares 1; in_shared; unshares 1 | C: submit b")

SIM_SCRIPT(hold_shared_past, 2, "a deadline in the past: only where the thread need not wait",
           "bare; readers; reads b"
           "| A: share_now 0 = ok / late; in_shared; unshares 0 | B: attach; submit a b"
           "| share_now 1 = ok / late; in_shared; unshares 1")

SIM_SCRIPT(hold_shared_cancel, 2, "a cancel of all that waits",
           "readers; queued a"
           "| A: shares 0 = ok / cancelled; in_shared; unshares 0"
           "| B: shares 1 = ok / cancelled; in_shared; unshares 1"
           "| C: cancel_all")

SIM_SCRIPT(hold_shared_close, 1, "a close and an await beside shared holds",
           "readers; queued a"
           "| A: shares 0 = ok / closed; in_shared; unshares 0"
           "| B: shares 1 = ok / closed; in_shared; unshares 1"
           "| C: close; await; settled")

SIM_SCRIPT(hold_shared_finalised, 1, "the finaliser comes behind the last shared hold",
           "bare; readers; stays"
           "| A: shares 0 = ok / closed; in_shared; unshares 0"
           "| B: shares 1 = ok / closed; in_shared; unshares 1"
           "| close_then")

SIM_SCRIPT(hold_shared_suspend, 2, "a suspension takes effect behind shared holds",
           "bare; readers"
           "| A: shares 0; in_shared; unshares 0 | B: shares 1; in_shared; unshares 1"
           "| suspend 0; effective 0; alone; resume 0")

SIM_SCRIPT(hold_shared_suspend_inside, 1, "the thread of a shared hold suspends its resource",
           "bare; readers"
           "| A: shares 0; suspend 0; ineffective 0; in_shared; unshares 0; effective 0; alone;"
           " resume 0"
           "| B: shares 1; in_shared; unshares 1 | C: submit a")

SIM_SCRIPT(hold_shared_await, 2, "an await on the open resource",
           "bare; readers"
           "| A: shares 0; in_shared; unshares 0 | B: shares 1; in_shared; unshares 1"
           "| submit c; await")

SIM_SCRIPT(hold_shared_inside, 1, "in tasks of another resource",
           "readers; other 10; elsewhere a b"
           "| a: shares 0; in_shared; unshares 0 | b: shares 1; in_shared; unshares 1"
           "| A: submit a; submit b | B: submit c; shares 2; in_shared; unshares 2")

/* ---- A stopped thread ---- */

SIM_SCRIPT_FROZEN(hold_shared_frozen, "a shared hold that is stopped delays its resource alone",
                  "bare; readers; other 10; elsewhere b"
                  "| A: shares 0; in_shared; unshares 0"
                  "| B: submit a b; share_now 1 = ok / late; in_shared; unshares 1"
                  "| C: submit c")

SIM_SCRIPT_FROZEN(hold_shared_frozen_leader, "the leader is stopped beside a shared hold",
                  "bare; readers; reads a; other 10; elsewhere b"
                  "| A: attach; submit a"
                  "| B: submit b; share_now 1 = ok / late; in_shared; unshares 1"
                  "| C: submit c")

SIM_SCRIPT_FROZEN(hold_shared_frozen_waiter, "one that is stopped in its wait delays no submit",
                  "bare; readers; other 10; elsewhere b"
                  "| A: share_soon 0 = ok / late; in_shared; unshares 0"
                  "| B: submit a; share_now 1 = ok / late; in_shared; unshares 1"
                  "| C: submit b c")
