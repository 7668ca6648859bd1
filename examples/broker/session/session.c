/* SPDX-License-Identifier: MIT */
/* Sessions: joins and lifetime; see session.h. What a session sends: delivery.c. */
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "common/atomic.h"
#include "common/env.h"
#include "common/hash.h"
#include "common/hop.h"
#include "common/log.h"
#include "common/must.h"
#include "common/why.h"
#include "net/connection.h"
#include "session/clients.h"
#include "session/join.h"
#include "session/will.h"
#include "store/writes.h"

static void session_drop_will(struct session *session)
{
	if (session->will != NULL)
		will_drop(session->will, session->env);
	session->will = NULL;
}

/* By the access rules of now, as for any message. */
static void session_publish_will(struct session *session, struct connection *publisher)
{
	struct will *will = session->will;

	if (will == NULL)
		return;
	if (!session_may(session, ACCESS_WRITE, will->message->publish.topic)) {
		log_event(LOG_LEVEL_WARNING, "will_refused",
		          log_slice("client", session->client_id),
		          log_slice("topic", will->message->publish.topic),
		          log_text("reason", why_text(WHY_ACCESS)));
		session_drop_will(session);
		return;
	}
	session->will = NULL;
	will->message->sender = session->identity;
	will_publish(will, session->env, session->clients->unsubscriber, publisher);
}

/* The connection has gone. */
static void session_pause(struct session *session)
{
	session->marked = false; /* the marker is gone with the output */
	inflight_settle(&session->inflight, session->attempted);
	queue_clear_again(&session->queue);
	aliases_out_free(session->aliases);
	session->aliases = NULL;
	members_go(session);
}

/* The session ends: no client joins it again. */
static void session_finish(struct session *session)
{
	struct request *request = session->end_request;

	if (session->ended)
		return;
	session->ended = true;
	session_publish_will(session, NULL);
	stats_uncount(&session->env->stats.sessions);
	BATON_IGNORE(baton_timer_stop(&session->expiry).met);
	if (session->stored)
		store_note(session->env->store, DATABASE_END_SESSION,
		           STORE_NUMBERS((int64_t)session->id));
	queue_clear(&session->queue, session->env);
	inflight_clear(&session->inflight);
	received_clear(&session->received);
	clients_forget(session->clients, session);
	session->end_request = NULL;
	session->clients->unsubscriber->submit(request);
	trim_note(&session->env->trim); /* it may have held much memory */
}

uint32_t session_left(const struct env *env, uint32_t expiry, int64_t away)
{
	const uint32_t most = limit_of(env, session_expiry);
	const int64_t now = store_time();
	/* A clock that was set back has not passed the leave again. */
	const int64_t passed = away > 0 && now > away ? now - away : 0;

	if (most > 0 && expiry > most)
		expiry = most;
	if (expiry == PROPERTIES_NEVER)
		return PROPERTIES_NEVER;
	return passed < expiry ? expiry - (uint32_t)passed : 0;
}

uint32_t session_expiry(const struct session *session)
{
	return session_left(session->env, session->expires, 0);
}

/* The store has the expiry, and since when the client is away; 0: it is there. */
static void session_note(const struct session *session, int64_t away)
{
	if (session->stored)
		store_note(session->env->store, DATABASE_SESSION_AWAY,
		           STORE_NUMBERS((int64_t)session->id, (int64_t)session->expires, away));
}

/* Says when the time of a session is over whose client is away since `away`; 0: from now on. */
static void session_set_end(struct session *session, int64_t away)
{
	const uint64_t left = session_left(session->env, session->expires, away);

	session->ends = left == PROPERTIES_NEVER ? BATON_NEVER : baton_now() + left * BATON_SECOND;
}

/* Until the delay of its will, or the session itself, is over. */
static void session_wait(struct session *session)
{
	uint64_t next = session->ends;

	if (session->will != NULL && session->will->due < next)
		next = session->will->due;
	if (next != BATON_NEVER)
		must(baton_timer_arm_at(&session->expiry, next), "expiry");
}

static void session_go_away(struct session *session)
{
	session_set_end(session, 0);
	session_note(session, store_time());
	session_wait(session);
}

static int session_run_expiry(struct baton_timer *timer)
{
	struct session *session = baton_container_of(timer, struct session, expiry);
	const uint64_t now = baton_now();

	if (session->will != NULL && session->will->due <= now)
		session_publish_will(session, NULL);
	if (session->ends > now)
		session_wait(session);
	else if (!clients_expire(session->clients, session, session->newest)) /* no memory: later */
		must(baton_timer_arm_after(&session->expiry, BATON_SECOND), "expiry");
	return 0;
}

