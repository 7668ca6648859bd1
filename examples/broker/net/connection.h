/* SPDX-License-Identifier: MIT */
/*
 * A connection: a client's socket. It belongs to the loop thread that got it from the listener;
 * that thread alone calls the functions below, except those marked "any thread". Other threads
 * submit tasks to the connection's resource, which never runs inline and whose executor is the
 * loop: so its tasks run on the loop thread, too.
 *
 * Output is gathered: tasks append packets, a drain hook tells the loop to look after the
 * connection, and the loop writes the output once per turn, as one vector of many packets
 * (output.c).
 *
 * Lifetime and back-pressure are one count, `charges`. It sums what others hold of this connection:
 * one reference for its open socket, one for its session, and the cost of each message that the
 * client has published and that no subscriber's socket was offered yet (message.h). Above
 * CONNECTION_CHARGES_HIGH the socket is not read. When a release brings the count down to
 * CONNECTION_CHARGES_LOW, the loop reads on. At zero no thread can submit to the connection any
 * more: its resource closes, and the finaliser frees it on the loop thread.
 *
 * The broker's own packets to the client, such as acknowledgements, are charged until they are
 * written: a client that asks and does not read the answers is not read. SUBSCRIBEs are charged
 * while they are on their way (topic/request.h).
 *
 * A timer of the connection finds silent and stuck clients (deadline.c).
 */
#ifndef BROKER_CONNECTION_H
#define BROKER_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <baton/resource.h>
#include <baton/stats.h>
#include <baton/timer.h>
#include <baton/trigger.h>

#include "common/why.h"
#include "net/message.h"
#include "net/stranger.h"

struct alias;
struct login;
struct look_up;
struct loop;
struct session;
struct session_acks;
struct tls;
struct topic_use;

#define CONNECTION_REFERENCE 1
#define CONNECTION_KEPT_COST 512 /* an acknowledgement that waits for the store, about */
#define CONNECTION_CHARGES_HIGH ((uint64_t)1 << 19)
#define CONNECTION_CHARGES_LOW (CONNECTION_CHARGES_HIGH / 2)
#define CONNECTION_WORK_MAX 4096
#define CONNECTION_TOPICS 16

/* The files that look into a part stand before it. */
struct connection {
	/* connection.c, loop.c: the socket, its life, its place among the loop's connections. */
	uv_tcp_t tcp;
	struct loop *loop;
	struct connection *next; /* of the loop's connections */
	struct connection *previous;
	struct connection
		*dirty_next; /* of those that the loop looks after at the end of its turn */
	bool dirty;
	bool closing;
	bool admitted;        /* no stranger any more: its packets are handled */
	bool announced;       /* in the log */
	bool ousted;          /* to be closed at the end of this turn */
	bool deaf;            /* can be written no more, see output.c */
	bool gone;            /* its socket is closed */
	bool overdue;         /* its deadline has passed: judged at the end of this turn */
	bool greeted;         /* has had its CONNACK */
	uint8_t version;      /* enum codec_version, as of its CONNECT; 0: not known */
	bool request_problem; /* MQTT 5: it wants to be told why in words, too */
	uint32_t packet_max;  /* MQTT 5: bytes of a packet to it */
	enum why why;         /* why it is closed */
	int error;            /* libuv's, of WHY_NETWORK */
	struct tls *tls;      /* NULL: plain */

	/* input.c, stranger.c, deadline.c. */
	bool paused;          /* its socket is not read, see above */
	bool more;            /* has had its share of this turn; is read on in the next one */
	bool resumed;         /* is read again at the end of this turn */
	bool parting;         /* gone while it was dirty: its reference ends with this turn */
	unsigned char *input; /* the beginning of a packet whose end has not come yet */
	size_t input_size;
	size_t input_capacity;
	struct stranger stranger;
	struct login *login; /* its password is being checked: its packets wait in `input` */
	size_t held;         /* bytes of the CONNECT that waits for that */
	uint64_t opened;     /* this and the next three in the loop's milliseconds */
	uint64_t seen;       /* when the last whole packet came */
	uint64_t begun;      /* when the packet that is kept began */
	uint64_t silence_max;
	struct baton_timer deadline;

	/* The layers above alone: protocol.c, publisher.c, session, topic. */
	struct session *session; /* counted; from its CONNACK on */
	uint64_t epoch;          /* the number of its join, see session.h */
	uint32_t expiry;         /* of its session: seconds */
	uint32_t receiving;      /* MQTT 5: PUBLISHes of QoS 1 and 2 that are not answered yet */
	struct alias *aliases;   /* MQTT 5: of topics that it publishes to; see aliases.h */
	bool will_void;          /* its DISCONNECT says that nobody gets its will */
	struct topic_use *topics[CONNECTION_TOPICS]; /* looked up before, by their hash */
	struct look_up *look_up;                     /* its packets wait for a topic */
	struct session_acks *acks;                   /* read in this turn */
	uint64_t voucher; /* of the password that let it in; 0: none, see vouchers.h */
	bool told_own;    /* the log was told of a message to $SYS */
	bool told_access; /* and of a message that the access file does not allow */

	/* answers.c, output.c. */
	struct packet *answers; /* acknowledgements of its PUBLISHes, in their order: answers.c */
	struct packet **answers_end;
	struct packet *output_first;
	struct packet **output_end;
	struct packet *output_fresh; /* the first packet not offered to the socket yet, or NULL */
	size_t output_offset;        /* bytes of the first packet that are written */
	size_t writing;              /* bytes that a uv_write has taken */
	size_t left;                 /* of these, at the last look */
	uint64_t progressed;         /* when the socket took something, as far as is known */
	unsigned char *spill;        /* with TLS, what is being written */
	uv_write_t write;
	uint64_t attempted; /* the order (inflight.h) of the last message begun to be written */
	uint64_t written;   /* atomic, written by the loop thread: memory of messages, ever */
	bool full;          /* atomic, likewise: the socket takes no more */

