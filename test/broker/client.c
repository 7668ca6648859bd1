/* SPDX-License-Identifier: MIT */
/* A client of a story; see client.h. */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "disguise.h"
#include "packet.h"
#include "server.h"

#define SAID_MAX (PACKET_WORDS_MAX + 4096)

static char *client_words(const char *format, va_list arguments)
{
	static char words[SAID_MAX];
	const int size = vsnprintf(words, sizeof(words), format, arguments);

	if (size < 0 || (size_t)size >= sizeof(words))
		story_fail("too many words");
	return words;
}

/* E2E_TRACE=1, with --verbose: everything that is said. */
static void trace(const struct client *client, const char *arrow, const char *words)
{
	if (getenv("E2E_TRACE") != NULL)
		fprintf(stderr, "%lld %s %s %s\n", story_clock() % 100000, client->name, arrow,
		        words);
}

struct client *client_open(const char *name)
{
	return client_open_from(name, "127.0.0.1");
}

static struct client *client_connect(const char *name, const char *from)
{
	struct client *client = calloc(1, sizeof(*client));
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)server_port()),
		.sin_addr = {htonl(INADDR_LOOPBACK)},
	};
	const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {inet_addr(from)}};
	const int on = 1;

	client->name = name;
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	client->ended =
		client->fd < 0 ||
		bind(client->fd, (const struct sockaddr *)&own, sizeof(own)) != 0 ||
		connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) != 0;
	if (!client->ended)
		setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return client;
}

struct client *client_open_from(const char *name, const char *from)
{
	struct client *client = client_connect(name, from);

	if (client->ended)
		story_fail("%s: connect: %s", name, strerror(errno));
	return client;
}

struct client *client_try(const char *name)
{
	return client_connect(name, "127.0.0.1");
}

/* Of a CONNECT's words: the id, if it is not too long for a message. */
static size_t name_size(const char *words)
{
	const size_t size = strcspn(words, " ");

	return size < 20 ? size : 20;
}

/* The next packet begins with these words: MQTT 5 may have more behind them. */
static const char *client_expect_start(struct client *client, const char *words)
{
	const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	const size_t size = strlen(words);

	if (got == NULL || strncmp(got, words, size) != 0 ||
	    (got[size] != '\0' && got[size] != ' '))
		story_fail("%s: expected %s, got %s", client->name, words,
		           got != NULL     ? got
		           : client->ended ? "disconnected"
		                           : "nothing");
	return got + size;
}

struct client *client_join(const char *words)
{
	struct client *client = client_open(strndup(words, name_size(words)));
	const char *more;

	client_say(client, "CONNECT %s", words);
	more = client_expect_start(client, "CONNACK");
	if (strncmp(more + 2, " 0", 2) != 0 || (more[4] != '\0' && more[4] != ' '))
		story_fail("%s: expected CONNACK, got CONNACK%s", client->name, more);
	return client;
}

struct client *client_join_present(const char *words, bool present)
{
	struct client *client = client_open(strndup(words, name_size(words)));

	client_say(client, "CONNECT %s", words);
	client_expect_start(client, present ? "CONNACK 1 0" : "CONNACK 0 0");
	return client;
}

/* Bytes that a story has made for 3.1.1 mean nothing to a client that speaks MQTT 5 instead. */
static void no_disguise(const struct client *client)
{
	if (client->disguised)
		story_skip("says bytes of its own");
}

static void send_all(struct client *client, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		const ssize_t sent = send(client->fd, at, size, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return; /* closed: whether rightly, the story will tell */
		at += sent;
		size -= (size_t)sent;
	}
}

void client_send(struct client *client, const void *bytes, size_t size)
{
	no_disguise(client);
	send_all(client, bytes, size);
}

void client_say(struct client *client, const char *format, ...)
{
	unsigned char bytes[SAID_MAX + 16];
	va_list arguments;
	char *words;
	size_t size;

	va_start(arguments, format);
	words = client_words(format, arguments);
	va_end(arguments);
	if (strncmp(words, "CONNECT ", 8) == 0)
		client->disguised = disguised() && disguise_connect(words, SAID_MAX);
	trace(client, "->", words);
	size = packet_encode(&client->version, words, bytes, sizeof(bytes));
	send_all(client, bytes, size);
}

void client_say_hex(struct client *client, const char *hex)
{
	unsigned char bytes[SAID_MAX];

	client_send(client, bytes, packet_encode_hex(hex, bytes, sizeof(bytes)));
}

