/* SPDX-License-Identifier: MIT */
/*
 * Who may read and write which topics: the rules of an access file, in the format of mosquitto's
 * acl_file:
 *
 *	# before the first `user`: for clients without a user name
 *	topic read news/#
 *
 *	user ann
 *	topic readwrite home/#
 *	topic deny home/safe
 *
 *	# for all clients: %u is the user name, %c the client id
 *	pattern write devices/%c/state
 *
 * `write` and `read` allow to publish, and to be sent what others publish; `readwrite` is both, and
 * so is a line that names neither. What no line allows is denied. A `deny` line that matches wins
 * over all other lines (mosquitto: not over the lines of the client's own user, if it is a
 * pattern). A line's filter matches a topic that begins with $ only if the filter begins with $.
 *
 * Clients choose their names. So a name or id with `+`, `#` or `/` in it, or a `$` at its front,
 * does not take the place of %u or %c: such a line allows its client nothing, and a `deny` line of
 * that kind denies it everything. A line with %u is not for clients without a user name, or with an
 * empty one.
 *
 * A set of rules does not change, so that any thread may read it. Pure.
 */
#ifndef BROKER_ACCESS_H
#define BROKER_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/epoch.h>

#include "mqtt/names.h"

enum access_right {
	ACCESS_READ = 1,
	ACCESS_WRITE = 2,
};

/* A line `topic` or `pattern`; its filter lies in `text`. */
struct access_rule {
	struct slice filter;
	unsigned char rights; /* of enum access_right; 0: denies */
	bool of_user;         /* a pattern with %u */
	bool of_client;       /* a pattern with %c */
};

/* The rules behind one line `user`. */
struct access_section {
	struct slice user; /* no bytes: for clients without a user name */
	size_t first;
	size_t count;
};

struct access {
	struct baton_retired retired;    /* the publisher's */
	struct access_section *sections; /* sorted by user, who may have several */
	struct access_rule *rules;       /* of the sections */
	struct access_rule *patterns;
	size_t sections_count;
	size_t rules_count;
	size_t patterns_count;
	char text[];
};

/* A client, as the rules know it. */
struct access_client {
	struct slice user; /* no bytes: it has no name */
	struct slice id;
};

/* Told for each line that is wrong: its number, from 1 up, and what was expected there. */
typedef void (*access_error_fn)(void *arg, size_t line, const char *expected);

/* Reads rules. -EINVAL: a line is wrong, all such lines were told; -ENOMEM. */
int access_parse(struct slice file, access_error_fn error, void *arg, struct access **access);
void access_destroy(struct access *access); /* may be NULL */

/* May the client do that with the topic, which has no wildcards? */
bool access_allows(const struct access *access, const struct access_client *client,
                   enum access_right right, struct slice topic);

#endif
