/* SPDX-License-Identifier: MIT */
/*
 * For the selftest: what a broker does, without sockets, and with a fault put in where it is
 * asked for. Its bytes reach the clients in pieces.
 */
#ifndef LOAD_RELAY_H
#define LOAD_RELAY_H

#include <stddef.h>

#include "load.h"

enum relay_fault {
	RELAY_NO_FAULT,
	RELAY_LOSES,
	RELAY_DOUBLES,
	RELAY_SWAPS,  /* a delivery comes after the next one */
	RELAY_ALTERS, /* one byte of a payload */
	RELAY_LOWERS_GRANT,
	RELAY_REUSES_ID, /* QoS 2: before the PUBREL */
	RELAY_FORGETS_ACK,
	RELAY_DOUBLES_ACK,
};

/* Connects all clients, lets each publisher send what its window admits, `rounds` times, and
 * relays it; the fault happens once. Each client gets its first bytes of a round cut at `piece`,
 * the following ones in pieces of that size. */
void relay_run(struct load *load, enum relay_fault fault, unsigned int rounds, size_t piece);

#endif
