/* SPDX-License-Identifier: MIT */
/*
 * What a session sends, in which order, and how much at once. All of it runs under the session's
 * baton.
 *
 * A message goes out at once if no message waits before it, the window (--max-inflight) has room,
 * and the connection's output has room (--max-buffered). The output counts memory, of which a
 * message takes more than its bytes on the wire, and counts only what the socket does not take.
 * Otherwise the message waits in the queue. QoS 0 waits, too, so that all messages stay in order.
 *
 * QoS 0 is dropped where it would only make a slow client slower: when the output has no room, or
 * the queue is full. It is also dropped when the client is away, unless --queue-qos0 is given. QoS
 * 1 and 2 are dropped when the queue is full (queue.h).
 *
 * A client of MQTT 5 has a receive maximum, too (4.9). It counts the messages of QoS 1 and 2 that
 * were sent on its present connection and are not acknowledged (`quota` is what is left); those
 * that are sent again count, and an exchange of an earlier connection that only awaits PUBCOMP does
 * not. --max-inflight counts the entries of the table of packet ids, whenever they were sent.
 *
 * Retained messages come all at once to a new subscriber, and are not sent again. So a retained
 * message waits at QoS 0, too, and counts against the queue's bytes alone. A retained message also
 * waits for the SUBACK, which is sent behind it (topic/topic.h): the message has the number of the
 * SUBSCRIBE (`due`), and goes out when the SUBACK of that number has passed.
 *
 * The queue moves on when the client acknowledges. When the output has no room, a marker is
 * appended to the output: an empty packet, which comes back to the session when everything before
 * the marker was written.
 *
 * When a client has come back, the messages that it has not acknowledged are put before the rest of
 * the queue, with the packet ids they had: so they are sent again in order and within the same
 * limits.
 *
 * A message that a group of a shared subscription hands over (group.h) never waits here, where no
 * other client could have it: it goes out now, or back.
 *
 * With a store (topic/keep.h) a message of QoS 1 or 2 for a session that is kept has a row there.
 * The row is the packet's until the message is sent, then the entry's of the table of packet ids.
 * The session writes what becomes of it. A packet of QoS 2, and each PUBREL, is sent when the store
 * has the packet id and the state: otherwise a restart could give the client a message twice. So
 * such a packet goes through the store (delivery_send_kept()), charged to its connection.
 * Messages of QoS 0 and 1 wait behind it, so that all messages stay in order.
 *
 * Why not a baton_window: README.md, "What it uses of baton".
 */
#include <stdlib.h>

#include "common/env.h"
#include "common/hop.h"
#include "common/log.h"
#include "common/must.h"
#include "common/why.h"
#include "net/connection.h"
#include "session/session.h"
#include "session/wire.h"
#include "store/writes.h"

_Static_assert(OPTIONS_INFLIGHT_MAX <= INFLIGHT_MAX, "a session has a packet id for each");

void delivery_discard(struct session *session, struct packet *packet)
{
	if (packet->row != 0)
		store_note(session->env->store, DATABASE_END_ROW,
		           STORE_NUMBERS((int64_t)session->id, (int64_t)packet->row));
	packet_destroy(packet);
}

void delivery_count_drop(struct session *session, const char *why)
{
	if (!session->dropping)
		log_event(LOG_LEVEL_WARNING, "messages_dropped",
		          log_slice("client", session->client_id), log_text("reason", why));
	session->dropping = true;
	stats_count(&session->env->stats.dropped);
}

void delivery_drop(struct session *session, struct packet *packet)
{
	delivery_count_drop(session, session->connection != NULL ? "it reads too slowly"
	                             : session->group != NULL
	                                     ? "its members are too slow, or away"
	                                     : "it is away, and its queue is full");
	delivery_discard(session, packet);
}

/* Makes room in the queue: drops what has expired. */
static bool delivery_make_room(struct session *session)
{
	struct packet *next = queue_expire(&session->queue, session->env), *packet;
	const bool found = next != NULL;

	while ((packet = next) != NULL) {
		next = packet->next;
		stats_count(&session->env->stats.dropped);
		delivery_discard(session, packet);
	}
	return found;
}

void delivery_queue(struct session *session, struct packet *packet)
{
	if (queue_add(&session->queue, session->env, packet) ||
	    (delivery_make_room(session) && queue_add(&session->queue, session->env, packet)))
		return;
	delivery_drop(session, packet);
}

