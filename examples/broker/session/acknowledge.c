/* SPDX-License-Identifier: MIT */
/* What a client has acknowledged; see session.h. All of it runs under the session's baton. */
#include <stdlib.h>

#include "common/env.h"
#include "common/hop.h"
#include "common/why.h"
#include "net/connection.h"
#include "session/session.h"
#include "store/writes.h"

/*
 * An entry has ended: one message more may be sent, if its PUBLISH was sent on this connection. An
 * entry that only awaited PUBCOMP when the connection came was not.
 */
static void delivery_restore_quota(struct session *session, uint8_t type, uint64_t order)
{
	if (session->quota < session->receive_max &&
	    (type != CODEC_PUBCOMP || order > session->begun))
		session->quota++;
}

/* Whose row the entry's is in the store: the session's; at QoS 1 perhaps a group's. 0: nobody's. */
static uint64_t delivery_owner(const struct session *session, const struct inflight_entry *entry,
                               const struct member *member)
{
	if (entry == NULL || entry->row == 0)
		return 0;
	return member != NULL && entry->state == INFLIGHT_AWAITS_PUBACK ? member->group->session->id
	                                                                : session->id;
}

/* One acknowledgement. Returns false if it is of the wrong kind. */
static bool delivery_acknowledge(struct session *session, const struct session_ack *ack,
                                 struct completed *completed)
{
	struct inflight_entry *entry = inflight_find(&session->inflight, ack->packet_id);
	struct member *member = entry != NULL ? inflight_member(&session->inflight, entry) : NULL;
	const uint64_t owner = delivery_owner(session, entry, member);
	const uint64_t row = owner != 0 ? entry->row : 0;
	const uint64_t order = entry != NULL ? entry->order : 0;
	/* The store forgets the row before the message. */
	struct message *message = row != 0 ? entry->message : NULL;
	/* MQTT 5: a PUBREC with an error ends the exchange (4.3.3). */
	const bool refused = ack->type == CODEC_PUBREC && ack->reason >= REASON_UNSPECIFIED;
	int status;

	if (message != NULL)
		message_take(message, MESSAGE_REFERENCE);
	status = inflight_acknowledge(&session->inflight, ack->type, ack->packet_id);
	if (status == 0 && refused && entry != NULL)
		inflight_drop(&session->inflight, entry);
	if (status == 0 && entry != NULL && (ack->type != CODEC_PUBREC || refused))
		delivery_restore_quota(session, ack->type, order);
	if (status == 0 && ack->type == CODEC_PUBREC && !refused)
		delivery_send_pubrel(session, ack->packet_id,
		                     entry != NULL ? REASON_SUCCESS : REASON_PACKET_ID_NOT_FOUND,
		                     row);
	else if (status == 0 && row != 0)
		store_note(session->env->store, DATABASE_END_ROW,
		           STORE_NUMBERS((int64_t)owner, (int64_t)row));
	if (status == 0 && (ack->type != CODEC_PUBREC || refused) && member != NULL)
		member_complete(completed, member);
	if (message != NULL)
		message_release(message, MESSAGE_REFERENCE);
	return status == 0;
}

static int session_run_acknowledge(struct baton_task *task)
{
	struct session_acks *acks = baton_container_of(task, struct session_acks, task);
	struct session *session = acks->session;
	struct completed completed = {0};

	for (size_t i = 0; i < acks->count; i++)
		if (!delivery_acknowledge(session, &acks->acks[i], &completed)) {
			connection_kick(session->connection, WHY_WRONG_ACK); /* 4.8.0-1 */
			break;
		}
	delivery_go_on(session);
	member_complete(&completed, NULL);
	/* The connection has not left: its leave comes behind all that it has read. */
	connection_release(session->connection, SESSION_ACKS_COST);
	free(acks);
	return 0;
}

void session_acknowledge(struct session *session, struct session_acks *acks)
{
	acks->session = session;
	hop(&session->resource, &acks->task, session_run_acknowledge, "acknowledge");
}
