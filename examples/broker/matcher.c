/* SPDX-License-Identifier: MIT */
/* The subscription tree; see matcher.h. */
#include "matcher.h"

#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "must.h"
#include "request.h"
#include "session.h"
#include "topic.h"

struct matcher_node {
	struct map_entry entry;
	struct matcher_node *parent; /* NULL: the first level */
	size_t children;
	struct subscription *subscriptions;
	struct slice level;
	char text[];
};

static uint64_t node_hash(const struct matcher_node *parent, struct slice level)
{
	return map_hash(level.bytes, level.size, (uintptr_t)parent);
}

static struct matcher_node *node_find(const struct matcher *matcher,
                                      const struct matcher_node *parent, struct slice level)
{
	for (struct map_entry *entry = map_find(&matcher->nodes, node_hash(parent, level));
	     entry != NULL; entry = map_same(entry)) {
		struct matcher_node *node = baton_container_of(entry, struct matcher_node, entry);

		if (node->parent == parent && names_equal(node->level, level))
			return node;
	}
	return NULL;
}

static struct matcher_node *node_add(struct matcher *matcher, struct matcher_node *parent,
                                     struct slice level)
{
	struct matcher_node *node = must_alloc(sizeof(*node) + level.size);

	memcpy(node->text, level.bytes, level.size);
	node->level = (struct slice){node->text, level.size};
	node->parent = parent;
	if (parent != NULL)
		parent->children++;
	map_insert(&matcher->nodes, &node->entry, node_hash(parent, level));
	return node;
}

/* Frees the node and those above it, as far as nothing needs them. */
static void node_prune(struct matcher *matcher, struct matcher_node *node)
{
	while (node != NULL && node->children == 0 && node->subscriptions == NULL) {
		struct matcher_node *parent = node->parent;

		map_remove(&matcher->nodes, &node->entry);
		free(node);
		if (parent != NULL)
			parent->children--;
		node = parent;
	}
}

/* The node of a whole filter; with `add` false NULL where there is none. */
static struct matcher_node *node_of_filter(struct matcher *matcher, struct slice filter, bool add)
{
	struct matcher_node *node = NULL;
	struct slice level;

	while (names_next_level(&filter, &level)) {
		struct matcher_node *parent = node;

		node = node_find(matcher, parent, level);
		if (node == NULL && !add)
			return NULL;
		if (node == NULL)
			node = node_add(matcher, parent, level);
	}
	return node;
}

/* The link in the session's list to its subscription at this node, or to the list's end. */
static struct subscription **session_link(struct session *session, const struct matcher_node *node)
{
	struct subscription **link = &session->subscriptions;

	while (*link != NULL && (*link)->node != node)
		link = &(*link)->session_next;
	return link;
}

static void matcher_subscribe(struct matcher *matcher, struct session *session,
                              struct request_filter *filter)
{
	struct matcher_node *node = node_of_filter(matcher, filter->name, true);
	struct subscription **link = session_link(session, node);
	struct subscription *subscription = *link;

	if (subscription == NULL) {
		subscription = must_alloc(sizeof(*subscription) + filter->name.size);
		memcpy(subscription->text, filter->name.bytes, filter->name.size);
		subscription->filter = (struct slice){subscription->text, filter->name.size};
		subscription->id = ++matcher->id;
		subscription->session = session;
		session_reference(session);
		subscription->node = node;
		subscription->node_next = node->subscriptions;
		node->subscriptions = subscription;
		*link = subscription;
	}
	subscription->qos = filter->qos;
	filter->id = subscription->id;
}

/* Takes `*link` out of the tree and of its session's list and puts it into the request's. */
static void matcher_remove(struct matcher *matcher, struct subscription **link,
                           struct request *request)
{
	struct subscription *subscription = *link;
	struct matcher_node *node = subscription->node;
	struct subscription **in_node = &node->subscriptions;

	while (*in_node != subscription)
		in_node = &(*in_node)->node_next;
	*in_node = subscription->node_next;
	*link = subscription->session_next;
	subscription->session_next = request->removed;
	request->removed = subscription;
	node_prune(matcher, node);
}

static void matcher_unsubscribe(struct matcher *matcher, struct request *request,
                                struct slice filter)
{
	const struct matcher_node *node = node_of_filter(matcher, filter, false);
	struct subscription **link;

	if (node == NULL)
		return;
	link = session_link(request->session, node);
	if (*link != NULL)
		matcher_remove(matcher, link, request);
}

static int matcher_run_apply(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, task);
	struct matcher *matcher = &request->broker->matcher;

	for (size_t i = 0; i < request->count; i++) {
		struct request_filter *filter = &request->filters[i];

		if (request->kind == REQUEST_UNSUBSCRIBE)
			matcher_unsubscribe(matcher, request, filter->name);
		else if (filter->accepted)
			matcher_subscribe(matcher, request->session, filter);
	}
	while (request->kind == REQUEST_END && request->session->subscriptions != NULL)
		matcher_remove(matcher, &request->session->subscriptions, request);
	table_apply(&request->broker->table, request);
	return 0;
}

void matcher_apply(struct matcher *matcher, struct request *request)
{
	baton_task_init(&request->task, matcher_run_apply, NULL);
	must(baton_submit(&matcher->resource, &request->task), "apply a request");
}

static void matcher_tell(const struct matcher_node *node, struct topic *topic)
{
	if (node == NULL)
		return;
	for (struct subscription *subscription = node->subscriptions; subscription != NULL;
	     subscription = subscription->node_next)
		topic_change(topic, TOPIC_ADD, subscription->id, subscription->session,
		             subscription->qos, false);
}

/* As deep as the deepest filter (NAMES_LEVELS_MAX), and comes by each node at most once. */
static void matcher_walk(const struct matcher *matcher, const struct matcher_node *parent,
                         struct slice rest, struct topic *topic)
{
	const bool wild = parent != NULL || topic->name.bytes[0] != '$';
	struct slice level;
	const struct matcher_node *next[2];

	if (wild)
		matcher_tell(node_find(matcher, parent, (struct slice){"#", 1}), topic);
	if (!names_next_level(&rest, &level)) {
		matcher_tell(parent, topic);
		return;
	}
	next[0] = node_find(matcher, parent, level);
	next[1] = wild ? node_find(matcher, parent, (struct slice){"+", 1}) : NULL;
	for (int i = 0; i < 2; i++)
		if (next[i] != NULL)
			matcher_walk(matcher, next[i], rest, topic);
}

static void *matcher_run_ask(void *arg)
{
	struct topic *topic = arg;

	matcher_walk(&topic->broker->matcher, NULL, topic->name, topic);
	topic_change(topic, TOPIC_READY, 0, NULL, 0, false);
	return NULL;
}

void matcher_ask(struct matcher *matcher, struct topic *topic)
{
	must(baton_post(&matcher->resource, matcher_run_ask, topic), "ask for subscribers");
}

void subscription_destroy(struct subscription *subscription)
{
	session_release(subscription->session);
	free(subscription);
}

int matcher_init(struct matcher *matcher, struct broker *broker)
{
	baton_resource_init(&matcher->resource, matcher, "subscription tree", &broker->config,
	                    &matcher->stats);
	matcher->broker = broker;
	return map_init(&matcher->nodes);
}

void matcher_deinit(struct matcher *matcher)
{
	baton_resource_close(&matcher->resource);
	baton_resource_deinit(&matcher->resource);
	stats_add(&matcher->broker->stats, STATS_MATCHER, &matcher->stats);
	map_deinit(&matcher->nodes);
}
