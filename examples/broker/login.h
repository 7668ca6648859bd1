/* SPDX-License-Identifier: MIT */
/*
 * The way of a CONNECT before anything else looks at it:
 *
 *   connection -> pool for slow things (its password, if it has one) -> connection
 *
 * Meanwhile nothing is read from that client, and its CONNECT stays where kept input is.
 */
#ifndef BROKER_LOGIN_H
#define BROKER_LOGIN_H

#include "codec.h"

struct connection;

/*
 * The connection's first packet. 1: handle it; 0: later, it is read on by itself when that is
 * known; a negative errno: close the connection, whose answer is written.
 */
int login_begin(struct connection *connection, const struct codec_frame *frame);

#endif
