/* SPDX-License-Identifier: MIT */
/* Topics: order, fan-out, subscribers; see topic.h. */
#include "topic.h"

#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "connection.h"
#include "must.h"
#include "retained.h"
#include "session.h"

/* What is retained is older than all that comes from here on. */
static void topic_send_due(const struct topic *topic, struct topic_entry *entry)
{
	if (!entry->retained_due)
		return;
	entry->retained_due = false;
	retained_send(topic, entry);
}

/*
 * The entries [first, end) are one session's; the highest QoS among them counts. What is due to
 * them goes before the message.
 */
static size_t topic_group(const struct topic *topic, size_t first, uint8_t *qos)
{
	size_t end = first;

	*qos = 0;
	do {
		if (topic->entries[end].qos > *qos)
			*qos = topic->entries[end].qos;
		topic_send_due(topic, &topic->entries[end]);
		end++;
	} while (end < topic->count &&
	         topic->entries[end].session == topic->entries[first].session);
	return end;
}

/* Passes the message to each session once. The caller keeps a reference and a hop until then. */
static void topic_fan_out(struct topic *topic, struct message *message)
{
	uint64_t spare = topic->count;
	const size_t cost = topic->count * sizeof(struct packet);
	uint8_t qos;

	/* The publisher pays for the copies too. Nobody reads the cost before the first submit. */
	if (message->publisher != NULL)
		connection_charge_more(message->publisher, cost);
	message->cost += cost;
	/* One atomic for all of them; what was too much is given back at the end. */
	message_take(message, spare * (MESSAGE_REFERENCE + MESSAGE_HOP));
	for (size_t i = 0, end; i < topic->count; i = end) {
		struct packet *packet;

		end = topic_group(topic, i, &qos);
		if (message->publish.qos < qos)
			qos = message->publish.qos;
		packet = packet_create(message, qos, false, true);
		if (packet == NULL) {
			stats_count(&topic->broker->stats.dropped);
			continue;
		}
		spare--;
		session_deliver(topic->entries[i].session, packet);
	}
	message_release(message, (spare + 1) * (MESSAGE_REFERENCE + MESSAGE_HOP));
}

/* PUBACK or PUBREC: from here on the message is ours. */
static void topic_acknowledge(const struct message *message)
{
	const uint8_t type = message->publish.qos == 1 ? CODEC_PUBACK : CODEC_PUBREC;
	unsigned char bytes[4];
	struct packet *ack =
		packet_create_own(bytes, codec_put_ack(bytes, type, message->publish.packet_id));

	if (ack == NULL)
		connection_kick(message->publisher, KICK_NO_MEMORY);
	else
		connection_send(message->publisher, ack);
}

/* The message is accepted: from here on it reaches all who are subscribed now. */
static void topic_accept(struct topic *topic, struct message *message)
{
	if (message->publish.packet_id != 0)
		topic_acknowledge(message);
	if (message->publish.retain)
		retained_publish(topic, message);
	topic_fan_out(topic, message);
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
	baton_task_init(&message->task, topic_run_publish, NULL);
	must(baton_submit(&topic->entry.resource, &message->task), "publish");
}

static int topic_run_unuse(struct baton_task *task)
{
	struct topic_use *use = baton_container_of(task, struct topic_use, task);
	struct topic *topic = use->topic;

	free(use);
	must(baton_registry_release(&topic->entry), "give back a topic");
	return 0;
}

void topic_unuse(struct topic_use *use)
{
	baton_task_init(&use->task, topic_run_unuse, NULL);
	must(baton_submit(&use->topic->entry.resource, &use->task), "give back a topic");
}

struct topic_change {
	struct baton_task task;
	struct topic *topic;
	struct session *session; /* counted, for TOPIC_ADD */
	uint64_t id;
	uint64_t version;
	enum topic_change_kind kind;
	uint8_t qos;
};

static struct topic_entry *topic_find(const struct topic *topic, uint64_t id)
{
	for (size_t i = 0; i < topic->count; i++)
		if (topic->entries[i].id == id)
			return &topic->entries[i];
	return NULL;
}

