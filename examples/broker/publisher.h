/* SPDX-License-Identifier: MIT */
/*
 * A client's messages on their way to their topics. All functions run on the connection's loop
 * thread, which never waits.
 *
 * The connection's own table has topics that its client may write to: the rights were asked when a
 * topic entered the table.
 *
 * The topic of a message is mostly there, in the connection's own table or in the topic table, and
 * gets the message at once. A topic that must be made is made by a task of the topic table, which
 * may have other work before it. Until then the connection handles and reads no more packets
 * (`look_up`), and so keeps its messages in order; the topic comes as a task of the connection. A
 * connection that closes meanwhile ends behind that task.
 */
#ifndef BROKER_PUBLISHER_H
#define BROKER_PUBLISHER_H

struct connection;
struct message;

/*
 * Passes the message on to its topic: now, or when the topic has come. Takes the message, whose
 * cost is charged, and its answer with it. -EACCES: the client may not write to this topic: the
 * message is dropped, and the caller answers it. -ENOMEM: the message is lost, and is not
 * acknowledged; the caller closes the connection. A connection whose topic cannot be made later is
 * closed.
 */
int publisher_pass(struct connection *connection, struct message *message);

/* Gives the topics of the connection's table back: the next message to each is checked anew. */
void publisher_forget(struct connection *connection);

#endif
