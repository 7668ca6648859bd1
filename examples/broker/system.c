/* SPDX-License-Identifier: MIT */
/* $SYS topics; see system.h. */
#include "system.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/stats.h>
#include <baton/version.h>

#include "broker.h"
#include "common/must.h"
#include "topic/topic.h"

#define SYSTEM_PREFIX "$SYS/broker/"
#define SYSTEM_TEXT_SIZE 192

static void system_publish(struct system *system, struct topic *topic, const char *text)
{
	struct codec_publish publish = {.expiry = PROPERTIES_NEVER};
	struct message *message;

	publish.topic = topic->name;
	publish.payload = (struct slice){text, strlen(text)};
	publish.retain = true;
	publish.expiry = PROPERTIES_NEVER;
	message = message_create(&system->self, &publish);
	if (message == NULL)
		return;
	connection_charge_more(&system->self, message->cost);
	topic_publish(topic, message);
}

/* Asks for the topic, unless that is under way, and takes it if it is there. Does not wait. */
static void system_look_up(struct system *system, struct system_topic *topic, const char *name)
{
	char full[SYSTEM_TEXT_SIZE];

	if (!topic->asked) {
		snprintf(full, sizeof(full), SYSTEM_PREFIX "%s", name);
		topic->name = strdup(full);
		if (topic->name == NULL)
			return;
		table_ask(&system->broker->table, (struct slice){topic->name, strlen(topic->name)},
		          &topic->request);
	}
	topic->asked = !baton_future_is_complete(&topic->request.future);
	if (topic->asked)
		return;
	if (table_found(&topic->request, &topic->use) != 0)
		topic->use = NULL;
	free(topic->name);
	topic->name = NULL;
}

/* The next topic, which has the same name each time. */
static void system_say(struct system *system, const char *name, const char *text)
{
	struct system_topic *topic = &system->topics[system->at++];

	if (topic->said != NULL && strcmp(topic->said, text) == 0)
		return;
	if (topic->use == NULL)
		system_look_up(system, topic, name);
	if (topic->use == NULL)
		return; /* the topic is on its way, or there is no memory: the next time */
	free(topic->said);
	topic->said = strdup(text);
	system_publish(system, topic->use->topic, text);
}

static void system_say_number(struct system *system, const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	system_say(system, name, text);
}

static void system_say_clients(struct system *system)
{
	const struct loop_stats *loops = &system->survey.loops;
	const struct stats *stats = &system->broker->env.stats;
	const uint64_t total = stats_read(&stats->sessions);

	if (loops->connected > system->connected_max)
		system->connected_max = loops->connected;
	system_say_number(system, "clients/connected", loops->connected);
	system_say_number(system, "clients/disconnected",
	                  total > loops->connected ? total - loops->connected : 0);
	system_say_number(system, "clients/total", total);
	system_say_number(system, "clients/maximum", system->connected_max);
	system_say_number(system, "clients/expired", stats_read(&stats->expired));
	system_say_number(system, "clients/malformed", loops->malformed);
	system_say_number(system, "clients/evicted", stats_read(&stats->evicted));
	system_say_number(system, "connections/total", loops->connections);
}

static void system_say_messages(struct system *system)
{
	const struct loop_stats *loops = &system->survey.loops;
	const struct stats *stats = &system->broker->env.stats;
	const uint64_t queued = stats_read(&stats->queued_bytes);
	const uint64_t retained = stats_read(&stats->retained_bytes);

	system_say_number(system, "messages/received", loops->packets_in);
	system_say_number(system, "messages/sent", loops->packets_out);
	system_say_number(system, "bytes/received", loops->bytes_in);
	system_say_number(system, "bytes/sent", loops->bytes_out);
	system_say_number(system, "publish/messages/received", loops->messages_in);
	system_say_number(system, "publish/messages/sent", loops->messages_out);
	system_say_number(system, "publish/messages/dropped", stats_read(&stats->dropped));
	system_say_number(system, "publish/bytes/received", loops->payload_in);
	system_say_number(system, "publish/bytes/sent", loops->payload_out);
	system_say_number(system, "retained messages/count", stats_read(&stats->retained));
	system_say_number(system, "retained messages/bytes", retained);
	system_say_number(system, "retained messages/refused",
	                  stats_read(&stats->retained_refused));
	system_say_number(system, "queued messages/bytes", queued);
	system_say_number(system, "store/messages/bytes", queued + retained);
	system_say_number(system, "subscriptions/count", stats_read(&stats->subscriptions));
	system_say_number(system, "shared_subscriptions/count", stats_read(&stats->shared));
}

/* For each of these figures, how much comes in a minute, on average over the last 1, 5 and 15. */
static void system_say_load(struct system *system)
{
	static const unsigned int minutes[SYSTEM_AVERAGES] = {1, 5, 15};
	const struct loop_stats *loops = &system->survey.loops;
	const struct {
		const char *name;
		uint64_t total;
	} figures[SYSTEM_LOADS] = {
		{"sockets", loops->connections},
		{"connections", loops->connects},
		{"messages/received", loops->packets_in},
		{"messages/sent", loops->packets_out},
		{"bytes/received", loops->bytes_in},
		{"bytes/sent", loops->bytes_out},
		{"publish/received", loops->messages_in},
		{"publish/sent", loops->messages_out},
		{"publish/dropped", stats_read(&system->broker->env.stats.dropped)},
	};
	const uint64_t now = uv_now(system->timer.loop);
	const double passed = (double)(now - system->loads_at) / 60000; /* minutes */
	char name[64], text[32];

	system->loads_at = now;
	for (int i = 0; i < SYSTEM_LOADS; i++) {
		struct system_load *load = &system->loads[i];
		const double rate =
			passed > 0 ? (double)(figures[i].total - load->total) / passed : 0;

		load->total = figures[i].total;
		for (int j = 0; j < SYSTEM_AVERAGES; j++) {
			load->averages[j] =
				rate + (load->averages[j] - rate) * exp(-passed / minutes[j]);
			snprintf(name, sizeof(name), "load/%s/%umin", figures[i].name, minutes[j]);
			snprintf(text, sizeof(text), "%.2f", load->averages[j]);
			system_say(system, name, text);
		}
	}
}