static int session_run_welcome(struct baton_task *task)
{
	struct join *join = baton_container_of(task, struct join, task);
	struct session *session = join->session;

	session->storing--;
	join_end(join);
	if (session->storing == 0)
		delivery_go_on(session);
	return 0;
}

static void session_welcome(void *arg, bool kept)
{
	struct join *join = arg;

	if (!kept)
		join->why = WHY_STORE;
	hop(&join->session->resource, &join->task, session_run_welcome, "welcome");
}

static void session_noted(void *arg, bool kept)
{
	(void)kept;
	session_release(arg);
}

/*
 * The CONNACK, once the store has what it says: that the session and the will are kept, or that the
 * older session has ended. What waits in the session waits for the CONNACK as for a packet that the
 * store has.
 */
static void session_answer(struct session *session, struct join *join)
{
	struct store *store = session->env->store;
	const struct database_record record = {
		.numbers = {(int64_t)session->id, (int64_t)session->expires},
		.texts = {session->client_id, session_user(session)}};
	const bool fresh = session->id != 0 && !session->stored;

	session->stored = session->id != 0;
	if (fresh) {
		session_reference(session);
		store_note_then(store, DATABASE_ADD_SESSION, &record, session_noted, session);
	}
	/* After a restart there may be no client whose rights could be looked at. */
	if (session->will != NULL &&
	    session_may(session, ACCESS_WRITE, session->will->message->publish.topic))
		will_store(session->will, session->env, session->id);
	if (!store_waits(store) || (!fresh && !join->replaces && session->will == NULL)) {
		join_end(join);
		return;
	}
	session->storing++;
	store_note_then(store, DATABASE_NOTHING, NULL, session_welcome, join);
}

/* Step 4. The join's reference on the session and its charge become the connection's. */
static void session_take(struct session *session, struct join *join)
{
	baton_timer_disarm(&session->expiry);
	session->connection = join->connection;
	session->epoch = join->number;
	session->version = join->terms.version;
	session->packet_max = join->terms.packet_max;
	session->receive_max = join->terms.receive_max;
	session->alias_max = join->terms.alias_max;
	session->expires = join->terms.expiry;
	session->sent = 0;
	session_drop_will(session); /* its delay has run until now */
	session->will = join->terms.will;
	join->terms.will = NULL;
	session_note(session, 0);
	session_answer(session, join);
	delivery_begin(session);
}

/* The session has no connection. `over`: it goes on with no other one. */
static void session_pass(struct session *session, struct join *join, bool over)
{
	if (join->session == session && !over) {
		session_take(session, join);
		return;
	}
	join->replaces = session->stored;
	session_finish(session);
	if (join->session == session)
		join_again(join);
	else
		session_join(join->session, join);
}

/* Step 3. */
static int session_run_join(struct baton_task *task)
{
	struct join *join = baton_container_of(task, struct join, task);
	struct session *session = join->at;

	if (join->number < session->newest) {
		join_refuse(join);
		session_release(session);
		return 0;
	}
	session->newest = join->number;
	if (session->waiting != NULL)
		join_refuse(session->waiting);
	session->waiting = NULL;
	if (session->connection != NULL) {
		session->waiting = join;
		connection_kick(session->connection, WHY_TAKEN_OVER);
	} else {
		session_pass(session, join, session->ended);
	}
	session_release(session);
	return 0;
}

void session_join(struct session *session, struct join *join)
{
	session_reference(session);
	join->at = session;
	hop(&session->resource, &join->task, session_run_join, "join");
}

/*
 * A will without a delay is published now, and so is one of a session that ends. A newcomer that
 * goes on with the session cancels one with a delay.
 */
static bool session_delays_will(const struct session *session, const struct join *waiting,
                                bool over)
{
	if (session->will->delay == 0 || over)
		return false;
	return waiting != NULL ? waiting->session == session
	                       : will_wait(session->will, session->env);
}

static int session_run_leave(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, leave);
	struct connection *connection = session->connection;
	struct join *waiting = session->waiting;
	const bool over = session->outlives == 0;

	session->expires = session->outlives;
	session->connection = NULL;
	session->waiting = NULL;
	received_trim(&session->received);
	session_pause(session);
	if (!session->bequeaths)
		session_drop_will(session);
	else if (session->will != NULL && !session_delays_will(session, waiting, over))
		session_publish_will(session, connection);
	connection_release(connection, CONNECTION_REFERENCE);
	if (waiting != NULL)
		session_pass(session, waiting, over);
	else if (over)
		session_finish(session);
	else
		session_go_away(session);
	session_release(session);
	return 0;
}

