/* SPDX-License-Identifier: MIT */
/* The subscription tree; see matcher.h. */
#include "topic/matcher.h"

#include <errno.h>
#include <stdlib.h>

#include "common/atomic.h"
#include "common/env.h"
#include "common/hop.h"
#include "common/must.h"
#include "common/why.h"
#include "session/session.h"
#include "topic/request.h"
#include "topic/table.h"

#define MATCHER_PLACES_FEW 32

/*
 * The session's subscription at this node; NULL: none. The search ends with the shorter of the two
 * lists: one client may have 100,000 filters, one filter 100,000 clients.
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

/* Links the subscription at the front of both lists. */
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
	/* Release: the subscription, for matcher_add_node(). */
	store_release(&node->subscriptions, subscription);
}

/* `node_next` and the list behind it stay as they are, for readers that are there. */
static void matcher_unlink(struct subscription *subscription)
{
	struct subscription *next = subscription->node_next;

	if (next != NULL)
		next->node_link = subscription->node_link;
	/* Release: the next subscription, for readers that come to it by this store. */
	store_release(subscription->node_link, next);
	if (subscription->session_next != NULL)
		subscription->session_next->session_link = subscription->session_link;
	*subscription->session_link = subscription->session_next;
}

/*
 * The memory that a new subscription takes, about. Nodes that it shares with other subscriptions
 * are included, and the group that it shares with other members.
 */
static size_t matcher_memory(struct slice filter)
{
	struct slice group, shared;
	const bool share = names_share(filter, &group, &shared) && shared.bytes != NULL;
	const size_t more =
		share ? sizeof(struct member) + sizeof(struct share) + sizeof(struct session) : 0;

	return sizeof(struct subscription) + more + filter.size +
	       names_levels(filter) * sizeof(struct tree_node);
}

/* Why the client may have no more. */
static enum why matcher_objection(const struct matcher *matcher, const struct session *session,
                                  size_t memory)
{
	if (session->filters >= limit_of(matcher->env, filters_max))
		return WHY_MAX_FILTERS;
	return session->filter_bytes + memory > limit_of(matcher->env, filter_bytes_max)
	               ? WHY_MAX_FILTER_BYTES
	               : WHY_NONE;
}

/* ---- Groups ---- */

/* Makes a group, with a subscription at the filter behind its name, which alone is a reference. */
static struct share *share_create(struct matcher *matcher, struct slice name, struct slice filter)
{
	struct share *share = must_alloc(sizeof(*share));
	struct session *session = group_create(matcher->env, name, &share->group);

	/* All that a member may ask for. */
	share->subscription.options.qos = 2;
	share->subscription.options.retain_as_published = 1;
	share->subscription.session = session;
	matcher_link(&share->subscription, session, tree_of_filter(&matcher->tree, filter, true));
	return share;
}

static struct share *share_of(const struct member *member)
{
	return baton_container_of(member->group, struct share, group);
}

static struct member_options share_options(union subscription_options options)
{
	return (struct member_options){.identifier = options.identifier,
	                               .qos = (uint8_t)options.qos,
	                               .retain = options.retain_as_published};
}

/* The group of the node's subscriptions, which are its members; NULL: there are none. */
static struct share *share_of_members(const struct tree_node *node)
{
	const struct subscription *first = node->subscriptions;

	return first != NULL ? share_of(first->member) : NULL;
}

/* At the start of the broker: a group that has no member yet; NULL: there is none of that name. */
static struct share *share_waiting(struct matcher *matcher, struct slice name, struct slice filter)
{
	const struct tree_node *node = tree_of_filter(&matcher->tree, filter, false);
	struct subscription *at = node != NULL ? node->subscriptions : NULL;

	while (at != NULL &&
	       (at->session->group == NULL || !names_equal(at->session->client_id, name)))
		at = at->node_next;
	return at != NULL ? baton_container_of(at, struct share, subscription) : NULL;
}

