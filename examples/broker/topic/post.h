/* SPDX-License-Identifier: MIT */
/*
 * Publishes from any thread, for a sender that keeps no topics of its own: a will. A connection's
 * messages go by publisher.h.
 */
#ifndef BROKER_POST_H
#define BROKER_POST_H

struct message;
struct table;

/*
 * Passes the message to its topic, which is made if it is not there. Takes the message, whose cost
 * is charged if it has a publisher. Without memory the message is lost.
 */
void post(struct table *table, struct message *message);

#endif
