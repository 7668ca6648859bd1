/* SPDX-License-Identifier: MIT */
/* The topic table; see table.h. */
#include "table.h"

#include <stdlib.h>

#include "broker.h"
#include "must.h"
#include "request.h"
#include "session.h"
#include "topic.h"

struct lookup {
	struct table *table;
	struct slice name;
	uint64_t hash;
};

static struct topic *table_find(const struct table *table, struct slice name, uint64_t hash)
{
	for (struct map_entry *entry = map_find(&table->topics, hash); entry != NULL;
	     entry = map_same(entry)) {
		struct topic *topic = baton_container_of(entry, struct topic, entry);

		if (names_equal(topic->name, name))
			return topic;
	}
	return NULL;
}

static void *table_run_lookup(void *arg)
{
	const struct lookup *lookup = arg;
	struct table *table = lookup->table;
	struct topic *topic = table_find(table, lookup->name, lookup->hash);

	if (topic != NULL) {
		topic->uses++;
		return topic;
	}
	topic = topic_create(table->broker, lookup->name);
	if (topic == NULL)
		return NULL;
	map_insert(&table->topics, &topic->entry, lookup->hash);
	matcher_ask(&table->broker->matcher, topic);
	return topic;
}

struct topic_use *table_lookup(struct table *table, struct slice name)
{
	struct lookup lookup = {table, name, map_hash(name.bytes, name.size, 0)};
	struct topic_use *use = malloc(sizeof(*use));
	void *topic;

	if (use == NULL)
		return NULL;
	must(baton_call(&table->resource, table_run_lookup, &lookup, &topic), "look a topic up");
	if (topic == NULL) {
		free(use);
		return NULL;
	}
	use->topic = topic;
	return use;
}

static void *table_run_use(void *arg)
{
	struct topic *topic = arg;

	topic->uses++;
	return NULL;
}

void table_use(struct table *table, struct topic *topic)
{
	must(baton_post(&table->resource, table_run_use, topic), "use a topic");
}

static int table_run_unuse(struct baton_task *task)
{
	struct topic_use *use = baton_container_of(task, struct topic_use, task);
	struct topic *topic = use->topic;

	if (use != &topic->first_use)
		free(use);
	if (--topic->uses > 0)
		return 0;
	map_remove(&topic->broker->table.topics, &topic->entry);
	topic_end(topic);
	return 0;
}

void table_unuse(struct table *table, struct topic_use *use)
{
	baton_task_init(&use->task, table_run_unuse, NULL);
	must(baton_submit(&table->resource, &use->task), "give back a topic");
}

/* One change for each topic that the filter matches. */
static void table_tell(const struct table *table, struct slice filter, enum topic_change_kind kind,
                       uint64_t id, struct session *session, uint8_t qos)
{
	struct map_entry *entry = NULL;
	struct topic *topic;

	if (!names_wildcard(filter)) {
		topic = table_find(table, filter, map_hash(filter.bytes, filter.size, 0));
		if (topic != NULL)
			topic_change(topic, kind, id, session, qos, true);
		return;
	}
	while ((entry = map_walk(&table->topics, entry)) != NULL) {
		topic = baton_container_of(entry, struct topic, entry);
		if (names_match(filter, topic->name))
			topic_change(topic, kind, id, session, qos, true);
	}
}

/*
 * SUBSCRIBE: the topics know the subscriber before it is told so, and it is told so before it gets
 * what they have retained.
 */
static int table_run_apply(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, task);
	const struct table *table = &request->broker->table;

	for (size_t i = 0; i < request->count; i++) {
		const struct request_filter *filter = &request->filters[i];

		if (filter->accepted)
			table_tell(table, filter->name, TOPIC_ADD, filter->id, request->session,
			           filter->qos);
	}
	for (const struct subscription *removed = request->removed; removed != NULL;
	     removed = removed->session_next)
		table_tell(table, removed->filter, TOPIC_REMOVE, removed->id, NULL, 0);
	request_answer(request);
	for (size_t i = 0; i < request->count; i++) {
		const struct request_filter *filter = &request->filters[i];

		if (filter->accepted)
			table_tell(table, filter->name, TOPIC_RETAINED, filter->id, NULL, 0);
	}
	request_destroy(request);
	return 0;
}

void table_apply(struct table *table, struct request *request)
{
	baton_task_init(&request->task, table_run_apply, NULL);
	must(baton_submit(&table->resource, &request->task), "apply a request");
}

int table_init(struct table *table, struct broker *broker)
{
	baton_resource_init(&table->resource, table, "topic table", &broker->config, &table->stats);
	table->broker = broker;
	return map_init(&table->topics);
}

void table_deinit(struct table *table)
{
	struct map_entry *entry;

	while ((entry = map_walk(&table->topics, NULL)) != NULL) {
		map_remove(&table->topics, entry);
		topic_end(baton_container_of(entry, struct topic, entry));
	}
	baton_resource_close(&table->resource);
	baton_resource_deinit(&table->resource);
	stats_add(&table->broker->stats, STATS_TABLE, &table->stats);
	map_deinit(&table->topics);
}