	/* charge.c, and what other threads submit to or change. */
	struct baton_resource resource;
	struct baton_resource_stats own_stats;
	struct baton_resource_stats *stats; /* these, or those on the board */
	uint64_t charges;                   /* atomic; CONNECTION_PAUSED in it, see charge.c */
	uint64_t work; /* atomic: work that its messages cost others, in this turn */
	uint64_t resume_cost;
	enum why kicked; /* atomic */
	struct baton_task resume;
	struct baton_trigger kick;
	struct baton_task end;
	struct baton_task finaliser;
};

/* Takes the descriptor, and closes it on an error: -ENOMEM, or one of libuv's. */
int connection_open(struct loop *loop, int fd, bool tls);

/* Closes the socket; the connection is freed when its last charge has ended. */
void connection_close(struct connection *connection);

/* The same, and the client is told why (farewell.c). */
void connection_fail(struct connection *connection, enum why why);

/* The same, after an error of libuv's. */
void connection_break(struct connection *connection, int error);

/*
 * deadline.c. watch_init comes first. watch: the deadline may have changed. unwatch: the connection
 * closes and has no deadline any more. judge: closes a connection whose deadline has passed, unless
 * its socket says that the client is in time.
 */
void connection_watch_init(struct connection *connection);
void connection_watch(struct connection *connection);
void connection_unwatch(struct connection *connection);
void connection_judge(struct connection *connection);

/* deadline.c: the socket has begun to take what is being written. */
void connection_progress(struct connection *connection);

/* At the end of a turn of the loop: reads on if it was resumed, and writes. */
void connection_turn(struct connection *connection);

/* pause: handles and reads no more input; read_on: goes on at the end of this turn. */
void connection_pause(struct connection *connection);
void connection_read_on(struct connection *connection);

/*
 * hold: handles and reads no more input until go_on, which ends the hold at the end of this turn.
 * If the connection has closed meanwhile, it ends in go_on.
 */
void connection_hold(struct connection *connection, struct look_up *look_up);
void connection_go_on(struct connection *connection);

/* MQTT 5: one PUBLISH less counts against the receive maximum. An exchange may have begun on an
 * earlier connection. */
static inline void connection_answered(struct connection *connection)
{
	if (connection->receiving > 0)
		connection->receiving--;
}

/* Is its input handled and read? */
static inline bool connection_reads(const struct connection *connection)
{
	return !connection->closing && !connection->paused && connection->look_up == NULL;
}

/* As address_network() of its client. */
uint64_t connection_network(const struct connection *connection);

/* Has the loop look after the connection at the end of this turn. */
void connection_dirty(struct connection *connection);

/* charge.c: sets the charge of a new connection. */
void connection_charge_init(struct connection *connection);

/* Charges the connection. Above CONNECTION_CHARGES_HIGH its socket is not read. */
void connection_charge(struct connection *connection, uint64_t cost);

/* Any thread that holds a charge: charges more; the next connection_charge() may pause. */
void connection_charge_more(struct connection *connection, uint64_t cost);

/*
 * Any thread that holds a charge: a message of this client has cost a look at so many nodes of the
 * subscription tree. After CONNECTION_WORK_MAX of them other connections have their turn.
 */
void connection_worked(struct connection *connection, uint64_t work);

/* Between two packets: pauses if the client reads no answers, or has had its share. */
void connection_pace(struct connection *connection);

/* Any thread. Ends a charge of that cost. */
void connection_release(struct connection *connection, uint64_t cost);

/* Is no message of its client on its way any more? */
bool connection_quiet(const struct connection *connection);

/* Any thread that holds a charge. Appends the packet to the output. */
void connection_send(struct connection *connection, struct packet *packet);

/* The drain hook of its resource: tasks have run, so there may be something to write. */
int connection_drained(struct baton_resource *resource);

/* Any thread that holds a charge: closes it. */
void connection_kick(struct connection *connection, enum why why);

/* Any thread that holds a charge. full: a hint. */
uint64_t connection_written(const struct connection *connection);
bool connection_full(const struct connection *connection);

/*
 * input.c. start: begins to read (errors: libuv's). again: handles the bytes that were kept. last:
 * reads what the socket has and handles it. rest: the same, until a packet is whole or the socket
 * is empty. free: drops the kept bytes. begun: is a packet, or a
 * TLS record, incomplete?
 */
int input_start(struct connection *connection);
void input_again(struct connection *connection);
void input_last(struct connection *connection);
void input_rest(struct connection *connection);
void input_free(struct connection *connection);
bool input_begun(const struct connection *connection);

/*
 * answers.c. expect: an acknowledgement of a PUBLISH will come, in this place. ready: it has come,
 * with its cost charged; appends all that need not wait for others to the output. drop: the
 * connection closes.
 */
void answers_init(struct connection *connection);
void answers_expect(struct connection *connection, struct packet *packet);
void answers_ready(struct connection *connection, struct packet *packet);
void answers_drop(struct connection *connection);

/* farewell.c. The connection begins to close: appends what its client is told. */
void connection_farewell(struct connection *connection);

/*
 * output.c. cost: what a packet of the broker's own is charged with. push: appends a packet whose
 * cost is charged. append: charges the cost and appends. flush: writes what the socket takes.
 * empty: is all written? drop: drops the rest, since the socket is closed.
 */
size_t output_cost(const struct packet *packet);
void output_push(struct connection *connection, struct packet *packet);
void output_append(struct connection *connection, struct packet *packet);
void output_flush(struct connection *connection);
bool output_empty(const struct connection *connection);
void output_drop(struct connection *connection);

#endif
