/* SPDX-License-Identifier: MIT */
/*
 * MQTT 3.1.1 packets as bytes, as a client sees them. Written apart from the broker's codec, and
 * sharing nothing with it: a mistake of one would be hidden if the other had it, too. What a broker
 * must not send is malformed here.
 */
#ifndef LOAD_WIRE_H
#define LOAD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type {
	WIRE_CONNECT = 1,
	WIRE_CONNACK = 2,
	WIRE_PUBLISH = 3,
	WIRE_PUBACK = 4,
	WIRE_PUBREC = 5,
	WIRE_PUBREL = 6,
	WIRE_PUBCOMP = 7,
	WIRE_SUBSCRIBE = 8,
	WIRE_SUBACK = 9,
	WIRE_DISCONNECT = 14,
};

#define WIRE_HEADER_MAX 5U
#define WIRE_ACK_SIZE 4U

struct wire_frame {
	uint8_t type;
	uint8_t flags;
	const unsigned char *body;
	size_t body_size;
	size_t size; /* with its header */
};

struct wire_publish {
	const unsigned char *topic;
	size_t topic_size;
	const unsigned char *payload;
	size_t payload_size;
	uint16_t packet_id; /* 0 at QoS 0 */
	uint8_t qos;
	bool dup, retain;
};

/* The frame at the beginning of the bytes. Returns 1; 0 if it is not all there; -1 if it is
 * malformed or larger than `frame_max`. */
int wire_frame(const unsigned char *bytes, size_t size, size_t frame_max, struct wire_frame *frame);

/* What is in a frame; false: malformed. */
bool wire_publish(const struct wire_frame *frame, struct wire_publish *publish);
bool wire_connack(const struct wire_frame *frame, bool *session_present, uint8_t *return_code);
bool wire_suback(const struct wire_frame *frame, uint16_t *packet_id, const uint8_t **codes,
                 size_t *code_count);
/* PUBACK, PUBREC, PUBREL, PUBCOMP. */
bool wire_ack(const struct wire_frame *frame, uint16_t *packet_id);

/* These write to where there is room enough and return how many bytes they wrote. */
size_t wire_put_header(unsigned char *to, uint8_t type, uint8_t flags, size_t body_size);
size_t wire_put_ack(unsigned char *to, uint8_t type, uint16_t packet_id);
size_t wire_put_connect(unsigned char *to, const char *client_id, bool clean, uint16_t keep_alive);
size_t wire_put_subscribe(unsigned char *to, uint16_t packet_id, const char *filter, uint8_t qos);
/* Up to the payload; `*id_at`: where in it the packet id is, 0 at QoS 0. */
size_t wire_put_publish(unsigned char *to, const char *topic, uint8_t qos, size_t payload_size,
                        size_t *id_at);
size_t wire_put_disconnect(unsigned char *to);
void wire_put_id(unsigned char *to, uint16_t packet_id);

#endif
