/* SPDX-License-Identifier: MIT */
/* Client ids; see clients.h. */
#include "session/clients.h"

#include <errno.h>
#include <stdlib.h>

#include "common/env.h"
#include "common/hash.h"
#include "common/hop.h"
#include "common/log.h"
#include "common/must.h"
#include "common/why.h"
#include "net/connection.h"
#include "session/join.h"
#include "session/session.h"

#define CLIENTS_SIZE_FIRST 64

static void *clients_malloc(size_t size)
{
	return malloc(size);
}

static void clients_free(void *memory, size_t size, bool others_read)
{
	(void)size;
	(void)others_read; /* never: only this resource's tasks read the set */
	free(memory);
}

static struct ck_malloc clients_memory = {.malloc = clients_malloc, .free = clients_free};

static unsigned long clients_hash(const void *object, unsigned long seed)
{
	const struct slice id = ((const struct session *)object)->client_id;

	return hash_bytes(id.bytes, id.size, seed);
}

static bool clients_same(const void *a, const void *b)
{
	return names_equal(((const struct session *)a)->client_id,
	                   ((const struct session *)b)->client_id);
}

/* The session was taken out of the set. */
static void clients_removed(struct clients *clients, struct session *session)
{
	session->registered = false;
	clients->kept -= !session->clean;
	session_release(session);
}

static void clients_remove(struct clients *clients, struct session *session)
{
	(void)ck_hs_remove(&clients->sessions,
	                   CK_HS_HASH(&clients->sessions, clients_hash, session), session);
	clients_removed(clients, session);
	/* Tombstones lengthen the search for an id that is not there. The set does not shrink, so
	 * the cost of a copy depends on the most that it has ever held. */
	if (++clients->removed > CLIENTS_SIZE_FIRST + clients->count_max / 2 &&
	    ck_hs_rebuild(&clients->sessions))
		clients->removed = 0;
}

/* The client goes on with the session that its id has. */
static void clients_go_on(struct session *other, struct join *join)
{
	session_release(join->session);
	session_reference(other);
	join->session = other;
	join->present = true;
	other->directed = join->number;
	session_join(other, join);
}

static int clients_enter(struct clients *clients, struct session *session, void **replaced)
{
	if (!ck_hs_set(&clients->sessions, CK_HS_HASH(&clients->sessions, clients_hash, session),
	               session, replaced))
		return -ENOMEM;
	if (ck_hs_count(&clients->sessions) > clients->count_max)
		clients->count_max = ck_hs_count(&clients->sessions);
	session->registered = true;
	session_reference(session);
	clients->kept += !session->clean;
	return 0;
}

int clients_restore(struct clients *clients, struct session *session)
{
	void *replaced;

	return clients_enter(clients, session, &replaced);
}

/* The id gets the new session; `other`, if there is one, is visited first, to be ended. */
static void clients_replace(struct clients *clients, struct session *other, struct join *join)
{
	struct session *session = join->session;
	void *replaced;

	if (clients_enter(clients, session, &replaced) != 0) {
		join_deny(join, WHY_NO_MEMORY);
		return;
	}
	session->directed = join->number;
	session_join(other != NULL ? other : session, join);
	if (other != NULL)
		clients_removed(clients, other);
}

/* Does the client that has a session go on with it? */
static bool clients_resumes(const struct session *other, const struct join *join)
{
	return !other->clean && !join->terms.clean_start &&
	       (!other->env->rights.limited ||
	        names_equal(session_user(other), session_user(join->session)));
}

static int clients_run_join(struct baton_task *task)
{
	struct join *join = baton_container_of(task, struct join, task);
	struct session *session = join->session;
	struct clients *clients = session->clients;
	struct session *other = ck_hs_get(
		&clients->sessions, CK_HS_HASH(&clients->sessions, clients_hash, session), session);

	join->number = ++clients->joins;
	if (other != NULL && clients_resumes(other, join))
		clients_go_on(other, join);
	else if (!session->clean && (other == NULL || other->clean) &&
	         clients->kept >= limit_of(session->env, sessions_max))
		join_deny(join, WHY_MAX_SESSIONS);
	else
		clients_replace(clients, other, join);
	return 0;
}

void clients_join(struct clients *clients, struct join *join)
{
	hop(&clients->resource, &join->task, clients_run_join, "client id");
}

static int clients_run_forget(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, forget);

	if (session->registered)
		clients_remove(session->clients, session);
	session_release(session);
	return 0;
}

void clients_forget(struct clients *clients, struct session *session)
{
	session_reference(session);
	hop(&clients->resource, &session->forget, clients_run_forget, "forget");
}

struct expiry {
	struct baton_task task;
	struct session *session; /* counted */
	uint64_t number;
};

static int clients_run_expire(struct baton_task *task)
{
	struct expiry *expiry = baton_container_of(task, struct expiry, task);
	struct session *session = expiry->session;

	if (session->registered && session->directed == expiry->number) {
		log_event(LOG_LEVEL_NOTICE, "session_expired",
		          log_slice("client", session->client_id));
		stats_count(&session->env->stats.expired);
		session_end(session);
		clients_remove(session->clients, session);
	}
	free(expiry);
	session_release(session);
	return 0;
}

bool clients_expire(struct clients *clients, struct session *session, uint64_t number)
{
	struct expiry *expiry = malloc(sizeof(*expiry));

	if (expiry == NULL)
		return false;
	expiry->session = session;
	expiry->number = number;
	session_reference(session);
	hop(&clients->resource, &expiry->task, clients_run_expire, "expire");
	return true;
}

static void *clients_run_end(void *arg)
{
	struct clients *clients = arg;
	ck_hs_iterator_t at = CK_HS_ITERATOR_INITIALIZER;
	void *session;

	while (ck_hs_next(&clients->sessions, &at, &session)) {
		session_end(session);
		clients_removed(clients, session);
	}
	ck_hs_reset(&clients->sessions);
	return NULL;
}

void clients_end(struct clients *clients)
{
	must(baton_call(&clients->resource, clients_run_end, clients, NULL), "end of sessions");
}

int clients_init(struct clients *clients, struct env *env, struct unsubscriber *unsubscriber)
{
	baton_resource_init(&clients->resource, &env->configs[ENV_CLIENT_IDS]);
	clients->stats =
		env_show(env, &clients->resource, (struct slice){"", 0}, &clients->own_stats);
	clients->env = env;
	clients->unsubscriber = unsubscriber;
	return ck_hs_init(&clients->sessions, CK_HS_MODE_SPMC | CK_HS_MODE_OBJECT, clients_hash,
	                  clients_same, &clients_memory, CLIENTS_SIZE_FIRST, 0)
	               ? 0
	               : -ENOMEM;
}

void clients_deinit(struct clients *clients)
{
	baton_resource_close(&clients->resource);
	baton_resource_deinit(&clients->resource);
	stats_add(&clients->env->stats, STATS_CLIENTS, clients->stats);
	env_hide(clients->env, &clients->resource);
	ck_hs_destroy(&clients->sessions);
}
