/* SPDX-License-Identifier: MIT */
/* The command line. */
#ifndef BROKER_OPTIONS_H
#define BROKER_OPTIONS_H

struct broker_options;

/* -1: go on; otherwise the status to exit with (0 after --help, 2 after an error, both printed). */
int options_parse(struct broker_options *options, int argc, char **argv);

#endif