void client_publish_large(struct client *client, const char *topic, size_t payload)
{
	const size_t name = strlen(story_name()) + 1 + strlen(topic);
	unsigned char *bytes = calloc(1, name + payload + 16);
	const size_t no_properties = client->version == 5 ? 1 : 0;
	size_t rest = 2 + name + no_properties + payload, at = 0;

	bytes[at++] = 0x30;
	do {
		bytes[at++] = (unsigned char)((rest & 127) | (rest > 127 ? 128 : 0));
		rest >>= 7;
	} while (rest > 0);
	bytes[at++] = (unsigned char)(name >> 8);
	bytes[at++] = (unsigned char)name;
	at += (size_t)sprintf((char *)bytes + at, "%s/%s", story_name(), topic);
	if (no_properties > 0)
		bytes[at++] = 0;
	memset(bytes + at, 'x', payload);
	send_all(client, bytes, at + payload);
	free(bytes);
}

/* Reads once what there is, waiting for it until the deadline. False: nothing more will come. */
static bool client_read(struct client *client, long long deadline)
{
	struct pollfd poll_fd = {client->fd, POLLIN, 0};
	const long long left = deadline - story_clock();
	ssize_t got;

	if (client->ended || poll(&poll_fd, 1, left > 0 ? (int)left : 0) <= 0)
		return false;
	if (client->capacity - client->size < 65536) {
		client->capacity = client->capacity * 2 + 65536;
		client->bytes = realloc(client->bytes, client->capacity);
	}
	got = recv(client->fd, client->bytes + client->size, client->capacity - client->size, 0);
	if (got <= 0) {
		client->ended = true;
		return false;
	}
	client->size += (size_t)got;
	return true;
}

const char *client_next(struct client *client, long long milliseconds)
{
	static char words[PACKET_WORDS_MAX];
	const long long deadline = story_clock() + milliseconds;
	size_t size;

	if (client->kept_count > 0) {
		snprintf(words, sizeof(words), "%s", client->kept[0]);
		free(client->kept[0]);
		client->kept_count--;
		memmove(client->kept, client->kept + 1, client->kept_count * sizeof(char *));
		return words;
	}
	for (;;) {
		size = packet_size(client->bytes, client->size);
		if (size > 0 && size <= client->size)
			break;
		if (!client_read(client, deadline))
			return NULL;
	}
	packet_describe(client->version, client->bytes, size, words);
	trace(client, "<-", words);
	client->size -= size;
	memmove(client->bytes, client->bytes + size, client->size);
	if (client->disguised && !disguise_told(words))
		return client_next(client, deadline - story_clock());
	return words;
}

void client_expect(struct client *client, const char *format, ...)
{
	char words[SAID_MAX];
	va_list arguments;
	const char *got;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	if (got == NULL)
		story_fail("%s: expected %s, %s", client->name, words,
		           client->ended ? "was disconnected" : "got nothing");
	if (strcmp(got, words) != 0)
		story_fail("%s: expected %s, got %s", client->name, words, got);
}

void client_expect_silence(struct client *client, long long milliseconds)
{
	const char *got = client_next(client, milliseconds);

	if (got != NULL)
		story_fail("%s: expected nothing, got %s", client->name, got);
	if (client->ended)
		story_fail("%s: was disconnected", client->name);
}

void client_expect_closed(struct client *client, long long milliseconds)
{
	const char *got = client_next(client, story_limit(milliseconds));

	if (got != NULL)
		story_fail("%s: expected to be disconnected, got %s", client->name, got);
	if (!client->ended)
		story_fail("%s: expected to be disconnected, got nothing", client->name);
}

void client_expect_end(struct client *client, const char *words)
{
	client_expect_start(client, words);
	client_expect_closed(client, CLIENT_PATIENCE_MS);
}

void client_ping(struct client *client)
{
	client_say(client, "PINGREQ");
	client_expect(client, "PINGRESP");
}

void client_subscribe(struct client *client, const char *filters)
{
	char answer[PACKET_WORDS_MAX];
	size_t at = 0;

	client->last_id++;
	client_say(client, "SUBSCRIBE %u %s", client->last_id, filters);
	for (const char *colon = strchr(filters, ':'); colon; colon = strchr(colon + 1, ':')) {
		answer[at++] = ' ';
		answer[at++] = colon[1];
	}
	answer[at] = '\0';
	client_expect(client, "SUBACK %u%s", client->last_id, answer);
}