static void system_say_broker(struct system *system)
{
	const uint64_t up = (uv_now(system->timer.loop) - system->started) / 1000;
	char text[64];

	snprintf(text, sizeof(text), "baton %s", baton_version());
	system_say(system, "version", text);
	snprintf(text, sizeof(text), "%" PRIu64 " seconds", up);
	system_say(system, "uptime", text);
	system_say_clients(system);
	system_say_messages(system);
	system_say_load(system);
	system_say_number(system, "baton/visits", system->survey.loops.visits);
}

static void system_say_topics(struct system *system)
{
	const struct survey *survey = &system->survey;
	char name[32], text[SYSTEM_TEXT_SIZE];

	system_say_number(system, "topics/count", survey->topics);
	for (int i = 0; i < SURVEY_HOTTEST; i++) {
		const struct survey_topic *topic = &survey->hottest[i];

		snprintf(name, sizeof(name), "topics/hottest/%d", i + 1);
		snprintf(text, sizeof(text), "%s %" PRIu64, topic->tasks > 0 ? topic->name : "-",
		         topic->tasks);
		system_say(system, name, text);
	}
}

/* For how long a task has waited since that time; 0: none waits. Both are CLOCK_MONOTONIC. */
static uint64_t system_age_ms(uint64_t since_ns)
{
	const uint64_t now_ns = uv_hrtime();

	return since_ns > 0 && since_ns < now_ns ? (now_ns - since_ns) / 1000000 : 0;
}

static void system_say_kind(struct system *system, const char *kind,
                            const struct baton_resource_stats *stats)
{
	const struct {
		const char *name;
		uint64_t value;
	} items[] = {
		{"tasks", stats->executed},          {"captures", stats->captures},
		{"hand-offs", stats->handoffs},      {"helped", stats->helped},
		{"outstanding", stats->outstanding}, {"backlog", stats->backlog_max},
		{"waiting", stats->waiting},         {"oldest ms", system_age_ms(stats->oldest_ns)},
	};
	char name[64];

	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		snprintf(name, sizeof(name), "baton/%s/%s", kind, items[i].name);
		system_say_number(system, name, items[i].value);
	}
}

static void system_say_baton(struct system *system)
{
	const struct survey *survey = &system->survey;
	struct baton_resource_stats all = {0};

	for (int i = 0; i < STATS_KINDS; i++) {
		if (!stats_kind_counted(i, system->broker->env.options.stats))
			continue;
		stats_add_sum(&all, &survey->kinds[i]);
		system_say_kind(system, stats_kind_name(i), &survey->kinds[i]);
	}
	system_say_kind(system, "all", &all);
	system_say_number(system, "baton/pool/jobs", survey->pool.executed);
	system_say_number(system, "baton/pool/steals", survey->pool.stolen);
	system_say_number(system, "baton/pool/parks", survey->pool.parked);
	system_say_number(system, "baton/pool/wakes", survey->pool.woken);
}

static void system_surveyed(uv_async_t *done)
{
	struct system *system = done->data;

	survey_finish(&system->survey);
	system->busy = false;
	if (system->stopped)
		return;
	system->at = 0;
	system_say_broker(system);
	system_say_number(system, "memory/resident", trim_resident());
	system_say_topics(system);
	system_say_baton(system);
}

static void system_tick(uv_timer_t *timer)
{
	struct system *system = timer->data;

	if (system->busy)
		return;
	system->busy = true;
	survey_start(&system->survey, system->broker, &system->done);
}

void system_pace(struct system *system)
{
	const uint64_t interval = (uint64_t)system->broker->env.options.stats_interval * 1000;

	if (interval == 0)
		uv_timer_stop(&system->timer);
	else if (interval != uv_timer_get_repeat(&system->timer) ||
	         !uv_is_active((uv_handle_t *)&system->timer))
		uv_timer_start(&system->timer, system_tick, 0, interval);
}

void system_start(struct system *system, uv_loop_t *uv, struct broker *broker)
{
	system->broker = broker;
	system->started = uv_now(uv);
	system->loads_at = system->started;
	system->self.charges = CONNECTION_REFERENCE;
	uv_timer_init(uv, &system->timer);
	must(uv_async_init(uv, &system->done, system_surveyed), "async");
	system->timer.data = system;
	system->done.data = system;
	system_pace(system);
}

void system_stop(struct system *system)
{
	system->stopped = true;
	uv_timer_stop(&system->timer);
	for (size_t i = 0; i < SYSTEM_TOPICS_MAX; i++) {
		struct system_topic *topic = &system->topics[i];

		if (topic->asked) {
			(void)baton_future_cancel(&topic->request.future);
			must(baton_future_wait(&topic->request.future), "a topic");
			system_look_up(system, topic, NULL);
		}
		if (topic->use != NULL)
			topic_unuse(topic->use);
		topic->use = NULL;
		free(topic->said);
		topic->said = NULL;
	}
}

void system_deinit(struct system *system)
{
	if (system->broker == NULL)
		return; /* it was never started */
	uv_close((uv_handle_t *)&system->timer, NULL);
	uv_close((uv_handle_t *)&system->done, NULL);
	free(system->survey.parts);
}
