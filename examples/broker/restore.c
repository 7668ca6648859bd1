/* SPDX-License-Identifier: MIT */
/*
 * What a store has kept; see restore.h.
 *
 * Each read is in the order of ids, so sessions and messages are in sorted arrays. The array holds
 * a reference on each message until all is read. A message that nothing else holds then was left
 * behind by a crash: giving the reference back deletes it from the store, as for any message. Rows
 * of sessions and messages that are not there are deleted here.
 *
 * If a read fails, the broker does not start, and the messages stay in the file: they have no id
 * in the store any more when their references are given back.
 */
#include "restore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <baton/registry.h>

#include "broker.h"
#include "common/log.h"
#include "common/must.h"
#include "session/session.h"
#include "session/will.h"
#include "store/inside.h"
#include "store/writes.h"
#include "topic/request.h"
#include "topic/retained.h"
#include "topic/topic.h"

struct restored {
	uint64_t id;
	void *object;
};

struct restored_list {
	struct restored *items;
	size_t count;
	size_t capacity;
};

struct restore {
	struct broker *broker;
	struct store *store;
	struct restored_list sessions; /* each counted, and each message, too */
	struct restored_list messages;
	struct restored_list wills; /* to be published now */
	int status;
};

static int list_add(struct restored_list *list, uint64_t id, void *object)
{
	if (list->count == list->capacity) {
		const size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
		struct restored *items = realloc(list->items, capacity * sizeof(*items));

		if (items == NULL)
			return -ENOMEM;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count++] = (struct restored){id, object};
	return 0;
}