void session_leave(struct session *session, uint64_t attempted, uint32_t expiry, bool bequeaths)
{
	session->bequeaths = bequeaths;
	session->attempted = attempted;
	session->outlives = expiry;
	hop(&session->resource, &session->leave, session_run_leave, "leave");
}

static int session_run_end(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, end);

	session_finish(session);
	session_release(session);
	return 0;
}

void session_end(struct session *session)
{
	session_reference(session);
	hop(&session->resource, &session->end, session_run_end, "end");
}

static int session_finalise(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, finaliser);

	if (!session->ended && session->group == NULL) /* no client has joined it */
		stats_uncount(&session->env->stats.sessions);
	stats_add(&session->env->stats, STATS_SESSION, session->stats);
	env_hide(session->env, &session->resource);
	free(session->end_request);
	free(session->group);
	free(session);
	return 0;
}

/* What clients' sessions and groups have in common. */
static void session_init(struct session *session, struct env *env, struct slice name, bool clean)
{
	baton_resource_init(&session->resource, &env->configs[ENV_SESSION]);
	session->stats = env_count(env, &session->resource, name, &session->own_stats);
	session->env = env;
	session->references = 1;
	session->clean = clean;
	if (!clean && env->store != NULL)
		session->id = store_draw(env->store, 1);
	queue_init(&session->queue);
	baton_timer_init(&session->expiry, env->timers, &session->resource, session_run_expiry);
	baton_task_init(&session->finaliser, session_finalise, NULL);
	if (name.size > 0)
		memcpy(session->text, name.bytes, name.size);
	session->client_id = (struct slice){session->text, name.size};
}

struct session *session_create(struct clients *clients, const struct access_client *client,
                               bool clean)
{
	struct session *session = calloc(1, sizeof(*session) + client->id.size + client->user.size);
	struct unsubscriber *unsubscriber = clients->unsubscriber;

	if (session == NULL)
		return NULL;
	session->end_request = unsubscriber->prepare(unsubscriber, session);
	if (session->end_request == NULL) {
		free(session);
		return NULL;
	}
	session_init(session, clients->env, client->id, clean);
	if (client->user.size > 0)
		memcpy(session->text + client->id.size, client->user.bytes, client->user.size);
	session->user_size = (uint16_t)client->user.size;
	session->clients = clients;
	session->expires = clean ? 0 : PROPERTIES_NEVER;
	/* Random: hash_begin(). The chance that two clients have the same one is 2^-63. */
	session->identity = hash_bytes(session->text, client->id.size, 0) | 1;
	stats_count(&clients->env->stats.sessions);
	return session;
}

struct session *session_create_group(struct env *env, struct slice name, struct group *group)
{
	struct session *session = must_alloc(sizeof(*session) + name.size);

	session_init(session, env, name, false);
	session->group = group;
	return session;
}

bool session_may(const struct session *session, enum access_right right, struct slice topic)
{
	const struct access_client client = session_client(session);

	/* A group asks when it knows the member (group.c). */
	return session->group != NULL || rights_allow(&session->env->rights, &client, right, topic);
}

void session_restore(struct session *session, uint64_t id, uint32_t expiry, int64_t away)
{
	session->id = id;
	session->stored = true;
	session->expires = expiry;
	session_set_end(session, away);
	if (away == 0)
		session_note(session, store_time());
}

void session_restore_will(struct session *session, struct will *will)
{
	session->will = will;
}

void session_restore_queued(struct session *session, struct packet *packet)
{
	delivery_queue(session, packet); /* there may be narrower limits now */
}

void session_restore_sent(struct session *session, const struct inflight_entry *entry,
                          struct slice identifiers)
{
	inflight_identify(&session->inflight, inflight_restore(&session->inflight, entry),
	                  identifiers);
}

void session_restored(struct session *session)
{
	session_wait(session);
}

void session_reference(struct session *session)
{
	/* Relaxed: a caller that takes a reference holds one already. */
	add_relaxed(&session->references, 1);
}

void session_release(struct session *session)
{
	/* Release: this thread's submits; acquire: all submits, so that they come before the
	 * close. */
	if (sub_acq_rel(&session->references, 1) == 1)
		must(baton_resource_close_then(&session->resource, &session->finaliser),
		     "close session");
}
