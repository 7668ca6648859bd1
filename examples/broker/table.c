/* SPDX-License-Identifier: MIT */
/* The topic table; see table.h. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>

#include "broker.h"
#include "must.h"
#include "request.h"
#include "retained.h"
#include "session.h"
#include "topic.h"

struct topic_use *table_lookup(struct table *table, struct slice name)
{
	struct topic_use *use = malloc(sizeof(*use));
	struct baton_registry_entry *entry;
	int status;

	if (use == NULL)
		return NULL;
	status = baton_registry_acquire(table->topics, name.bytes, name.size, &entry);
	if (status != 0) {
		free(use);
		must(status == -ENOMEM ? 0 : status, "look a topic up");
		return NULL;
	}
	use->topic = (struct topic *)entry;
	return use;
}

/* A change on its way to each topic that its filter matches. */
struct tell {
	struct slice filter;
	enum topic_change_kind kind;
	uint64_t id;
	uint64_t version;
	struct session *session;
	uint8_t qos;
};

static bool table_tell_one(struct baton_registry_entry *entry, void *arg)
{
	struct topic *topic = (struct topic *)entry;
	const struct tell *tell = arg;

	if (names_match(tell->filter, topic->name))
		topic_change(topic, tell->kind, tell->id, tell->version, tell->session, tell->qos);
	return true;
}

static void table_tell(const struct table *table, struct tell tell)
{
	struct baton_registry_entry *entry;

	if (names_wildcard(tell.filter)) {
		must(baton_registry_walk(table->topics, table_tell_one, &tell), "tell the topics");
	} else if (baton_registry_find(table->topics, tell.filter.bytes, tell.filter.size,
	                               &entry) == 0) {
		table_tell_one(entry, &tell);
		must(baton_registry_release(entry), "tell a topic");
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
			table_tell(table,
			           (struct tell){filter->name, TOPIC_ADD, filter->id,
			                         filter->version, request->session, filter->qos});
	}
	for (const struct subscription *removed = request->removed; removed != NULL;
	     removed = removed->session_next)
		table_tell(table,
		           (struct tell){removed->filter, TOPIC_REMOVE, removed->id, 0, NULL, 0});
	request_answer(request);
	for (size_t i = 0; i < request->count; i++) {
		const struct request_filter *filter = &request->filters[i];

		if (filter->accepted)
			table_tell(table, (struct tell){filter->name, TOPIC_RETAINED, filter->id,
			                                filter->version, NULL, 0});
	}
	request_destroy(request);
	return 0;
}

void table_apply(struct table *table, struct request *request)
{
	baton_task_init(&request->task, table_run_apply, NULL);
	must(baton_submit(baton_registry_resource(table->topics), &request->task),
	     "apply a request");
}

int table_init(struct table *table, struct broker *broker)
{
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct topic), topic_init, topic_deinit, broker);

	options.seed = broker->seed;
	options.config = &broker->config;
	options.stats = &table->stats;
	table->broker = broker;
	return baton_registry_create(&options, &table->topics);
}

/* The reference of what is retained is the last one: nobody else is left. */
static bool table_end_one(struct baton_registry_entry *entry, void *arg)
{
	(void)arg;
	retained_drop((struct topic *)entry);
	must(baton_registry_release(entry), "end a topic");
	return true;
}

void table_deinit(struct table *table)
{
	must(baton_registry_walk(table->topics, table_end_one, NULL), "end topics");
	must(baton_registry_destroy(table->topics), "end the topic table");
	stats_add(&table->broker->stats, STATS_TABLE, &table->stats);
}