void client_unsubscribe(struct client *client, const char *filters)
{
	char answer[PACKET_WORDS_MAX] = "";

	client->last_id++;
	client_say(client, "UNSUBSCRIBE %u %s", client->last_id, filters);
	for (const char *at = filters; client->version == 5 && !client->disguised && *at != '\0';) {
		strcat(answer, " 0");
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	client_expect(client, "UNSUBACK %u%s", client->last_id, answer);
}

/* The acknowledgement; with MQTT 5 it may say that nobody has subscribed. */
static void client_expect_success(struct client *client, const char *words)
{
	const char *more = client_expect_start(client, words);

	if (*more != '\0' && strcmp(more, " 16") != 0)
		story_fail("%s: expected %s, got %s%s", client->name, words, words, more);
}

void client_publish(struct client *client, unsigned int qos, const char *format, ...)
{
	va_list arguments;
	char *words, answer[32];

	va_start(arguments, format);
	words = strdup(client_words(format, arguments));
	va_end(arguments);
	if (qos == 0) {
		client_say(client, "PUBLISH q0 %s", words);
	} else {
		client->last_id++;
		client_say(client, "PUBLISH q%u id%u %s", qos, client->last_id, words);
		snprintf(answer, sizeof(answer), "%s %u", qos == 1 ? "PUBACK" : "PUBREC",
		         client->last_id);
		client_expect_success(client, answer);
	}
	if (qos == 2) {
		client_say(client, "PUBREL %u", client->last_id);
		client_expect(client, "PUBCOMP %u", client->last_id);
	}
	free(words);
}

/* The end of a QoS 2 handshake; keeps for later what other messages come meanwhile. */
static void complete(struct client *client, unsigned int id)
{
	const unsigned int before = client->kept_count;
	char *kept[CLIENT_KEPT_MAX], pubrel[32];
	const char *got;

	memcpy(kept, client->kept, sizeof(kept));
	client->kept_count = 0;
	client_say(client, "PUBREC %u", id);
	snprintf(pubrel, sizeof(pubrel), "PUBREL %u", id);
	for (unsigned int count = before;; count++) {
		got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
		if (got == NULL || count == CLIENT_KEPT_MAX)
			story_fail("%s: expected %s, got nothing", client->name, pubrel);
		if (strcmp(got, pubrel) == 0) {
			client->kept_count = count;
			break;
		}
		kept[count] = strdup(got);
	}
	memcpy(client->kept, kept, sizeof(kept));
	client_say(client, "PUBCOMP %u", id);
}

const char *client_receive(struct client *client)
{
	static char message[PACKET_WORDS_MAX];
	const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	const char *at = got != NULL ? strstr(got, " q") : NULL;
	unsigned int id = 0;

	if (at == NULL || strncmp(got, "PUBLISH", 7) != 0)
		story_fail("%s: expected a message, got %s", client->name,
		           got != NULL     ? got
		           : client->ended ? "disconnected"
		                           : "nothing");
	if (at[2] != '0' && sscanf(at + 3, " id%u", &id) != 1)
		story_fail("%s: no packet id: %s", client->name, got);
	/* Behind the QoS and the packet id. */
	snprintf(message, sizeof(message), "%s", at[2] == '0' ? at + 4 : strchr(at + 4, ' ') + 1);
	if (at[2] == '1')
		client_say(client, "PUBACK %u", id);
	if (at[2] == '2')
		complete(client, id);
	return message;
}

void client_expect_received(struct client *client, const char *words)
{
	const char *got = client_receive(client);

	if (strcmp(got, words) != 0)
		story_fail("%s: expected %s, got %s", client->name, words, got);
}

void client_leave(struct client *client)
{
	const long long deadline = story_clock() + story_limit(CLIENT_PATIENCE_MS);

	client_say(client, "DISCONNECT");
	while (client_read(client, deadline))
		client->size = 0;
	if (!client->ended)
		story_fail("%s: still connected after its DISCONNECT", client->name);
	client_vanish(client);
}

void client_vanish(struct client *client)
{
	close(client->fd);
	client->fd = -1;
	client->ended = true;
}

void client_kill(struct client *client)
{
	const struct linger linger = {1, 0};

	setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	client_vanish(client);
}
