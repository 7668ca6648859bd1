/* SPDX-License-Identifier: MIT */
/*
 * A will: the message that a client leaves in its CONNECT (MQTT 5, 3.1.2.5). It goes with the join
 * to the session, which holds it while the client is there. The session publishes it when the
 * connection ends without a DISCONNECT that says otherwise: at once, or, in MQTT 5, when its delay
 * or the session is over. A client that comes back before that, and goes on with the session,
 * cancels it.
 *
 * The message is made when the CONNECT comes, so that there is memory for it at the end. While its
 * delay runs it counts against --max-queued-total; without room it does not wait.
 *
 * The store has each will from before the CONNACK on. The write of its publication deletes it
 * (message->received_by), so it is published once, also if the process ends meanwhile. After a
 * restart the wills whose delay runs go on to wait, the others are published.
 *
 * All functions run under the session's baton, or before the session has the will.
 */
#ifndef BROKER_SESSION_WILL_H
#define BROKER_SESSION_WILL_H

#include <stdbool.h>
#include <stdint.h>

struct codec_publish;
struct connection;
struct database_record;
struct env;
struct message;
struct unsubscriber;

struct will {
	struct message *message; /* a reference and a hop */
	uint64_t id;             /* in the store; 0: it is not there */
	uint64_t due;            /* while its delay runs: when it ends, in ns */
	uint32_t delay;          /* seconds */
	uint32_t expiry;         /* seconds behind its publication; PROPERTIES_NEVER */
	bool waits;              /* its delay runs */
};

/* NULL: no memory. */
struct will *will_create(const struct codec_publish *publish, uint32_t delay);

/* Writes the will of that session of the store; 0: a session that is not there. Once. */
void will_store(struct will *will, struct env *env, uint64_t session);

/* Its delay begins. False: there is no room. */
bool will_wait(struct will *will, struct env *env);

/*
 * Publishes the will, and frees it. `publisher`: its connection, which has a charge until then; or
 * NULL.
 */
void will_publish(struct will *will, struct env *env, struct unsubscriber *calls,
                  struct connection *publisher);

/* Nobody gets the will. */
void will_drop(struct will *will, struct env *env);

/*
 * At the start of the broker: a will of an earlier run (DATABASE_READ_WILLS). NULL: no memory.
 * `*session`: in the store. Its delay runs if it has one and the session is there.
 */
struct will *will_restore(struct env *env, const struct database_record *record, uint64_t *session);

/* The broker does not start: frees the will, which stays in the store. */
void will_free(struct will *will);

#endif
