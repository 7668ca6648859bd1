/* SPDX-License-Identifier: MIT */
/*
 * Law L4: thread A is stopped at each of its steps in turn, and delays nobody, save who needs a
 * resource whose baton it holds. Thread B submits to the same resource, and waits for another one's
 * task.
 */
#include "script.h"

/* ---- Submitters ---- */

#define TWO_RESOURCES "other 10; futures h; elsewhere g h; "
#define ANOTHER "| B: submit e f g h; wait h"

SIM_SCRIPT_FROZEN(freeze_submit, "a stopped submitter: capture, push, hand-off",
                  TWO_RESOURCES "limit 1 | A: submit a b" ANOTHER)

SIM_SCRIPT_FROZEN(freeze_submit_inline, "a stopped submitter that drains",
                  TWO_RESOURCES "| A: submit a b" ANOTHER)

SIM_SCRIPT_FROZEN(freeze_submit_later, "a stopped submitter, limit 0",
                  TWO_RESOURCES "limit 0 | A: submit a b" ANOTHER)

SIM_SCRIPT_FROZEN(freeze_submit_future, "a stopped submitter with a future, for which it waits",
                  TWO_RESOURCES "limit 1; futures b | A: submit a b; wait b" ANOTHER)

SIM_SCRIPT_FROZEN(freeze_batch, "a stopped submitter of a batch",
                  TWO_RESOURCES "limit 1 | A: batch_to b" ANOTHER)

SIM_SCRIPT_FROZEN(freeze_post, "a stopped thread in post, and at its exit",
                  TWO_RESOURCES "limit 1 | A: post a b" ANOTHER)

/* ---- Others ---- */

SIM_SCRIPT_FROZEN(freeze_waiter, "a stopped waiter: it spins, helps, sleeps",
                  TWO_RESOURCES "queued a | A: wait a" ANOTHER)

SIM_SCRIPT_FROZEN(freeze_waiter_later, "a stopped waiter, limit 0",
                  TWO_RESOURCES "limit 0; queued a | A: wait a" ANOTHER)

SIM_SCRIPT_FROZEN(freeze_canceller, "a stopped canceller",
                  TWO_RESOURCES "queued a b | A: cancel a" ANOTHER)

SIM_SCRIPT_FROZEN(freeze_cancel_pending, "a stopped thread in cancel_pending",
                  TWO_RESOURCES "queued a | A: cancel_all" ANOTHER)

SIM_SCRIPT_FROZEN(freeze_awaiter, "a stopped awaiter", TWO_RESOURCES "queued a | A: await" ANOTHER)

/* ---- Closers: the others' submits may be refused ---- */

#define ANOTHER_IF_OPEN "| B: submit e = ok closed; submit g h; wait h"

SIM_SCRIPT_FROZEN(freeze_closer, "a stopped closer",
                  TWO_RESOURCES "queued a | A: close" ANOTHER_IF_OPEN)

SIM_SCRIPT_FROZEN(freeze_close_then, "a stopped thread in close_then",
                  TWO_RESOURCES "queued a; stays | A: close_then" ANOTHER_IF_OPEN)

/* ---- Futures ---- */

SIM_SCRIPT_FROZEN(freeze_then, "a stopped thread in then",
                  "| A: then a | B: until_fulfilled | fulfil")

SIM_SCRIPT_FROZEN(freeze_promise_waiter, "a stopped waiter beside another one",
                  "bare | A: until_fulfilled | B: until_fulfilled | fulfil")

SIM_SCRIPT_FROZEN(freeze_unref, "a stopped thread in unref",
                  "limit 0; queued a; async b; ref b | A: unref b | B: until_async b; unref b")
