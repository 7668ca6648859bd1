/* SPDX-License-Identifier: MIT */
/*
 * A connection: a client's socket. It belongs to the loop thread that got it from the listener; all
 * but the functions marked "any thread" is that thread's alone. What others want of it they submit
 * to its resource, which never runs inline and whose executor is the loop: so its tasks are just
 * more things that happen on the loop thread.
 *
 * Output is gathered: tasks append packets, a drain hook sees to it that the loop looks after the
 * connection, and the loop writes it once per turn, as one vector of many packets (output.c).
 *
 * Lifetime and back-pressure are one count. `charges` is what others owe to this connection:
 * itself (until its socket is closed), its session, and the cost of each message that it
 * published and that no subscriber's socket has been offered yet (message.h). Above
 * CONNECTION_CHARGES_HIGH its socket is not read; at CONNECTION_CHARGES_LOW whoever brought it
 * there has the loop read on. At zero nobody can submit to it any more; its resource closes, and
 * the finaliser, on the loop thread, frees it. What the broker has to say to the client itself,
 * such as acknowledgements, is charged too until it is written: who asks and does not read the
 * answers is not read. And so are its SUBSCRIBEs, while they are on their way (request.h).
 *
 * Silent and stuck clients are found by a timer of the connection (deadline.c).
 */
#ifndef BROKER_CONNECTION_H
#define BROKER_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <baton/resource.h>
#include <baton/timer.h>
#include <baton/trigger.h>

#include "net/message.h"
#include "net/stranger.h"

struct login;
struct loop;
struct session;
struct session_acks;
struct tls;
struct topic_use;

#define CONNECTION_REFERENCE 1
#define CONNECTION_CHARGES_HIGH ((uint64_t)1 << 19)
#define CONNECTION_CHARGES_LOW (CONNECTION_CHARGES_HIGH / 2)
#define CONNECTION_WORK_MAX 4096
#define CONNECTION_TOPICS 16

struct connection {
	uv_tcp_t tcp;
	struct loop *loop;
	struct connection *next; /* of the loop's connections */
	struct connection *previous;
	struct connection
		*dirty_next; /* of those that the loop looks after at the end of its turn */
	bool dirty;
	bool closing;
	bool admitted;   /* no stranger any more: its CONNECT may be handled, see login.h */
	bool announced;  /* in the log */
	bool ousted;     /* to be closed at the end of this turn */
	bool deaf;       /* can be written no more, see output.c */
	const char *why; /* it is closed; NULL: the client wanted it */
	struct tls *tls; /* NULL: plain */

	/* Input. */
	bool paused;          /* not read, see above */
	bool more;            /* has had its share of this turn, to be read on in the next one */
	bool resumed;         /* to be read again at the end of this turn */
	unsigned char *input; /* the beginning of a packet whose end has not come yet */
	size_t input_size;
	size_t input_capacity;
	struct stranger stranger;
	struct login *login; /* its password is being checked: its packets wait in `input` */
	size_t held;         /* bytes of the CONNECT that waits for that */
	uint64_t opened;     /* this and the next in the loop's milliseconds */
	uint64_t seen;       /* when it was last heard of */
	uint64_t begun;      /* when the packet that is kept began */
	uint64_t silence_max;
	struct baton_timer deadline;
	struct session *session;                     /* counted; from its CONNACK on */
	uint64_t epoch;                              /* the number of its join, see session.h */
	struct message *will;                        /* a reference and a hop */
	struct topic_use *topics[CONNECTION_TOPICS]; /* looked up before, by their hash */
	struct session_acks *acks;                   /* read in this turn */

	/* Output. */
	struct packet *output_first;
	struct packet **output_end;
	struct packet *output_fresh; /* the first one not offered to the socket yet, or NULL */
	size_t output_offset;        /* bytes of the first packet that are written */
	size_t writing;              /* bytes that a uv_write has taken */
	size_t left;                 /* of these, when it was looked last */
	uint64_t progressed;         /* when the socket took something, as far as is known */
	unsigned char *spill;        /* with TLS, what is being written */
	uv_write_t write;
	uint64_t attempted; /* the order (inflight.h) of the last message begun to be written */
	uint64_t written;   /* atomic, written by the loop thread: memory of messages, ever */
	bool full;          /* atomic, likewise: the socket takes no more */

