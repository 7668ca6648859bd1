/* SPDX-License-Identifier: MIT */
/*
 * A server whose clients read slowly, or not at all. One thread publishes messages to all clients;
 * another sleeps in epoll_wait until a full socket has room again. No thread ever sleeps for a
 * client, unless the client must miss nothing.
 *
 *   session  A resource for each client. Each message is a task that writes to the client's
 *            socket, on whichever thread runs the task. If the socket is full, the task detaches
 *            with BATON_DETACH_EXCLUSIVE: its function returns, but the session stays busy, and
 *            later messages wait behind the one that is half written. The epoll thread writes the
 *            rest, and completes the token: the session goes on.
 *   bound    At most 50 messages wait for a client. Beyond that, a submit is refused, and the
 *            publisher drops the message. For a client that must miss nothing, the submit waits.
 *   timer    A client that takes more than a second for one message is hung up on. The epoll thread
 *            then finds the socket shut, and ends the message. (A deadline of the token alone would
 *            let the next message begin in the middle of this one.)
 *
 * Each client checks that it reads whole messages, in order. At the end each message has been read,
 * missed or cut off.
 */
#include "check.h"

#include <baton.h>
#include <baton/bound.h>
#include <baton/detach.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES 3000
#define LENGTH 1024 /* of a message */
#define CLIENTS 3   /* one of each sort */
#define WAITING 50  /* messages, for one client */

enum sort { FAST, SLOW, STUCK };
static const char *const sorts[] = {"must miss nothing", "reads slowly", "reads nothing"};

static struct session {
	struct baton_resource resource;
	struct baton_bound bound;
	struct baton_detached token;
	struct baton_timer patience; /* its function is a task of `hanging_up` */
	int fd;
	/* Touched by the session's task; while that is detached, by the epoll thread alone. */
	char message[LENGTH];
	size_t sent; /* of it */
	bool gone;   /* the client, or the server has hung up */
	int cut;     /* messages that came for a client that was gone */
	/* Touched by the publisher. */
	int missed;
	/* The client's side. */
	enum sort sort;
	int client;
	int read;
	pthread_t thread;
} sessions[CLIENTS];

static const struct baton_bound_config bounds[] = {
	[FAST] = {.tasks_max = WAITING, .policy = BATON_BOUND_WAIT},
	[SLOW] = {.tasks_max = WAITING, .policy = BATON_BOUND_REFUSE},
	[STUCK] = {.tasks_max = WAITING, .policy = BATON_BOUND_REFUSE},
};

static struct baton_resource hanging_up = BATON_RESOURCE_INIT(NULL);
static int epoll;

/* ---- The server ---- */

struct delivery {
	struct baton_task task;
	struct session *session;
	int number;
};

/* Writes what the socket takes. Returns true if the message is over: written, or cut off. */
static bool write_some(struct session *session)
{
	while (session->sent < LENGTH && !session->gone) {
		ssize_t written = send(session->fd, session->message + session->sent,
		                       LENGTH - session->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (written >= 0)
			session->sent += (size_t)written;
		else if (errno == EAGAIN)
			return false;
		else
			session->gone = true;
	}
	session->cut += session->gone;
	return true;
}

static int hang_up(struct baton_timer *timer)
{
	struct session *session = baton_container_of(timer, struct session, patience);

	CHECK(shutdown(session->fd, SHUT_RDWR) == 0);
	return 0;
}

/* The epoll thread writes from now on, whenever the socket has room. */
static void watch(struct session *session)
{
	struct epoll_event event = {.events = EPOLLOUT, .data.ptr = session};

	CHECK(baton_timer_arm_after(&session->patience, BATON_SECOND) == 0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, session->fd, &event) == 0);
}

static void unwatch(struct session *session)
{
	CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, session->fd, NULL) == 0);
	baton_timer_disarm(&session->patience);
}

/* A task of the session. */
static int deliver(struct baton_task *task)
{
	struct delivery *delivery = baton_container_of(task, struct delivery, task);
	struct session *session = delivery->session;

	memset(session->message, '.', LENGTH);
	(void)snprintf(session->message, LENGTH, "%d", delivery->number);
	session->sent = 0;
	if (!write_some(session)) {
		CHECK(baton_detach(&session->token, BATON_DETACH_EXCLUSIVE) == 0);
		watch(session); /* from here on the session is the epoll thread's */
	}
	free(delivery);
	return 0;
}

