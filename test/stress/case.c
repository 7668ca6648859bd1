/* SPDX-License-Identifier: MIT */
/* Judges one resource's history by the laws. */
#include "case.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "note.h"
#include "report.h"
#include "sabotage.h"

/* Awaits and cancels are compared with every task, if there are not too many of both. */
#define COMPARISONS_MAX 4000000

struct matter {
	struct note **notes;
	size_t count;
	size_t ran; /* so many of them are tasks that ran */
	struct note *closed_first;
	uint64_t close_begins; /* the first to begin, and to return */
	uint64_t close_returns;
	uint64_t cancel_returns; /* the last cancel_pending */
	struct note *finaliser;
	size_t close_thens;
	struct note *ended;
};

static void swap_two(struct matter *matter, enum sabotage which)
{
	for (size_t i = 1; i < matter->ran; i++) {
		struct note *before = matter->notes[i - 1];
		struct note *note = matter->notes[i];
		bool same = note->kind == NOTE_BATCH && before->kind == NOTE_BATCH &&
		            note->about == before->about;
		uint64_t ran = before->ran;
		uint64_t ran_end = before->ran_end;

		if (which == BREAK_SWAP ? before->end > note->begin : !same)
			continue;
		if (!sabotage_now(which))
			continue;
		before->ran = note->ran;
		before->ran_end = note->ran_end;
		before->position++;
		note->ran = ran;
		note->ran_end = ran_end;
		note->position--;
		matter->notes[i - 1] = note;
		matter->notes[i] = before;
	}
}

static void see_closing(struct matter *matter, struct note *note)
{
	if (note->begin < matter->close_begins)
		matter->close_begins = note->begin;
	if (note->end < matter->close_returns)
		matter->close_returns = note->end;
	matter->close_thens += note->kind == NOTE_CLOSE_THEN;
}

static void look_through(struct matter *matter)
{
	for (size_t i = 0; i < matter->count; i++) {
		struct note *note = matter->notes[i];

		if (note_is_task(note) && note->runs && i == matter->ran)
			matter->ran++;
		switch (note->kind) {
		case NOTE_CLOSE:
		case NOTE_CLOSE_THEN:
			see_closing(matter, note);
			break;
		case NOTE_CANCEL_PENDING:
			if (note->end > matter->cancel_returns)
				matter->cancel_returns = note->end;
			break;
		case NOTE_FINALISER:
			if (matter->finaliser)
				report(note, matter->finaliser, "two finalisers");
			matter->finaliser = note;
			break;
		case NOTE_ENDED:
			matter->ended = note;
			break;
		default:
			break;
		}
	}
}

/* Somebody had a reason to cancel it. */
static bool justified(const struct matter *matter, const struct note *note)
{
	return atomic_load(&note->tried) || matter->cancel_returns > note->begin ||
	       !matter->ended->unjustified ||
	       (note->kind == NOTE_THEN && matter->close_begins != NOTE_NEVER);
}

/* L3, and what errors and cancels promise. */
static void judge_task(const struct matter *matter, struct note *note)
{
	int ends = note->runs + note->cancels;
	/* Nobody is told of the cancelling of a post, or looks at the future. */
	bool untold = note->kind == NOTE_POST || (note->kind == NOTE_ASYNC && !note->seen);
	bool accepted = note->result == 0 ||
	                (note->result == -ECANCELED && (note->kind == NOTE_CALL || note->early));

	if (note->result == NOTE_PENDING)
		report(note, NULL, "a submit has never returned");
	if (!accepted && ends)
		report(note, NULL, "L3: a refused task (%d) has run or been cancelled",
		       note->result);
	if (accepted && ends != 1 && !(untold && ends == 0))
		report(note, NULL, "L3: a task has run %u and been cancelled %u times", note->runs,
		       note->cancels);
	if (accepted && !note->runs && !justified(matter, note))
		report(note, matter->ended, "L3: a task has not run, and nobody has cancelled it");
	if (note->result == -EPIPE && note->end < matter->close_begins)
		report(note, NULL, "a submit is refused, but nobody has closed the resource");
	if (accepted && note->kind != NOTE_THEN && note->begin > matter->close_returns)
		report(note, NULL, "a closed resource accepts a task (closed by ticket %llu)",
		       (unsigned long long)matter->close_returns);
	if (atomic_load(&note->won) && note->runs)
		report(note, NULL, "a task has run that a cancel said would not");
	if (atomic_load(&note->told) && !note->runs)
		report(note, NULL, "a task has not run that a cancel said was running");
	if (note->after && note->runs && note->after->runs && note_is_task(note->after) &&
	    note->after->ran_end > note->ran)
		report(note, note->after, "a continuation has run before its future's task");
}

