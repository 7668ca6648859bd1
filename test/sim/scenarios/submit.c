/* SPDX-License-Identifier: MIT */
/*
 * Submitters of one resource: capture, push, release and hand-off exclude each other, and run
 * each task once and in order.
 */
#include "script.h"

SIM_SCRIPT(submit_2, 0, "two submitters, two tasks each, all inline",
           "bare | A: submit a b | B: submit c d")

SIM_SCRIPT(submit_3, 0, "three submitters, two tasks each",
           "bare | A: submit a b | B: submit c d | C: submit e f")

SIM_SCRIPT(hand_off_limit_1, 0, "capture limit 1: every other task goes to the executor",
           "limit 1; quantum 1 | A: submit a b | B: submit c d")

SIM_SCRIPT(hand_off_limit_2, 1, "capture limit 2, three submitters",
           "limit 2; quantum 1 | A: submit a b | B: submit c d | C: submit e f")

SIM_SCRIPT(hand_off_limit_0, 0, "capture limit 0: everything runs on the executor's thread",
           "limit 0; quantum 1 | A: submit a b | B: submit c d")

SIM_SCRIPT(wait_2, 0, "two submitters wait for their own",
           "bare; futures a b | A: submit a; wait a | B: submit b; wait b")

/* ---- A batch that is run at once ---- */

SIM_SCRIPT(batch_cancelled, 0, "L3: cancelled while it is run at once, each of its tasks ends once",
           "bare | A: batch_to c | B: cancel_all")

SIM_SCRIPT(batch_beside, 0, "L2: beside another submitter, who comes before or after all of it",
           "bare | A: batch_to c | B: submit d e")

SIM_SCRIPT(batch_cancels, 0, "its second task cancels the third, whoever runs them",
           "bare | b: cancel_all | A: batch_to c | B: submit d e | join; was_cancelled c")
