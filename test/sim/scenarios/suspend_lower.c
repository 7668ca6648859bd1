/* SPDX-License-Identifier: MIT */
/*
 * The lower lanes are suspended: their tasks stand still, the tasks of lane 0 run, and no entry is
 * left on a resource that rests. While the lower lanes are suspended the suspender writes what
 * otherwise only their tasks write: an edge that is missing is a race.
 */
#include "script.h"

#include <baton/suspend.h>

SIM_SCRIPT(lower_submit, 2, "beside submitters to both lanes, inline",
           "lanes; lower a; upper b"
           "| A: suspend_lower 0; effective 0; lower_alone; resume 0 | B: submit a | C: submit b")

SIM_SCRIPT(lower_queued, 1, "a queued resource: the suspender, its executor and a helper",
           "lanes; quantum 1; futures b c; lower a c; upper b; later a b"
           "| A: suspend_lower 0; effective 0; lower_alone; resume 0 | B: submit c; wait c")

SIM_SCRIPT(lower_later, 1, "limit 0: only the executor's thread comes to the mark",
           "lanes; limit 0; quantum 1; upper a; lower b"
           "| A: suspend_lower 0; effective 0; lower_alone; resume 0 | B: submit a | C: submit b")

SIM_SCRIPT(lower_withdraw, 2, "resumed before or after it has taken effect",
           "lanes; lower a; upper b"
           "| A: suspend_lower 0; resume 0 | B: submit a | C: submit b")

SIM_SCRIPT(lower_twice, 1, "two suspensions, and a submitter that waits for a lower task",
           "lanes; futures a; lower a"
           "| A: suspend_lower 0; resume 0 | B: suspend_lower 1; resume 1 | C: submit a; wait a")

SIM_SCRIPT(lower_await, 2, "an await on a resource that rests, beside a submit and the resume",
           "lanes; lower a b; suspend_lower 0; submit a | A: resume 0 | B: submit b | C: await")

SIM_SCRIPT(lower_close_driven, 2,
           "limit 0: who drives the executor awaits until another thread resumes",
           "lanes; limit 0; suspend_lower 0 | A: resume 0 | close; await; settled")

SIM_SCRIPT(lower_close, 2, "a close and an await beside a suspension",
           "lanes; lower a; upper b; later a b"
           "| A: suspend_lower 0 = ok / closed; resume 0 | B: close; await; settled")

SIM_SCRIPT(lower_cancel, 2, "a cancel of what waits beside a submitter and a resume",
           "lanes; lower a | A: suspend_lower 0; resume 0 | B: cancel_all | C: submit a")

/* The canceller can take the baton of a queued resource. */
SIM_SCRIPT(lower_cancel_one, 1, "a task that has captured the resource waits, and is cancelled",
           "lanes; futures a; lower a; upper b"
           "| A: submit a | B: suspend_lower 0; effective 0"
           "| drive; later b; cancel a = ok already; over a; resume 0")

SIM_SCRIPT(lower_and_whole, 2, "beside a suspension of the whole resource",
           "lanes; upper a"
           "| A: suspend_lower 0; resume 0 | B: suspend 1; effective 1; resume 1 | C: submit a")
