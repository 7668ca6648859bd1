/* SPDX-License-Identifier: MIT */
/*
 * The counts: atomic read-modify-writes, allocations and system calls on each of the paths for
 * which the README sets a budget. Ends with status 1 if a path exceeds its budget.
 */
#include "counters.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *json = NULL;

	if (argc == 3 && strcmp(argv[1], "--json") == 0) {
		json = argv[2];
	} else if (argc != 1) {
		fputs("usage: counts [--json FILE]\n", stderr);
		return 2;
	}
	counts_begin(json);
	counts_submitter();
	counts_runner();
	counts_nodes();
	counts_handoff();
	counts_compose();
	counts_hooks();
	counts_modules();
	return counts_end() ? 1 : 0;
}
