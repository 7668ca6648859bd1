/* SPDX-License-Identifier: MIT */
/* What the command line asks for. */
#ifndef BATON_TEST_STRESS_OPTIONS_H
#define BATON_TEST_STRESS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
	double seconds;
	uint64_t seed;
	uint64_t tasks;    /* operations in all; 0: as many as the seconds give */
	int64_t round;     /* this one alone; -1: all */
	uint32_t threads;  /* of each round; 0: 2 to 64, by the round's seed */
	uint32_t places;   /* resources at a time; 0: by the round's seed */
	uint32_t patience; /* seconds without progress that count as hanging */
	bool core_only;    /* neither of both: rounds of the core and of the modules alternate */
	bool modules_only;
	bool quiet;
	bool calm; /* no signals, no stops */
	bool hold; /* after a violation, for a debugger */
	const char *sabotage;
};

extern struct options options;

/* Exits on a wrong command line. */
void options_parse(int argc, char **argv);

/* Prints how to run this round again. */
void options_print_rerun(uint64_t round);

#endif
