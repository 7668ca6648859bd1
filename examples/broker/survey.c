/* SPDX-License-Identifier: MIT */
/* Surveys; see survey.h. */
#include "survey.h"

#include <stdlib.h>
#include <string.h>

#include <baton/registry.h>
#include <baton/resource.h>
#include <baton/stats.h>

#include "broker.h"
#include "common/hop.h"
#include "common/must.h"
#include "net/connection.h"
#include "net/loop.h"
#include "session/session.h"
#include "topic/topic.h"

struct survey_part {
	struct baton_task task;
	struct survey *survey;
	struct loop *loop;
	struct loop_stats stats;
	struct baton_resource_stats connections;
	struct baton_resource_stats sessions;
};

/* Enters a topic into the hottest, if it belongs there. */
static void survey_rank(struct survey *survey, struct slice name, uint64_t tasks)
{
	const size_t size = name.size < SURVEY_NAME_SIZE ? name.size : SURVEY_NAME_SIZE - 1;
	size_t at = SURVEY_HOTTEST;

	while (at > 0 && tasks > survey->hottest[at - 1].tasks)
		at--;
	if (at == SURVEY_HOTTEST)
		return;
	memmove(&survey->hottest[at + 1], &survey->hottest[at],
	        (SURVEY_HOTTEST - 1 - at) * sizeof(survey->hottest[0]));
	survey->hottest[at].tasks = tasks;
	memcpy(survey->hottest[at].name, name.bytes, size);
	survey->hottest[at].name[size] = '\0';
}

struct survey_walk {
	struct survey *survey;
	size_t visited;
};

static bool survey_topic(struct baton_registry_entry *entry, void *argument)
{
	struct topic *topic = baton_container_of(entry, struct topic, entry);
	struct survey_walk *walk = argument;
	struct baton_resource_stats *sum = &walk->survey->kinds[STATS_TOPIC];
	const uint64_t before = sum->executed;
	uint64_t tasks;

	stats_add_live(sum, topic->stats);
	tasks = sum->executed - before;
	if (topic->name.bytes[0] != '$')
		survey_rank(walk->survey, topic->name, tasks - topic->surveyed);
	topic->surveyed = tasks;
	return ++walk->visited < SURVEY_TOPICS_MAX;
}

/* A task of the topic table: surveys come one after the other. */
static int survey_run_topics(struct baton_task *task)
{
	struct survey *survey = baton_container_of(task, struct survey, task);
	struct baton_registry *topics = survey->broker->table.topics;
	struct survey_walk walk = {.survey = survey};

	survey->topics = baton_registry_count(topics);
	must(baton_registry_walk(topics, survey_topic, &walk), "survey the topics");
	uv_async_send(survey->done);
	return 0;
}

/* A task of the loop. */
static int survey_run_part(struct baton_task *task)
{
	struct survey_part *part = baton_container_of(task, struct survey_part, task);

	part->stats = part->loop->stats;
	for (const struct connection *connection = part->loop->connections; connection != NULL;
	     connection = connection->next) {
		stats_add_live(&part->connections, connection->stats);
		if (connection->session != NULL)
			stats_add_live(&part->sessions, connection->session->stats);
	}
	baton_group_leave(&part->survey->waiting);
	return 0;
}

void survey_start(struct survey *survey, struct broker *broker, uv_async_t *done)
{
	const unsigned int count = broker->net.loops_running;

	*survey = (struct survey){.broker = broker, .done = done};
	baton_group_init(&survey->waiting);
	baton_group_enter_many(&survey->waiting, count);
	baton_task_init(&survey->task, survey_run_topics, NULL);
	baton_continuation_task(&survey->then, baton_registry_resource(broker->table.topics),
	                        &survey->task);
	baton_group_then(&survey->waiting, &survey->then);
	survey->parts = must_alloc(count * sizeof(*survey->parts));
	for (unsigned int i = 0; i < count; i++) {
		struct survey_part *part = &survey->parts[i];

		part->survey = survey;
		part->loop = &broker->net.loops[i];
		hop(&part->loop->resource, &part->task, survey_run_part, "survey");
	}
}

void survey_finish(struct survey *survey)
{
	struct broker *broker = survey->broker;

	for (unsigned int i = 0; survey->parts != NULL && i < broker->net.loops_running; i++) {
		const struct survey_part *part = &survey->parts[i];

		stats_add_loop(&survey->loops, &part->stats);
		stats_add_sum(&survey->kinds[STATS_CONNECTION], &part->connections);
		stats_add_sum(&survey->kinds[STATS_SESSION], &part->sessions);
	}
	free(survey->parts);
	survey->parts = NULL;
	stats_add_live(&survey->kinds[STATS_TABLE], &broker->table.stats);
	stats_add_live(&survey->kinds[STATS_MATCHER], broker->table.matcher.stats);
	stats_add_live(&survey->kinds[STATS_CLIENTS], broker->clients.stats);
	for (int i = 0; i < STATS_KINDS; i++)
		stats_add_ended(&survey->kinds[i], &broker->env.stats.kinds[i]);
	baton_pool_stats_read(broker->env.pool, &survey->pool);
}
