/* SPDX-License-Identifier: MIT */
/*
 * A topic: the resource that puts its publishers' messages in one order and passes each message to
 * every subscriber's session. The topic reads its subscribers from the subscription tree, once for
 * all messages up to the next change that concerns the topic. A topic without publishers keeps
 * nothing about its subscribers, so a topic that has only a retained message adds no cost to
 * subscriptions.
 *
 * From which message on a subscription counts. The table tells each SUBSCRIBE, in a pass over the
 * topics, to each topic that the filter matches (topic_tell). Passes are numbered; a subscription
 * has the number of its first pass, a topic the number of the last pass in which it was told. A
 * subscription counts for a topic if the topic was told in the subscription's pass or a later one.
 * So the topic's own order decides: messages before the telling are not sent live, but the message
 * that is retained at that moment is sent; messages behind it are sent live. A topic that is made
 * later, under the table's baton as all topics, begins with the number of the table's last pass,
 * and finds the earlier subscriptions in the tree.
 *
 * A retained message goes out once for each SUBSCRIBE, at its telling. It comes to the session
 * before the SUBACK, which is sent when all topics know the subscriber, and waits there for the
 * SUBACK (session/delivery.c).
 *
 * Taking a subscription out of the tree changes the matcher's generation. The topic asks the tree
 * anew before its next message, and until then holds the sessions that it knows.
 *
 * Lifetime. A topic lives while there are references on it (baton/registry.h): one for each
 * publisher's connection that has looked it up, one while there is a retained message. A use is
 * given back by a task of the topic, behind all that its holder has submitted. So a thread that
 * runs a message's task may take another reference for the retained message: the count is not 0
 * yet. When the last reference goes, the topic's name is free, and when all its tasks have run,
 * topic_deinit() ends the topic. A second topic of that name may begin meanwhile. The first one
 * then has only changes left to run, no messages, so nothing comes out of order.
 */
#ifndef BROKER_TOPIC_H
#define BROKER_TOPIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/registry.h>
#include <baton/resource.h>
#include <baton/stats.h>

#include "topic/audience.h"
#include "net/message.h"
#include "mqtt/names.h"

struct table;

/* The most memory of all audiences; a topic that finds no room asks the tree each time. */
#define TOPIC_AUDIENCES_MAX ((size_t)64 << 20)

/* A reference on a topic, given back through the topic and then the table. */
struct topic_use {
	struct baton_task task;
	struct topic *topic;
};

struct topic {
	struct baton_registry_entry entry; /* first: its resource, its name, its uses */
	struct baton_resource_stats own_stats;
	struct baton_resource_stats *stats; /* these, or those on the board */
	struct table *table;
	struct slice name; /* the entry's */

	uint64_t surveyed; /* tasks that had run at the last survey, see survey.h */

	/* Under the topic's own baton. */
	uint64_t told;                  /* the last of the table's passes that matched it */
	bool asked;                     /* the audience is what the tree says, as of `generation` */
	uint64_t generation;            /* the matcher's */
	struct audience audience;       /* counted sessions */
	size_t audience_memory;         /* its share of TOPIC_AUDIENCES_MAX */
	struct message *retained;       /* counted */
	size_t retained_bytes;          /* its share of --max-retained-bytes; the broker's own: 0 */
	struct topic_use *retained_use; /* not NULL while `retained` is not NULL */
};

/* The functions of the table's registry; the table is the argument. */
int topic_init(struct baton_registry_entry *entry, void *table);
void topic_deinit(struct baton_registry_entry *entry, void *table);

/* Publishes. The caller has a use of the topic. */
void topic_publish(struct topic *topic, struct message *message);

/* Gives a use back, behind all tasks that its holder has submitted to the topic. */
void topic_unuse(struct topic_use *use);

/* What of a message goes to a session of the audience. Under the topic's baton. */
struct topic_delivery {
	uint8_t qos;
	bool own;     /* the message is the session's own */
	bool nothing; /* its subscriptions are not for such a message */
	bool retain;
};

/* For topic_delivery(): by subscriptions that have more than a QoS. */
struct topic_delivery topic_delivery5(const struct audience_entry *entry,
                                      const struct message *message);

static inline struct topic_delivery topic_delivery(const struct audience_entry *entry,
                                                   const struct message *message)
{
	const uint8_t qos = message->publish.qos;

	if (entry->plain)
		return (struct topic_delivery){.qos = qos < entry->qos ? qos : entry->qos};
	return topic_delivery5(entry, message);
}

/*
 * Tells a topic of a SUBSCRIBE whose filter matches it, in that pass of the table. `ask` is the
 * session's number of the SUBSCRIBE, see session/delivery.c. The caller is the table, and holds
 * references on the topic and the session.
 */
struct topic_tell {
	struct session *session;
	uint64_t pass;
	uint64_t ask;
	union subscription_options options;
	bool retained; /* the subscriber is to have the retained message */
};

void topic_tell(struct topic *topic, const struct topic_tell *tell);

#endif
