/* SPDX-License-Identifier: MIT */
/*
 * What a client's packets mean: the broker's half of MQTT 3.1.1 and 5. All of it runs on the
 * connection's loop thread.
 */
#ifndef BROKER_PROTOCOL_H
#define BROKER_PROTOCOL_H

#include "net/net.h"

/* The functions that the net calls for each connection. */
extern const struct net_calls protocol_calls;

#endif
