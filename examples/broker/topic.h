/* SPDX-License-Identifier: MIT */
/*
 * A topic: the resource that puts its publishers' messages in one order and passes each to every
 * subscriber's session. Its list of subscribers is a copy of what the subscription tree says, so
 * that a message asks nobody but its own topic.
 *
 * The copy is complete before the first message goes out: a topic is made under the table's baton
 * (baton_registry's init), reads the tree there, and only then can be found. After that the table
 * tells it each change, likewise under its baton. Why none is lost: a subscription is entered in
 * the tree, and then applied, by a task of the table, to the topics that are there. A topic that is
 * made before that task is found by it. One that is made after it reads the tree after it, hence
 * after the subscription was entered: what happened before a task of the table is visible to later
 * ones. One that is made between the two is reached in both ways, and knows the subscription by its
 * id. A removal goes the same way: who is made before it is applied is told of it, who is made
 * after it does not find the subscription. All this is about one subscription; of several in one
 * request each may be applied by a task of its own.
 *
 * Retained messages, once for each SUBSCRIBE: a change carries the version of its SUBSCRIBE, an
 * entry the newest one that it knows. TOPIC_ADD of a newer one makes the retained message due until
 * TOPIC_RETAINED comes. If another one is retained before that, it is sent live, and nothing is due
 * any more; a message that is not retained goes out behind what is due, since it is younger. A
 * version that the topic has read in the tree itself makes nothing due: then the topic is younger
 * than the subscription, and all that it ever retained was sent live.
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
	uint64_t version;        /* of its newest SUBSCRIBE that the topic knows */
	uint8_t qos;
	bool retained_due; /* the retained message is still to be sent, see TOPIC_RETAINED */
};

struct topic {
	struct baton_registry_entry entry; /* first: its resource, its name, its uses */
	struct baton_resource_stats stats;
	struct broker *broker;
	struct slice name; /* the entry's */

	uint64_t surveyed; /* tasks that it had run, see survey.h */

	/* Under the topic's own baton. Entries of one session lie side by side. */
	struct topic_entry *entries;
	size_t count;
	size_t capacity;
	struct message *retained;       /* counted */
	struct topic_use *retained_use; /* there is one as long as there is `retained` */
};

/* For the table: what its registry calls, with the broker as argument. */
int topic_init(struct baton_registry_entry *entry, void *broker);
void topic_deinit(struct baton_registry_entry *entry, void *broker);

/* For the matcher, from topic_init(): a subscription that is there already. */
void topic_learn(struct topic *topic, uint64_t id, uint64_t version, struct session *session,
                 uint8_t qos);

/* Publishes. The caller has a use of the topic. */
void topic_publish(struct topic *topic, struct message *message);

/* Gives a use back, behind everything that its holder has submitted to the topic. */
void topic_unuse(struct topic_use *use);

enum topic_change_kind {
	TOPIC_ADD,      /* with all a subscriber gets: enters it, or changes its QoS */
	TOPIC_RETAINED, /* sends it the retained message, if that is still due */
	TOPIC_REMOVE,
};

/*
 * Tells a topic of a change. The caller is the table, and holds a reference. `session`, `qos` for
 * TOPIC_ADD only; `version` of the SUBSCRIBE for TOPIC_ADD, which TOPIC_RETAINED will follow.
 */
void topic_change(struct topic *topic, enum topic_change_kind kind, uint64_t id, uint64_t version,
                  struct session *session, uint8_t qos);

#endif
