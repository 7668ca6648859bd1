/* SPDX-License-Identifier: MIT */
/* Retained messages; see retained.h. */
#include "retained.h"

#include <baton/resource.h>

#include "broker.h"
#include "must.h"
#include "session.h"

static void retained_replace(struct topic *topic, struct message *message)
{
	if (topic->retained != NULL)
		message_release(topic->retained, MESSAGE_REFERENCE);
	topic->retained = message;
}

void retained_publish(struct topic *topic, struct message *message)
{
	baton_assert_held(&topic->entry.resource);
	for (size_t i = 0; i < topic->count; i++)
		topic->entries[i].retained_due = false; /* it gets this one live */
	if (message->publish.payload.size == 0) {
		retained_replace(topic, NULL);
		if (topic->retained_use != NULL) {
			stats_uncount(&topic->broker->stats.retained);
			topic_unuse(topic->retained_use);
		}
		topic->retained_use = NULL;
		return;
	}
	if (topic->retained_use == NULL) {
		topic->retained_use = must_alloc(sizeof(*topic->retained_use));
		topic->retained_use->topic = topic;
		/* The publisher's own use is given back behind this task, so there is one. */
		baton_registry_reference(&topic->entry);
		stats_count(&topic->broker->stats.retained);
	}
	message_take(message, MESSAGE_REFERENCE);
	retained_replace(topic, message);
}

void retained_send(const struct topic *topic, const struct topic_entry *entry)
{
	struct message *message = topic->retained;
	struct packet *packet;
	uint8_t qos;

	if (message == NULL)
		return;
	qos = message->publish.qos < entry->qos ? message->publish.qos : entry->qos;
	packet = packet_create(message, qos, true, false);
	if (packet == NULL) {
		stats_count(&topic->broker->stats.dropped);
		return;
	}
	message_take(message, MESSAGE_REFERENCE);
	session_deliver(entry->session, packet);
}

void retained_drop(struct topic *topic)
{
	retained_replace(topic, NULL);
	free(topic->retained_use);
	topic->retained_use = NULL;
}