static int restored_compare(const void *left, const void *right)
{
	const struct restored *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static void *list_find(const struct restored_list *list, int64_t id)
{
	const struct restored key = {(uint64_t)id, NULL};
	const struct restored *found = list->count == 0 ? NULL
	                                                : bsearch(&key, list->items, list->count,
	                                                          sizeof(key), restored_compare);

	return found != NULL ? found->object : NULL;
}

static void restore_group(struct restore *restore, const struct database_record *record)
{
	struct session *session =
		table_restore_group(&restore->broker->table, record->texts[0]);

	if (session == NULL) {
		store_note(restore->store, DATABASE_END_SESSION, record);
		return;
	}
	session_restore(session, (uint64_t)record->numbers[0], PROPERTIES_NEVER, 0);
	session_reference(session);
	if (list_add(&restore->sessions, (uint64_t)record->numbers[0], session) != 0)
		restore->status = -ENOMEM;
}

static void restore_session(void *arg, const struct database_record *record)
{
	struct restore *restore = arg;
	struct clients *clients = &restore->broker->clients;
	const uint64_t id = (uint64_t)record->numbers[0];
	const uint32_t expiry = (uint32_t)record->numbers[1];
	const int64_t away = record->numbers[2];
	const struct access_client client = {.user = record->texts[1], .id = record->texts[0]};
	struct session *session;

	if (record->numbers[3] == DATABASE_GROUP) {
		restore_group(restore, record);
		return;
	}
	if (session_left(clients->env, expiry, away) == 0) {
		store_note(restore->store, DATABASE_END_SESSION, record);
		return;
	}
	session = session_create(clients, &client, false);
	if (session == NULL || list_add(&restore->sessions, id, session) != 0 ||
	    clients_restore(clients, session) != 0)
		restore->status = -ENOMEM;
	else
		session_restore(session, id, expiry, away);
}

static void restore_subscription(void *arg, const struct database_record *record)
{
	struct restore *restore = arg;
	struct session *session = list_find(&restore->sessions, record->numbers[0]);
	const struct slice filter = record->texts[0];
	const union subscription_options options = {
		.qos = (uint32_t)record->numbers[1] & 3,
		.no_local = (uint32_t)record->numbers[2] & 1,
		.retain_as_published = (uint32_t)record->numbers[2] >> 1 & 1,
		.identifier = (uint32_t)record->numbers[3] & SUBSCRIPTION_IDENTIFIER_MAX};

	if (session != NULL && names_filter_valid(filter))
		table_restore(&restore->broker->table, session, filter, options);
	else
		store_note(restore->store, DATABASE_END_SUBSCRIPTIONS,
		           STORE_NUMBERS(record->numbers[0]));
}

static void restore_message(void *arg, const struct database_record *record)
{
	struct restore *restore = arg;
	const struct codec_publish publish = {.expiry = PROPERTIES_NEVER,
	                                      .qos = (uint8_t)record->numbers[1],
	                                      .topic = record->texts[0],
	                                      .payload = record->texts[1],
	                                      .properties = record->texts[2]};
	struct message *message = message_create(NULL, &publish);

	if (message == NULL ||
	    list_add(&restore->messages, (uint64_t)record->numbers[0], message) != 0) {
		restore->status = -ENOMEM;
		return;
	}
	message_set_wall_expiry(message, record->numbers[2]);
	message_release(message, MESSAGE_HOP);
	message->store = restore->store;
	message->id = (uint64_t)record->numbers[0];
}

/* The message takes a reference with it. */
static void restore_queued(struct restore *restore, struct session *session,
                           struct message *message, const struct database_record *record)
{
	struct packet *packet = packet_create(message, (uint8_t)record->numbers[3],
	                                      record->numbers[4] != 0, false, record->texts[0]);

	if (packet == NULL) {
		restore->status = -ENOMEM;
		return;
	}
	message_take(message, MESSAGE_REFERENCE);
	packet->row = (uint64_t)record->numbers[1];
	if (session->group != NULL) { /* its message is a new one to any member */
		message->publish.retain = packet->retain;
	} else {
		packet->retained = packet->retain;   /* if not, only the queue's limit is wider */
		packet->repeated = packet->qos == 1; /* at QoS 2 the id would be committed */
	}
	session_restore_queued(session, packet);
}

static void restore_sent(struct session *session, struct message *message,
                         const struct database_record *record)
{
	const struct inflight_entry entry = {
		.message = message,
		.row = (uint64_t)record->numbers[1],
		.packet_id = (uint16_t)record->numbers[6],
		.state = record->numbers[5] == DATABASE_RECEIVED ? INFLIGHT_AWAITS_PUBCOMP
	                 : record->numbers[3] == 1               ? INFLIGHT_AWAITS_PUBACK
	                                                         : INFLIGHT_AWAITS_PUBREC,
		.retain = record->numbers[4] != 0,
		.attempted = true,
	};

	if (message != NULL)
		message_take(message, MESSAGE_REFERENCE);
	session_restore_sent(session, &entry, record->texts[0]);
}

static void restore_row(void *arg, const struct database_record *record)
{
	struct restore *restore = arg;
	struct session *session = list_find(&restore->sessions, record->numbers[0]);
	const bool received = record->numbers[5] == DATABASE_RECEIVED;
	struct message *message =
		received ? NULL : list_find(&restore->messages, record->numbers[2]);
	const uint16_t packet_id = (uint16_t)record->numbers[6];

	if (session == NULL || (message == NULL && !received) ||
	    (packet_id != 0 && inflight_find(&session->inflight, packet_id) != NULL))
		store_note(restore->store, DATABASE_END_ROW,
		           STORE_NUMBERS(record->numbers[0], record->numbers[1]));
	else if (packet_id == 0)
		restore_queued(restore, session, message, record);
	else
		restore_sent(session, message, record);
}

static void restore_id(void *arg, const struct database_record *record)
{
	struct restore *restore = arg;
	struct session *session = list_find(&restore->sessions, record->numbers[0]);

	if (session == NULL)
		store_note(restore->store, DATABASE_END_RECEIVED,
		           STORE_NUMBERS(record->numbers[0]));
	else if (received_add(&session->received, (uint16_t)record->numbers[1]) < 0)
		restore->status = -ENOMEM;
}

struct retaining {
	struct topic *topic;
	struct message *message;
};

static void *retain(void *arg)
{
	const struct retaining *retaining = arg;

	retained_restore(retaining->topic, retaining->message);
	return NULL;
}

static void restore_retained(void *arg, const struct database_record *record)
{
	struct restore *restore = arg;
	struct retaining retaining = {.message = list_find(&restore->messages, record->numbers[0])};
	struct slice name;
	struct baton_registry_entry *entry;

	if (retaining.message == NULL) {
		store_note(restore->store, DATABASE_UNRETAIN, record);
		return;
	}
	name = retaining.message->publish.topic;
	if (baton_registry_acquire(restore->broker->table.topics, name.bytes, name.size, &entry) !=
	    0) {
		restore->status = -ENOMEM;
		return;
	}
	retaining.topic = (struct topic *)entry;
	must(baton_call(&entry->resource, retain, &retaining, NULL), "retain a message");
	must(baton_registry_unref(entry), "give back a topic");
}

/* A will whose delay runs waits in its session. All others are due: the connection has ended. */
static void restore_will(void *arg, const struct database_record *record)
{
	struct restore *restore = arg;
	uint64_t id;
	struct will *will = will_restore(&restore->broker->env, record, &id);
	struct session *session = list_find(&restore->sessions, (int64_t)id);

	if (will != NULL && session != NULL)
		will->message->sender = session->identity;
	if (will == NULL)
		restore->status = -ENOMEM;
	else if (will->delay > 0 && session != NULL && session->will == NULL)
		session_restore_will(session, will);
	else if (list_add(&restore->wills, will->id, will) != 0)
		restore->status = -ENOMEM;
}

static void restore_publish(struct restore *restore)
{
	struct broker *broker = restore->broker;

	for (size_t i = 0; i < restore->wills.count; i++) {
		struct will *will = restore->wills.items[i].object;

		if (restore->status == 0)
			will_publish(will, &broker->env, &broker->table.unsubscriber, NULL);
		else
			will_free(will);
	}
	free(restore->wills.items);
}

/* A group whose members have gone ends; in the file it does not, if not all is read. */
static void restore_end_group(const struct restore *restore, struct session *session)
{
	struct request *request;

	if (session->group->members > 0)
		return;
	if (restore->status != 0)
		session->stored = false;
	request = request_create_end(&restore->broker->table, session);
	if (request == NULL)
		must(-ENOMEM, "end a group");
	else
		request_submit(request);
}

static void restore_end(struct restore *restore)
{
	for (size_t i = 0; i < restore->messages.count; i++) {
		struct message *message = restore->messages.items[i].object;

		if (restore->status != 0)
			message->id = 0;
		message_release(message, MESSAGE_REFERENCE);
	}
	for (size_t i = 0; i < restore->sessions.count; i++) {
		struct session *session = restore->sessions.items[i].object;

		if (session->group != NULL)
			restore_end_group(restore, session);
		else
			session_restored(session);
		session_release(session);
	}
	restore_publish(restore);
	free(restore->messages.items);
	free(restore->sessions.items);
}

int restore(struct broker *broker)
{
	static const struct {
		enum database_statement read;
		database_found_fn found;
	} steps[] = {
		{DATABASE_READ_SESSIONS, restore_session},
		{DATABASE_READ_SUBSCRIPTIONS, restore_subscription},
		{DATABASE_READ_MESSAGES, restore_message},
		{DATABASE_READ_ROWS, restore_row},
		{DATABASE_READ_IDS, restore_id},
		{DATABASE_READ_RETAINED, restore_retained},
		{DATABASE_READ_WILLS, restore_will},
	};
	struct store *store = broker->env.store;
	struct restore restore = {.broker = broker, .store = store};
	const uint64_t began = baton_now();

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && restore.status == 0; i++)
		if (database_read(store_database(store), steps[i].read, steps[i].found, &restore) !=
		    0)
			restore.status = -EIO;
	if (restore.status != 0)
		log_event(LOG_LEVEL_ERROR, "store_failed",
		          log_text("file", broker->env.options.store),
		          log_text("reason", restore.status == -ENOMEM
		                                     ? "no memory for what is in it"
		                                     : database_error(store_database(store))));
	else
		log_event(LOG_LEVEL_NOTICE, "store_restored",
		          log_text("file", broker->env.options.store),
		          log_number("sessions", restore.sessions.count),
		          log_number("messages", restore.messages.count),
		          log_number("ms", (baton_now() - began) / BATON_MILLISECOND));
	restore_end(&restore);
	return restore.status;
}
