/* SPDX-License-Identifier: MIT */
/*
 * The certificates of connected clients are checked again when the TLS files have changed: a client
 * whose certificate is not accepted any more is closed. A check verifies signatures, so the pool
 * for slow things does it, a loop's clients in one job. A client whose handshake has begun with the
 * old files, and has not ended, is closed at once.
 */
#ifndef BROKER_RECHECK_H
#define BROKER_RECHECK_H

struct loop;

/* On the loop's thread: its new settings are there. */
void recheck_clients(struct loop *loop);

#endif
