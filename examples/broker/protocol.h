/* SPDX-License-Identifier: MIT */
/*
 * What a client's packets mean: the broker's half of MQTT 3.1.1. On the connection's loop thread.
 */
#ifndef BROKER_PROTOCOL_H
#define BROKER_PROTOCOL_H

#include "mqtt/codec.h"

struct connection;

/*
 * Handles one packet. 1: go on. Errors, after which the connection is closed: -EPROTO: it must not
 * send that; -ECONNRESET: it said good-bye, or was refused; -ENOMEM.
 */
int protocol_handle(struct connection *connection, const struct codec_frame *frame);

#endif
