/* SPDX-License-Identifier: MIT */
/*
 * MQTT 3.1.1 on the wire. Pure: bytes in, packets out, and back; no memory, no sockets, no state. A
 * decoded packet points into the bytes that were given. Anything that the standard forbids in a
 * packet of a client is answered with -EPROTO.
 */
#ifndef BROKER_CODEC_H
#define BROKER_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"

enum codec_type {
	CODEC_CONNECT = 1,
	CODEC_CONNACK = 2,
	CODEC_PUBLISH = 3,
	CODEC_PUBACK = 4,
	CODEC_PUBREC = 5,
	CODEC_PUBREL = 6,
	CODEC_PUBCOMP = 7,
	CODEC_SUBSCRIBE = 8,
	CODEC_SUBACK = 9,
	CODEC_UNSUBSCRIBE = 10,
	CODEC_UNSUBACK = 11,
	CODEC_PINGREQ = 12,
	CODEC_PINGRESP = 13,
	CODEC_DISCONNECT = 14,
	CODEC_AUTH = 15,
};

struct codec_frame {
	uint8_t type;
	uint8_t flags;
	const unsigned char *body;
	size_t body_size;
	size_t size; /* of the whole packet; 0 as long as its header is incomplete */
};

/*
 * Finds the first packet in the bytes. 1: the packet is complete, with the type and flags of a
 * client's packet; 0: more bytes are needed. Errors, as soon as the header is complete: -EPROTO;
 * -EMSGSIZE: the packet would have more than `size_max` bytes.
 */
int codec_frame(const unsigned char *bytes, size_t size, size_t size_max,
                struct codec_frame *frame);

struct codec_publish {
	struct slice topic;
	struct slice payload;
	uint16_t packet_id; /* 0 with QoS 0 */
	uint8_t qos;
	bool retain;
	bool duplicate;
};

struct codec_connect {
	struct slice client_id;
	struct codec_publish will; /* its topic has no bytes if there is none */
	struct slice user_name;    /* bytes is NULL if there is none; it may be empty */
	struct slice password;     /* the same */
	uint16_t keep_alive;
	bool clean;
};

/*
 * 0; -EPROTO; -EPFNOSUPPORT: a protocol of another name; -EPROTONOSUPPORT: MQTT at another level,
 * which return code 1 of a CONNACK tells the client (3.1.2-2).
 */
int codec_connect(const struct codec_frame *frame, struct codec_connect *connect);

int codec_publish(const struct codec_frame *frame, struct codec_publish *publish);

/* SUBSCRIBE and UNSUBSCRIBE: checks all of it and counts the filters. */
int codec_filters(const struct codec_frame *frame, uint16_t *packet_id, size_t *count);

/* The filter at `*offset`, which starts as 0; only for a frame that codec_filters has accepted. */
struct slice codec_filter_next(const struct codec_frame *frame, size_t *offset, uint8_t *qos);

/* PUBACK, PUBREC, PUBREL and PUBCOMP. */
int codec_ack(const struct codec_frame *frame, uint16_t *packet_id);

/* PINGREQ and DISCONNECT. */
int codec_empty(const struct codec_frame *frame);

/* Encoders: they write at most the bytes named here and return how many. */
#define CODEC_HEADER_MAX 5

size_t codec_put_header(unsigned char *out, uint8_t type, uint8_t flags, size_t remaining);
size_t codec_put_u16(unsigned char *out, uint16_t value);                        /* 2 */
size_t codec_put_string(unsigned char *out, struct slice text);                  /* 2 + its size */
size_t codec_put_connack(unsigned char *out, bool present, uint8_t return_code); /* 4 */

/* PUBACK, PUBREC, PUBREL, PUBCOMP and UNSUBACK: 4. */
size_t codec_put_ack(unsigned char *out, uint8_t type, uint16_t packet_id);

/* All of a PUBLISH up to its payload: CODEC_HEADER_MAX + 2 + topic + 2. */
size_t codec_put_publish(unsigned char *out, const struct codec_publish *publish);

#endif
