/* SPDX-License-Identifier: MIT */
/*
 * The verdict on a round: all notes, resource by resource.
 *
 * Order: a task whose submit returned before another's began runs before it. That holds for one
 * submitter's tasks and for all others', and it is all that can be said about tasks whose submits
 * overlapped in time.
 */
#include "verdict.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "case.h"
#include "note.h"
#include "report.h"
#include "sabotage.h"

struct notes {
	struct note **notes;
	size_t count;
	size_t room;
};

static void add(struct note *note, void *arg)
{
	struct notes *all = arg;

	if (all->count == all->room) {
		all->room = all->room * 2 + 4096;
		all->notes = realloc(all->notes, all->room * sizeof(struct note *));
		MUST(all->notes);
	}
	all->notes[all->count++] = note;
}

/* By resource; of one, first the tasks that ran, in their order. */
static int compare(const void *left, const void *right)
{
	const struct note *a = *(struct note *const *)left;
	const struct note *b = *(struct note *const *)right;
	uint64_t at_a = note_is_task(a) && a->runs ? a->position : UINT32_MAX + a->begin;
	uint64_t at_b = note_is_task(b) && b->runs ? b->position : UINT32_MAX + b->begin;

	if (a->resource != b->resource)
		return a->resource < b->resource ? -1 : 1;
	return at_a < at_b ? -1 : at_a > at_b;
}

/* Jobs and promises. */
static void judge_single(struct note *note)
{
	int ends = note->runs + note->cancels;

	if (note->kind == NOTE_JOB && ends != (note->result == 0))
		report(note, note->after, "L3: a job has run or been cancelled %d times", ends);
	if (note->kind == NOTE_JOB && note->after && note->after->runs && note->runs &&
	    note->after->ran_end > note->ran)
		report(note, note->after, "a job for after a task has run before it");
	if (note->kind == NOTE_PROMISE && atomic_load(&note->told) + atomic_load(&note->won) != 1)
		report(note, NULL, "L3: a promise is fulfilled %u and cancelled %u times",
		       atomic_load(&note->told), atomic_load(&note->won));
	if (note->kind == NOTE_PROMISE && !note->seen)
		report(note, NULL, "L3: nobody has seen a promise complete");
}

uint64_t verdict(void)
{
	struct notes all = {0};
	size_t first = 0;

	note_each(add, &all);
	qsort(all.notes, all.count, sizeof(struct note *), compare);
	while (first < all.count && all.notes[first]->resource == 0)
		judge_single(all.notes[first++]);
	while (first < all.count) {
		size_t last = first;

		while (last < all.count && all.notes[last]->resource == all.notes[first]->resource)
			last++;
		case_judge(all.notes + first, last - first);
		first = last;
	}
	free(all.notes);
	return all.count;
}
