/* SPDX-License-Identifier: MIT */
/*
 * A topic: the resource that puts its publishers' messages in one order and passes each to every
 * subscriber's session. The topic reads its subscribers from the subscription tree, once for all
 * messages up to the next change that concerns the topic. While it has no publisher, a topic keeps
 * nothing about its subscribers, so a topic that has only a retained message adds no cost to
 * subscriptions.
 *
 * From which message on a subscription counts. Each SUBSCRIBE is told, in a pass of the table, to
 * each topic that its filter matches (topic_tell): passes are numbered, a subscription has the
 * number of its first one, and a topic that of the last one it has been told of. A subscription
 * counts for a topic if it is of a pass that the topic has been told of. So the topic's own order
 * decides: messages before the telling are not sent live, but what is retained at that moment is
 * sent; messages behind it are. A topic that is made later, under the table's baton as all topics,
 * begins with the number of the table's last pass, and finds those subscriptions in the tree.
 *
 * Retained messages go out once for each SUBSCRIBE, at its telling. They come to the session
 * before the SUBACK, which is sent when all topics know the subscriber, and wait there for it
 * (delivery.c).
 *
 * A subscription that is taken out of the tree changes the matcher's generation; the topic asks the
 * tree anew before its next message, and until then holds the sessions that it knows.
 *
 * Lifetime. A topic is there as long as there are references on it (baton/registry.h): one for each
 * publisher's connection that has looked it up, one while there is a retained message. A use is
 * given back by a task of the topic, behind all that its holder has submitted; so whoever runs a
 * message's task may take another one for what is retained: the count is not 0 yet. With the last
 * one the topic's name is free, and when all its tasks have run topic_deinit() ends it. A second
 * topic of that name may begin meanwhile; only changes are left for the first one to run, no
 * messages, so nothing comes out of order.
 */
#ifndef BROKER_TOPIC_H
#define BROKER_TOPIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/registry.h>
#include <baton/resource.h>

#include "topic/audience.h"
#include "net/message.h"
#include "mqtt/names.h"

struct table;

/* All topics together keep no larger audiences than this; one that finds no room asks each time. */
#define TOPIC_AUDIENCES_MAX ((size_t)64 << 20)

/* A reference on a topic, given back through the topic and then the table. */
struct topic_use {
	struct baton_task task;
	struct topic *topic;
};

struct topic {
	struct baton_registry_entry entry; /* first: its resource, its name, its uses */
	struct baton_resource_stats stats;
	struct table *table;
	struct slice name; /* the entry's */

	uint64_t surveyed; /* tasks that it had run, see survey.h */

	/* Under the topic's own baton. */
	uint64_t told;                  /* the last of the table's passes that concerned it */
	bool asked;                     /* the audience is what the tree says, as of `generation` */
	uint64_t generation;            /* the matcher's */
	struct audience audience;       /* counted sessions */
	size_t audience_memory;         /* its share of TOPIC_AUDIENCES_MAX */
	struct message *retained;       /* counted */
	size_t retained_bytes;          /* its share of --max-retained-bytes; the broker's own: 0 */
	struct topic_use *retained_use; /* there is one as long as there is `retained` */
};

/* For the table: what its registry calls, with the table as argument. */
int topic_init(struct baton_registry_entry *entry, void *table);
void topic_deinit(struct baton_registry_entry *entry, void *table);

/* Publishes. The caller has a use of the topic. */
void topic_publish(struct topic *topic, struct message *message);

/* Gives a use back, behind everything that its holder has submitted to the topic. */
void topic_unuse(struct topic_use *use);

/*
 * Tells a topic of a SUBSCRIBE, whose filter matches it, in that pass of the table. `ask` is the
 * session's number of the SUBSCRIBE, see delivery.c. The caller is the table, and holds references
 * on the topic and the session.
 */
struct topic_tell {
	struct session *session;
	uint64_t pass;
	uint64_t ask;
	uint8_t qos;
};

void topic_tell(struct topic *topic, const struct topic_tell *tell);

#endif
