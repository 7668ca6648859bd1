/* SPDX-License-Identifier: MIT */
/*
 * MQTT 3.1.1 packets in words:
 *
 *	CONNECT id [clean] [alive=60] [will=topic] [message=text] [wq=0] [wr] [user=] [password=]
 *		[name=MQTT] [level=4]
 *	CONNACK present code			SUBSCRIBE packet-id filter:qos ...
 *	PUBLISH [dup] [retain] qN [idN] topic payload	SUBACK packet-id code ...
 *	PUBACK packet-id, and so on		UNSUBSCRIBE packet-id filter ...
 *	PINGREQ, PINGRESP, DISCONNECT
 *
 * Client ids, topics and filters get the story's name in front ("story/a/b"), which is taken off
 * again when a packet is put into words; one that starts with ^ is sent as it is, without the ^.
 * "-" is the empty client id. A payload of more than 80 bytes is told as "<N bytes>".
 *
 * This is an encoder and decoder of the tests' own, on purpose: it shares no error with the
 * broker's.
 */
#ifndef BROKER_PACKET_H
#define BROKER_PACKET_H

#include <stddef.h>

#define PACKET_WORDS_MAX 1024

/* Encodes; returns its size. Fails the story if it does not understand, or has no room. */
size_t packet_encode(const char *words, unsigned char *bytes, size_t size);

/* "82 06 'ab' 00": hexadecimal bytes, and text in quotes. */
size_t packet_encode_hex(const char *hex, unsigned char *bytes, size_t size);

/* A whole packet of `size` bytes; what is wrong with it is told by words, too. */
void packet_describe(const unsigned char *bytes, size_t size, char words[PACKET_WORDS_MAX]);

/* The size of the first packet in `bytes`; 0: its header is incomplete. */
size_t packet_size(const unsigned char *bytes, size_t size);

#endif
