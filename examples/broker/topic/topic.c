/* SPDX-License-Identifier: MIT */
/* Topics: order, subscribers, fan-out; see topic.h. */
#include "topic/topic.h"

#include <stdlib.h>

#include "common/atomic.h"
#include "common/env.h"
#include "common/hop.h"
#include "common/must.h"
#include "mqtt/reason.h"
#include "net/connection.h"
#include "session/session.h"
#include "topic/keep.h"
#include "topic/retained.h"
#include "topic/table.h"

static void topic_forget_audience(struct topic *topic)
{
	for (size_t i = 0; i < topic->audience.count; i++)
		session_release(topic->audience.entries[i].session);
	audience_clear(&topic->audience);
	topic->asked = false;
	if (topic->audience_memory > 0) /* relaxed: a sum, which orders nothing */
		sub_relaxed(&topic->table->env->stats.audience_bytes, topic->audience_memory);
	topic->audience_memory = 0;
}

/*
 * Finds the audience of the next message. Messages to topics with large audiences make other
 * clients wait: so the cost is charged to the publisher.
 */
static int topic_ask(struct topic *topic, struct connection *publisher)
{
	const struct matcher *matcher = &topic->table->matcher;
	const uint64_t generation = matcher_generation(matcher);
	size_t work;
	int status;

	if (topic->asked && topic->generation == generation)
		return 0;
	topic_forget_audience(topic);
	status = matcher_ask(matcher, topic->name, topic->told, &topic->audience, &work);
	if (publisher != NULL)
		connection_worked(publisher, work);
	topic->asked = status == 0;
	topic->generation = generation;
	topic->audience_memory = audience_memory(&topic->audience);
	add_relaxed(&topic->table->env->stats.audience_bytes, topic->audience_memory);
	return status;
}

/* The publisher pays for the copies, too. No thread reads the cost before the first submit. */
static void topic_charge(const struct topic *topic, struct message *message)
{
	const size_t cost = topic->audience.count * sizeof(struct packet);

	if (message->publisher != NULL)
		connection_charge_more(message->publisher, cost);
	message->cost += cost;
}

struct topic_delivery topic_delivery5(const struct audience_entry *entry,
                                      const struct message *message)
{
	const bool own = entry->no_local && entry->session->identity == message->sender;
	const uint8_t qos = own ? entry->own_qos : entry->qos;

	return (struct topic_delivery){
		.qos = message->publish.qos < qos ? message->publish.qos : qos,
		.own = own,
		.nothing = qos == AUDIENCE_NOTHING,
		.retain = (own ? entry->own_retain : entry->retain) && message->publish.retain,
	};
}

/* The packet for a session of the audience. NULL: no memory. */
static struct packet *topic_packet(const struct topic *topic, const struct audience_entry *entry,
                                   struct message *message, struct topic_delivery delivery)
{
	return entry->plain
	               ? packet_create_live(message, delivery.qos)
	               : packet_create(message, delivery.qos, delivery.retain, true,
	                               audience_identifiers(&topic->audience, entry, delivery.own));
}

/* Passes the message to each session once. The caller keeps a reference and a hop until then. */
static void topic_fan_out(struct topic *topic, struct message *message)
{
	const size_t count = topic->audience.count;
	uint64_t spare = count, row = message->id;

	/* One atomic for all packets; the counts that no packet takes are given back below. */
	message_take(message, spare * (MESSAGE_REFERENCE + MESSAGE_HOP));
	for (size_t i = 0; i < count; i++) {
		const struct audience_entry *entry = &topic->audience.entries[i];
		const struct topic_delivery delivery = topic_delivery(entry, message);
		struct packet *packet;
		bool kept;

		if (delivery.nothing)
			continue;
		packet = topic_packet(topic, entry, message, delivery);
		kept = row != 0 && keep_needed(entry->session, delivery.qos);
		row += kept; /* as in keep_message() */
		if (packet == NULL) {
			stats_count(&topic->table->env->stats.dropped);
			continue;
		}
		spare--;
		packet->row = kept ? row : 0;
		session_deliver(entry->session, packet);
	}
	message_release(message, (spare + 1) * (MESSAGE_REFERENCE + MESSAGE_HOP));
}

