/* SPDX-License-Identifier: MIT */
/*
 * A SUBSCRIBE, an UNSUBSCRIBE, or the end of a session, on its way. The same struct is the task of
 * both hops.
 *
 *   connection -> subscription tree   enters or takes out the subscriptions
 *     -> topic table                  SUBSCRIBE: tells each topic that a filter matches
 *       -> session                    the acknowledgement, behind all that
 *
 * Requests of one client stay in order through both hops. So the table may touch a subscription of
 * a SUBSCRIBE even if a later request has taken it out of the tree. When the client sees a SUBACK,
 * each topic has the telling in its inbox, before any message that is published after the SUBACK.
 *
 * One tree and one table serve all clients, and a SUBSCRIBE to a filter with wildcards costs a pass
 * over all topics. So a request is charged to its connection until the table is done with it: a
 * client that asks for more than REQUEST_FILTERS_AHEAD filters at once is not read meanwhile.
 */
#ifndef BROKER_REQUEST_H
#define BROKER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/task.h>

#include "common/why.h"
#include "mqtt/codec.h"
#include "net/message.h"
#include "topic/audience.h"

struct connection;
struct session;
struct subscription;
struct table;

#define REQUEST_FILTERS_AHEAD 64

enum request_kind {
	REQUEST_SUBSCRIBE,
	REQUEST_UNSUBSCRIBE,
	REQUEST_END,
};

/* When a new subscriber has the retained messages: "retain handling" of MQTT 5. */
enum request_retained {
	REQUEST_RETAINED,
	REQUEST_RETAINED_IF_NEW, /* if the subscription was not there before */
	REQUEST_RETAINED_NEVER,
};

struct request_filter {
	struct slice name;
	struct slice shared; /* of "$share/GROUP/FILTER" the last part, else NULL */
	struct subscription *subscription; /* the tree sets it for the table; as the next two */
	struct session *group;             /* whose that is, counted; NULL: the request's */
	bool existed;                      /* the subscription was there before */
	uint8_t retained;                  /* enum request_retained */
	enum why why;                      /* the filter is refused; WHY_NONE: it is not */
	union subscription_options options;
};

struct request {
	struct baton_task task;
	struct table *table;
	struct session *session;       /* counted, but for REQUEST_END until it is submitted */
	struct connection *connection; /* charged with `cost`; NULL for REQUEST_END */
	size_t cost;
	enum request_kind kind;
	uint8_t version;       /* of MQTT, see enum codec_version */
	struct packet *answer; /* for the connection of this epoch */
	uint64_t epoch;
	struct subscription *removed; /* taken out of the tree; linked by session_next */
	uint64_t ask;                 /* SUBSCRIBE: its number in the session, from 1 up */
	/* For the table. */
	size_t step;
	struct request *next;
	size_t count;
	struct request_filter *filters;
};

/*
 * Makes a request from a connection's checked SUBSCRIBE or UNSUBSCRIBE with `count` filters, on its
 * loop thread, and charges the connection. NULL: no memory.
 */
struct request *request_create(struct table *table, struct connection *connection,
                               const struct codec_frame *frame,
                               const struct codec_filters *filters);

/* The request that ends all subscriptions of a session. NULL: no memory. */
struct request *request_create_end(struct table *table, struct session *session);

/* Submits the first hop. Any thread that holds a reference on the session. */
void request_submit(struct request *request);

/* For the tree: this filter of a SUBSCRIBE is refused, as SUBACK and the log say. */
void request_refuse(struct request *request, size_t at, enum why why);

/* For the tree: there is no such subscription, as UNSUBACK says in MQTT 5. */
void request_missed(const struct request *request, size_t at);

/*
 * For the table: the request has been applied. Sends the acknowledgement, of a session in the store
 * when the subscriptions are committed; then frees the request.
 */
void request_end(struct request *request);

#endif