	struct baton_resource resource;
	struct baton_resource_stats stats;
	uint64_t charges; /* atomic; CONNECTION_PAUSED in it, see charge.c */
	uint64_t work;    /* atomic: what others have to wait for because of it, in this turn */
	uint64_t resume_cost;
	const char *kicked; /* atomic: why */
	struct baton_task resume;
	struct baton_trigger kick;
	struct baton_task end;
	struct baton_task finaliser;
};

/* Takes the descriptor. Errors: -ENOMEM and those of libuv; the descriptor is closed. */
int connection_open(struct loop *loop, int fd, bool tls);

/* Closes the socket; the rest of the end follows by itself. */
void connection_close(struct connection *connection);

/* Closes it because of that, which is for the log; a string that stays. */
void connection_fail(struct connection *connection, const char *why);

/*
 * deadline.c: before the first of these; there is a new deadline, maybe; none any more, from its
 * closing on. When one passes, the connection is closed.
 */
void connection_watch_init(struct connection *connection);
void connection_watch(struct connection *connection);
void connection_unwatch(struct connection *connection);

/* deadline.c: the socket has begun to take what is being written. */
void connection_progress(struct connection *connection);

/* At the end of a turn: reads on if it was resumed, and writes. */
void connection_turn(struct connection *connection);

/* Handles no more of its input, and does not read on; until it may. */
void connection_pause(struct connection *connection);
void connection_read_on(struct connection *connection);

/* As address_network() of its client. */
uint64_t connection_network(const struct connection *connection);

/* Puts it among those that the loop looks after at the end of this turn. */
void connection_dirty(struct connection *connection);

/* charge.c: at its beginning. */
void connection_charge_init(struct connection *connection);

/* What has come from it is on its way: charges it. Where that is much, it is not read for now. */
void connection_charge(struct connection *connection, uint64_t cost);

/* Any thread that has something charged: charges more, which the next connection_charge() sees. */
void connection_charge_more(struct connection *connection, uint64_t cost);

/*
 * Any thread that has something charged: for a message of its client so many nodes of the
 * subscription tree were looked at. After CONNECTION_WORK_MAX of them others have their turn.
 */
void connection_worked(struct connection *connection, uint64_t work);

/* Between two packets: reads on later if its client reads no answers, or has had its share. */
void connection_pace(struct connection *connection);

/* Any thread. Ends a charge. */
void connection_release(struct connection *connection, uint64_t cost);

/* Nothing that it has published is on its way any more. */
bool connection_quiet(const struct connection *connection);

/* Any thread that has something charged. The packet goes out behind all others. */
void connection_send(struct connection *connection, struct packet *packet);

/* For its resource's config: tasks have run, so there may be something to write. */
int connection_drained(struct baton_resource *resource);

#define KICK_NO_MEMORY "no memory"
#define KICK_TAKEN_OVER "taken over: its client id has come again"
#define KICK_WRONG_ACK "an acknowledgement of the wrong kind for its packet id"

/* Any thread that has something charged: closes it; `why` is for the log, and lasts. */
void connection_kick(struct connection *connection, const char *why);

/* Any thread that has something charged. full: a hint. */
uint64_t connection_written(const struct connection *connection);
bool connection_full(const struct connection *connection);

/*
 * input.c: begins to read (errors: libuv's); handles what was kept; what has come and was not read
 * yet; frees it; is there any, that is: has a packet, or a record of TLS, begun that has not ended?
 */
int input_start(struct connection *connection);
void input_again(struct connection *connection);
void input_last(struct connection *connection);
void input_free(struct connection *connection);
bool input_begun(const struct connection *connection);

/* output.c: what a packet of the broker's own is charged with; appends one that is; charges and
 * appends; writes what can be written; drops the rest (the socket is closed). */
size_t output_cost(const struct packet *packet);
void output_push(struct connection *connection, struct packet *packet);
void output_append(struct connection *connection, struct packet *packet);
void output_flush(struct connection *connection);
bool output_empty(const struct connection *connection);
void output_drop(struct connection *connection);

#endif
