/* SPDX-License-Identifier: MIT */
/*
 * Windows: cancels of what waits, against completions, submits, helpers and the resource's end. An
 * execution fails as in window.c.
 */
#include "script.h"

#include <baton/tag.h>
#include <baton/window.h>

#include "base/atomic.h"

#include "../../parts.h"

SIM_SCRIPT(window_cancel, 2, "cancel beside a completion: each is complete once, in either way",
           "bare; window 1; futures a b; windowed a b; submit a b"
           "| A: cancel_waiting | B: acknowledge a | acknowledge b")

SIM_SCRIPT(window_cancel_one, 2, "one that waits is cancelled beside the completion it waits for",
           "bare; window 1; futures a b; windowed a b; submit a b"
           "| A: take_out b = ok already running | B: acknowledge a | acknowledge b")

SIM_SCRIPT(window_cancel_future, 1,
           "cancelled by its future alone: it completes at its turn, whose place the next one gets",
           "bare; window 1; futures a b c; windowed a b c; submit a b c"
           "| A: cancel b | B: acknowledge a | C: acknowledge b"
           "| until_complete b; acknowledge c; join; ran c")

SIM_SCRIPT(window_cancel_pending, 2, "cancel_pending meets one whose turn has come, or does not",
           "bare; window 1; futures a b; windowed a b; submit a b"
           "| A: cancel_all | B: acknowledge a | acknowledge b")

SIM_SCRIPT(window_cancel_kept, 0, "cancelled while it comes to the window: it does not stay there",
           "bare; window 0; futures a b; windowed a b"
           "| A: submit b | take_out_early b; until_complete b; join; started 0")

SIM_SCRIPT(window_cancel_beside, 2, "a cancel of what waits in an idle resource, and a submitter",
           "bare; window 0; futures a c; windowed a c; submit c"
           "| A: take_out c; gone c | B: submit a"
           "| join; kept 1; room 1; acknowledge a; started 1")

/* The other two start. */
SIM_SCRIPT(window_cancel_2, 2, "two that wait are cancelled beside a submitter: both complete",
           "bare; window 0; futures a b c d; windowed a b c d; submit a c d"
           "| A: take_out c; gone c | B: take_out d; gone d"
           "| submit b; join; kept 2; room 2; acknowledge a b; started 2")

SIM_SCRIPT(window_cancel_both, 2, "one that waits is cancelled, and all that wait",
           "bare; window 0; futures a b; windowed a b; submit a b"
           "| A: cancel_waiting"
           "| take_out b = ok already; gone b; until_complete a; join; started 0")

SIM_SCRIPT(window_cancel_emptied, 2,
           "the list becomes empty while a cancel of all is on its way, another task comes, and "
           "room is made: the kick is sent once",
           "bare; window 0; futures a b; windowed a b; submit b"
           "| A: cancel_waiting"
           "| take_out b = ok already; submit a; room 1; acknowledge a; until_complete a")

SIM_SCRIPT(window_cancel_again, 0,
           "cancelled while it comes to the window, submitted again, and cancelled again",
           "bare; window 0; futures a b; windowed a b"
           "| A: submit b | take_out_early b; until_complete b; join; futures b; windowed b"
           "| B: submit b | take_out_early b; until_complete b; join; started 0")

/* ---- A tag ---- */

static struct baton_tag tag;

static void tag_is_let_go(void)
{
	sim_require(baton_tag_held(&tag) == 0);
}

SIM_VERB(tagged, SIM_OK)
{
	const struct baton_label label = {.tag = &tag, .hold = true};
	struct windowed *windowed = baton_container_of(note->entry, struct windowed, task);

	if (note == sim_script_stage.notes)
		baton_tag_init(&tag);
	baton_stamp_set(&windowed->stamp, &label);
	sim_script_before_close(tag_is_let_go);
	return 0;
}

SIM_VERB(cancel_tag, SIM_OK)
{
	sim_script_mark(&sim_script_marks.cancels);
	baton_tag_cancel(&tag);
	return 0;
}

SIM_SCRIPT(window_tag, 2,
           "a label in a window: its tag is cancelled beside a completion, and let go",
           "bare; window 1; futures a b; windowed a b; tagged a b; submit a b"
           "| A: cancel_tag | B: acknowledge a | acknowledge b")

/* ---- The resource's end ---- */

SIM_SCRIPT(window_cancel_close, 2,
           "the last that wait are cancelled beside a close: the finaliser comes after both, and "
           "once",
           "bare; window 0; futures c d; windowed c d; submit c d"
           "| A: close_then | B: take_out c; gone c | take_out d; gone d; join; started 0")

SIM_SCRIPT(window_cancel_await, 2,
           "the last one that waits is cancelled beside an await of the closed resource",
           "bare; window 0; futures c; windowed c; submit c"
           "| A: take_out c; gone c | end; started 0")

SIM_SCRIPT(window_close_cancel, 0,
           "closed with a limit of 0: what waits is cancelled, then the finaliser",
           "bare; window 0; futures a b; windowed a b; submit a b"
           "| A: close_then | cancel_waiting; join; started 0")

/* ---- Two callers at once ---- */

static unsigned said[2];
static uint32_t asked;

SIM_VERB(say, SIM_OK)
{
	said[number] = 1;
	return 0;
}

SIM_VERB(both_said, SIM_OK)
{
	sim_require(said[0] && said[1]);
	return 0;
}

/* It orders nothing. */
SIM_VERB(count_asked, SIM_OK)
{
	(void)add_relaxed(&asked, 1);
	return 0;
}

SIM_VERB(until_asked, SIM_OK)
{
	while (load_relaxed(&asked) < number)
		sim_yield();
	return 0;
}

/* Task b holds the resource until both have asked. This thread runs the kick, too. */
SIM_SCRIPT(window_cancel_twice, 2,
           "the tasks are cancelled after what each of two callers did before its call",
           "bare; window 0; futures a; windowed a; submit a"
           "| b: start A B; until_asked 2"
           "| A: say 0; cancel_waiting; count_asked | B: say 1; cancel_waiting; count_asked"
           "| submit b; over a; both_said; started 0")

/* ---- With an executor ---- */

SIM_SCRIPT(window_cancel_queued, 1,
           "cancels of what waits in the window of a queued resource, beside the one that comes "
           "with its job",
           "limit 0; window 0; futures a b c d; windowed a b c d; submit a c d"
           "| A: take_out c; gone c | B: take_out d; gone d"
           "| submit b; drive; kept 2; room 2; drive; acknowledge a b; started 2")
