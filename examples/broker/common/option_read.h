/* SPDX-License-Identifier: MIT */
/*
 * How options are read, for the files of options alone: the command line and the file become
 * settings, pairs of a row of the table and a text, with the place where they stand
 * (option_read.c). Then the settings that hold are applied (option_apply.c).
 */
#ifndef BROKER_OPTION_READ_H
#define BROKER_OPTION_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "common/option_table.h"
#include "common/options.h"

struct setting {
	const struct option_row *row;
	char *value;
	unsigned int line;    /* of the file; 0: the command line */
	unsigned int section; /* of the listeners before it, the last; 0: none */
};

struct reading {
	options_say_fn *say;
	const char *file;
	struct setting *settings; /* the command line's, then the file's */
	size_t count;
	unsigned int sections;       /* listeners so far, in the file or on the command line */
	struct broker_options trial; /* of the values, as they are read */
	unsigned int errors;
};

/* Says an error. `line`: of the file; 0: none. */
__attribute__((format(printf, 3, 4))) void option_complain(struct reading *reading,
                                                           unsigned int line, const char *format,
                                                           ...);

/* The option with this name on the command line; NULL: none. */
const struct option_row *option_named(const char *name);

/* The key that is most like it, or the name if `name`; NULL: none is like it. */
const char *option_nearest(const char *text, bool name);

/* Adds a setting, if its value is right. `line`: of the file; 0: the command line. */
void option_add(struct reading *reading, const struct option_row *row, const char *value,
                unsigned int line);

/* Reads `reading->file`. */
void option_read_file(struct reading *reading);

/* The setting that holds of the option with this name; NULL: none. */
const struct setting *option_given(const struct reading *reading, const char *name);

/* apply: gives `options` what holds. check: compares its members with each other. */
void option_apply(struct reading *reading, struct broker_options *options);
void option_check(struct reading *reading, struct broker_options *options);

#endif