/* Inlined: it is short on the way of a packet that is ready. */
static inline __attribute__((always_inline)) void delivery_send(struct session *session,
                                                                struct packet *packet)
{
	if (packet->message != NULL) {
		if (!wire_ready(session, packet) && !wire_encode(session, &packet))
			return;
		session->sent += packet_memory(packet);
	}
	connection_send(session->connection, packet);
}

/* What the connection is charged meanwhile: a client may say PUBREC as often as it likes. */
static size_t delivery_kept_cost(const struct packet *packet)
{
	return packet->message == NULL ? CONNECTION_KEPT_COST : CONNECTION_REFERENCE;
}

static int session_run_kept(struct baton_task *task)
{
	struct packet *packet = baton_container_of(task, struct packet, task);
	struct session *session = packet->session;
	const struct inflight_entry *entry = inflight_find(&session->inflight, packet->packet_id);
	struct connection *connection = packet->connection;
	const size_t cost = delivery_kept_cost(packet);

	session->storing--;
	/* The packet is void if its connection has gone, or the client did not wait for it. */
	if (session->connection == connection && !packet->lost &&
	    (packet->message == NULL || (entry != NULL && entry->message == packet->message)))
		delivery_send(session, packet);
	else
		packet_destroy(packet);
	connection_release(connection, cost);
	if (session->storing == 0)
		delivery_go_on(session);
	session_release(session);
	return 0;
}

static void delivery_kept(void *arg, bool kept)
{
	struct packet *packet = arg;

	packet->lost = !kept;
	hop(&packet->session->resource, &packet->task, session_run_kept, "kept");
}

/* Sends the packet when the statement is committed; or now, where nobody waits for that. */
static void delivery_send_kept(struct session *session, struct packet *packet,
                               enum database_statement statement,
                               const struct database_record *record)
{
	struct store *store = session->env->store;
	const bool stored = session->id != 0 || statement != DATABASE_NOTHING;

	if (stored && (store_waits(store) || session->storing > 0)) {
		session_reference(session);
		session->storing++;
		packet->session = session;
		packet->connection = session->connection;
		connection_charge_more(packet->connection, delivery_kept_cost(packet));
		store_note_then(store, statement, record, delivery_kept, packet);
		return;
	}
	if (statement != DATABASE_NOTHING)
		store_note(store, statement, record);
	delivery_send(session, packet);
}

void delivery_send_pubrel(struct session *session, uint16_t packet_id, uint8_t reason, uint64_t row)
{
	struct packet *packet = packet_create_ack(session->version, CODEC_PUBREL, packet_id);

	if (packet == NULL) { /* the PUBREL is sent again to the next connection */
		connection_kick(session->connection, WHY_NO_MEMORY);
		return;
	}
	packet_set_reason(packet, reason);
	delivery_send_kept(session, packet, row != 0 ? DATABASE_RECEIVE_ROW : DATABASE_NOTHING,
	                   STORE_NUMBERS((int64_t)session->id, (int64_t)row));
}

static void delivery_send_answer(struct session *session, struct packet *answer)
{
	answer->order = 0; /* the same word was the SUBACK's number */
	delivery_send(session, answer);
}

/*
 * Has the connection's output room for the packet? A message that is larger than the whole output
 * goes alone. A packet that is still charged to its publisher always has room, unless the socket
 * takes no more: the output is long only because the loop has not written yet. A group's message is
 * better off with another member than in a long output.
 */
static bool output_has_room(const struct session *session, const struct packet *packet)
{
	/* Never negative: what was given to the connection happens-before what it has written. */
	const uint64_t buffered = session->sent - connection_written(session->connection);
	const bool handed = packet->packet_id == 0 && packet->member != NULL;
	const size_t most = handed ? MEMBER_AHEAD : limit_of(session->env, buffered_max);

	if (buffered == 0 || (packet->hop && !connection_full(session->connection)))
		return true;
	if (handed && connection_full(session->connection))
		return false;
	return buffered + packet_memory(packet) <= most;
}

/* Appends a marker, by which the session is told when all packets sent so far are written. */
static void output_mark(struct session *session)
{
	struct packet *marker;

	if (session->marked)
		return;
	marker = must_alloc(sizeof(*marker));
	marker->marker = true;
	marker->session = session;
	session->marked = true;
	connection_send(session->connection, marker);
}

/*
 * Does the packet wait for those that the store has? One of QoS 2 goes through the store itself,
 * unless it has no row: a session that is not kept has rows of groups alone.
 */
