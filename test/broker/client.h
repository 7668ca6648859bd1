/* SPDX-License-Identifier: MIT */
/*
 * A client of a story: a socket, and what has come on it. What a client says and what it expects is
 * in the words of packet.h. Whatever does not come within 5 seconds does not come.
 */
#ifndef BROKER_CLIENT_H
#define BROKER_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "story.h"

#define CLIENT_PATIENCE_MS 5000
#define CLIENT_KEPT_MAX 1024

struct client {
	const char *name; /* for messages */
	int fd;
	unsigned int version; /* of MQTT: 4 (3.1.1) or 5, as its CONNECT said; or 0 */
	bool disguised;       /* the story tells it in 3.1.1, it speaks 5 */
	unsigned char *bytes; /* come, but not looked at */
	size_t size;
	size_t capacity;
	bool ended;                  /* the broker has closed */
	char *kept[CLIENT_KEPT_MAX]; /* packets read ahead, in words */
	unsigned int kept_count;
	unsigned int last_id; /* of what the helpers below have sent */
};

/* Connects a socket and says nothing; from an address of this machine's own. */
struct client *client_open(const char *name);
struct client *client_open_from(const char *name, const char *address);

/* The same where the broker may have died: then the client has ended. */
struct client *client_try(const char *name);

/* Connects and is welcome: CONNECT with these words, of which the id is the first. */
struct client *client_join(const char *words);

/* The same, and the broker has (resume) or has not (join_new) a session for it. */
struct client *client_join_present(const char *words, bool present);

__attribute__((format(printf, 2, 3))) void client_say(struct client *client, const char *format,
                                                      ...);
void client_send(struct client *client, const void *bytes, size_t size);
void client_say_hex(struct client *client, const char *hex);
void client_publish_large(struct client *client, const char *topic, size_t payload);

/* The next packet is this one. */
__attribute__((format(printf, 2, 3))) void client_expect(struct client *client, const char *format,
                                                         ...);

/* The next packet in words, until the next call. NULL: none within the time, or closed. */
const char *client_next(struct client *client, long long milliseconds);

/* Nothing comes for so long. */
void client_expect_silence(struct client *client, long long milliseconds);

/* The broker closes the connection within the time, and says nothing before. */
void client_expect_closed(struct client *client, long long milliseconds);

/* MQTT 5: the next packet begins with these words, and is the last one. */
void client_expect_end(struct client *client, const char *words);

/* The connection is alive. */
void client_ping(struct client *client);

/* SUBSCRIBE; SUBACK grants what was asked. UNSUBSCRIBE likewise. */
void client_subscribe(struct client *client, const char *filters);
void client_unsubscribe(struct client *client, const char *filters);

/* Publishes and has it acknowledged, to the end of the handshake. */
__attribute__((format(printf, 3, 4))) void client_publish(struct client *client, unsigned int qos,
                                                          const char *format, ...);

/* Receives a message and acknowledges it to the end: "topic payload", until the next call. */
const char *client_receive(struct client *client);

/* DISCONNECT; the broker closes. What was still on its way is lost. */
void client_leave(struct client *client);

/* Closes without a word; kill: by a reset. */
void client_vanish(struct client *client);
void client_kill(struct client *client);

#define AT(call) (story_here(__FILE__, __LINE__), call)
#define open_client(...) AT(client_open(__VA_ARGS__))
#define join(...) AT(client_join(__VA_ARGS__))
#define join_new(words) AT(client_join_present(words, false))
#define resume(words) AT(client_join_present(words, true))
#define say(...) AT(client_say(__VA_ARGS__))
#define say_hex(...) AT(client_say_hex(__VA_ARGS__))
#define expect(...) AT(client_expect(__VA_ARGS__))
#define expect_silence(...) AT(client_expect_silence(__VA_ARGS__))
#define expect_closed(client) AT(client_expect_closed(client, CLIENT_PATIENCE_MS))
#define expect_end(...) AT(client_expect_end(__VA_ARGS__))
#define ping(...) AT(client_ping(__VA_ARGS__))
#define subscribe(...) AT(client_subscribe(__VA_ARGS__))
#define unsubscribe(...) AT(client_unsubscribe(__VA_ARGS__))
#define publish(...) AT(client_publish(__VA_ARGS__))
#define receive(...) AT(client_receive(__VA_ARGS__))
#define expect_received(client, words)                                                             \
	(story_here(__FILE__, __LINE__), client_expect_received(client, words))
#define leave(...) AT(client_leave(__VA_ARGS__))

/* What client_receive() gives is this. */
void client_expect_received(struct client *client, const char *words);

#endif
