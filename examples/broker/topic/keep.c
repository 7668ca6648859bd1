/* SPDX-License-Identifier: MIT */
/* Messages on their way into the store; see keep.h. */
#include "topic/keep.h"

#include <stdlib.h>

#include "common/env.h"
#include "net/connection.h"
#include "session/session.h"
#include "store/writes.h"
#include "topic/table.h"
#include "topic/topic.h"

bool keep_needed(const struct session *session, uint8_t qos)
{
	return qos > 0 && session->id != 0;
}

/* Counts the rows, and the bytes of their identifiers. */
static size_t keep_count(const struct topic *topic, const struct message *message, size_t *bytes)
{
	size_t count = 0;

	for (size_t i = 0; message->publish.qos > 0 && i < topic->audience.count; i++) {
		const struct audience_entry *entry = &topic->audience.entries[i];
		const struct topic_delivery delivery = topic_delivery(entry, message);

		if (delivery.nothing || !keep_needed(entry->session, delivery.qos))
			continue;
		count++;
		*bytes += audience_identifiers(&topic->audience, entry, delivery.own).size;
	}
	return count;
}

static void keep_rows(const struct topic *topic, const struct message *message,
                      struct store_message *write)
{
	const struct audience *audience = &topic->audience;
	char *bytes = (char *)&write->rows[write->count];
	size_t at = 0;

	for (size_t i = 0; at < write->count; i++) {
		const struct audience_entry *entry = &audience->entries[i];
		const struct topic_delivery delivery = topic_delivery(entry, message);

		if (delivery.nothing || !keep_needed(entry->session, delivery.qos))
			continue;
		write->rows[at] = (struct store_row){
			.session = entry->session->id,
			.row = write->id + at + 1,
			.identifiers = slice_copy(
				&bytes, audience_identifiers(audience, entry, delivery.own)),
			.qos = delivery.qos,
			.retain = delivery.retain,
		};
		at++;
	}
}

/* The message is committed. Its hop keeps the publisher's connection until here. */
static void keep_done(struct store_write *write, bool kept)
{
	struct store_message *stored = baton_container_of(write, struct store_message, write);
	struct message *message = stored->arg;

	free(stored);
	if (message->answer != NULL) {
		message->answer->lost = !kept;
		message_acknowledge(message);
	}
	message_release(message, MESSAGE_REFERENCE + MESSAGE_HOP);
}

void keep_message(struct topic *topic, struct message *message, uint64_t outdated)
{
	struct store *store = topic->table->env->store;
	const bool retained = topic->retained == message;
	size_t bytes = 0;
	const size_t count = keep_count(topic, message, &bytes);
	struct packet *answer = NULL;
	struct store_message *write;

	if (count == 0 && !retained && outdated == 0 && message->received_by == 0) {
		if (message->answer != NULL)
			message_acknowledge(message);
		return;
	}
	write = store_message_create(count, bytes, keep_done, message);
	if (count > 0 || retained) {
		message->store = store;
		message->id = write->id = store_draw(store, 1 + count);
	}
	write->qos = message->publish.qos;
	write->retained = retained;
	write->outdated = outdated;
	write->received_by = message->received_by;
	write->packet_id = message->publish.packet_id;
	write->topic = message->publish.topic;
	write->payload = message->publish.payload;
	write->properties = message_properties(message);
	write->expires = message_wall_expiry(message);
	keep_rows(topic, message, write);
	if (!store_waits(store)) {
		answer = message->answer;
		message->answer = NULL;
	}
	message_take(message, MESSAGE_REFERENCE + MESSAGE_HOP);
	store_submit(store, &write->write);
	/* Behind the write: the PUBREL that follows a PUBREC deletes what the write adds. */
	if (answer != NULL)
		connection_send(message->publisher, answer);
}