struct session *matcher_restore_group(struct matcher *matcher, struct slice name)
{
	struct slice group, filter;
	struct share *share;

	if (!names_share(name, &group, &filter) || filter.bytes == NULL)
		return NULL;
	share = share_create(matcher, name, filter);
	share->subscription.pass = 1;
	return share->group.session;
}

/* ---- Subscriptions ---- */

static uint64_t *matcher_counter(struct matcher *matcher, const struct member *member)
{
	struct stats *stats = &matcher->env->stats;

	return member != NULL ? &stats->shared : &stats->subscriptions;
}

/* Adds a subscription, which the client may have. */
static struct subscription *matcher_add(struct matcher *matcher, struct session *session,
                                        struct slice filter, union subscription_options options,
                                        struct member *member)
{
	const size_t memory = matcher_memory(filter);
	struct subscription *subscription;

	subscription = must_alloc(sizeof(*subscription));
	subscription->memory = memory;
	subscription->options = options;
	subscription->member = member;
	stats_count(matcher_counter(matcher, member));
	session->filters++;
	session->filter_bytes += memory;
	session_reference(session);
	matcher_link(subscription, session, tree_of_filter(&matcher->tree, filter, true));
	return subscription;
}

/* Adds a shared subscription; `filter` is what stands behind the group in `name`. */
static struct subscription *matcher_enter(struct matcher *matcher, struct session *session,
                                          struct slice name, struct slice filter,
                                          union subscription_options options, bool connected)
{
	const struct tree_node *node = tree_of_filter(&matcher->tree, name, false);
	struct share *share = node != NULL ? share_of_members(node) : NULL;

	if (share == NULL && !connected)
		share = share_waiting(matcher, name, filter);
	if (share == NULL) {
		share = share_create(matcher, name, filter);
		group_keep(share->group.session);
	}
	return matcher_add(
		matcher, session, name, options,
		member_enter(&share->group, session, share_options(options), connected));
}

void matcher_restore(struct matcher *matcher, struct session *session, struct slice name,
                     union subscription_options options)
{
	struct slice group, filter;
	struct subscription *subscription;

	(void)names_share(name, &group, &filter);
	if (filter.bytes == NULL) {
		matcher_add(matcher, session, name, options, NULL)->pass = 1;
	} else {
		subscription = matcher_enter(matcher, session, name, filter, options, false);
		share_of(subscription->member)->subscription.pass = 1;
	}
}

/* A SUBSCRIBE to what the session is subscribed to already. */
static void matcher_change(struct subscription *subscription, union subscription_options options)
{
	/* Relaxed: no other memory depends on it. */
	store_relaxed(&subscription->options.word, options.word);
	if (subscription->member != NULL)
		member_change(subscription->member, share_options(options));
}

static void matcher_subscribe(struct matcher *matcher, struct request *request, size_t at)
{
	struct request_filter *filter = &request->filters[at];
	struct session *session = request->session;
	const struct tree_node *node = tree_of_filter(&matcher->tree, filter->name, false);
	enum why why;

	filter->subscription = node != NULL ? matcher_find(session, node) : NULL;
	if (filter->subscription != NULL) {
		filter->existed = true;
		matcher_change(filter->subscription, filter->options);
	} else {
		why = matcher_objection(matcher, session, matcher_memory(filter->name));
		if (why != WHY_NONE) {
			request_refuse(request, at, why);
			return;
		}
		filter->subscription =
			filter->shared.bytes == NULL
				? matcher_add(matcher, session, filter->name, filter->options, NULL)
				: matcher_enter(matcher, session, filter->name, filter->shared,
		                                filter->options, true);
	}
	if (filter->subscription->member != NULL) { /* topics are told of the group's */
		filter->subscription = &share_of(filter->subscription->member)->subscription;
		filter->group = filter->subscription->session;
		session_reference(filter->group);
	}
}

/*
 * Moves the subscription from the tree and its session's list to the request's list. A group ends
 * with its last member.
 */
