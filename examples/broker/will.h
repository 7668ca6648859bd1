/* SPDX-License-Identifier: MIT */
/*
 * A will: the message that a client leaves in its CONNECT. The broker publishes the will when the
 * connection ends without a DISCONNECT (MQTT 3.1.1, 3.1.2.5). The message is made when the CONNECT
 * comes, so that there is memory for it at the end, and is charged to the connection like
 * everything that the client publishes. All functions run on the connection's loop thread.
 */
#ifndef BROKER_WILL_H
#define BROKER_WILL_H

struct codec_publish;
struct connection;

/* Errors: -ENOMEM. */
int will_make(struct connection *connection, const struct codec_publish *will);

/* The first call of either publishes or drops the will; later calls do nothing. */
void will_publish(struct connection *connection);
void will_forget(struct connection *connection);

#endif
