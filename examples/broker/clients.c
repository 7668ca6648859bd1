/* SPDX-License-Identifier: MIT */
/* Client ids; see clients.h. */
#include "clients.h"

#include "broker.h"
#include "join.h"
#include "must.h"
#include "session.h"

static void clients_remove(struct clients *clients, struct session *session)
{
	map_remove(&clients->sessions, &session->client);
	session->registered = false;
	session_release(session);
}

static struct session *clients_find(const struct clients *clients, struct slice id, uint64_t hash)
{
	for (struct map_entry *entry = map_find(&clients->sessions, hash); entry != NULL;
	     entry = map_same(entry)) {
		struct session *session = baton_container_of(entry, struct session, client);

		if (names_equal(session->client_id, id))
			return session;
	}
	return NULL;
}

static int clients_run_join(struct baton_task *task)
{
	struct join *join = baton_container_of(task, struct join, task);
	struct session *session = join->session;
	struct clients *clients = &session->broker->clients;
	const uint64_t hash = map_hash(session->client_id.bytes, session->client_id.size, 0);
	struct session *other = clients_find(clients, session->client_id, hash);

	join->number = ++clients->joins;
	if (other != NULL && !other->clean && !session->clean) {
		join->session = other;
		join->present = true;
		session_reference(other);
		session_release(session);
		session_join(other, join);
		return 0;
	}
	map_insert(&clients->sessions, &session->client, hash);
	session->registered = true;
	session_reference(session);
	session_join(other != NULL ? other : session, join);
	if (other != NULL)
		clients_remove(clients, other);
	return 0;
}

void clients_join(struct clients *clients, struct join *join)
{
	baton_task_init(&join->task, clients_run_join, NULL);
	must(baton_submit(&clients->resource, &join->task), "client id");
}

static int clients_run_forget(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, forget);

	if (session->registered)
		clients_remove(&session->broker->clients, session);
	session_release(session);
	return 0;
}

void clients_forget(struct clients *clients, struct session *session)
{
	session_reference(session);
	baton_task_init(&session->forget, clients_run_forget, NULL);
	must(baton_submit(&clients->resource, &session->forget), "forget");
}

static void *clients_run_end(void *arg)
{
	struct clients *clients = arg;
	struct map_entry *entry = map_walk(&clients->sessions, NULL), *next;

	for (; entry != NULL; entry = next) {
		struct session *session = baton_container_of(entry, struct session, client);

		next = map_walk(&clients->sessions, entry);
		session_end(session);
		clients_remove(clients, session);
	}
	return NULL;
}

void clients_end(struct clients *clients)
{
	must(baton_call(&clients->resource, clients_run_end, clients, NULL), "end of sessions");
}

int clients_init(struct clients *clients, struct broker *broker)
{
	baton_resource_init(&clients->resource, clients, "client ids", &broker->config,
	                    &clients->stats);
	clients->broker = broker;
	return map_init(&clients->sessions);
}

void clients_deinit(struct clients *clients)
{
	baton_resource_close(&clients->resource);
	baton_resource_deinit(&clients->resource);
	stats_add(&clients->broker->stats, STATS_CLIENTS, &clients->stats);
	map_deinit(&clients->sessions);
}