static void *epoll_main(void *arg)
{
	struct epoll_event event;
	struct session *session;

	for (;;) {
		while (epoll_wait(epoll, &event, 1, -1) != 1)
			CHECK(errno == EINTR);
		session = event.data.ptr;
		if (session == NULL)
			return arg;
		if (!write_some(session))
			continue;
		unwatch(session); /* first: the next task may watch the socket again */
		CHECK(baton_detached_complete(&session->token, 0, NULL) == 0);
	}
}

static void publish(struct session *session, int number)
{
	struct delivery *delivery = malloc(sizeof(*delivery));
	int status;

	CHECK(delivery != NULL);
	delivery->session = session;
	delivery->number = number;
	baton_task_init(&delivery->task, deliver, NULL); /* the task is a member of the delivery */
	status = baton_submit(&session->resource, &delivery->task);
	if (status == 0)
		return; /* the delivery is baton's now, and frees itself when it runs */
	CHECK(status == -EAGAIN);
	free(delivery); /* refused: still ours, and not touched */
	session->missed++;
}

static void end(struct session *session)
{
	CHECK(baton_resource_close(&session->resource) == 0);
	CHECK(baton_resource_await(&session->resource) == 0);
	CHECK(baton_timer_stop_wait(&session->patience) == 0);
	CHECK(close(session->fd) == 0);
}

/* ---- The clients ---- */

static void *client_main(void *arg)
{
	static const struct timespec pause = {.tv_nsec = 100000};
	struct session *session = arg;
	char message[LENGTH];
	int last = -1;

	while (recv(session->client, message, LENGTH, MSG_WAITALL) == LENGTH) {
		CHECK(atoi(message) > last && message[LENGTH - 1] == '.');
		last = atoi(message);
		session->read++;
		if (session->sort == SLOW)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static void begin(struct session *session, enum sort sort)
{
	int ends[2];

	baton_resource_init(&session->resource, NULL);
	baton_bound_init(&session->bound, &bounds[sort]);
	baton_resource_set_bound(&session->resource, &session->bound);
	baton_detached_init(&session->token);
	baton_timer_init(&session->patience, NULL, &hanging_up, hang_up);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	session->fd = ends[0];
	session->client = ends[1];
	session->sort = sort;
	if (sort != STUCK)
		CHECK(pthread_create(&session->thread, NULL, client_main, session) == 0);
}

int main(void)
{
	struct epoll_event stop = {.events = EPOLLIN, .data.ptr = NULL};
	pthread_t thread;
	int pair[2];

	epoll = epoll_create1(EPOLL_CLOEXEC);
	CHECK(epoll >= 0 && pipe(pair) == 0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &stop) == 0);
	CHECK(pthread_create(&thread, NULL, epoll_main, NULL) == 0);
	for (int i = 0; i < CLIENTS; i++)
		begin(&sessions[i], (enum sort)i);
	printf("One thread sends %d messages to each of %d clients.\n", MESSAGES, CLIENTS);
	for (int number = 0; number < MESSAGES; number++)
		for (int i = 0; i < CLIENTS; i++)
			publish(&sessions[i], number);
	for (int i = 0; i < CLIENTS; i++) {
		struct session *session = &sessions[i];

		end(session);
		if (session->sort != STUCK)
			CHECK(pthread_join(session->thread, NULL) == 0);
		CHECK(close(session->client) == 0);
		printf("One %s: %d were read, %d missed, %d cut off.\n", sorts[session->sort],
		       session->read, session->missed, session->cut);
		if (session->sort == STUCK)
			CHECK(session->missed + session->cut > 0);
		else
			CHECK(session->read + session->missed + session->cut == MESSAGES);
		CHECK(session->missed == 0 || session->sort != FAST);
	}
	CHECK(close(pair[1]) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(close(pair[0]) == 0 && close(epoll) == 0);
	return 0;
}
