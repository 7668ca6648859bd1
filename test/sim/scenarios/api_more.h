/* SPDX-License-Identifier: MIT */
/*
 * For random programs: what topics may have (hooks, lanes, a bound), and calls of the modules on
 * top of the core.
 */
#ifndef BATON_SIM_API_MORE_H
#define BATON_SIM_API_MORE_H

#include "support.h"

/* Gives the two topics, which nobody has seen yet, what a choice says. */
void sim_more_begin(struct sim_topic *topics);

/* One call, by choice. */
void sim_more_act(void);

/* Inside the note's task, whose run function this is. Detaches it; somebody completes it. */
int sim_more_run_detached(struct baton_task *task);

/* The note, which has no entry yet, is a reader of its topic; or, `detached`, of its topic and
 * detaches itself. sim_more_moved: it was refused, and has another topic now. */
void sim_more_reads(struct sim_note *note, bool detached);
void sim_more_moved(struct sim_note *note);

/* All threads but this one have ended; the topics are closed, not yet awaited. And they were. */
void sim_more_close(void);
void sim_more_end(void);

#endif
