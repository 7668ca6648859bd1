/* SPDX-License-Identifier: MIT */
/*
 * The way of a CONNECT before anything else looks at it, if it has a password:
 *
 *   connection -> logins            waits there for its address's turn
 *     -> pool for slow things       the password is checked
 *       -> logins                   the next one is begun
 *         -> connection             the verdict
 *           -> logins               frees the login, behind whatever the connection said of it
 *
 * Meanwhile the CONNECT stays where kept input is, and what follows it is read, but not handled: so
 * a client that has gone is noticed, and its password is not checked. Log-ins wait by the addresses
 * that they come from, which take turns (turns.h); --max-logins bounds how many wait. At most as
 * many are in the pool as it has threads.
 */
#ifndef BROKER_LOGIN_H
#define BROKER_LOGIN_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/resource.h>

#include "mqtt/codec.h"
#include "turns.h"

struct connection;
struct env;
struct login;
struct passwords;

struct logins {
	struct baton_resource resource;
	struct env *env;
	struct passwords *passwords;
	/* Under its baton. */
	struct turns turns;
	unsigned int checking; /* in the pool */
};

/* -ENOMEM: nothing is left. deinit: no connection is left; the pools are. */
int logins_init(struct logins *logins, struct env *env, struct passwords *passwords);
void logins_deinit(struct logins *logins);

/* The functions below are for the connection's loop thread. */

/*
 * The connection's first packet, a CONNECT. 1: handle it; 0: later, it is read on by itself when
 * the password is known to be right; a negative errno: close the connection, which has an answer.
 */
int login_begin(struct connection *connection, const struct codec_frame *frame);

/* Its connection closes. */
void login_leave(struct login *login);

#endif
