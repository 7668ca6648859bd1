/* SPDX-License-Identifier: MIT */
/* The topic table; see table.h. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "broker.h"
#include "must.h"
#include "request.h"
#include "retained.h"
#include "session.h"
#include "topic.h"

/* So many topics are looked at for requests before something else has its turn, a new topic say. */
#define TABLE_LOOKS_MAX 5000

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

/*
 * Returns how many topics it has looked at. At the broker's end, when all connections have been
 * told to close, there may be minutes of this to do, for nobody: topics give back what they know
 * when they end.
 */
static size_t table_tell(const struct table *table, struct tell tell)
{
	struct baton_registry_entry *entry;

	if (__atomic_load_n(&table->broker->late, __ATOMIC_RELAXED)) /* a hint */
		return 0;
	if (names_wildcard(tell.filter)) {
		must(baton_registry_walk(table->topics, table_tell_one, &tell), "tell the topics");
		return baton_registry_count(table->topics);
	}
	if (baton_registry_find(table->topics, tell.filter.bytes, tell.filter.size, &entry) == 0) {
		table_tell_one(entry, &tell);
		must(baton_registry_release(entry), "tell a topic");
	}
	return 1;
}

static size_t table_tell_filter(const struct table *table, const struct request *request, size_t at,
                                enum topic_change_kind kind)
{
	const struct request_filter *filter = &request->filters[at];
	struct session *session = kind == TOPIC_ADD ? request->session : NULL;

	if (!filter->accepted)
		return 0;
	return table_tell(table, (struct tell){filter->name, kind, filter->id, filter->version,
	                                       session, filter->qos});
}

/*
 * The next step of a request; false: it was the last. SUBSCRIBE: the topics know the subscriber
 * before it is told so, and it is told so before it gets what they have retained.
 */
static bool table_step(const struct table *table, struct request *request, size_t *looks)
{
	const size_t count = request->count;
	const struct subscription *removed = request->untold;

	if (request->step < count) {
		*looks += table_tell_filter(table, request, request->step, TOPIC_ADD);
	} else if (removed != NULL) {
		*looks += table_tell(table, (struct tell){removed->filter, TOPIC_REMOVE,
		                                          removed->id, 0, NULL, 0});
		request->untold = removed->session_next;
		return true;
	} else if (request->step == count) {
		request_answer(request);
	} else {
		*looks += table_tell_filter(table, request, request->step - count - 1,
		                            TOPIC_RETAINED);
	}
	request->step++;
	return request->step <= 2 * count;
}

/* The first request goes behind all others, with what its session has asked for after it. */
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
	struct table *table = &baton_container_of(task, struct request, task)->broker->table;
	size_t looks = 0;

	while (table->requests != NULL) {
		struct request *request = table->requests;

		if (looks >= TABLE_LOOKS_MAX) {
			table_put_off(table);
			request = table->requests;
			baton_task_init(&request->task, table_run_requests, NULL);
			must(baton_submit(baton_registry_resource(table->topics), &request->task),
			     "go on with requests");
			return 0;
		}
		if (table_step(table, request, &looks))
			continue;
		table->requests = request->next;
		if (table->requests == NULL)
			table->requests_end = &table->requests;
		request_destroy(request);
	}
	return 0;
}

static int table_run_apply(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, task);
	struct table *table = &request->broker->table;
	const bool first = table->requests == NULL;

	request->untold = request->removed;
	*table->requests_end = request;
	table->requests_end = &request->next;
	return first ? table_run_requests(task) : 0;
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

	/* Names come from strangers. Where there is no randomness, they may be guessed. */
	if (getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) < 0)
		options.seed = (uintptr_t)table;
	options.config = &broker->config;
	options.stats = &table->stats;
	table->broker = broker;
	table->requests_end = &table->requests;
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
