/* SPDX-License-Identifier: MIT */
/*
 * The way of a CONNECT with a password, before the protocol handles it:
 *
 *   connection -> logins            waits there for the turn of its address
 *     -> pool for slow things       the password is checked
 *       -> logins                   the next check begins
 *         -> connection             the verdict
 *           -> logins               frees the login, behind the connection's other submits
 *
 * Meanwhile the CONNECT stays in the connection's kept input. What follows it is read, but not
 * handled: so a client that has gone is noticed, and its password is not checked. Log-ins wait by
 * the addresses that they come from, which take turns (turns.h); --max-logins bounds how many wait.
 * At most as many log-ins are in the pool as the pool has threads.
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

/* init: -ENOMEM; then nothing is left. deinit: no connection is left; the pools still run. */
int logins_init(struct logins *logins, struct env *env, struct passwords *passwords);
void logins_deinit(struct logins *logins);

/* The functions below are for the connection's loop thread. */

/*
 * Takes the connection's first packet, a CONNECT. 1: handle it; 0: keep it: the connection is read
 * on when the password was found right; a negative errno: close the connection, which has its
 * answer.
 */
int login_begin(struct connection *connection, const struct codec_frame *frame);

/*
 * The user name of a client that is let in: with --use-identity-as-username that in its
 * certificate, if it has one; else the one in its CONNECT.
 */
struct slice login_user(struct connection *connection, const struct codec_connect *connect);

/* The connection of the log-in closes. */
void login_leave(struct login *login);

#endif