/* Accepts the message: it reaches all clients that are subscribed now. */
static void topic_accept(struct topic *topic, struct message *message)
{
	const bool keeps = topic->table->env->store != NULL && !names_own(topic->name);
	/* The old retained message is deleted in the store after the new one is written. */
	struct message *outdated = keeps && message->publish.retain ? topic->retained : NULL;

	if (outdated != NULL)
		message_take(outdated, MESSAGE_REFERENCE);
	if (message->publish.retain)
		retained_publish(topic, message);
	if (topic_ask(topic, message->publisher) != 0)
		stats_count(
			&topic->table->env->stats.dropped); /* no memory: no subscriber gets it */
	else if (topic->audience.count == 0 && message->answer != NULL)
		packet_set_reason(message->answer, REASON_NO_SUBSCRIBERS);
	topic_charge(topic, message);
	if (keeps)
		keep_message(topic, message, outdated != NULL ? outdated->id : 0);
	else if (message->answer != NULL)
		message_acknowledge(message);
	if (outdated != NULL)
		message_release(outdated, MESSAGE_REFERENCE);
	topic_fan_out(topic, message);
	if (stats_read(&topic->table->env->stats.audience_bytes) > TOPIC_AUDIENCES_MAX)
		topic_forget_audience(topic);
}

static int topic_run_publish(struct baton_task *task)
{
	struct message *message = baton_container_of(task, struct message, task);

	topic_accept(message->topic, message);
	return 0;
}

void topic_publish(struct topic *topic, struct message *message)
{
	message->topic = topic;
	hop(&topic->entry.resource, &message->task, topic_run_publish, "publish");
}

static int topic_run_unuse(struct baton_task *task)
{
	struct topic_use *use = baton_container_of(task, struct topic_use, task);
	struct topic *topic = use->topic;

	free(use);
	topic_forget_audience(topic); /* this may have been the last publisher's use */
	must(baton_registry_unref(&topic->entry), "give back a topic");
	return 0;
}

void topic_unuse(struct topic_use *use)
{
	hop(&use->topic->entry.resource, &use->task, topic_run_unuse, "give back a topic");
}

struct telling {
	struct baton_task task;
	struct topic *topic;
	struct topic_tell tell; /* its session is counted */
};

static int topic_run_tell(struct baton_task *task)
{
	struct telling *telling = baton_container_of(task, struct telling, task);
	struct topic *topic = telling->topic;

	topic->told = telling->tell.pass;
	topic_forget_audience(topic);
	retained_send(topic, &telling->tell);
	session_release(telling->tell.session);
	free(telling);
	return 0;
}

void topic_tell(struct topic *topic, const struct topic_tell *tell)
{
	struct telling *telling = must_alloc(sizeof(*telling));

	telling->topic = topic;
	telling->tell = *tell;
	session_reference(tell->session);
	hop(&topic->entry.resource, &telling->task, topic_run_tell, "tell a topic");
}

int topic_init(struct baton_registry_entry *entry, void *table)
{
	struct topic *topic = (struct topic *)entry;

	topic->table = table;
	topic->name.bytes = baton_registry_name(entry, &topic->name.size);
	baton_resource_init(&entry->resource, &topic->table->env->configs[ENV_TOPIC]);
	topic->stats =
		env_show(topic->table->env, &entry->resource, topic->name, &topic->own_stats);
	topic->told = topic->table->pass;
	return 0;
}

void topic_deinit(struct baton_registry_entry *entry, void *table)
{
	struct topic *topic = (struct topic *)entry;

	(void)table;
	stats_add(&topic->table->env->stats, STATS_TOPIC, topic->stats);
	env_hide(topic->table->env, &entry->resource);
	retained_drop(topic);
	topic_forget_audience(topic);
}
