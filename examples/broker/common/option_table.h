/* SPDX-License-Identifier: MIT */
/* The table of the broker's options: for options.c and option_value.c alone. */
#ifndef BROKER_OPTION_TABLE_H
#define BROKER_OPTION_TABLE_H

#include <stddef.h>

#include "common/options.h"

enum option_kind {
	OPTION_HEADING, /* of the rows behind it, in --help */
	OPTION_UINT,
	OPTION_SIZE,  /* K, M or G may follow the number */
	OPTION_LIMIT, /* a size; 0: none, which is stored as the most */
	OPTION_SPAN,  /* seconds; or a number with h, d, w, m (30 days) or y (365 days) */
	OPTION_TEXT,
	OPTION_WORD,   /* one of those in `words` */
	OPTION_BITS,   /* some of those in `words`, a bit for each, in order */
	OPTION_PLACES, /* the same; "file PATH" for one of them */
	OPTION_FLAG,   /* true or false; alone: true */
	OPTION_FILTER,
	OPTION_LISTENER,
	OPTION_HELP,
};

enum option_when {
	OPTION_START,   /* a change needs a restart */
	OPTION_RELOAD,  /* SIGHUP takes a change over */
	OPTION_COMMAND, /* the command line alone has it */
};

struct option_row {
	const char *name; /* --name */
	const char *key;  /* in a file: mosquitto's, where it means the same */
	enum option_kind kind;
	enum option_when when;
	bool again;       /* may be given more than once */
	bool of_listener; /* belongs to the listener before it */
	size_t offset;    /* in struct broker_options */
	unsigned long long least;
	unsigned long long most;
	const char *initial; /* the default, as in a file; NULL: none, 0, false */
	const char *words;   /* what it may be, with a space between two */
	const char *value;   /* what its value is called in --help */
	const char *help;    /* without line breaks */
};

extern const struct option_row option_table[];
extern const size_t option_rows;

/* A key of mosquitto's file that this broker does not have: what to do. NULL: no such key. */
const char *option_missing(const char *key);

/*
 * option_value.c. set: takes the value. NULL, or what is expected in its place, until the next
 * call. equal: has the option the same value in both? move: gives `to` the value of `from`; other
 * threads may read it.
 */
const char *option_set(struct broker_options *options, const struct option_row *row,
                       const char *value);
bool option_equal(const struct option_row *row, const struct broker_options *a,
                  const struct broker_options *b);
void option_move(const struct option_row *row, struct broker_options *to,
                 struct broker_options *from);

#endif
