/* SPDX-License-Identifier: MIT */
/* What has come and what is missing; see ledger.h. */
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

static int insert(struct ledger *ledger, size_t at, uint64_t begin, uint64_t end)
{
	if (ledger->gap_count == ledger->gap_room) {
		const size_t room = ledger->gap_room == 0 ? 4 : 2 * ledger->gap_room;
		struct ledger_gap *gaps = realloc(ledger->gaps, room * sizeof(*gaps));

		if (gaps == NULL)
			return -1;
		ledger->gaps = gaps;
		ledger->gap_room = room;
	}
	memmove(ledger->gaps + at + 1, ledger->gaps + at,
	        (ledger->gap_count - at) * sizeof(*ledger->gaps));
	ledger->gaps[at] = (struct ledger_gap){.begin = begin, .end = end};
	ledger->gap_count++;
	return 0;
}

/* Takes one number out of a gap, which may split or close it. */
static int take_out(struct ledger *ledger, size_t at, uint64_t sequence)
{
	struct ledger_gap *gap = &ledger->gaps[at];

	if (gap->begin < sequence && sequence < gap->end - 1) {
		const uint64_t end = gap->end;

		gap->end = sequence;
		return insert(ledger, at + 1, sequence + 1, end);
	}
	if (gap->begin == sequence)
		gap->begin++;
	else
		gap->end--;
	if (gap->begin == gap->end) {
		ledger->gap_count--;
		memmove(gap, gap + 1, (ledger->gap_count - at) * sizeof(*gap));
	}
	return 0;
}

enum ledger_arrival ledger_note_gap(struct ledger *ledger, uint64_t sequence)
{
	size_t low = 0, high = ledger->gap_count;

	if (sequence >= ledger->next) {
		if (sequence > ledger->next &&
		    insert(ledger, ledger->gap_count, ledger->next, sequence) != 0)
			return LEDGER_NO_MEMORY;
		ledger->next = sequence + 1;
		return LEDGER_AHEAD;
	}
	while (low < high) { /* the first gap that ends above it */
		const size_t middle = low + (high - low) / 2;

		if (ledger->gaps[middle].end <= sequence)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == ledger->gap_count || ledger->gaps[low].begin > sequence)
		return LEDGER_DUPLICATE;
	return take_out(ledger, low, sequence) != 0 ? LEDGER_NO_MEMORY : LEDGER_LATE;
}

uint64_t ledger_missing(const struct ledger *ledger, uint64_t sent)
{
	uint64_t missing = sent > ledger->next ? sent - ledger->next : 0;

	for (size_t i = 0; i < ledger->gap_count; i++)
		missing += ledger->gaps[i].end - ledger->gaps[i].begin;
	return missing;
}

void ledger_deinit(struct ledger *ledger)
{
	free(ledger->gaps);
	*ledger = (struct ledger){0};
}
