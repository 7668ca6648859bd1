/* SPDX-License-Identifier: MIT */
/*
 * A script as script_parse.c makes it of its text, for script.c, which plays it. It is kept from
 * one execution to the next.
 */
#ifndef BATON_SIM_SCRIPT_PARSE_H
#define BATON_SIM_SCRIPT_PARSE_H

#include "script.h"

#define SIM_LINES_MAX 12
#define SIM_OPS_MAX 24

struct sim_op {
	const struct sim_verb *verb;
	struct sim_note *note;
	unsigned number;
	unsigned good; /* statuses */
	unsigned last; /* statuses that end the line */
};

struct sim_line {
	char label;   /* 'A': of a thread, 'a': of a task, 0: the main thread's */
	bool started; /* by a step */
	unsigned count;
	struct sim_op ops[SIM_OPS_MAX];
};

struct sim_script {
	const char *text; /* NULL: nothing was parsed */
	bool bare;        /* without an executor */
	bool refusing;    /* with an executor that refuses, and whose jobs helpers run */
	unsigned limit;
	unsigned quantum;
	unsigned notes;
	unsigned count;
	struct sim_line lines[SIM_LINES_MAX]; /* [0]: the main thread's */
};

extern struct sim_script sim_script;
extern const struct sim_verb sim_go;           /* the first line ends */
extern const struct sim_verb sim_begin_thread; /* of the label that is its number */

void sim_script_parse(const char *text);
struct sim_line *sim_line_of(char label);
/* The bit of a status; 0: it has no word. */
unsigned sim_status_bit(int status);

#endif
