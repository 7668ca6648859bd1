/* SPDX-License-Identifier: MIT */
/* Groups; see group.h. All of it runs under the group's baton, if not said otherwise. */
#include "session/group.h"

#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/hop.h"
#include "common/must.h"
#include "mqtt/properties.h"
#include "session/session.h"
#include "store/writes.h"

static struct member *member_of(struct ready_place *place)
{
	return baton_container_of(place, struct member, place);
}

/* The member's state has changed: it has its place among those with room, or none. */
static void group_place(struct member *member)
{
	if (member->here && member->place.under_way < member->window)
		ready_put(&member->group->ready, &member->place);
	else
		ready_take(&member->group->ready, &member->place);
}

/* Makes the packet what this member has asked for. NULL: no memory, and the packet is dropped. */
static struct packet *group_dress(const struct member *member, struct packet *packet)
{
	const struct message *message = packet->message;
	const uint8_t qos = message->publish.qos < member->options.qos ? message->publish.qos
	                                                               : member->options.qos;
	unsigned char bytes[PROPERTIES_ID_MAX];
	const struct slice identifiers = {
		(const char *)bytes, member->options.identifier != 0
					     ? properties_put_id(bytes, member->options.identifier)
					     : 0};
	struct packet *dressed = packet_change(
		packet, qos, message->publish.retain && member->options.retain, identifiers);

	if (dressed == NULL)
		delivery_drop(member->group->session, packet);
	return dressed;
}

/*
 * The member that gets the message: of those that have room, the first that may read it. NULL: none
 * of them may.
 */
static struct member *group_choose(struct group *group, const struct packet *packet)
{
	struct member *first = NULL, *refused = NULL;

	while (ready_first(&group->ready) != NULL) {
		first = member_of(ready_first(&group->ready));
		if (session_may(first->session, ACCESS_READ, packet->message->publish.topic))
			break;
		ready_take(&group->ready, &first->place);
		first->refused_next = refused;
		refused = first;
		first = NULL;
	}
	for (; refused != NULL; refused = refused->refused_next)
		ready_put(&group->ready, &refused->place);
	return first;
}

static void group_hand_over(struct group *group, struct packet *packet)
{
	struct member *member =
		message_expired(packet->message) ? NULL : group_choose(group, packet);

	if (member == NULL) {
		delivery_discard(group->session, packet);
		return;
	}
	packet = group_dress(member, packet);
	if (packet == NULL)
		return;
	packet->member = member;
	member->place.under_way += packet->qos > 0;
	member->place.turn = ++group->turn;
	group_place(member);
	session_deliver(member->session, packet);
}

static void group_go_on(struct group *group)
{
	struct session *session = group->session;

	while (session->queue.first != NULL && ready_first(&group->ready) != NULL)
		group_hand_over(group, queue_take(&session->queue, session->env));
}

/* May the message wait? At QoS 0 none does while no client is there, as in any session. */
static bool group_wants(const struct group *group, const struct packet *packet)
{
	const struct session *session = group->session;

	return !session->ended &&
	       (packet->qos > 0 || group->connected > 0 || limit_of(session->env, queue_qos0));
}

void group_deliver(struct session *session, struct packet *packet)
{
	struct group *group = session->group;

	if (!group_wants(group, packet))
		delivery_discard(session, packet);
	else if (session->queue.first == NULL && ready_first(&group->ready) != NULL)
		group_hand_over(group, packet);
	else
		delivery_queue(session, packet);
}

static int group_run_back(struct baton_task *task)
{
	struct packet *packet = baton_container_of(task, struct packet, task);
	struct member *member = packet->member;
	struct group *group = member->group;

	member->place.under_way -= packet->qos > 0;
	member->here = false;
	group_place(member);
	packet->member = NULL;
	packet->qos = packet->message->publish.qos;
	packet->retain = false;
	packet->size = 0; /* no identifiers */
	if (group_wants(group, packet)) {
		packet_end_hop(packet);
		queue_add_again(&group->session->queue, packet);
		group_go_on(group);
	} else {
		delivery_discard(group->session, packet);
	}
	return 0;
}

void group_back(struct packet *packet)
{
	hop(&packet->member->group->session->resource, &packet->task, group_run_back, "give back");
}

