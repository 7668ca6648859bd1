/* SPDX-License-Identifier: MIT */
/* Client ids; see clients.h. */
#include "clients.h"

#include "broker.h"
#include "must.h"
#include "session.h"

static void clients_remove(struct clients *clients, struct session *session)
{
	map_remove(&clients->sessions, &session->client);
	session->registered = false;
	session_release(session);
}

static int clients_run_register(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, register_client);
	struct clients *clients = &session->broker->clients;
	const struct slice id = session->client_id;
	const uint64_t hash = map_hash(id.bytes, id.size, 0);

	for (struct map_entry *entry = map_find(&clients->sessions, hash); entry != NULL;
	     entry = map_same(entry)) {
		struct session *other = baton_container_of(entry, struct session, client);

		if (names_equal(other->client_id, id)) {
			session_evict(other);
			clients_remove(clients, other);
			break;
		}
	}
	map_insert(&clients->sessions, &session->client, hash);
	session->registered = true; /* and keeps the reference that register took */
	return 0;
}

static int clients_run_forget(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, forget_client);

	if (session->registered)
		clients_remove(&session->broker->clients, session);
	session_release(session);
	return 0;
}

void clients_register(struct clients *clients, struct session *session)
{
	session_reference(session);
	baton_task_init(&session->register_client, clients_run_register, NULL);
	must(baton_submit(&clients->resource, &session->register_client), "register");
}

void clients_forget(struct clients *clients, struct session *session)
{
	session_reference(session);
	baton_task_init(&session->forget_client, clients_run_forget, NULL);
	must(baton_submit(&clients->resource, &session->forget_client), "forget");
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
