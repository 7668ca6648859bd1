/* SPDX-License-Identifier: MIT */
/*
 * The messages of QoS 1 and 2 that are on their way to one client: sent, and not acknowledged to
 * the end. It gives them their packet ids, 1 and up, skipping those in use and those whose slot
 * another has. It belongs to a session and is touched only under its baton.
 *
 *   QoS 1: AWAITS_PUBACK -> free
 *   QoS 2: AWAITS_PUBREC -> AWAITS_PUBCOMP -> free
 */
#ifndef BROKER_INFLIGHT_H
#define BROKER_INFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message;

#define INFLIGHT_MAX 32767 /* there is always a free packet id, and a free slot */

enum inflight_state {
	INFLIGHT_FREE,
	INFLIGHT_AWAITS_PUBACK,
	INFLIGHT_AWAITS_PUBREC,
	INFLIGHT_AWAITS_PUBCOMP,
};

/* 16 bytes, as windows are large and sessions many. */
struct inflight_entry {
	struct message *message; /* a reference, until the client has it; NULL: never sent again */
	uint64_t packet_id : 16;
	uint64_t order : 44; /* of the last change of state */
	uint64_t state : 2;
	uint64_t retain : 1;
	uint64_t attempted : 1; /* has begun to be written: the next time it is a duplicate */
};

struct inflight {
	struct inflight_entry *entries; /* each at its packet id modulo the capacity */
	size_t capacity;                /* a power of two, or 0 */
	size_t count;
	uint64_t order;
	uint16_t packet_id; /* the last one given away */
};

/*
 * A message is about to be sent at QoS 1 or 2: gives it a packet id, and the highest order. Takes
 * over a reference on `message`, which may be NULL. There are less than INFLIGHT_MAX.
 */
struct inflight_entry *inflight_add(struct inflight *inflight, struct message *message, uint8_t qos,
                                    bool retain);

/* The entry of this packet id, or NULL. */
struct inflight_entry *inflight_find(const struct inflight *inflight, uint16_t packet_id);

/*
 * An acknowledgement has come (CODEC_PUBACK, ...). 0, or -EPROTO: it is of the wrong kind for what
 * its packet id is used for, such as a PUBREC that answers QoS 1; nothing changes. 0 and no change:
 * the packet id is not in use, or a PUBREC is a repetition. After a PUBREC that is not wrong a
 * PUBREL is due in any case: the client waits for it.
 */
int inflight_acknowledge(struct inflight *inflight, uint8_t type, uint16_t packet_id);

/* All `count` entries, those that await a PUBCOMP first, else by their order. Free it. */
struct inflight_entry **inflight_sorted(const struct inflight *inflight);

/*
 * The connection is gone. `attempted`: the order of the last packet that it had begun to write; for
 * those with a higher one it is as if they had not been sent to it.
 */
void inflight_settle(struct inflight *inflight, uint64_t attempted);

/* Forgets everything; packet ids go on. */
void inflight_clear(struct inflight *inflight);

#endif
