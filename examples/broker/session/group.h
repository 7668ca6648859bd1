/* SPDX-License-Identifier: MIT */
/*
 * Groups of shared subscriptions ($share/GROUP/FILTER; MQTT 5, 4.8.2). A group gets each message
 * once, and passes it to one of its members, which are clients' sessions. A group is a resource
 * with a window for each member:
 *
 *   - The group is a session without a client: it has a queue and its limits, an id in the store,
 *     one subscription in the tree, at FILTER, and a place in the audiences. So to topics, and to
 *     what they keep, a group is a session like any other.
 *   - A member has room while fewer than --max-inflight messages of QoS 1 and 2 are under way:
 *     given to the member, and not acknowledged to the end. At QoS 0 the connection has the
 *     message, or the message comes back: it is not counted.
 *   - The member with the least under way gets the next message; of equals, the one whose turn is
 *     longest ago (ready.h). No member has room: the message waits in the group's queue. So equally
 *     fast members get equally much, and a member that is slow, or stuck, gets less.
 *   - What a member does not take, or has not acknowledged when its connection ends, comes back to
 *     the head of the group's queue. A message of QoS 2 that was begun to be sent does not: it
 *     stays with its client (4.8.2), and ends with the client's session. A client that unsubscribes
 *     completes what was begun, as with any subscription: with clean session 0, the messages are
 *     its session's own from then on; else those of QoS 1 still come back.
 *
 * A message costs the group a step in the heap of members, so O(log members), and no walk.
 *
 * The way of a message, each step a hop:
 *
 *   topic -> group      waits, or is handed over: the packet has its `member`, and the QoS that the
 *                       member was granted
 *   group -> session    sends it, or gives it back at once (delivery.c): a message of a group never
 *                       waits in a client's session, where no other member could have it
 *   session -> group    `completed`: so many were acknowledged to the end; `back`: this one was not
 *
 * A member that gives a message back gets nothing more until it says that it is `here`: when its
 * connection comes, when its own queue is empty, its window has room, and its output is written.
 * More than MEMBER_AHEAD bytes, or a socket that takes nothing, are no room: what is in an output
 * can go to no other member.
 *
 * Order. Messages of a topic come to a member in the topic's order, unless one was given back.
 *
 * Lifetime of a member. It is made by the subscription tree, and has one way, of which each step is
 * the last touch of the one before: the tree submits `enter` and later `remove` to the group; the
 * group passes both on to the session, `enter` before and `remove` behind all packets that it hands
 * over; the session, at `remove` or when no message is lent to the member any more, forgets the
 * member and submits `left`, behind all that it has said about it; the group then frees the member.
 * So no step needs a count. Sessions and groups are counted (session.h): a member holds one
 * reference on each.
 *
 * No hop waits for another: tree -> group -> session -> group, and a session's task never needs an
 * answer of its group's. So there is nothing to deadlock.
 *
 * With a store, a message's row is the group's until the member's part is to be remembered:
 *
 *   QoS 1   the row stays where it is, and goes with PUBACK. After a crash some member gets the
 *           message, perhaps again.
 *   QoS 2   one statement makes the row the member's, with its packet id, before the message is
 *           sent (delivery.c): after a crash that client alone gets it. A session that is not in
 *           the store has no row: the row is deleted before the message is sent, which no other
 *           member may have after a crash.
 *   QoS 0   the row goes when the message is sent.
 *
 * A row that comes back is the group's again by one statement. So at each moment a row has one
 * owner, or the message was sent at QoS 2 to a client whose session ends with the crash.
 */
#ifndef BROKER_GROUP_H
#define BROKER_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/task.h>

#include "mqtt/names.h"
#include "session/ready.h"

struct env;
struct packet;
struct session;

/* Memory in a member's output, above which the member takes no more from a group. */
#define MEMBER_AHEAD ((size_t)64 << 10)

struct group {
	struct session *session; /* the group itself; frees this struct when it is freed */

	/* Under the session's baton. */
	struct ready ready;
	uint64_t turn;
	size_t connected; /* members that have a connection */

	/* Under the baton of the subscription tree. */
	size_t members;
};

/* What a member has asked for. */
struct member_options {
	uint32_t identifier; /* 0: none */
	uint8_t qos;
	bool retain; /* the retain flag is passed on as it came */
};

struct member {
	struct baton_task enter;
	struct baton_task remove;
	struct group *group;     /* its session is counted */
	struct session *session; /* counted */

	/* Under the group's baton. */
	struct ready_place place;
	struct member *refused_next; /* see group_choose() */
	uint32_t window;
	struct member_options options;
	bool connected;
	bool here; /* gets messages */
	bool removed;

	/* Under the session's baton. */
	struct member *next;
	struct member **link;
	bool refused;  /* has given a message back, and not said `here` since */
	bool leaving;  /* `remove` has come: the member is forgotten with the last of these */
	uint32_t lent; /* messages of QoS 1 that are sent, and not acknowledged */
};

/*
 * A new group of that name ("$share/GROUP/FILTER"), with an id in the store if there is one. Takes
 * `group`, which is of malloc(). The caller gets one reference.
 */
struct session *group_create(struct env *env, struct slice name, struct group *group);

/* Writes a new group into the store, if there is one. */
void group_keep(struct session *session);

/* The last member has gone: drops what waits. Under the tree's baton, once. */
void group_end(struct session *session);

/* A message has come, or one of an earlier run. Under the group's baton. */
void group_deliver(struct session *session, struct packet *packet);

/*
 * Under the tree's baton. enter: a session is a member from now on. `connected`: its client is
 * there; a mistake is mended soon. change: it has other options. remove: it is a member no longer.
 */
struct member *member_enter(struct group *group, struct session *session,
                            struct member_options options, bool connected);
void member_change(struct member *member, struct member_options options);
void member_remove(struct member *member);

/*
 * For delivery.c, under the session's baton; see member.c. refuse: gives the packet back. come: a
 * connection has come; go: it has gone; room: there may be room again.
 */
void member_refuse(struct session *session, struct packet *packet);
void members_come(struct session *session);
void members_go(struct session *session);
void members_room(struct session *session);

/* Messages that were acknowledged to the end, one after the other; at last NULL. */
struct completed {
	struct member *member;
	uint32_t count;
};
void member_complete(struct completed *completed, struct member *member);

/* For member.c, under the session's baton: the hops to the group. */
enum notice_kind {
	NOTICE_HERE, /* number: the window */
	NOTICE_AWAY,
	NOTICE_COMPLETED, /* number: how many */
	NOTICE_OPTIONS,
	NOTICE_LEFT,
};
void group_notify(struct member *member, enum notice_kind kind, uint32_t number);
void group_back(struct packet *packet);

/* For group.c, under the group's baton: the hops to the session. */
void member_pass_enter(struct member *member);
void member_pass_remove(struct member *member);

#endif
