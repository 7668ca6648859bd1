/* SPDX-License-Identifier: MIT */
/*
 * A will: the message that a client leaves in its CONNECT, to be published when its connection ends
 * in any way but by a DISCONNECT (MQTT 3.1.1, 3.1.2.5). It is made beforehand, so that there is
 * memory for it then, and charged to its connection like everything that this one publishes. On the
 * connection's loop thread.
 */
#ifndef BROKER_WILL_H
#define BROKER_WILL_H

struct codec_publish;
struct connection;

/* Errors: -ENOMEM. */
int will_make(struct connection *connection, const struct codec_publish *will);

/* At most one of these does something, and that once. */
void will_publish(struct connection *connection);
void will_forget(struct connection *connection);

#endif
