/* SPDX-License-Identifier: MIT */
/*
 * What a subscriber has got of what one publisher sent to one topic: all below `next` but for the
 * gaps. Exact however much is missing; costs nothing while all comes in order.
 */
#ifndef LOAD_LEDGER_H
#define LOAD_LEDGER_H

#include <stddef.h>
#include <stdint.h>

struct ledger_gap {
	uint64_t begin, end;
};

struct ledger {
	uint64_t next;
	struct ledger_gap *gaps; /* ascending */
	size_t gap_count, gap_room;
};

enum ledger_arrival {
	LEDGER_NEXT,      /* the one that was due */
	LEDGER_AHEAD,     /* left some out, which may come yet or be lost */
	LEDGER_LATE,      /* one that was left out: an order violation */
	LEDGER_DUPLICATE, /* had come before */
	LEDGER_NO_MEMORY,
};

enum ledger_arrival ledger_note_gap(struct ledger *ledger, uint64_t sequence);

static inline enum ledger_arrival ledger_note(struct ledger *ledger, uint64_t sequence)
{
	if (sequence != ledger->next)
		return ledger_note_gap(ledger, sequence);
	ledger->next++;
	return LEDGER_NEXT;
}

/* How many of the first `sent` have not come. */
uint64_t ledger_missing(const struct ledger *ledger, uint64_t sent);

void ledger_deinit(struct ledger *ledger);

#endif
