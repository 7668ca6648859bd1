/* SPDX-License-Identifier: MIT */
/*
 * Negative controls: each spoils one thing that the checker sees, once in a run, and the checker
 * must complain. A checker that cannot fail is worth nothing.
 */
#ifndef BATON_TEST_STRESS_SABOTAGE_H
#define BATON_TEST_STRESS_SABOTAGE_H

#include <stdbool.h>

enum sabotage {
	BREAK_NOTHING,
	BREAK_LOSE,          /* a task's run is not recorded */
	BREAK_TWICE,         /* a task's run is recorded twice */
	BREAK_SWAP,          /* two tasks of one submitter change places in the order */
	BREAK_OVERLAP,       /* a task leaves its resource's shadow too late */
	BREAK_STALE,         /* the shadow is half old */
	BREAK_VALUE,         /* a future's value is another */
	BREAK_STATUS,        /* a future's status is another */
	BREAK_CANCELLED,     /* a task counts as cancelled although it ran */
	BREAK_REFUSED,       /* a refused submit has touched its task */
	BREAK_FINAL,         /* a finaliser is called twice */
	BREAK_NOFINAL,       /* a finaliser is not called */
	BREAK_EARLY,         /* a finaliser comes before the last task */
	BREAK_AWAIT,         /* an await returns before a task has run */
	BREAK_CLOSED,        /* a closed resource accepts a task */
	BREAK_STATS,         /* a resource's counters are off by one */
	BREAK_POISON,        /* a byte is written to memory that was given back */
	BREAK_LEAK,          /* memory is not given back */
	BREAK_STUCK,         /* nobody fulfils a promise: a waiter waits for ever */
	BREAK_THEN,          /* a continuation runs before its future's task */
	BREAK_BATCH,         /* another's task runs amid a batch */
	BREAK_MOD_LOSE,      /* in a round of the modules: a task too many is over */
	BREAK_MOD_ORDER,     /* two tasks of a lane run in another order */
	BREAK_MOD_BOUND,     /* more waits than the bound allows */
	BREAK_MOD_READER,    /* a reader leaves its ground's shadow too late */
	BREAK_MOD_WINDOW,    /* more is in flight than the window allows */
	BREAK_MOD_UNDO,      /* a log forgets a compensation */
	BREAK_MOD_TIMER,     /* a timer runs early */
	BREAK_MOD_TRIGGER,   /* a fire is not answered */
	BREAK_MOD_ADMISSION, /* a guest that is gone is not recorded */
	BREAK_MOD_MAINLOOP,  /* a source of the main loop has not left */
	BREAK_MOD_IO,        /* a watch's run has not left */
	BREAK_MOD_STUCK,     /* a timer that runs is not recorded: the round waits for ever */
	BREAK_COUNT,
};

bool sabotage_choose(const char *name);
void sabotage_list(void);

/* True once in the run, if this is the one that was chosen. */
bool sabotage_now(enum sabotage which);

#endif
