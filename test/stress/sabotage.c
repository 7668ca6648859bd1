/* SPDX-License-Identifier: MIT */
/* The negative controls' names, and whose turn it is. */
#include "sabotage.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Not the very first opportunity. */
#define SKIPPED 5

static const char *const names[BREAK_COUNT] = {
	[BREAK_NOTHING] = "nothing",
	[BREAK_LOSE] = "lose",
	[BREAK_TWICE] = "twice",
	[BREAK_SWAP] = "swap",
	[BREAK_OVERLAP] = "overlap",
	[BREAK_STALE] = "stale",
	[BREAK_VALUE] = "value",
	[BREAK_STATUS] = "status",
	[BREAK_CANCELLED] = "cancelled",
	[BREAK_REFUSED] = "refused",
	[BREAK_FINAL] = "final",
	[BREAK_NOFINAL] = "nofinal",
	[BREAK_EARLY] = "early",
	[BREAK_AWAIT] = "await",
	[BREAK_CLOSED] = "closed",
	[BREAK_STATS] = "stats",
	[BREAK_POISON] = "poison",
	[BREAK_LEAK] = "leak",
	[BREAK_STUCK] = "stuck",
	[BREAK_THEN] = "then",
	[BREAK_BATCH] = "batch",
	[BREAK_MOD_LOSE] = "mod-lose",
	[BREAK_MOD_ORDER] = "mod-order",
	[BREAK_MOD_BOUND] = "mod-bound",
	[BREAK_MOD_READER] = "mod-reader",
	[BREAK_MOD_WINDOW] = "mod-window",
	[BREAK_MOD_UNDO] = "mod-undo",
	[BREAK_MOD_TIMER] = "mod-timer",
	[BREAK_MOD_TRIGGER] = "mod-trigger",
	[BREAK_MOD_ADMISSION] = "mod-admission",
	[BREAK_MOD_MAINLOOP] = "mod-mainloop",
	[BREAK_MOD_IO] = "mod-io",
	[BREAK_MOD_STUCK] = "mod-stuck",
};

static enum sabotage chosen;
static atomic_int opportunities;

bool sabotage_choose(const char *name)
{
	for (int i = 0; i < BREAK_COUNT; i++) {
		if (strcmp(names[i], name) == 0) {
			chosen = (enum sabotage)i;
			return true;
		}
	}
	return false;
}

void sabotage_list(void)
{
	for (int i = BREAK_NOTHING + 1; i < BREAK_COUNT; i++)
		puts(names[i]);
}

bool sabotage_now(enum sabotage which)
{
	return which == chosen && atomic_fetch_add(&opportunities, 1) == SKIPPED;
}
