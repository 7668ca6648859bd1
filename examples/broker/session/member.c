/* SPDX-License-Identifier: MIT */
/* A session as a member of groups; see group.h. All of it runs under the session's baton. */
#include "session/group.h"

#include <stdlib.h>

#include "common/env.h"
#include "common/hop.h"
#include "net/connection.h"
#include "session/session.h"
#include "store/writes.h"

static uint64_t member_group_id(const struct member *member)
{
	return member->group->session->id;
}

void member_refuse(struct session *session, struct packet *packet)
{
	packet->member->refused = true;
	session->refusing = true;
	group_back(packet);
}

/* The session knows the member no longer, once it has nothing of the group's any more. */
static void member_forget(struct member *member)
{
	if (!member->leaving || member->lent > 0)
		return;
	if (member->next != NULL)
		member->next->link = member->link;
	*member->link = member->next;
	group_notify(member, NOTICE_LEFT, 0);
}

void member_complete(struct completed *completed, struct member *member)
{
	struct member *before = completed->member;

	if (before != member && before != NULL) {
		group_notify(before, NOTICE_COMPLETED, completed->count);
		completed->count = 0;
		member_forget(before);
	}
	completed->member = member;
	completed->count++;
	if (member != NULL && member->leaving)
		member->lent--;
}

/* What the client takes, and what the broker gives it. */
static uint32_t member_window(const struct session *session)
{
	const size_t most = limit_of(session->env, window);

	return session->receive_max < most ? session->receive_max : (uint32_t)most;
}

static void member_say_here(struct session *session, struct member *member)
{
	member->refused = false;
	group_notify(member, NOTICE_HERE, member_window(session));
}

void members_come(struct session *session)
{
	session->refusing = false;
	for (struct member *member = session->members; member != NULL; member = member->next)
		member_say_here(session, member);
}

void members_room(struct session *session)
{
	if (session->connection == NULL || session->queue.first != NULL || session->marked ||
	    session->storing > 0 || session->quota == 0 ||
	    session->inflight.count >= limit_of(session->env, window))
		return;
	session->refusing = false;
	for (struct member *member = session->members; member != NULL; member = member->next)
		if (member->refused)
			member_say_here(session, member);
}

/* ---- The connection has gone ---- */

/*
 * The row, which was made the session's or deleted when the message was about to be sent at QoS 2,
 * is the group's again. The message is counted, so it is in the store.
 */
static void member_return_row(const struct session *session, const struct member *member,
                              const struct inflight_entry *entry)
{
	const int64_t group = (int64_t)member_group_id(member), row = (int64_t)entry->row;
	const struct message *message = entry->message;
	struct store *store = session->env->store;

	if (session->id != 0)
		store_note(store, DATABASE_GIVE_ROW,
		           STORE_NUMBERS((int64_t)session->id, row, group,
		                         message->publish.retain));
	else
		store_note(store, DATABASE_ADD_ROW,
		           STORE_NUMBERS(group, row, (int64_t)message->id, 2,
		                         message->publish.retain));
}

/* The message goes back to the group, as if it had not been sent. */
static void member_give_back(struct session *session, struct inflight_entry *entry)
{
	struct member *member = inflight_member(&session->inflight, entry);
	const uint8_t qos = entry->state == INFLIGHT_AWAITS_PUBACK ? 1 : 2;
	struct message *message = entry->message;
	struct packet *packet = packet_create(message, qos, false, false,
	                                      (struct slice){NULL, 0});

	if (entry->row != 0 && qos == 2)
		member_return_row(session, member, entry);
	inflight_take_back(&session->inflight, entry);
	if (member->leaving)
		member->lent--;
	if (packet == NULL) { /* no memory: it is lost */
		stats_count(&session->env->stats.dropped);
		message_release(message, MESSAGE_REFERENCE);
		group_notify(member, NOTICE_COMPLETED, 1);
		return;
	}
	packet->row = entry->row;
	packet->member = member;
	group_back(packet);
}

/* A message of QoS 2 that was begun to be sent stays with its client. */
static bool member_gives_back(const struct session *session, const struct inflight_entry *entry)
{
	return inflight_member(&session->inflight, entry) != NULL &&
	       (entry->state == INFLIGHT_AWAITS_PUBACK ||
	        (entry->state == INFLIGHT_AWAITS_PUBREC && !entry->attempted));
}

void members_go(struct session *session)
{
	const size_t count = session->inflight.count;
	struct inflight_entry **sorted;
	struct member *next;

	for (struct member *member = session->members; member != NULL; member = member->next)
		group_notify(member, NOTICE_AWAY, 0);
	if (session->inflight.beside == NULL)
		return;
	sorted = inflight_sorted(&session->inflight);
	for (size_t i = 0; i < count; i++)
		if (member_gives_back(session, sorted[i]))
			member_give_back(session, sorted[i]);
	free(sorted);
	for (struct member *member = session->members; member != NULL; member = next) {
		next = member->next;
		member_forget(member);
	}
}

/* ---- The session enters and leaves a group ---- */

static int member_run_enter(struct baton_task *task)
{
	struct member *member = baton_container_of(task, struct member, enter);
	struct session *session = member->session;

	member->next = session->members;
	member->link = &session->members;
	if (member->next != NULL)
		member->next->link = &member->next;
	session->members = member;
	if (session->connection != NULL)
		member_say_here(session, member);
	else
		group_notify(member, NOTICE_AWAY, 0);
	return 0;
}

void member_pass_enter(struct member *member)
{
	hop(&member->session->resource, &member->enter, member_run_enter, "enter a group");
}

/*
 * The client completes what was begun (MQTT 3.1.1, 3.10.4): the message is the session's own from
 * now on. A session that ends with its connection would lose one of QoS 1: there it stays the
 * group's.
 */
static void member_keep(struct session *session, struct member *member,
                        const struct inflight_entry *entry)
{
	const bool first = entry->state == INFLIGHT_AWAITS_PUBACK;
	const struct database_record record = {
		.numbers = {(int64_t)session->id, (int64_t)entry->row, entry->packet_id,
	                    (int64_t)member_group_id(member), entry->retain, 1},
		.texts = {inflight_identifiers(&session->inflight, entry)}};

	if (first && session->expires == 0) {
		member->lent++;
		return;
	}
	if (first && entry->row != 0)
		store_note(session->env->store, DATABASE_TAKE_ROW, &record);
	inflight_lend(&session->inflight, entry, NULL);
}

static int member_run_remove(struct baton_task *task)
{
	struct member *member = baton_container_of(task, struct member, remove);
	struct session *session = member->session;
	const struct inflight *inflight = &session->inflight;

	for (size_t i = 0; inflight->beside != NULL && i < inflight->capacity; i++)
		if (inflight->entries[i].state != INFLIGHT_FREE &&
		    inflight->beside[i].member == member)
			member_keep(session, member, &inflight->entries[i]);
	member->leaving = true;
	member_forget(member);
	return 0;
}

void member_pass_remove(struct member *member)
{
	hop(&member->session->resource, &member->remove, member_run_remove, "leave a group");
}
