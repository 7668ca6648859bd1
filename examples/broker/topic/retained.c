/* SPDX-License-Identifier: MIT */
/* Retained messages; see retained.h. */
#include "topic/retained.h"

#include <inttypes.h>

#include <baton/resource.h>

#include "common/atomic.h"
#include "common/env.h"
#include "common/log.h"
#include "common/must.h"
#include "mqtt/properties.h"
#include "session/session.h"
#include "store/writes.h"
#include "topic/keep.h"
#include "topic/table.h"

/*
 * The bytes that are counted for a retained message, its topic included. The number is rounded up
 * to a step, so that a text that grows by a digit costs the same.
 */
static size_t retained_memory(const struct topic *topic, const struct message *message)
{
	const size_t step = 64;
	const size_t memory = sizeof(*topic) + topic->name.size + sizeof(struct topic_use) +
	                      message_memory(message);

	return (memory + step - 1) / step * step;
}

/* Relaxed, here and below: sums, which order nothing. */
static void retained_count(struct env *env, size_t messages, size_t bytes)
{
	add_relaxed(&env->stats.retained, messages);
	add_relaxed(&env->stats.retained_bytes, bytes);
}

static void retained_uncount(struct env *env, size_t messages, size_t bytes)
{
	sub_relaxed(&env->stats.retained, messages);
	sub_relaxed(&env->stats.retained_bytes, bytes);
}

/*
 * Counts one more message if there is room for it. The broker's own messages are not counted, so
 * that they are kept however many messages clients have retained.
 */
static bool retained_reserve(struct topic *topic, size_t bytes)
{
	struct env *env = topic->table->env;
	const struct stats *stats = &env->stats;

	if (names_own(topic->name))
		return true;
	retained_count(env, 1, bytes);
	if (stats_read(&stats->retained) <= limit_of(env, retained_max) &&
	    stats_read(&stats->retained_bytes) <= limit_of(env, retained_bytes_max)) {
		topic->retained_bytes = bytes;
		return true;
	}
	retained_uncount(env, 1, bytes);
	return false;
}

/* The log is told of the 1st, 2nd, 4th, 8th ... refusal. */
static void retained_refuse(struct env *env)
{
	const uint64_t refused = add_relaxed(&env->stats.retained_refused, 1) + 1;

	if ((refused & (refused - 1)) == 0)
		log_event(LOG_LEVEL_WARNING, "retain_refused", log_number("messages", refused),
		          log_text("reason", "--max-retained or --max-retained-bytes"));
}

static void retained_forget(struct topic *topic)
{
	if (topic->retained == NULL)
		return;
	if (topic->retained_bytes > 0)
		retained_uncount(topic->table->env, 1, topic->retained_bytes);
	topic->retained_bytes = 0;
	message_release(topic->retained, MESSAGE_REFERENCE);
	topic->retained = NULL;
}

/* The old message is dropped even if there is no room for the new one: it is outdated. */
static void retained_keep(struct topic *topic, struct message *message)
{
	retained_forget(topic);
	if (message->publish.payload.size == 0)
		return;
	if (!retained_reserve(topic, retained_memory(topic, message))) {
		retained_refuse(topic->table->env);
		return;
	}
	message_take(message, MESSAGE_REFERENCE);
	topic->retained = message;
}

/* Keeps the topic. The count is not 0: the publisher's own use is given back behind this task. */
static void retained_use(struct topic *topic)
{
	topic->retained_use = must_alloc(sizeof(*topic->retained_use));
	topic->retained_use->topic = topic;
	baton_registry_ref(&topic->entry);
}

/* Takes or gives back the use, as there is a message or not. */
static void retained_hold(struct topic *topic)
{
	if (topic->retained == NULL && topic->retained_use != NULL) {
		topic_unuse(topic->retained_use);
		topic->retained_use = NULL;
	} else if (topic->retained != NULL && topic->retained_use == NULL) {
		retained_use(topic);
	}
}

void retained_publish(struct topic *topic, struct message *message)
{
	baton_assert_held(&topic->entry.resource);
	retained_keep(topic, message);
	retained_hold(topic);
}

/* Drops the message, which has expired. The store forgets its place before the message. */
static void retained_expire(struct topic *topic)
{
	const struct message *message = topic->retained;

	if (message->id != 0)
		store_note(message->store, DATABASE_UNRETAIN, STORE_NUMBERS((int64_t)message->id));
	retained_forget(topic);
	retained_hold(topic);
}

void retained_restore(struct topic *topic, struct message *message)
{
	retained_keep(topic, message);
	if (topic->retained == NULL) /* there are narrower limits now */
		store_note(message->store, DATABASE_UNRETAIN, STORE_NUMBERS((int64_t)message->id));
	else
		retained_use(topic);
}

/* Writes the row of a retained message that a session is to have. */
static void retained_row(const struct session *session, const struct message *message,
                         struct packet *packet, struct slice identifiers)
{
	struct store *store = session->env->store;
	const uint64_t row = store_draw(store, 1);
	const struct database_record record = {.numbers = {(int64_t)session->id, (int64_t)row,
	                                                   (int64_t)message->id, packet->qos, 1},
	                                       .texts = {identifiers}};

	packet->row = row;
	store_note(store, DATABASE_ADD_ROW, &record);
}

void retained_send(struct topic *topic, const struct topic_tell *tell)
{
	struct message *message;
	const union subscription_options options = tell->options;
	unsigned char bytes[PROPERTIES_ID_MAX];
	struct slice identifiers = {(const char *)bytes, 0};
	struct packet *packet;
	uint8_t qos;

	if (topic->retained != NULL && message_expired(topic->retained))
		retained_expire(topic);
	message = topic->retained;
	if (message == NULL || !tell->retained ||
	    (options.no_local && message->sender == tell->session->identity) ||
	    !session_may(tell->session, ACCESS_READ, topic->name))
		return;
	qos = message->publish.qos < options.qos ? message->publish.qos : (uint8_t)options.qos;
	if (options.identifier != 0)
		identifiers.size = properties_put_id(bytes, options.identifier);
	packet = packet_create(message, qos, true, false, identifiers);
	if (packet == NULL) {
		stats_count(&topic->table->env->stats.dropped);
		return;
	}
	message_take(message, MESSAGE_REFERENCE);
	packet->retained = true;
	packet->due = tell->ask;
	if (message->id != 0 && keep_needed(tell->session, qos))
		retained_row(tell->session, message, packet, identifiers);
	session_deliver(tell->session, packet);
}

void retained_drop(struct topic *topic)
{
	retained_forget(topic);
	free(topic->retained_use);
	topic->retained_use = NULL;
}
