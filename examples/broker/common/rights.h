/* SPDX-License-Identifier: MIT */
/*
 * The access file's rules that are in force: a published pointer (baton/published.h), which any
 * thread reads without a lock. The rules are not asked for each message: a connection asks when a
 * topic enters its table of topics (publisher.c), a topic when it finds its audience
 * (topic/matcher.c). New rules empty these tables, and have each topic find its audience anew.
 */
#ifndef BROKER_RIGHTS_H
#define BROKER_RIGHTS_H

#include <stdbool.h>

#include <baton/published.h>

#include "common/access.h"

struct rights {
	struct baton_published rules; /* from the first load on */
	bool limited;                 /* there is an access file */
};

/* Reads the file. Errors are logged: a negative errno. */
int rights_read(const char *path, struct access **access);

/* Puts the rules in force, and takes them. One thread at a time. */
void rights_use(struct rights *rights, const char *path, struct access *access);

/* No thread asks any more. */
void rights_deinit(struct rights *rights);

/* Any thread; never waits. Without an access file everybody may do everything. */
bool rights_allow(const struct rights *rights, const struct access_client *client,
                  enum access_right right, struct slice topic);

#endif
