/* SPDX-License-Identifier: MIT */
/* The topic table; see table.h. */
#include "topic/table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/atomic.h"
#include "common/env.h"
#include "common/hop.h"
#include "common/must.h"
#include "session/session.h"
#include "topic/post.h"
#include "topic/request.h"
#include "topic/retained.h"
#include "topic/topic.h"

/* Requests look at so many topics before another task, such as a new topic, has its turn. */
#define TABLE_LOOKS_MAX 5000

/* Makes a use of the topic, whose reference becomes that of the use. */
static int table_use(struct baton_registry_entry *entry, struct topic_use **use)
{
	*use = malloc(sizeof(**use));
	if (*use == NULL) {
		must(baton_registry_unref(entry), "give back a topic");
		return -ENOMEM;
	}
	(*use)->topic = (struct topic *)entry;
	return 0;
}

int table_find(struct table *table, struct slice name, struct topic_use **use)
{
	struct baton_registry_entry *entry;
	const int status = baton_registry_find(table->topics, name.bytes, name.size, &entry);

	return status == 0 ? table_use(entry, use) : status;
}

void table_ask(struct table *table, struct slice name, struct baton_registry_request *request)
{
	baton_registry_request_init(request);
	must(baton_registry_acquire_async(table->topics, name.bytes, name.size, request),
	     "ask for a topic");
}

int table_found(const struct baton_registry_request *request, struct topic_use **use)
{
	struct baton_registry_entry *entry = baton_registry_request_entry(request);

	return entry != NULL ? table_use(entry, use) : baton_future_status(&request->future);
}

struct table_pass {
	struct slice filter;
	struct topic_tell tell;
};

static bool table_tell_one(struct baton_registry_entry *entry, void *arg)
{
	struct topic *topic = (struct topic *)entry;
	const struct table_pass *pass = arg;

	if (names_match(pass->filter, topic->name))
		topic_tell(topic, &pass->tell);
	return true;
}

/*
 * Tells each topic that the filter matches; returns how many topics it has looked at. In the
 * broker's shutdown, when all connections close, it does nothing: it could take minutes, in vain.
 */
static size_t table_tell(struct table *table, const struct request *request, size_t at)
{
	const struct request_filter *filter = &request->filters[at];
	const bool shared = filter->group != NULL;
	const struct slice name = shared ? filter->shared : filter->name;
	struct subscription *subscription = filter->subscription;
	struct table_pass pass = {
		name,
		{.session = request->session,
	         .ask = request->ask,
	         .options = filter->options,
	         .retained = !shared && (filter->retained == REQUEST_RETAINED ||
	                                 (filter->retained == REQUEST_RETAINED_IF_NEW &&
	                                  !filter->existed))}};
	struct baton_registry_entry *entry;

	if (filter->why != WHY_NONE || load_relaxed(&table->env->late))
		return 0; /* relaxed: a hint */
	if (shared && subscription->pass != 0)
		return 0; /* the topics know the group, and send it nothing retained */
	pass.tell.pass = ++table->pass;
	/* Relaxed: only this baton changes it, and topics are told behind it. */
	if (subscription->pass == 0)
		store_relaxed(&subscription->pass, table->pass);
	if (names_wildcard(name)) {
		must(baton_registry_walk(table->topics, table_tell_one, &pass), "tell the topics");
		return baton_registry_count(table->topics);
	}
	if (baton_registry_find(table->topics, name.bytes, name.size, &entry) == 0) {
		table_tell_one(entry, &pass);
		must(baton_registry_unref(entry), "tell a topic");
	}
	return 1;
}

/* Runs the next step of a request; false: it was the last. */
static bool table_step(struct table *table, struct request *request, size_t *looks)
{
	if (request->step < request->count && request->kind == REQUEST_SUBSCRIBE) {
		*looks += table_tell(table, request, request->step++);
		return true;
	}
	return false; /* the topics know the subscriber before it is told so */
}

/* Retires the subscriptions that the request has taken out: new readers do not find them. */
static void table_end_request(struct table *table, struct request *request)
{
	const bool removed = request->removed != NULL;

	while (request->removed != NULL) {
		struct subscription *subscription = request->removed;

		request->removed = subscription->session_next;
		subscription_retire(table->limbo, subscription);
	}
	if (removed)
		baton_limbo_poll(table->limbo);
	request_end(request);
}