static void matcher_remove(struct matcher *matcher, struct subscription *subscription,
                           struct request *request)
{
	struct session *session = subscription->session;
	struct member *member = subscription->member;
	struct share *share = member != NULL ? share_of(member) : NULL;

	matcher_unlink(subscription);
	subscription->session_next = request->removed;
	request->removed = subscription;
	tree_prune(&matcher->tree, subscription->node);
	if (session->group != NULL) {
		group_end(session);
		return;
	}
	session->filters--;
	session->filter_bytes -= subscription->memory;
	stats_uncount(matcher_counter(matcher, member));
	if (share == NULL)
		return;
	member_remove(member);
	if (share->group.members == 0)
		matcher_remove(matcher, &share->subscription, request);
}

static void matcher_unsubscribe(struct matcher *matcher, struct request *request, size_t at)
{
	struct request_filter *filter = &request->filters[at];
	const struct tree_node *node = tree_of_filter(&matcher->tree, filter->name, false);
	struct subscription *subscription =
		node != NULL ? matcher_find(request->session, node) : NULL;

	if (subscription != NULL)
		matcher_remove(matcher, subscription, request);
	else
		request_missed(request, at);
}

static int matcher_run_apply(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, task);
	struct matcher *matcher = &request->table->matcher;

	for (size_t i = 0; i < request->count; i++)
		if (request->kind == REQUEST_UNSUBSCRIBE)
			matcher_unsubscribe(matcher, request, i);
		else if (request->filters[i].why == WHY_NONE)
			matcher_subscribe(matcher, request, i);
	while (request->kind == REQUEST_END && request->session->subscriptions != NULL)
		matcher_remove(matcher, request->session->subscriptions, request);
	/* Release: the subscriptions are out of the tree; pairs with matcher_generation(). */
	if (request->removed != NULL)
		store_release(&matcher->generation, matcher->generation + 1);
	table_apply(request->table, request);
	return 0;
}

static void *matcher_run_renew(void *arg)
{
	struct matcher *matcher = arg;

	/* Release: the new rules are in force; pairs with matcher_generation(). */
	store_release(&matcher->generation, matcher->generation + 1);
	return NULL;
}

void matcher_renew(struct matcher *matcher)
{
	must(baton_call(&matcher->resource, matcher_run_renew, matcher, NULL), "new access rules");
}

void matcher_apply(struct matcher *matcher, struct request *request)
{
	hop(&matcher->resource, &request->task, matcher_run_apply, "apply a request");
}

uint64_t matcher_generation(const struct matcher *matcher)
{
	/* Acquire: a reader of this generation finds no subscription that was taken out before, and
	 * the access rules that this generation is for, or newer ones. */
	return load_acquire(&matcher->generation);
}

/* A look at the tree for a topic. */
struct matcher_look {
	const struct tree *tree;
	uint64_t told;
	struct audience *audience;
	bool wild; /* a leading wildcard matches the topic */
	bool failed;
	size_t work;
};

static void matcher_add_node(struct matcher_look *look, const struct tree_node *node)
{
	const struct subscription *subscription;

	if (node == NULL)
		return;
	/* Acquire: each subscription. Ends: subscriptions are added only at the front. */
	for (subscription = load_acquire(&node->subscriptions); subscription != NULL;
	     subscription = load_acquire(&subscription->node_next)) {
		/* Relaxed: for a subscription that counts, the telling came behind this store. */
		const uint64_t pass = load_relaxed(&subscription->pass);
		const union subscription_options options = {
			.word = load_relaxed(&subscription->options.word)};

		look->work++;
		if (pass != 0 && pass <= look->told &&
		    !audience_add(look->audience, subscription->session, options))
			look->failed = true;
	}
}

/* A node whose children are to be looked at, for the rest of the topic. */
struct matcher_place {
	const struct tree_node *parent;
	struct slice rest;
};

