/* SPDX-License-Identifier: MIT */
/*
 * The topic table: name to topic. It is one resource, asked once per publisher and topic, not once
 * per message: connections keep what they have looked up. It also counts the uses of topics, and
 * carries changes of the subscription tree to the topics that they concern (request.h). A filter
 * with wildcards costs one pass over the topics; a message costs nothing here.
 */
#ifndef BROKER_TABLE_H
#define BROKER_TABLE_H

#include <baton/resource.h>

#include "map.h"
#include "names.h"

struct broker;
struct request;
struct topic;
struct topic_use;

struct table {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct broker *broker;
	struct map topics;
};

/* Errors: -ENOMEM. */
int table_init(struct table *table, struct broker *broker);

/* Ends what is left (topics with a retained message). Nothing else may run by now. */
void table_deinit(struct table *table);

/* The topic of that name, new if need be, and a use of it. Waits its turn. NULL: no memory. */
struct topic_use *table_lookup(struct table *table, struct slice name);

/* One more use, for a topic that submits this from a task of its own; and the end of one. */
void table_use(struct table *table, struct topic *topic);
void table_unuse(struct table *table, struct topic_use *use);

/* The second hop of a request, see request.h. */
void table_apply(struct table *table, struct request *request);

#endif
