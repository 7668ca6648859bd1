/* SPDX-License-Identifier: MIT */
/*
 * Talks to the chat servers, which it starts, over loopback: rooms, order, a client that does not
 * read, one that vanishes.
 *
 *	talk SERVER...
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 120
#define DRY_MS 300
#define TALKERS 8
#define ROUNDS 10
#define LINES 10    /* of one talker in a round: no reader can miss any */
#define FLOOD 20000 /* lines for one that does not read: beyond what the sockets hold */
#define FLOOD_AT_ONCE 50
#define PADDING 400

#define MUST(condition)                                                                            \
	((condition) ? (void)0                                                                     \
	             : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition),    \
	                exit(EXIT_FAILURE)))

struct peer {
	int fd;
	size_t length;
	char bytes[8192];
	char line[1024]; /* the last one that was read */
};

static struct sockaddr_in server = {.sin_family = AF_INET};

static void tell(struct peer *peer, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	size_t length;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text, sizeof(text) - 1, format, arguments);
	va_end(arguments);
	MUST(size > 0 && (size_t)size < sizeof(text) - 1);
	length = (size_t)size;
	text[length++] = '\n';
	for (size_t sent = 0; sent < length;) {
		ssize_t more = send(peer->fd, text + sent, length - sent, MSG_NOSIGNAL);

		MUST(more > 0);
		sent += (size_t)more;
	}
}

/* The next line; false: none has come for so long. */
static bool hear_within(struct peer *peer, int timeout_ms)
{
	for (;;) {
		const char *end = memchr(peer->bytes, '\n', peer->length);
		struct pollfd poll_fd = {peer->fd, POLLIN, 0};
		ssize_t more;

		if (end) {
			size_t length = (size_t)(end - peer->bytes);

			MUST(length < sizeof(peer->line));
			memcpy(peer->line, peer->bytes, length);
			peer->line[length] = 0;
			peer->length -= length + 1;
			memmove(peer->bytes, end + 1, peer->length);
			return true;
		}
		if (poll(&poll_fd, 1, timeout_ms) == 0)
			return false;
		more = read(peer->fd, peer->bytes + peer->length,
		            sizeof(peer->bytes) - peer->length);
		MUST(more > 0);
		peer->length += (size_t)more;
	}
}

static const char *hear(struct peer *peer)
{
	MUST(hear_within(peer, PATIENCE_S * 1000));
	return peer->line;
}

static void enter(struct peer *peer, const char *room, int receive_buffer)
{
	peer->length = 0;
	peer->fd = socket(AF_INET, SOCK_STREAM, 0);
	MUST(peer->fd >= 0);
	if (receive_buffer)
		MUST(setsockopt(peer->fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer,
		                sizeof(receive_buffer)) == 0);
	MUST(connect(peer->fd, (const struct sockaddr *)&server, sizeof(server)) == 0);
	tell(peer, "%s", room);
	MUST(strcmp(hear(peer), "* welcome") == 0);
}

static void go(struct peer *peer)
{
	MUST(close(peer->fd) == 0);
}

/* Everybody in a room hears everybody else, in order, and nobody of another room. */
static void rooms(void)
{
	static struct peer talkers[TALKERS];
	static struct peer elsewhere[2];
	int next[TALKERS][TALKERS] = {{0}};

	for (int i = 0; i < TALKERS; i++)
		enter(&talkers[i], "here", 0);
	for (int i = 0; i < 2; i++)
		enter(&elsewhere[i], "elsewhere", 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < TALKERS; i++)
			for (int n = 0; n < LINES; n++)
				tell(&talkers[i], "%d %d", i, round * LINES + n);
		for (int i = 0; i < TALKERS; i++)
			for (int n = 0; n < (TALKERS - 1) * LINES; n++) {
				int from = -1;
				int number = -1;

				MUST(sscanf(hear(&talkers[i]), "%d %d", &from, &number) == 2);
				MUST(from >= 0 && from < TALKERS && from != i);
				MUST(number == next[i][from]++);
			}
	}
	tell(&elsewhere[0], "only this");
	MUST(strcmp(hear(&elsewhere[1]), "only this") == 0);
	for (int i = 0; i < TALKERS; i++)
		go(&talkers[i]);
	for (int i = 0; i < 2; i++)
		go(&elsewhere[i]);
}

/* A client that does not read gets the first lines that are said. It is told how many lines it has
 * missed; no other client misses any. */