/* Looks at one node's children; `next` are those to be looked at in turn. Returns their count. */
static int matcher_look_below(struct matcher_look *look, const struct matcher_place *place,
                              struct matcher_place next[2])
{
	const struct tree_node *parent = place->parent, *found;
	const struct tree_below *below = tree_below(look->tree, parent);
	const bool wild = parent != NULL || look->wild;
	struct slice rest = place->rest, level;
	int count = 0;

	look->work++;
	if (wild)
		matcher_add_node(look, tree_rest(below));
	if (!names_next_level(&rest, &level)) {
		matcher_add_node(look, parent);
		return 0;
	}
	found = wild ? tree_one(below) : NULL;
	if (found != NULL)
		next[count++] = (struct matcher_place){found, rest};
	found = tree_others(below) ? tree_find(look->tree, parent, level) : NULL;
	if (found != NULL)
		next[count++] = (struct matcher_place){found, rest};
	return count;
}

/*
 * Visits each node that matches a beginning of the topic, once. `places` is a stack: each level of
 * the topic adds one place at most, since the place looked at is taken off.
 */
static void matcher_walk(struct matcher_look *look, struct slice topic,
                         struct matcher_place *places)
{
	size_t count = 0;

	places[count++] = (struct matcher_place){NULL, topic};
	while (count > 0) {
		const struct matcher_place place = places[--count];

		count += (size_t)matcher_look_below(look, &place, &places[count]);
	}
}

static bool matcher_may_read(const struct session *session, void *topic)
{
	return session_may(session, ACCESS_READ, *(const struct slice *)topic);
}

int matcher_ask(const struct matcher *matcher, struct slice topic, uint64_t told,
                struct audience *audience, size_t *work)
{
	struct matcher_look look = {.tree = &matcher->tree, .told = told, .audience = audience};
	struct matcher_place few[MATCHER_PLACES_FEW], *places = few;
	const size_t most = names_levels(topic) + 2;

	*work = 0;
	if (most > MATCHER_PLACES_FEW) {
		places = malloc(most * sizeof(*places));
		if (places == NULL)
			return -ENOMEM;
	}
	look.wild = topic.bytes[0] != '$';
	must(baton_epoch_enter(), "read the subscription tree");
	matcher_walk(&look, topic, places);
	if (matcher->env->rights.limited) {
		look.work += audience->count;
		audience_keep(audience, matcher_may_read, &topic);
	}
	if (!audience_seal(audience) || look.failed) {
		audience_clear(audience);
		look.failed = true;
	}
	/* The sessions live: within this section a subscription holds each of them. */
	for (size_t i = 0; i < audience->count; i++)
		session_reference(audience->entries[i].session);
	baton_epoch_leave();
	if (places != few)
		free(places);
	*work = look.work;
	return look.failed ? -ENOMEM : 0;
}

static void subscription_reclaim(struct baton_retired *retired)
{
	struct subscription *subscription =
		baton_container_of(retired, struct subscription, retired);

	struct session *session = subscription->session;

	if (session->group == NULL) /* else it is freed with its group */
		free(subscription);
	session_release(session);
}

void subscription_retire(struct baton_limbo *limbo, struct subscription *subscription)
{
	baton_limbo_retire(limbo, &subscription->retired, subscription_reclaim);
}

int matcher_init(struct matcher *matcher, struct env *env)
{
	baton_resource_init(&matcher->resource, &env->configs[ENV_TREE]);
	matcher->stats =
		env_show(env, &matcher->resource, (struct slice){"", 0}, &matcher->own_stats);
	matcher->env = env;
	return tree_init(&matcher->tree);
}

void matcher_deinit(struct matcher *matcher)
{
	baton_resource_close(&matcher->resource);
	baton_resource_deinit(&matcher->resource);
	stats_add(&matcher->env->stats, STATS_MATCHER, matcher->stats);
	env_hide(matcher->env, &matcher->resource);
	tree_deinit(&matcher->tree);
}