/* Puts the first request, and the later ones of its session, behind all others. */
static void table_put_off(struct table *table)
{
	const struct session *session = table->requests->session;
	struct request *own = NULL, **own_end = &own, **link = &table->requests;

	while (*link != NULL) {
		struct request *request = *link;

		if (request->session != session) {
			link = &request->next;
			continue;
		}
		*link = request->next;
		*own_end = request;
		own_end = &request->next;
	}
	*own_end = NULL;
	*link = own;
	table->requests_end = own_end;
}

static int table_run_requests(struct baton_task *task)
{
	struct table *table = baton_container_of(task, struct request, task)->table;
	size_t looks = 0;

	while (table->requests != NULL) {
		struct request *request = table->requests;

		if (looks >= TABLE_LOOKS_MAX) {
			table_put_off(table);
			request = table->requests;
			hop(baton_registry_resource(table->topics), &request->task,
			    table_run_requests, "go on with requests");
			return 0;
		}
		if (table_step(table, request, &looks))
			continue;
		table->requests = request->next;
		if (table->requests == NULL)
			table->requests_end = &table->requests;
		table_end_request(table, request);
	}
	return 0;
}

static int table_run_apply(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, task);
	struct table *table = request->table;
	const bool first = table->requests == NULL;

	*table->requests_end = request;
	table->requests_end = &request->next;
	return first ? table_run_requests(task) : 0;
}

static bool table_passes(const struct request *request)
{
	bool passes = false;

	for (size_t i = 0; request->kind == REQUEST_SUBSCRIBE && i < request->count; i++)
		passes = passes || names_wildcard(request->filters[i].name);
	return passes;
}

/* A pass over all topics may take milliseconds: it never runs on a loop's thread at once. */
void table_apply(struct table *table, struct request *request)
{
	struct baton_resource *resource = baton_registry_resource(table->topics);

	if (!table_passes(request)) {
		hop(resource, &request->task, table_run_apply, "apply a request");
		return;
	}
	baton_task_init(&request->task, table_run_apply, NULL);
	must(baton_submit_later(resource, &request->task), "apply a request");
}

static struct request *table_prepare(struct unsubscriber *unsubscriber, struct session *session)
{
	return request_create_end(baton_container_of(unsubscriber, struct table, unsubscriber),
	                          session);
}

static void table_publish(struct unsubscriber *unsubscriber, struct message *message)
{
	post(baton_container_of(unsubscriber, struct table, unsubscriber), message);
}

struct session *table_restore_group(struct table *table, struct slice name)
{
	return matcher_restore_group(&table->matcher, name);
}

void table_restore(struct table *table, struct session *session, struct slice filter,
                   union subscription_options options)
{
	table->pass = 1; /* topics are made later */
	matcher_restore(&table->matcher, session, filter, options);
}

int table_init(struct table *table, struct env *env)
{
	int status;
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct topic), topic_init, topic_deinit, table);

	/* Clients choose the names. Without randomness they could guess names that collide. */
	if (getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) < 0)
		options.seed = (uintptr_t)table;
	options.config = &env->configs[ENV_TOPICS];
	options.stats = &table->stats;
	table->env = env;
	table->requests_end = &table->requests;
	table->unsubscriber = (struct unsubscriber){table_prepare, request_submit, table_publish};
	status = baton_limbo_create(&table->limbo);
	if (status != 0)
		return status;
	status = baton_registry_create(&options, &table->topics);
	if (status != 0)
		goto destroy_limbo;
	status = matcher_init(&table->matcher, env);
	if (status == 0)
		return 0;
	must(baton_registry_destroy(table->topics), "end the topic table");
destroy_limbo:
	baton_limbo_destroy(table->limbo);
	return status;
}

/* The last reference is that of the retained message: all other holders are gone. */
static bool table_end_one(struct baton_registry_entry *entry, void *arg)
{
	(void)arg;
	retained_drop((struct topic *)entry);
	must(baton_registry_unref(entry), "end a topic");
	return true;
}

void table_deinit(struct table *table)
{
	matcher_deinit(&table->matcher);
	must(baton_registry_walk(table->topics, table_end_one, NULL), "end topics");
	must(baton_registry_destroy(table->topics), "end the topic table");
	baton_limbo_destroy(table->limbo);
	stats_add(&table->env->stats, STATS_TABLE, &table->stats);
}