static void judge_batch(struct note *note, const struct note *before)
{
	struct note *head = note->about;

	if (before && before->kind == NOTE_BATCH && before->about == head) {
		if (before->batch >= note->batch)
			report(note, before, "L2: the tasks of a batch run in another order");
		return;
	}
	if (head->visited)
		report(note, before, "L2: another task runs amid a batch");
	head->visited = true;
}

/* L1 and L2. */
static void judge_order(const struct matter *matter)
{
	const struct note *latest = NULL; /* of those that ran, the one whose submit began last */

	for (size_t i = 0; i < matter->ran; i++) {
		struct note *note = matter->notes[i];
		struct note *before = i ? matter->notes[i - 1] : NULL;

		if (note->position != i)
			report(note, before, "L1: of %zu tasks this one, the %zu-th, has number %u",
			       matter->ran, i, note->position);
		if (before && before->ran_end > note->ran)
			report(note, before,
			       "L1: a task begins before the one before it has ended");
		if (latest && note->end < latest->begin)
			report(note, latest,
			       "L2: a task's submit returned before the other's began, "
			       "but it ran later");
		if (!latest || latest->begin < note->begin)
			latest = note;
		if (note->kind == NOTE_BATCH)
			judge_batch(note, before);
		if (note->kind == NOTE_THEN && note->about && note->about->runs &&
		    note->about->position > note->position)
			report(note, note->about, "two continuations run in another order");
	}
}

/* An await returned 0: what was accepted before it is over. */
static void judge_await(const struct matter *matter, struct note *await)
{
	for (size_t i = 0; i < matter->ran; i++) {
		struct note *note = matter->notes[i];

		if (note->end < await->begin && sabotage_now(BREAK_AWAIT))
			note->ran_end = await->end + 1;
		if (note->end < await->begin && note->ran_end > await->end)
			report(note, await, "an await returned before a task had run");
	}
}

/* At most one task can have been about to be entered when the mark was set. */
static void judge_cancel(const struct matter *matter, struct note *cancel)
{
	const struct note *passed = NULL;

	for (size_t i = 0; i < matter->ran; i++) {
		const struct note *note = matter->notes[i];

		if (note->end > cancel->begin || note->ran < cancel->end)
			continue;
		if (passed)
			report(note, passed, "two tasks ran after a cancel_pending (ticket %llu)",
			       (unsigned long long)cancel->begin);
		passed = note;
	}
}

static void judge_end(struct matter *matter)
{
	struct note *ended = matter->ended;
	struct note *last = matter->ran ? matter->notes[matter->ran - 1] : NULL;

	if (ended->position != matter->ran)
		report(ended, last, "L3: %zu tasks ran, but the resource counted %u", matter->ran,
		       ended->position);
	if (ended->future && (ended->count[1] != matter->ran ||
	                      ended->count[0] != ended->count[1] + ended->count[2]))
		report(ended, last,
		       "statistics: submitted %llu, executed %llu, cancelled %llu; %zu ran",
		       (unsigned long long)ended->count[0], (unsigned long long)ended->count[1],
		       (unsigned long long)ended->count[2], matter->ran);
	if (matter->close_thens != (matter->finaliser != NULL))
		report(ended, NULL, "L3: a finaliser was not called");
	if (matter->finaliser && last && sabotage_now(BREAK_EARLY))
		last->ran_end = matter->finaliser->begin + 1;
	if (matter->finaliser && last && last->ran_end > matter->finaliser->begin)
		report(last, matter->finaliser, "a finaliser is called before the last task's end");
}

void case_judge(struct note **notes, size_t count)
{
	struct matter matter = {.notes = notes,
	                        .count = count,
	                        .close_begins = NOTE_NEVER,
	                        .close_returns = NOTE_NEVER};
	size_t compared = 0;

	look_through(&matter);
	if (!matter.ended)
		report(notes[0], NULL, "L10: a resource was never given back");
	swap_two(&matter, BREAK_SWAP);
	swap_two(&matter, BREAK_BATCH);
	judge_order(&matter);
	for (size_t i = 0; i < count; i++) {
		struct note *note = notes[i];

		if (note_is_task(note)) {
			if (note->runs && note->after && note->after->runs &&
			    sabotage_now(BREAK_THEN))
				note->after->ran_end = note->ran + 1;
			if (note->runs && matter.close_returns != NOTE_NEVER &&
			    note->kind != NOTE_THEN && sabotage_now(BREAK_CLOSED))
				note->begin = matter.close_returns + 1;
			judge_task(&matter, note);
			continue;
		}
		if ((note->kind != NOTE_AWAIT && note->kind != NOTE_CANCEL_PENDING) ||
		    compared > COMPARISONS_MAX)
			continue;
		compared += matter.ran;
		if (note->kind == NOTE_CANCEL_PENDING)
			judge_cancel(&matter, note);
		else if (note->result == 0)
			judge_await(&matter, note);
	}
	judge_end(&matter);
}
