/* SPDX-License-Identifier: MIT */
/*
 * MQTT 3.1.1 and MQTT 5 on the wire. Pure: bytes in, packets out, and back; no memory, no sockets,
 * no state. A decoded packet points into the bytes that were given.
 *
 * Anything that a standard forbids in a packet of a client is an error. MQTT 3.1.1 has one:
 * -EPROTO. Those of MQTT 5 lead to different reason codes:
 *
 *   -EPROTO   malformed (0x81)
 *   -EBADMSG  against the protocol (0x82)
 *   -EINVAL   a topic name (0x90), or a filter (0x8f), is invalid
 *
 * A packet with several errors has the first one of this list. Section numbers are those of MQTT 5.
 */
#ifndef BROKER_CODEC_H
#define BROKER_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mqtt/properties.h"

/* As a CONNECT has it. 0: not known yet. */
enum codec_version {
	CODEC_311 = 4,
	CODEC_5 = 5,
};

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
	CODEC_AUTH = 15, /* MQTT 5; codec_frame() takes it from any client */
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
	struct slice topic; /* MQTT 5: without bytes if the packet has an alias only */
	struct slice payload;
	struct slice properties; /* MQTT 5: all of them, without their length; checked */
	uint32_t expiry;         /* seconds; PROPERTIES_NEVER: none */
	uint16_t alias;          /* MQTT 5; 0: none */
	uint16_t packet_id;      /* 0 with QoS 0 */
	uint8_t qos;
	bool retain;
	bool duplicate;
};

struct codec_connect {
	enum codec_version version;
	struct slice client_id;
	struct codec_publish will; /* its topic has no bytes if there is none */
	uint32_t will_delay;       /* seconds; 0 */
	struct slice user_name;    /* bytes is NULL if there is none; it may be empty */
	struct slice password;     /* the same */
	uint16_t keep_alive;
	bool clean;               /* clean session of 3.1.1, clean start of 5 */
	uint32_t session_expiry;  /* seconds; PROPERTIES_NEVER. 3.1.1: 0 with clean session 1 */
	uint16_t receive_max;     /* 65535 */
	uint16_t alias_max;       /* 0 */
	uint32_t packet_max;      /* UINT32_MAX */
	bool request_problem;     /* true */
	struct slice auth_method; /* bytes is NULL: none */
};

/*
 * 0; -EPROTO, -EBADMSG, -EINVAL (the will's topic); -EPFNOSUPPORT: a protocol of another name;
 * -EPROTONOSUPPORT: MQTT at another level. connect->version is set as soon as it is known: after
 * the last two errors, or if it could not be read, it is 0.
 */
int codec_connect(const struct codec_frame *frame, struct codec_connect *connect);

int codec_publish(const struct codec_frame *frame, enum codec_version version,
                  struct codec_publish *publish);

/* SUBSCRIBE and UNSUBSCRIBE. */
struct codec_filters {
	uint16_t packet_id;
	uint32_t subscription_id; /* 0: none */
	size_t count;
	size_t offset; /* of the first one, for codec_filter_next() */
};

struct codec_filter {
	struct slice name;
	uint8_t qos;
	bool no_local;
	bool retain_as_published;
	uint8_t retain_handling;
};

/* Checks all of it and counts the filters. */
int codec_filters(const struct codec_frame *frame, enum codec_version version,
                  struct codec_filters *filters);

/*
 * The filter at `*offset`, which moves on to the next; only for a frame that codec_filters() has
 * accepted. An UNSUBSCRIBE, and 3.1.1, have 0 where they have nothing.
 */
struct codec_filter codec_filter_next(const struct codec_frame *frame, size_t *offset);

/* PUBACK, PUBREC, PUBREL and PUBCOMP. 3.1.1: the reason is 0. */
int codec_ack(const struct codec_frame *frame, enum codec_version version, uint16_t *packet_id,
              uint8_t *reason);

struct codec_disconnect {
	uint8_t reason;
	bool expiry_given; /* the session is to have another expiry than its CONNECT said */
	uint32_t session_expiry;
};

int codec_disconnect(const struct codec_frame *frame, enum codec_version version,
                     struct codec_disconnect *disconnect);

/* AUTH, of MQTT 5: 0x18, go on, or 0x19, authenticate again. */
int codec_auth(const struct codec_frame *frame, uint8_t *reason, struct slice *method);

/* PINGREQ. */
int codec_empty(const struct codec_frame *frame);

/* Encoders (codec_put.c): they write at most the bytes named here and return how many. */
#define CODEC_HEADER_MAX 5
#define CODEC_ACK_MAX 5

size_t codec_put_header(unsigned char *out, uint8_t type, uint8_t flags, size_t remaining);
size_t codec_put_u16(unsigned char *out, uint16_t value);       /* 2 */
size_t codec_put_string(unsigned char *out, struct slice text); /* 2 + its size */

/* CONNACK of 3.1.1: 4; of MQTT 5, with its encoded properties: 11 + these. */
size_t codec_put_connack(unsigned char *out, bool present, uint8_t return_code);
size_t codec_put_connack5(unsigned char *out, bool present, uint8_t reason,
                          struct slice properties);

/* PUBACK, PUBREC, PUBREL and PUBCOMP of both versions, UNSUBACK of 3.1.1: 4. */
size_t codec_put_ack(unsigned char *out, uint8_t type, uint16_t packet_id);

/* PUBACK, PUBREC, PUBREL and PUBCOMP of MQTT 5: CODEC_ACK_MAX; as codec_put_ack() for reason 0. */
size_t codec_put_ack5(unsigned char *out, uint8_t type, uint16_t packet_id, uint8_t reason);

/* DISCONNECT of MQTT 5, with a reason string unless the text is empty: 11 + the text. */
size_t codec_put_disconnect(unsigned char *out, uint8_t reason, struct slice text);

/* All of a PUBLISH of 3.1.1 up to its payload: CODEC_HEADER_MAX + 2 + topic + 2. */
size_t codec_put_publish(unsigned char *out, const struct codec_publish *publish);

/*
 * All of a PUBLISH of MQTT 5 up to its payload: `head_size`. `own`: the broker's own properties for
 * this subscriber (expiry, alias, subscription ids), encoded; they come before
 * publish->properties, which are those that are passed on.
 */
size_t codec_put_publish5(unsigned char *out, const struct codec_publish *publish,
                          struct slice own);

/* The size of that whole packet, with its payload. */
size_t codec_size_publish5(const struct codec_publish *publish, size_t own_size, size_t *head_size);

#endif
