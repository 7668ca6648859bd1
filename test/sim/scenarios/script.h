/* SPDX-License-Identifier: MIT */
/*
 * Scenarios that are written as scripts: a name, a claim, and lines of steps.
 *
 *	SIM_SCRIPT(cancel_newest, 1, "the two newest are cancelled, while another comes",
 *	           "queued a b; futures c d e; cancel a; submit c d; cancel d"
 *	           "| A: submit e"
 *	           "| cancel c; drive; ran b")
 *
 * Lines are parted by `|`. A line without a label is done by the main thread; the first one sets
 * up, calmly. The main thread starts the thread of a line `A:` when it comes to the line, unless a
 * step `start A` anywhere does so. A line `a:` is what task a does inside.
 *
 * A line has steps, parted by `;`. A step is a verb and its arguments: tasks a to h, or a number,
 * or threads A to F; `submit a b` is `submit a; submit b`. After `=` stand the statuses that the
 * step may have; a status after `/` ends the line: `submit a = ok / closed`. The words for statuses
 * are in script_parse.c, most verbs in script_verbs.c; a verb that one file needs is defined there
 * (SIM_VERB), and all files can use it.
 *
 * Tasks are notes of one topic, which has a manual executor (`bare`: none; `refusing`: one that
 * refuses, and whose jobs helpers run), capture limit 10 (`limit 1`: 1) and quantum 64 (`quantum
 * 1`: 1). Tasks in `queued` have futures and are in the executor's queue; tasks in `futures` have
 * futures; all others have none.
 *
 * Every script ends with this: the main thread drives the executor until all threads have ended;
 * every future says what became of its task; every task that was accepted has run once or is
 * cancelled, and a task is cancelled only if something has cancelled it; nobody holds the resource,
 * which is closed, or else has been finalised; nothing is left in memory. The rest is watched as
 * support.h says.
 */
#ifndef BATON_SIM_SCRIPT_H
#define BATON_SIM_SCRIPT_H

#include "support.h"

#include <baton/reader.h>

/* The statuses that a step may have, one bit each, in the order of the table in script_parse.c. */
#define SIM_OK 0x1U
#define SIM_ALREADY 0x2U
#define SIM_RUNNING 0x4U

typedef int sim_verb_run(struct sim_note *note, unsigned number);

struct sim_verb {
	const char *name;
	unsigned good; /* the statuses that it may have where a step does not say so */
	sim_verb_run *run;
	struct sim_verb *next;
};

void sim_verb_register(struct sim_verb *verb);

/* SIM_VERB(name, SIM_OK) { body, which returns a status }: the step's task (or NULL), its number */
#define SIM_VERB(id, statuses)                                                                     \
	static int sim_verb_##id(struct sim_note *note, unsigned number);                          \
	__attribute__((constructor)) static void sim_verb_register_##id(void)                      \
	{                                                                                          \
		static struct sim_verb verb __attribute__((section("sim_kept"))) = {               \
			.name = #id, .good = (statuses), .run = sim_verb_##id};                    \
		sim_verb_register(&verb);                                                          \
	}                                                                                          \
	static int sim_verb_##id(struct sim_note *note, unsigned number)

/* SIM_SCRIPT(name, bound, "claim", "lines"); bound 0: the explorer's */
#define SIM_SCRIPT(id, most, text, lines)                                                          \
	SIM_SCENARIO(id, text, .bound = (most))                                                    \
	{                                                                                          \
		sim_script_play(lines);                                                            \
	}

/* The same, where thread A is stopped at each of its steps in turn, and delays no other one. */
#define SIM_SCRIPT_FROZEN(id, text, lines)                                                         \
	SIM_SCENARIO(id, text, .bound = 1, .freeze = 1, .frozen = sim_script_others_go_on)         \
	{                                                                                          \
		sim_script_play(lines);                                                            \
	}

void sim_script_play(const char *text);
/* Of a stopped thread: its resources alone are delayed, and all other threads have ended. */
void sim_script_others_go_on(void);

/* The stage of the script that is played. */
extern struct sim_stage sim_script_stage;
/* The topic's, if the script has the verb `readers`. */
extern struct baton_readers sim_script_readers;
/* Another topic, of the same executor: `other 10` makes it, `elsewhere c d` has tasks run there. */
extern struct sim_topic sim_script_other;
#define SIM_SCRIPT_NOTES (sizeof(sim_script_stage.notes) / sizeof(sim_script_stage.notes[0]))

/* The main thread runs jobs until all other threads have ended. */
void sim_script_drive(void);
/* For verbs: task a as if it were new, with a future or without; its line stays. */
void sim_script_renew(struct sim_note *note, bool with_future);
/* What the end of the script has to know. */
struct sim_script_marks {
	bool over[SIM_SCRIPT_NOTES]; /* the task's future has been looked at */
	bool cancels;                /* a task may be cancelled without a sim_note_cancel */
	bool closed;                 /* a close has succeeded */
	bool refused;                /* a close was told that another has */
	bool ended;                  /* the resource is closed, its memory given back */
	bool finalised;              /* the resource has a finaliser */
};

extern struct sim_script_marks sim_script_marks;
void sim_script_mark(bool *mark);

/* Calls it when all threads have ended, before the resource is closed, and after. */
void sim_script_before_close(void (*function)(void));
void sim_script_after_close(void (*function)(void));

#endif
