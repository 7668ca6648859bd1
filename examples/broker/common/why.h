/* SPDX-License-Identifier: MIT */
/*
 * Why the broker closes a client, or refuses what the client asks for: each reason, as it stands in
 * the log. test/broker/test_refused.c has a row for each of them.
 */
#ifndef BROKER_WHY_H
#define BROKER_WHY_H

#define WHY_LIST(WHY)                                                                              \
	/* closed */                                                                               \
	WHY(ANONYMOUS, "anonymous")                                                                \
	WHY(NO_PASSWORD, "no password")                                                            \
	WHY(WRONG_PASSWORD, "wrong name or password")                                              \
	WHY(MAX_LOGINS, "more than --max-logins wait")                                             \
	WHY(FILE_CHANGED, "the password file has no such user and password any more")              \
	WHY(VERSION, "another version of MQTT")                                                    \
	WHY(PROTOCOL, "another protocol than MQTT")                                                \
	WHY(NO_ID, "no client id, but a session to keep")                                          \
	WHY(MAX_SESSIONS, "more than --max-sessions are kept")                                     \
	WHY(MAX_STRANGERS, "strangers hold more than --max-strangers, and this one the most")      \
	WHY(MAX_CONNECT, "more than --max-connect before it was let in")                           \
	WHY(NO_CONNECT, "no CONNECT")                                                              \
	WHY(CONNECT_AGAIN, "a second CONNECT")                                                     \
	WHY(MALFORMED, "malformed packet")                                                         \
	WHY(MAX_PACKET, "packet larger than --max-packet")                                         \
	WHY(WRONG_ACK, "an acknowledgement of the wrong kind for its packet id")                   \
	WHY(TAKEN_OVER, "taken over: its client id has come again")                                \
	WHY(TLS_HANDSHAKE, "TLS handshake")                                                        \
	WHY(TLS_BROKEN, "broken TLS")                                                              \
	WHY(LATE_CONNECT, "no CONNECT within --connect-timeout seconds")                           \
	WHY(LATE_PACKET, "a packet not finished within --packet-timeout seconds")                  \
	WHY(SILENT, "silent for longer than its keep alive allows")                                \
	WHY(STUCK, "stuck: took nothing for --stuck-timeout seconds")                              \
	WHY(NO_MEMORY, "no memory")                                                                \
	WHY(STORE, "the store takes nothing")                                                      \
	WHY(SHUTDOWN, "the broker ends")                                                           \
	/* refused */                                                                              \
	WHY(DENIED, "--deny-subscribe")                                                            \
	WHY(SHARED, "shared subscriptions are not supported")                                      \
	WHY(MAX_FILTERS, "more than --max-filters")                                                \
	WHY(MAX_FILTER_BYTES, "more than --max-filter-bytes")                                      \
	WHY(OWN_TOPIC, "only the broker publishes to $SYS")

#define WHY_TEXT(name, text) __attribute__((unused)) static const char WHY_##name[] = text;
WHY_LIST(WHY_TEXT)
#undef WHY_TEXT

#endif