static void slow_reader(void)
{
	static struct peer talker, reader, sleeper;
	static char padding[PADDING];
	int ends = 0;
	unsigned heard = 0;
	unsigned missed = 0;

	memset(padding, '.', sizeof(padding) - 1);
	enter(&talker, "slow", 0);
	enter(&reader, "slow", 0);
	enter(&sleeper, "slow", 4096);
	for (int i = 0; i < FLOOD;) {
		int first = i;

		for (; i < first + FLOOD_AT_ONCE; i++)
			tell(&talker, "%d %s", i, padding);
		for (int n = first; n < i; n++)
			MUST(atoi(hear(&reader)) == n);
	}
	/* The lines that the reader still gets, until it has heard an end: a line gets through when
	 * none waits. */
	for (unsigned last = 0;;) {
		unsigned more;

		if (!hear_within(&sleeper, ends ? DRY_MS : 0)) {
			ends++;
			MUST(ends < PATIENCE_S);
			tell(&talker, "end");
			continue;
		}
		if (sscanf(sleeper.line, "* %u missed", &more) == 1) {
			missed += more;
			continue;
		}
		heard++;
		if (strcmp(sleeper.line, "end") == 0)
			break;
		MUST((unsigned)atoi(sleeper.line) >= last);
		last = (unsigned)atoi(sleeper.line) + 1;
	}
	MUST(missed > 0);
	MUST(heard + missed <= (unsigned)(FLOOD + ends));
	/* Those that were said before the end that it has heard are heard, or told as missed. */
	MUST(heard + missed >= FLOOD + 1);
	go(&talker);
	go(&reader);
	go(&sleeper);
}

/* Somebody who goes while lines wait for it. */
static void vanishing(void)
{
	static struct peer talker, reader, sleepers[4];
	static char padding[PADDING];

	memset(padding, '.', sizeof(padding) - 1);
	enter(&talker, "brief", 0);
	enter(&reader, "brief", 0);
	for (int i = 0; i < 4; i++)
		enter(&sleepers[i], "brief", 4096);
	for (int i = 0; i < FLOOD / 2; i++) {
		tell(&talker, "%d %s", i, padding);
		if (i % (FLOOD / 8) == FLOOD / 16)
			go(&sleepers[i / (FLOOD / 8)]);
		MUST(atoi(hear(&reader)) == i);
	}
	go(&talker);
	go(&reader);
}

static const struct story {
	const char *name;
	void (*tell)(void);
} stories[] = {
	{"rooms", rooms},
	{"slow_reader", slow_reader},
	{"vanishing", vanishing},
};

static pid_t start(const char *path)
{
	char port[16] = "";
	ssize_t length;
	int ends[2];
	pid_t child;

	MUST(pipe(ends) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		MUST(dup2(ends[1], STDOUT_FILENO) >= 0);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	MUST(close(ends[1]) == 0);
	length = read(ends[0], port, sizeof(port) - 1);
	MUST(length > 0);
	MUST(close(ends[0]) == 0);
	server.sin_port = htons((uint16_t)atoi(port));
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return child;
}

/* In a process of its own: a story ends at the first thing that is not so. */
static bool told(const struct story *story)
{
	int status;
	pid_t child = fork();

	MUST(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(3 * PATIENCE_S);
		story->tell();
		_exit(EXIT_SUCCESS);
	}
	MUST(waitpid(child, &status, 0) == child);
	return status == 0;
}

int main(int argc, char **argv)
{
	int ran = 0;
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		pid_t child = start(argv[i]);
		static struct peer guest;
		int status;

		for (size_t n = 0; n < sizeof(stories) / sizeof(*stories); n++) {
			bool good = told(&stories[n]);

			fprintf(stderr, "[%s] %s: %s\n", good ? "PASS" : "FAIL", argv[i],
			        stories[n].name);
			ran++;
			failed += !good;
		}
		/* It ends, and ends well, though somebody is still there. */
		enter(&guest, "late", 0);
		MUST(kill(child, SIGTERM) == 0);
		MUST(waitpid(child, &status, 0) == child);
		if (status)
			fprintf(stderr, "[FAIL] %s: ended with status %#x\n", argv[i], status);
		ran++;
		failed += status != 0;
	}
	printf("[====] Synthesis: Tested: %d | Passing: %d | Failing: %d\n", ran, ran - failed,
	       failed);
	return failed != 0;
}