/* ---- What a member's session, or the tree, has to say ---- */

struct notice {
	struct baton_task task;
	struct member *member;
	enum notice_kind kind;
	uint32_t number;
	struct member_options options;
};

static void group_connect(struct member *member, bool connected)
{
	member->group->connected += connected;
	member->group->connected -= member->connected;
	member->connected = connected;
	member->here = connected;
}

static void group_free_member(struct member *member)
{
	struct session *group = member->group->session;

	session_release(member->session);
	free(member);
	session_release(group);
}

static void group_apply(struct member *member, const struct notice *notice)
{
	switch (notice->kind) {
	case NOTICE_HERE:
		member->window = notice->number;
		group_connect(member, !member->removed);
		break;
	case NOTICE_AWAY:
		group_connect(member, false);
		break;
	case NOTICE_COMPLETED:
		member->place.under_way -= notice->number;
		break;
	default:
		member->options = notice->options;
	}
	group_place(member);
	group_go_on(member->group);
}

static int group_run_notice(struct baton_task *task)
{
	struct notice *notice = baton_container_of(task, struct notice, task);

	if (notice->kind == NOTICE_LEFT)
		group_free_member(notice->member);
	else
		group_apply(notice->member, notice);
	free(notice);
	return 0;
}

static void group_send(struct member *member, const struct notice *words)
{
	struct notice *notice = must_alloc(sizeof(*notice));

	*notice = *words;
	notice->member = member;
	hop(&member->group->session->resource, &notice->task, group_run_notice, "tell a group");
}

void group_notify(struct member *member, enum notice_kind kind, uint32_t number)
{
	group_send(member, &(const struct notice){.kind = kind, .number = number});
}

/* ---- Under the tree's baton: members come and go ---- */

static int group_run_enter(struct baton_task *task)
{
	struct member *member = baton_container_of(task, struct member, enter);

	member->place.turn = ++member->group->turn;
	group_connect(member, member->here);
	group_place(member);
	member_pass_enter(member); /* before all that it is handed */
	group_go_on(member->group);
	return 0;
}

struct member *member_enter(struct group *group, struct session *session,
                            struct member_options options, bool connected)
{
	struct member *member = must_alloc(sizeof(*member));

	member->group = group;
	member->session = session;
	member->options = options;
	member->here = connected;
	member->window = (uint32_t)limit_of(session->env, window);
	session_reference(session);
	session_reference(group->session);
	group->members++;
	hop(&group->session->resource, &member->enter, group_run_enter, "enter a group");
	return member;
}

void member_change(struct member *member, struct member_options options)
{
	group_send(member, &(const struct notice){.kind = NOTICE_OPTIONS, .options = options});
}

static int group_run_remove(struct baton_task *task)
{
	struct member *member = baton_container_of(task, struct member, remove);

	member->removed = true;
	group_connect(member, false);
	group_place(member);
	member_pass_remove(member);
	return 0;
}

void member_remove(struct member *member)
{
	struct group *group = member->group;

	group->members--;
	hop(&group->session->resource, &member->remove, group_run_remove, "leave a group");
}

/* ---- The group ---- */

static void group_kept(void *arg, bool kept)
{
	(void)kept;
	session_release(arg);
}

struct session *group_create(struct env *env, struct slice name, struct group *group)
{
	struct session *session = session_create_group(env, name, group);

	group->session = session;
	return session;
}

void group_keep(struct session *session)
{
	const struct database_record record = {
		.numbers = {(int64_t)session->id, DATABASE_FOREVER, 0, DATABASE_GROUP},
		.texts = {session->client_id}};

	if (session->id == 0)
		return;
	session->stored = true;
	session_reference(session); /* its name, until it is written */
	store_note_then(session->env->store, DATABASE_ADD_SESSION, &record, group_kept, session);
}

static int group_run_end(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, end);

	session->ended = true;
	if (session->stored)
		store_note(session->env->store, DATABASE_END_SESSION,
		           STORE_NUMBERS((int64_t)session->id));
	queue_clear(&session->queue, session->env);
	ready_free(&session->group->ready);
	session_release(session);
	return 0;
}

void group_end(struct session *session)
{
	session_reference(session);
	hop(&session->resource, &session->end, group_run_end, "end a group");
}
