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

/*
 * The session's subscription at this node; NULL: none. Looks no further than the shorter of the two
 * lists goes: one client may have 100,000 filters, one filter 100,000 clients.
 */
static struct subscription *matcher_find(const struct session *session,
                                         const struct tree_node *node)
{
	struct subscription *of_session = session->subscriptions;
	struct subscription *of_node = node->subscriptions;

	while (of_session != NULL && of_node != NULL) {
		if (of_session->node == node)
			return of_session;
		if (of_node->session == session)
			return of_node;
		of_session = of_session->session_next;
		of_node = of_node->node_next;
	}
	return NULL;
}

/* In front of both lists. */
static void matcher_link(struct subscription *subscription, struct session *session,
                         struct tree_node *node)
{
	subscription->session = session;
	subscription->session_link = &session->subscriptions;
	subscription->session_next = session->subscriptions;
	if (subscription->session_next != NULL)
		subscription->session_next->session_link = &subscription->session_next;
	session->subscriptions = subscription;
	subscription->node = node;
	subscription->node_link = &node->subscriptions;
	subscription->node_next = node->subscriptions;
	if (subscription->node_next != NULL)
		subscription->node_next->node_link = &subscription->node_next;
	/* Release: the subscription, for matcher_tell(). */
	__atomic_store_n(&node->subscriptions, subscription, __ATOMIC_RELEASE);
}

/* `node_next` and what it leads to stay as they are, for who is reading there. */
static void matcher_unlink(struct subscription *subscription)
{
	struct subscription *next = subscription->node_next;

	if (next != NULL)
		next->node_link = subscription->node_link;
	/* Release: the next one, for who has read this list only from here on. */
	__atomic_store_n(subscription->node_link, next, __ATOMIC_RELEASE);
	if (subscription->session_next != NULL)
		subscription->session_next->session_link = subscription->session_link;
	*subscription->session_link = subscription->session_next;
}

static void matcher_subscribe(struct matcher *matcher, struct session *session,
                              struct request_filter *filter)
{
	struct tree_node *node = tree_of_filter(&matcher->tree, filter->name, true);
	struct subscription *subscription = matcher_find(session, node);
	const uint64_t version = ++matcher->version;
	const uint64_t grant = SUBSCRIPTION_GRANT(version, filter->qos);

	if (subscription == NULL) {
		subscription = must_alloc(sizeof(*subscription) + filter->name.size);
		memcpy(subscription->text, filter->name.bytes, filter->name.size);
		subscription->filter = (struct slice){subscription->text, filter->name.size};
		subscription->id = ++matcher->id;
		stats_count(&matcher->broker->stats.subscriptions);
		subscription->grant = grant;
		session_reference(session);
		matcher_link(subscription, session, node);
	} else {
		/* Relaxed: nothing hangs on it but itself. */
		__atomic_store_n(&subscription->grant, grant, __ATOMIC_RELAXED);
	}
	filter->id = subscription->id;
	filter->version = version;
}

/* Takes it out of the tree and of its session's list and puts it into the request's. */
static void matcher_remove(struct matcher *matcher, struct subscription *subscription,
                           struct request *request)
{
	matcher_unlink(subscription);
	subscription->session_next = request->removed;
	request->removed = subscription;
	tree_prune(&matcher->tree, subscription->node);
}

static void matcher_unsubscribe(struct matcher *matcher, struct request *request,
                                struct slice filter)
{
	const struct tree_node *node = tree_of_filter(&matcher->tree, filter, false);
	struct subscription *subscription =
		node != NULL ? matcher_find(request->session, node) : NULL;

	if (subscription != NULL)
		matcher_remove(matcher, subscription, request);
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
		matcher_remove(matcher, request->session->subscriptions, request);
	table_apply(&request->broker->table, request);
	return 0;
}

void matcher_apply(struct matcher *matcher, struct request *request)
{
	baton_task_init(&request->task, matcher_run_apply, NULL);
	must(baton_submit(&matcher->resource, &request->task), "apply a request");
}

static void matcher_tell(const struct tree_node *node, struct topic *topic)
{
	const struct subscription *subscription;

	if (node == NULL)
		return;
	/* Acquire: each subscription. Ends: none comes into the list behind its front. */
	for (subscription = __atomic_load_n(&node->subscriptions, __ATOMIC_ACQUIRE);
	     subscription != NULL;
	     subscription = __atomic_load_n(&subscription->node_next, __ATOMIC_ACQUIRE)) {
		const uint64_t grant = __atomic_load_n(&subscription->grant, __ATOMIC_RELAXED);

		topic_learn(topic, subscription->id, SUBSCRIPTION_VERSION(grant),
		            subscription->session, SUBSCRIPTION_QOS(grant));
	}
}

/* As deep as the deepest filter (NAMES_LEVELS_MAX), and comes by each node at most once. */
static void matcher_walk(const struct tree *tree, const struct tree_node *parent, struct slice rest,
                         struct topic *topic)
{
	const bool wild = parent != NULL || topic->name.bytes[0] != '$';
	struct slice level;
	const struct tree_node *next[2];

	if (wild)
		matcher_tell(tree_find(tree, parent, (struct slice){"#", 1}), topic);
	if (!names_next_level(&rest, &level)) {
		matcher_tell(parent, topic);
		return;
	}
	next[0] = tree_find(tree, parent, level);
	next[1] = wild ? tree_find(tree, parent, (struct slice){"+", 1}) : NULL;
	for (int i = 0; i < 2; i++)
		if (next[i] != NULL)
			matcher_walk(tree, next[i], rest, topic);
}

void matcher_ask(struct matcher *matcher, struct topic *topic)
{
	must(baton_epoch_enter(), "read the subscription tree");
	matcher_walk(&matcher->tree, NULL, topic->name, topic);
	baton_epoch_leave();
}

void subscription_destroy(struct subscription *subscription)
{
	stats_uncount(&subscription->session->broker->stats.subscriptions);
	session_release(subscription->session);
	free(subscription);
}

int matcher_init(struct matcher *matcher, struct broker *broker)
{
	baton_resource_init(&matcher->resource, matcher, "subscription tree", &broker->config,
	                    &matcher->stats);
	matcher->broker = broker;
	return tree_init(&matcher->tree);
}

void matcher_deinit(struct matcher *matcher)
{
	baton_resource_close(&matcher->resource);
	baton_resource_deinit(&matcher->resource);
	stats_add(&matcher->broker->stats, STATS_MATCHER, &matcher->stats);
	tree_deinit(&matcher->tree);
}