static bool delivery_waits(const struct session *session, const struct packet *packet)
{
	return session->storing > 0 &&
	       (packet->qos != 2 || (session->id == 0 && packet->row == 0));
}

/* May this packet go out now? A QoS 0 packet that may, and finds no room, is dropped. */
static bool delivery_may_send(struct session *session, const struct packet *packet)
{
	const bool again = packet->packet_id != 0;

	if (packet->due > session->answered || delivery_waits(session, packet))
		return false;
	if (packet->qos == 0 && !packet->retained && packet->member == NULL)
		return true;
	if (packet->qos != 0 &&
	    (session->quota == 0 ||
	     (!again && session->inflight.count >= limit_of(session->env, window))))
		return false;
	if (output_has_room(session, packet))
		return true;
	output_mark(session);
	return false;
}

/*
 * A message of QoS 2 is about to be sent: what the store must know before. A group's message
 * becomes the session's own, or leaves the store.
 */
static void delivery_send_second(struct session *session, struct packet *packet,
                                 const struct inflight_entry *entry, const struct member *member)
{
	const int64_t group = member != NULL ? (int64_t)member->group->session->id : 0;
	const int64_t id = (int64_t)session->id, row = (int64_t)entry->row;
	const struct database_record record = {
		.numbers = {id, row, entry->packet_id, group, packet->retain, packet->qos},
		.texts = {packet_identifiers(packet)}};

	if (member == NULL)
		delivery_send_kept(session, packet, DATABASE_SEND_ROW,
		                   STORE_NUMBERS(id, row, entry->packet_id));
	else if (id != 0)
		delivery_send_kept(session, packet, DATABASE_TAKE_ROW, &record);
	else
		delivery_send_kept(session, packet, DATABASE_END_ROW, STORE_NUMBERS(group, row));
}

/*
 * Gives the packet its packet id. A clean session sends no message again, and keeps none but a
 * group's, which may have to go back.
 */
static void delivery_send_first(struct session *session, struct packet *packet)
{
	struct member *member = packet->member;
	struct message *kept = session->clean && member == NULL ? NULL : packet->message;
	struct inflight_entry *entry;

	if (kept != NULL)
		message_take(kept, MESSAGE_REFERENCE);
	entry = inflight_add(&session->inflight, kept, packet->qos, packet->retain);
	if (kept != NULL)
		inflight_identify(&session->inflight, entry, packet_identifiers(packet));
	session->quota--;
	if (member != NULL)
		inflight_lend(&session->inflight, entry, member);
	packet->packet_id = entry->packet_id;
	packet->order = entry->order;
	if (packet->row == 0) {
		delivery_send(session, packet);
		return;
	}
	entry->row = packet->row;
	packet->row = 0;
	if (packet->qos == 2) {
		delivery_send_second(session, packet, entry, member);
		return;
	}
	if (member == NULL)
		store_note(session->env->store, DATABASE_SEND_ROW,
		           STORE_NUMBERS((int64_t)session->id, (int64_t)entry->row,
		                         packet->packet_id));
	delivery_send(session, packet);
}

/* The entry's message is not to be sent any more. The store forgets the row before the message. */
static void delivery_forget(struct session *session, struct inflight_entry *entry)
{
	struct member *member = inflight_member(&session->inflight, entry);

	if (member != NULL) /* the message is of QoS 2: its row is the session's */
		group_notify(member, NOTICE_COMPLETED, 1);
	if (entry->row != 0)
		store_note(session->env->store, DATABASE_END_ROW,
		           STORE_NUMBERS((int64_t)session->id, (int64_t)entry->row));
	inflight_drop(&session->inflight, entry);
}

/* A message that was sent to an earlier connection does not expire: its client may have it. */
static void delivery_send_again(struct session *session, struct packet *packet)
{
	struct inflight_entry *entry = inflight_find(&session->inflight, packet->packet_id);

	if (entry == NULL || entry->message != packet->message) {
		packet_destroy(packet); /* it was acknowledged meanwhile */
		return;
	}
	if (entry->attempted ? wire_too_large(session, packet) : wire_void(session, packet)) {
		delivery_forget(session, entry);
		packet_destroy(packet);
		return;
	}
	session->quota--;
	if (entry->row != 0 && packet->qos == 2)
		delivery_send_kept(session, packet, DATABASE_NOTHING, NULL);
	else
		delivery_send(session, packet);
}