/* Behind the other entries of the same session, or at the end. */
static struct topic_entry *topic_insert(struct topic *topic, const struct session *session)
{
	size_t at = topic->count;

	if (topic->count == topic->capacity) {
		const size_t capacity = topic->capacity == 0 ? 4 : topic->capacity * 2;
		struct topic_entry *grown = must_alloc(capacity * sizeof(*grown));

		if (topic->count > 0)
			memcpy(grown, topic->entries, topic->count * sizeof(*grown));
		free(topic->entries);
		topic->entries = grown;
		topic->capacity = capacity;
	}
	for (size_t i = 0; i < topic->count; i++)
		if (topic->entries[i].session == session)
			at = i + 1;
	memmove(&topic->entries[at + 1], &topic->entries[at],
	        (topic->count - at) * sizeof(*topic->entries));
	topic->count++;
	return &topic->entries[at];
}

static void topic_add(struct topic *topic, const struct topic_change *change)
{
	struct topic_entry *entry = topic_find(topic, change->id);

	if (entry == NULL) {
		entry = topic_insert(topic, change->session);
		*entry = (struct topic_entry){.session = change->session, .id = change->id};
	} else {
		session_release(change->session);
	}
	/* Else the topic has read it in the tree itself, or a newer one. */
	if (change->version > entry->version) {
		entry->version = change->version;
		entry->qos = change->qos;
		entry->retained_due = true;
	}
}

static void topic_remove(struct topic *topic, uint64_t id)
{
	struct topic_entry *entry = topic_find(topic, id);
	struct session *session;
	size_t behind;

	if (entry == NULL)
		return;
	session = entry->session;
	behind = (size_t)(&topic->entries[topic->count] - (entry + 1));
	memmove(entry, entry + 1, behind * sizeof(*entry));
	topic->count--;
	session_release(session);
}

static int topic_run_change(struct baton_task *task)
{
	struct topic_change *change = baton_container_of(task, struct topic_change, task);
	struct topic *topic = change->topic;
	struct topic_entry *entry;

	switch (change->kind) {
	case TOPIC_ADD:
		topic_add(topic, change);
		break;
	case TOPIC_RETAINED:
		entry = topic_find(topic, change->id);
		if (entry != NULL)
			topic_send_due(topic, entry);
		break;
	case TOPIC_REMOVE:
		topic_remove(topic, change->id);
		break;
	}
	free(change);
	return 0;
}

void topic_change(struct topic *topic, enum topic_change_kind kind, uint64_t id, uint64_t version,
                  struct session *session, uint8_t qos)
{
	struct topic_change *change = must_alloc(sizeof(*change));

	change->topic = topic;
	change->kind = kind;
	change->id = id;
	change->version = version;
	change->qos = qos;
	change->session = session;
	if (session != NULL)
		session_reference(session);
	baton_task_init(&change->task, topic_run_change, NULL);
	must(baton_submit(&topic->entry.resource, &change->task), "change a topic");
}

void topic_learn(struct topic *topic, uint64_t id, uint64_t version, struct session *session,
                 uint8_t qos)
{
	struct topic_entry *entry = topic_insert(topic, session);

	session_reference(session);
	*entry = (struct topic_entry){.session = session, .id = id, .version = version, .qos = qos};
}

int topic_init(struct baton_registry_entry *entry, void *broker)
{
	struct topic *topic = (struct topic *)entry;

	topic->broker = broker;
	topic->name.bytes = baton_registry_name(entry, &topic->name.size);
	baton_resource_init(&entry->resource, topic, "topic", &topic->broker->config,
	                    &topic->stats);
	matcher_ask(&topic->broker->matcher, topic);
	return 0;
}

void topic_deinit(struct baton_registry_entry *entry, void *broker)
{
	struct topic *topic = (struct topic *)entry;

	(void)broker;
	stats_add(&topic->broker->stats, STATS_TOPIC, &topic->stats);
	retained_drop(topic);
	for (size_t i = 0; i < topic->count; i++)
		session_release(topic->entries[i].session);
	free(topic->entries);
}
