/* SPDX-License-Identifier: MIT */
/* Wills; see will.h. */
#include "session/will.h"

#include <stdlib.h>

#include <baton/time.h>

#include "common/atomic.h"
#include "common/env.h"
#include "net/connection.h"
#include "net/message.h"
#include "session/clients.h"
#include "store/writes.h"

struct will *will_create(const struct codec_publish *publish, uint32_t delay)
{
	struct will *will = calloc(1, sizeof(*will));

	if (will == NULL)
		return NULL;
	will->message = message_create(NULL, publish);
	if (will->message == NULL) {
		free(will);
		return NULL;
	}
	will->delay = delay;
	will->expiry = publish->expiry;
	return will;
}

static void will_noted(void *message, bool kept)
{
	(void)kept;
	message_release(message, MESSAGE_REFERENCE);
}

void will_store(struct will *will, struct env *env, uint64_t session)
{
	struct message *message = will->message;
	struct database_record record;

	if (env->store == NULL)
		return;
	will->id = store_draw(env->store, 1);
	record = (struct database_record){
		.numbers = {(int64_t)will->id, (int64_t)session, 0, will->delay,
	                    message->publish.qos, message->publish.retain, will->expiry},
		.texts = {message->publish.topic, message->publish.payload,
	                  message_properties(message)}};
	message_take(message, MESSAGE_REFERENCE);
	store_note_then(env->store, DATABASE_ADD_WILL, &record, will_noted, message);
}

static void will_begin_wait(struct will *will, struct env *env)
{
	/* Relaxed, as below: a sum, which orders nothing. */
	add_relaxed(&env->stats.queued_bytes, will->message->cost);
	will->waits = true;
}

static void will_end_wait(struct will *will, struct env *env)
{
	if (will->waits)
		sub_relaxed(&env->stats.queued_bytes, will->message->cost);
	will->waits = false;
}

/* The store has the end of a delay that begins now. */
static void will_note_due(const struct will *will, struct env *env)
{
	const int64_t now = store_time();

	if (will->id != 0 && now != 0)
		store_note(env->store, DATABASE_WILL_DUE,
		           STORE_NUMBERS((int64_t)will->id, now + (int64_t)will->delay));
}

bool will_wait(struct will *will, struct env *env)
{
	will_begin_wait(will, env);
	if (load_relaxed(&env->stats.queued_bytes) > limit_of(env, queued_total_max)) {
		will_end_wait(will, env);
		return false;
	}
	will->due = baton_now() + (uint64_t)will->delay * BATON_SECOND;
	will_note_due(will, env);
	return true;
}

void will_free(struct will *will)
{
	message_release(will->message, MESSAGE_REFERENCE + MESSAGE_HOP);
	free(will);
}

void will_publish(struct will *will, struct env *env, struct unsubscriber *calls,
                  struct connection *publisher)
{
	struct message *message = will->message;

	will_end_wait(will, env);
	message->received_by = will->id;
	if (will->expiry != PROPERTIES_NEVER)
		message->expires = message_clock() + (uint64_t)will->expiry * 1000;
	if (publisher != NULL) {
		message->publisher = publisher;
		connection_charge_more(publisher, message->cost);
	}
	free(will);
	calls->publish(calls, message);
}

void will_drop(struct will *will, struct env *env)
{
	will_end_wait(will, env);
	if (will->id != 0)
		store_note(env->store, DATABASE_END_WILL, STORE_NUMBERS((int64_t)will->id));
	will_free(will);
}

/* For how long more it waits, in seconds. A clock that was set changes that by `delay` at most. */
static uint64_t will_left(uint32_t delay, int64_t due)
{
	const int64_t now = store_time();

	if (due == 0 || now == 0 || due - now > delay)
		return delay;
	return now < due ? (uint64_t)(due - now) : 0;
}

struct will *will_restore(struct env *env, const struct database_record *record, uint64_t *session)
{
	const struct codec_publish publish = {
		.topic = record->texts[0],
		.payload = record->texts[1],
		.properties = record->texts[2],
		.qos = (uint8_t)record->numbers[4],
		.retain = record->numbers[5] != 0,
		.expiry = (uint32_t)record->numbers[6],
	};
	struct will *will = will_create(&publish, (uint32_t)record->numbers[3]);
	const int64_t due = record->numbers[2];

	if (will == NULL)
		return NULL;
	will->id = (uint64_t)record->numbers[0];
	will->due = baton_now() + will_left(will->delay, due) * BATON_SECOND;
	if (due == 0) /* else the delay would begin again at each start */
		will_note_due(will, env);
	will_begin_wait(will, env);
	*session = (uint64_t)record->numbers[1];
	return will;
}
