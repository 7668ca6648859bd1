/* SPDX-License-Identifier: MIT */
/*
 * The messages of QoS 1 and 2 on their way to one client: sent, and not completely acknowledged.
 * The table gives the messages their packet ids, from 1 up; it skips ids in use, and ids whose slot
 * is taken by another id. It belongs to a session and is touched only under the session's baton.
 *
 *   QoS 1: AWAITS_PUBACK -> free
 *   QoS 2: AWAITS_PUBREC -> AWAITS_PUBCOMP -> free
 */
#ifndef BROKER_INFLIGHT_H
#define BROKER_INFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"

struct member;
struct message;

#define INFLIGHT_MAX 32767 /* there is always a free packet id, and a free slot */

enum inflight_state {
	INFLIGHT_FREE,
	INFLIGHT_AWAITS_PUBACK,
	INFLIGHT_AWAITS_PUBREC,
	INFLIGHT_AWAITS_PUBCOMP,
};

/* 24 bytes, as windows are large and sessions many. */
struct inflight_entry {
	struct message *message; /* counted, until the client has it; NULL: never sent again */
	uint64_t row;            /* in the store; 0: it is not there */
	uint64_t packet_id : 16;
	uint64_t order : 44; /* of the last change of state */
	uint64_t state : 2;
	uint64_t retain : 1;
	uint64_t attempted : 1; /* its writing has begun: the next one is a duplicate */
};

/* The identifiers of the subscriptions by which a message came, as properties of a PUBLISH. */
struct inflight_identifiers {
	size_t size;
	char bytes[];
};

/* What few sessions have beside their entries, in an array of its own. */
struct inflight_beside {
	struct member *member;                    /* see inflight_lend() */
	struct inflight_identifiers *identifiers; /* NULL: none */
};

struct inflight {
	struct inflight_entry *entries; /* each at its packet id modulo the capacity */
	struct inflight_beside *beside; /* in the same places; NULL: no entry has needed it yet */
	size_t capacity;                /* a power of two, or 0 */
	size_t count;
	uint64_t order;
	uint16_t packet_id; /* the last one that was given to a message */
};

/*
 * A message is about to be sent at QoS 1 or 2: gives it a packet id, and the highest order. Takes
 * over a reference on `message`, which may be NULL. The table has less than INFLIGHT_MAX entries.
 */
struct inflight_entry *inflight_add(struct inflight *inflight, struct message *message, uint8_t qos,
                                    bool retain);

/*
 * Gives the entry a copy of the identifiers, which it has with its message. They may be empty.
 */
void inflight_identify(struct inflight *inflight, const struct inflight_entry *entry,
                       struct slice identifiers);

/* The entry's; they live until the entry's message is dropped. */
struct slice inflight_identifiers(const struct inflight *inflight,
                                  const struct inflight_entry *entry);

/*
 * At the start of the broker: puts back an entry of an earlier run, whose packet id is not in use.
 * Takes over a reference on `message`. Entries are put back in their order.
 */
struct inflight_entry *inflight_restore(struct inflight *inflight,
                                        const struct inflight_entry *entry);

/* The entry of this packet id, or NULL. */
struct inflight_entry *inflight_find(const struct inflight *inflight, uint16_t packet_id);

/*
 * An acknowledgement has come (CODEC_PUBACK, ...). 0, or -EPROTO: it is of the wrong kind for what
 * its packet id is used for, such as a PUBREC that answers QoS 1; nothing changes. 0 and no change:
 * the packet id is not in use, or a PUBREC is a repetition. After a PUBREC that is not wrong a
 * PUBREL is due in any case: the client waits for it.
 */
int inflight_acknowledge(struct inflight *inflight, uint8_t type, uint16_t packet_id);

/* The message is not to be sent any more: frees the entry. */
void inflight_drop(struct inflight *inflight, struct inflight_entry *entry);

/*
 * The message of this entry is a group's, lent to this member (group.h). member: that of an entry;
 * NULL: the message is the session's own, as any is at first. take_back: ends the entry; the
 * caller gets the reference on its message.
 */
void inflight_lend(struct inflight *inflight, const struct inflight_entry *entry,
                   struct member *member);
struct member *inflight_member(const struct inflight *inflight, const struct inflight_entry *entry);
void inflight_take_back(struct inflight *inflight, struct inflight_entry *entry);

/* All `count` entries, those that await a PUBCOMP first, else by their order. Free it. */
struct inflight_entry **inflight_sorted(const struct inflight *inflight);

/*
 * The connection is gone. `attempted`: the order of the last packet whose writing it had begun. The
 * packets with a higher order count as not sent to it.
 */
void inflight_settle(struct inflight *inflight, uint64_t attempted);

/* Drops all entries; the next packet id follows the last one. */
void inflight_clear(struct inflight *inflight);

#endif
