/* SPDX-License-Identifier: MIT */
/*
 * A topic: the resource that puts its publishers' messages in one order and passes each to every
 * subscriber's session. Its list of subscribers is a copy of what the subscription tree says, so
 * that a message asks nobody but its own topic.
 *
 * The copy is complete before the first message goes out. A new topic is not ready; it holds back
 * what is published until the tree has sent it its subscribers (TOPIC_READY). After that the
 * table tells it each change. Why none is lost: a subscription is entered in the tree, then
 * applied to the topics in the table; a topic is entered in the table, then asks the tree.
 * Whichever comes second in the tree finds the first: if the topic asked before the subscription
 * was there, then the topic was in the table before the subscription got there. A subscription
 * found in both ways is known by its id. Its removal comes last in both ways, since tree and
 * table do things in order.
 *
 * Lifetime. The references of a topic are counted under the table's baton alone: one for each
 * publisher's connection that has looked it up, one while the tree is being asked, one while there
 * is a retained message. A reference is given back by a task of the topic, behind all that its
 * holder has submitted, which passes it on to the table (struct topic_use). With the last one the
 * topic leaves the table and closes; its finaliser frees it. So the task that gives back a use may
 * be the topic's last while its submitter is still inside baton_submit(): that is all right,
 * baton's law L10 says that a submitter touches neither task nor resource once it is published.
 */
#ifndef BROKER_TOPIC_H
#define BROKER_TOPIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/resource.h>

#include "map.h"
#include "message.h"
#include "names.h"

struct broker;
struct session;

/* A reference on a topic, given back through the topic and then the table. */
struct topic_use {
	struct baton_task task;
	struct topic *topic;
};

struct topic_entry {
	struct session *session; /* counted */
	uint64_t id;             /* of the subscription */
	uint8_t qos;
	bool retained_due; /* the retained message is still to be sent, see TOPIC_RETAINED */
};

struct topic {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct broker *broker;

	/* Under the table's baton. */
	struct map_entry entry;
	size_t uses;
	uint64_t surveyed; /* tasks that it had run, see survey.h */

	/* Under the topic's own. Entries of one session lie side by side. */
	bool ready;
	struct message *held;
	struct message **held_end;
	struct topic_entry *entries;
	size_t count;
	size_t capacity;
	struct message *retained;       /* counted */
	struct topic_use *retained_use; /* there is one as long as there is `retained` */

	struct topic_use first_use; /* the tree's */
	struct baton_task finaliser;
	struct slice name;
	char text[];
};

/* For the table. With two uses, the caller's and the tree's. NULL: no memory. */
struct topic *topic_create(struct broker *broker, struct slice name);

/* For the table: the last use is over and the topic is in the table no more. */
void topic_end(struct topic *topic);

/* Publishes. The caller has a use of the topic. */
void topic_publish(struct topic *topic, struct message *message);

/* Gives a use back, behind everything that its holder has submitted to the topic. */
void topic_unuse(struct topic_use *use);

enum topic_change_kind {
	TOPIC_ADD,      /* with all a subscriber gets: enters it, or changes its QoS */
	TOPIC_RETAINED, /* sends it the retained message, unless it came meanwhile as a live one */
	TOPIC_REMOVE,
	TOPIC_READY, /* the tree has answered */
};

/*
 * Tells a topic of a change. The caller is the table or, for a topic that is not ready, the tree.
 * `session` for TOPIC_ADD only. `retained_due` for TOPIC_ADD: TOPIC_RETAINED will follow.
 */
void topic_change(struct topic *topic, enum topic_change_kind kind, uint64_t id,
                  struct session *session, uint8_t qos, bool retained_due);

#endif
