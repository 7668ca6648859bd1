/* SPDX-License-Identifier: MIT */
/*
 * Why the broker closes a client, or refuses what the client asks for. Each reason has a text for
 * the log, and what the client is told: the return code of a CONNACK of MQTT 3.1.1, or 0 (the
 * client is closed without a word), and the reason code of MQTT 5, or 0 (the client cannot be told,
 * or has not said that it speaks MQTT 5). test/broker/test_refused.c has a row for each reason.
 */
#ifndef BROKER_WHY_H
#define BROKER_WHY_H

#include <stdint.h>

#include "mqtt/reason.h"

#define WHY_LIST(WHY)                                                                              \
	/* closed */                                                                               \
	WHY(ANONYMOUS, 5, REASON_NOT_AUTHORIZED, "anonymous")                                      \
	WHY(NO_PASSWORD, 4, REASON_BAD_PASSWORD, "no password")                                    \
	WHY(WRONG_PASSWORD, 4, REASON_BAD_PASSWORD, "wrong name or password")                      \
	WHY(MAX_LOGINS, 3, REASON_BUSY, "more than --max-logins wait")                             \
	WHY(FILE_CHANGED, 0, REASON_NOT_AUTHORIZED,                                                \
	    "the password file has no such user and password any more")                            \
	WHY(IDENTITY, 5, REASON_NOT_AUTHORIZED,                                                    \
	    "its certificate has no common name that can be a user name")                          \
	WHY(CERTIFICATE, 0, REASON_NOT_AUTHORIZED, "its certificate is not accepted any more")     \
	WHY(VERSION, 1, REASON_VERSION, "another version of MQTT")                                 \
	WHY(PROTOCOL, 0, 0, "another protocol than MQTT")                                          \
	WHY(NO_ID, 2, REASON_CLIENT_ID, "no client id, but a session to keep")                     \
	WHY(MAX_SESSIONS, 3, REASON_QUOTA, "more than --max-sessions are kept")                    \
	WHY(MAX_STRANGERS, 0, REASON_BUSY,                                                         \
	    "strangers hold more than --max-strangers, and this one the most")                     \
	WHY(MAX_CONNECT, 0, REASON_PACKET_TOO_LARGE,                                               \
	    "more than --max-connect before it was let in")                                        \
	WHY(NO_CONNECT, 0, REASON_PROTOCOL_ERROR, "no CONNECT")                                    \
	WHY(CONNECT_AGAIN, 0, REASON_PROTOCOL_ERROR, "a second CONNECT")                           \
	WHY(MALFORMED, 0, REASON_MALFORMED, "malformed packet")                                    \
	WHY(MAX_PACKET, 0, REASON_PACKET_TOO_LARGE, "packet larger than --max-packet")             \
	WHY(AGAINST, 0, REASON_PROTOCOL_ERROR, "packet against the protocol")                      \
	WHY(TOPIC, 0, REASON_TOPIC_INVALID, "an invalid topic name")                               \
	WHY(FILTER, 0, REASON_FILTER_INVALID, "an invalid topic filter")                           \
	WHY(ALIAS, 0, REASON_ALIAS_INVALID, "topic alias higher than --max-topic-alias")           \
	WHY(RECEIVE_MAXIMUM, 0, REASON_RECEIVE_MAXIMUM,                                            \
	    "more than --receive-maximum messages that are not acknowledged")                      \
	WHY(METHOD, 0, REASON_BAD_METHOD, "unknown authentication method")                         \
	WHY(AUTH, 0, REASON_PROTOCOL_ERROR, "AUTH without an authentication method")               \
	WHY(EXPIRY, 0, REASON_PROTOCOL_ERROR,                                                      \
	    "a session that ends with its connection cannot be given an expiry")                   \
	WHY(RETAIN, 0, REASON_RETAIN_UNSUPPORTED,                                                  \
	    "a message to be retained, with --retain-available=false")                             \
	WHY(WRONG_ACK, 0, REASON_PROTOCOL_ERROR,                                                   \
	    "an acknowledgement of the wrong kind for its packet id")                              \
	WHY(TAKEN_OVER, 0, REASON_TAKEN_OVER, "taken over: its client id has come again")          \
	WHY(TLS_HANDSHAKE, 0, 0, "TLS handshake")                                                  \
	WHY(TLS_BROKEN, 0, 0, "broken TLS")                                                        \
	WHY(LOST, 0, 0, "lost: the connection has ended without a DISCONNECT")                     \
	WHY(NETWORK, 0, 0, "network")                                                              \
	WHY(LATE_CONNECT, 0, REASON_UNSPECIFIED, "no CONNECT within --connect-timeout seconds")    \
	WHY(LATE_PACKET, 0, REASON_UNSPECIFIED,                                                    \
	    "a packet not finished within --packet-timeout seconds")                               \
	WHY(SILENT, 0, REASON_KEEP_ALIVE, "silent for longer than its keep alive allows")          \
	WHY(STUCK, 0, REASON_UNSPECIFIED, "stuck: took nothing for --stuck-timeout seconds")       \
	WHY(NO_MEMORY, 3, REASON_BUSY, "no memory")                                                \
	WHY(STORE, 3, REASON_QUOTA, "the store takes nothing")                                     \
	WHY(SHUTDOWN, 0, REASON_SHUTTING_DOWN, "the broker ends")                                  \
	/* refused */                                                                              \
	WHY(DENIED, 0, REASON_NOT_AUTHORIZED, "--deny-subscribe")                                  \
	WHY(ACCESS, 0, REASON_NOT_AUTHORIZED, "the access file does not allow it")                 \
	WHY(SHARED, 0, REASON_FILTER_INVALID, "no group, or no filter, behind $share/")            \
	WHY(MAX_FILTERS, 0, REASON_QUOTA, "more than --max-filters")                               \
	WHY(MAX_FILTER_BYTES, 0, REASON_QUOTA, "more than --max-filter-bytes")                     \
	WHY(OWN_TOPIC, 0, REASON_NOT_AUTHORIZED, "only the broker publishes to $SYS")

/* WHY_NONE: the client wanted it; nothing is refused. */
#define WHY_NAME(name, return_code, reason, text) WHY_##name,
enum why { WHY_NONE, WHY_LIST(WHY_NAME) };
#undef WHY_NAME

const char *why_text(enum why why);
uint8_t why_return_code(enum why why);
uint8_t why_reason(enum why why);

#endif