static void delivery_send_message(struct session *session, struct packet *packet)
{
	if (packet->packet_id != 0)
		delivery_send_again(session, packet);
	else if (wire_void(session, packet))
		delivery_discard(session, packet);
	else if (packet->qos > 0)
		delivery_send_first(session, packet);
	else if (output_has_room(session, packet))
		delivery_send(session, packet);
	else
		delivery_drop(session, packet);
}

void delivery_go_on(struct session *session)
{
	while (session->connection != NULL && session->queue.first != NULL &&
	       delivery_may_send(session, session->queue.first))
		delivery_send_message(session, queue_take(&session->queue, session->env));
	if (session->refusing)
		members_room(session);
}

/* A group has handed a message over: it is sent now, or goes back. */
static void delivery_handed(struct session *session, struct packet *packet)
{
	struct member *member = packet->member;

	if (session->connection == NULL || member->refused || session->queue.first != NULL ||
	    !delivery_may_send(session, packet)) {
		member_refuse(session, packet);
	} else if (wire_void(session, packet)) {
		if (packet->qos > 0)
			group_notify(member, NOTICE_COMPLETED, 1);
		delivery_discard(member->group->session, packet);
	} else if (packet->qos > 0) {
		delivery_send_first(session, packet);
	} else {
		if (packet->row != 0)
			store_note(session->env->store, DATABASE_END_ROW,
			           STORE_NUMBERS((int64_t)member->group->session->id,
			                         (int64_t)packet->row));
		packet->row = 0;
		packet->order = 0; /* the same word was the member */
		delivery_send(session, packet);
	}
}

static void delivery_message(struct session *session, struct packet *packet)
{
	const bool away = session->connection == NULL;

	if (session->group != NULL)
		group_deliver(session, packet);
	else if (packet->member != NULL)
		delivery_handed(session, packet);
	else if (session->ended ||
	         (away && packet->qos == 0 && !limit_of(session->env, queue_qos0)))
		delivery_discard(session, packet);
	else if (!away && session->queue.first == NULL && delivery_may_send(session, packet))
		delivery_send_message(session, packet);
	else
		delivery_queue(session, packet);
}

static int session_run_deliver(struct baton_task *task)
{
	struct packet *packet = baton_container_of(task, struct packet, task);
	struct session *session = packet->session;
	const uint64_t answered = packet->message == NULL ? packet->ask : 0;

	if (packet->message != NULL)
		delivery_message(session, packet);
	else if (session->connection != NULL && session->epoch == packet->epoch)
		delivery_send_answer(session, packet);
	else
		packet_destroy(packet); /* the connection that asked for it is gone */
	if (answered != 0) {
		session->answered = answered;
		delivery_go_on(session);
	}
	return 0;
}

void session_deliver(struct session *session, struct packet *packet)
{
	packet->session = session;
	hop(&session->resource, &packet->task, session_run_deliver, "deliver");
}

static int session_run_drained(struct baton_task *task)
{
	struct packet *marker = baton_container_of(task, struct packet, task);
	struct session *session = marker->session;

	session->marked = false;
	delivery_go_on(session);
	packet_destroy(marker);
	return 0;
}

void session_drained(struct packet *marker)
{
	hop(&marker->session->resource, &marker->task, session_run_drained, "drained");
}

/* Queues a message that is sent again, before the rest of the queue. */
static void delivery_again(struct session *session, const struct inflight_entry *entry)
{
	const uint8_t qos = entry->state == INFLIGHT_AWAITS_PUBACK ? 1 : 2;
	struct packet *packet = packet_create(entry->message, qos, entry->retain, false,
	                                      inflight_identifiers(&session->inflight, entry));

	if (packet == NULL) {
		connection_kick(session->connection, WHY_NO_MEMORY);
		return;
	}
	message_take(entry->message, MESSAGE_REFERENCE);
	packet->packet_id = entry->packet_id;
	packet->order = entry->order;
	packet->repeated = entry->attempted;
	queue_add_again(&session->queue, packet);
}

void delivery_begin(struct session *session)
{
	struct inflight_entry **sorted = inflight_sorted(&session->inflight);

	session->dropping = false;
	session->quota = session->receive_max;
	session->begun = session->inflight.order;
	for (size_t i = 0; i < session->inflight.count; i++)
		if (sorted[i]->state == INFLIGHT_AWAITS_PUBCOMP)
			delivery_send_pubrel(session, sorted[i]->packet_id, REASON_SUCCESS, 0);
		else
			delivery_again(session, sorted[i]);
	free(sorted);
	delivery_go_on(session);
	members_come(session);
}
