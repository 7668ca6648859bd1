/* SPDX-License-Identifier: MIT */
/*
 * Packets in words, of MQTT 3.1.1 and of MQTT 5:
 *
 *	CONNECT id [clean] [alive=60] [will=topic] [message=text] [wq=0] [wr] [user=] [password=]
 *		[name=MQTT] [level=4] [v5: level=5] [property ...] [will-property ...]
 *	CONNACK present code			SUBSCRIBE packet-id [property ...] filter:qos ...
 *	PUBLISH [dup] [retain] qN [idN] [property ...] topic payload	SUBACK packet-id code ...
 *	PUBACK packet-id [code], and so on	UNSUBSCRIBE packet-id [property ...] filter ...
 *	PINGREQ, PINGRESP			UNSUBACK packet-id [code ...]
 *	DISCONNECT [code]			AUTH [code]
 *
 * Client ids, topics and filters get the story's name in front ("story/a/b"), which is taken off
 * again when a packet is put into words ("$share/group/a": "$share/group/story/a"); one that starts
 * with ^ is sent as it is, without the ^.
 * "-" is the empty client id. A payload of more than 80 bytes is told as "<N bytes>".
 *
 * What follows is of MQTT 5. In these packets, where no property is named, they stand at the end.
 * Codes from 0x80 on are told as "0x87"; a code that is not there is not told. The options of a
 * filter: "filter:1,nl,rap,rh2", and ",0x40" for any bits. An empty topic is ^.
 *
 *	format= expiry= type= response= correlation= alias= sid=	of messages, of SUBSCRIBE
 *	expiry= receive= alias-max= packet-max= method= data=		of CONNECT and CONNACK
 *	problem= ask-response=						of CONNECT
 *	will-delay=, and will-expiry= and so on				of its will
 *	assigned= alive= qos-max= retains= wildcards= sids= shared= response-info=	of CONNACK
 *	text= (the reason string) server= user:name=value
 *
 * raw=\x0b\x01 are any bytes. A value has no spaces; \xNN is a byte. When told, a space is _ .
 * What the broker must not send is told as "forbidden:name=", "again:name=", "truncated".
 *
 * This is an encoder and decoder of the tests' own, on purpose: it shares no error with the
 * broker's.
 */
#ifndef BROKER_PACKET_H
#define BROKER_PACKET_H

#include <stddef.h>

#define PACKET_WORDS_MAX 1024

/*
 * Encodes; returns its size. Fails the story if it does not understand, or has no room. A CONNECT
 * sets the version, 4 (3.1.1) or 5, which other packets need.
 */
size_t packet_encode(unsigned int *version, const char *words, unsigned char *bytes, size_t size);

/* "82 06 'ab' 00": hexadecimal bytes, and text in quotes. */
size_t packet_encode_hex(const char *hex, unsigned char *bytes, size_t size);

/* A whole packet of `size` bytes; what is wrong with it is told by words, too. */
void packet_describe(unsigned int version, const unsigned char *bytes, size_t size,
                     char words[PACKET_WORDS_MAX]);

/* The size of the first packet in `bytes`; 0: its header is incomplete. */
size_t packet_size(const unsigned char *bytes, size_t size);

#endif
