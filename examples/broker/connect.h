/* SPDX-License-Identifier: MIT */
/* What a CONNECT means. On the connection's loop thread. */
#ifndef BROKER_CONNECT_H
#define BROKER_CONNECT_H

struct codec_connect;
struct codec_frame;
struct connection;

/*
 * Decodes a CONNECT. As codec_connect(), and the connection knows from here on how its client is
 * told why it is refused.
 */
int connect_decode(struct connection *connection, const struct codec_frame *frame,
                   struct codec_connect *connect);

/* Handles a CONNECT of a client that may come in. Returns as a handler in protocol.c. */
int connect_handle(struct connection *connection, const struct codec_frame *frame);

#endif
