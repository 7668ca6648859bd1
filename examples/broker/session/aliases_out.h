/* SPDX-License-Identifier: MIT */
/*
 * Topic aliases of MQTT 5 (3.3.2.3.4) in packets to a client: the first packet of a topic has the
 * topic and gives it a number, later ones have the number alone. They belong to a connection, and
 * are touched under its session's baton. A client that has not asked for any costs a pointer.
 *
 * The table is a cache of four ways: a topic has four places, by its hash. The first topics take
 * the places that are free. When all four are taken, every ALIASES_OUT_MISSES-th such topic looks
 * for a place whose topic has not come for long: each look halves the uses of the four places. So
 * topics that come often keep theirs, a topic that comes often gets one in time, and topics that
 * come once cost little. Of 5,000 topics with Zipf's distribution, 8, 16 and 64 aliases serve 86,
 * 91 and 89 % of what a table of the most frequent topics would (test_aliases_out.c).
 */
#ifndef BROKER_ALIASES_OUT_H
#define BROKER_ALIASES_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"
#include "net/message.h"

#define ALIASES_OUT_MAX 64    /* of one client */
#define ALIASES_OUT_TOPIC 256 /* bytes of a topic that gets one */
#define ALIASES_OUT_MISSES 32

struct aliases_out;

/*
 * What the next packet of this topic says, to a client that takes `most` aliases. `*aliases` is
 * NULL at first, and made when it is needed. Without memory there is no alias.
 */
struct packet_alias aliases_out_choose(struct aliases_out **aliases, uint16_t most,
                                       struct slice topic);

/* Frees the table, which may be NULL. */
void aliases_out_free(struct aliases_out *aliases);

#endif
