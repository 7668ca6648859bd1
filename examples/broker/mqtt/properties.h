/* SPDX-License-Identifier: MIT */
/*
 * The properties of MQTT 5 (2.2.2): one table says of each its type, in which packets it may stand,
 * in which more than once, and which values it may have. Pure.
 */
#ifndef BROKER_PROPERTIES_H
#define BROKER_PROPERTIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"

enum property {
	PROPERTY_PAYLOAD_FORMAT = 0x01,
	PROPERTY_MESSAGE_EXPIRY = 0x02,
	PROPERTY_CONTENT_TYPE = 0x03,
	PROPERTY_RESPONSE_TOPIC = 0x08,
	PROPERTY_CORRELATION_DATA = 0x09,
	PROPERTY_SUBSCRIPTION_ID = 0x0b,
	PROPERTY_SESSION_EXPIRY = 0x11,
	PROPERTY_ASSIGNED_CLIENT_ID = 0x12,
	PROPERTY_SERVER_KEEP_ALIVE = 0x13,
	PROPERTY_AUTH_METHOD = 0x15,
	PROPERTY_AUTH_DATA = 0x16,
	PROPERTY_REQUEST_PROBLEM = 0x17,
	PROPERTY_WILL_DELAY = 0x18,
	PROPERTY_REQUEST_RESPONSE = 0x19,
	PROPERTY_RESPONSE_INFORMATION = 0x1a,
	PROPERTY_SERVER_REFERENCE = 0x1c,
	PROPERTY_REASON_STRING = 0x1f,
	PROPERTY_RECEIVE_MAXIMUM = 0x21,
	PROPERTY_ALIAS_MAXIMUM = 0x22,
	PROPERTY_ALIAS = 0x23,
	PROPERTY_MAXIMUM_QOS = 0x24,
	PROPERTY_RETAIN_AVAILABLE = 0x25,
	PROPERTY_USER = 0x26,
	PROPERTY_MAXIMUM_PACKET_SIZE = 0x27,
	PROPERTY_WILDCARDS_AVAILABLE = 0x28,
	PROPERTY_SUBSCRIPTION_IDS_AVAILABLE = 0x29,
	PROPERTY_SHARED_AVAILABLE = 0x2a,
	PROPERTY_LAST = PROPERTY_SHARED_AVAILABLE,
};

/* Where properties stand: a packet's type (codec.h), or the will of a CONNECT. */
#define PROPERTIES_OF_WILL 16

#define PROPERTIES_NEVER UINT32_MAX

/* What properties say. A property that is not there has the value named here. */
struct properties {
	struct slice bytes;       /* all of them, without their length */
	uint64_t present;         /* bit n: property n is there */
	uint32_t session_expiry;  /* seconds; 0 */
	uint32_t message_expiry;  /* seconds; PROPERTIES_NEVER */
	uint32_t will_delay;      /* seconds; 0 */
	uint32_t packet_max;      /* UINT32_MAX */
	uint32_t subscription_id; /* the last one; 0 */
	uint16_t receive_max;     /* 65535 */
	uint16_t alias_max;       /* 0 */
	uint16_t alias;           /* 0 */
	bool request_problem;     /* true */
	bool request_response;    /* false */
	struct slice auth_method; /* bytes is NULL */
};

/*
 * Decodes and checks the properties of a packet of that type, without their length. A message
 * expiry of UINT32_MAX seconds counts as one second less. 0; -EPROTO: malformed (0x81), such as a
 * property that may not stand there (2.2.2.2); -EBADMSG: against the protocol (0x82), such as a
 * property that stands twice, or has a value that is forbidden.
 */
int properties_decode(struct slice bytes, unsigned int where, struct properties *properties);

/*
 * Those of a PUBLISH, or a will, that the broker passes on as they came, in their order: payload
 * format, content type, response topic, correlation data, user properties. Writes at most
 * bytes.size bytes; returns how many. `bytes` have been decoded without an error.
 */
size_t properties_forward(unsigned char *out, struct slice bytes);

/* A variable byte integer (1.5.5), at most 268,435,455: its size, 1 to 4, and its bytes. */
size_t properties_varint_size(uint32_t value);
size_t properties_put_varint(unsigned char *out, uint32_t value);

/* One property: its identifier and its value. They return how many bytes they have written. */
size_t properties_put_byte(unsigned char *out, enum property property, uint8_t value); /* 2 */
size_t properties_put_u16(unsigned char *out, enum property property, uint16_t value); /* 3 */
size_t properties_put_u32(unsigned char *out, enum property property, uint32_t value); /* 5 */
#define PROPERTIES_ID_MAX 5
size_t properties_put_id(unsigned char *out, uint32_t subscription_id); /* PROPERTIES_ID_MAX */
/* A text or binary data; at most 65,535 bytes: 3 + its size. */
size_t properties_put_text(unsigned char *out, enum property property, struct slice text);

#endif
