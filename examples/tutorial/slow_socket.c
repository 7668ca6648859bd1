/* SPDX-License-Identifier: MIT */
/*
 * A session whose client reads slowly. A message that does not fit into the socket keeps the
 * session: its task detaches itself with BATON_DETACH_EXCLUSIVE, and a watch of the socket sends
 * the rest. The next message is sent after it. No thread waits for the client.
 */
#include "../check.h"

#include <baton.h>
#include <baton/detach.h>
#include <baton/io.h>

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- In baton-tutorial(7) ---- */
struct session {
	struct baton_resource resource;
	int fd;
	struct baton_io writable; /* its function runs on the resource `network` */
	struct message *sending;
};

struct message {
	struct baton_task task;
	struct baton_future future;
	struct baton_detached token;
	struct session *session;
	size_t sent, size;
	char text[1 << 20];
};

static struct baton_resource network = BATON_RESOURCE_INIT(NULL);

/* Sends what the socket takes. 0: all is sent; -EAGAIN: the socket is full. */
static int send_some(struct message *message)
{
	while (message->sent < message->size) {
		ssize_t n = send(message->session->fd, message->text + message->sent,
		                 message->size - message->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		message->sent += (size_t)n;
	}
	return 0;
}

/* A task of the session: the socket takes all, or the rest is left to the watch. */
static int message_run(struct baton_task *task)
{
	struct message *message = baton_container_of(task, struct message, task);
	struct session *session = message->session;
	int error = send_some(message);

	if (error != -EAGAIN)
		return error;
	error = baton_detach(&message->token, BATON_DETACH_EXCLUSIVE);
	if (error)
		return error;
	session->sending = message;
	error = baton_io_start(&session->writable, session->fd, BATON_IO_WRITE | BATON_IO_AGAIN);
	if (error)
		BATON_IGNORE(baton_detached_complete(&message->token, error, NULL));
	return 0; /* ignored: the task is over when its token is complete */
}

/* The socket can be written: a task of `network`, since the session's resource is kept. */
static int session_writable(struct baton_io *io)
{
	struct session *session = baton_container_of(io, struct session, writable);
	struct message *message = session->sending;
	int error = send_some(message);

	if (error == -EAGAIN)
		return 0;
	BATON_IGNORE(baton_io_stop(io).met);
	/* The session goes on with its next message. */
	return baton_detached_complete(&message->token, error, NULL);
}
/* ---- To here ---- */

#define MESSAGES 3

int main(void)
{
	static struct session session = {.resource = BATON_RESOURCE_INIT(NULL)};
	static struct message messages[MESSAGES];
	static char buffer[1 << 16];
	size_t received = 0;
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	session.fd = ends[0];
	baton_io_init(&session.writable, &network, session_writable);
	for (int i = 0; i < MESSAGES; i++) {
		messages[i].session = &session;
		messages[i].size = sizeof(messages[i].text);
		baton_detached_init(&messages[i].token);
		baton_task_init(&messages[i].task, message_run, &messages[i].future);
		baton_future_init(&messages[i].future);
		CHECK(baton_submit(&session.resource, &messages[i].task) == 0);
	}
	/* The socket is full, the first message is under way, and this thread is free. */
	CHECK(baton_future_state(&messages[0].future) == BATON_RUNNING);
	CHECK(baton_future_state(&messages[1].future) == BATON_PENDING);

	while (received < MESSAGES * sizeof(messages[0].text)) {
		ssize_t n = read(ends[1], buffer, sizeof(buffer));

		CHECK(n > 0);
		received += (size_t)n;
	}
	for (int i = 0; i < MESSAGES; i++) {
		CHECK(baton_future_wait(&messages[i].future) == 0);
		CHECK(baton_future_status(&messages[i].future) == 0);
	}
	CHECK(baton_resource_close(&session.resource) == 0);
	CHECK(baton_resource_await(&session.resource) == 0);
	CHECK(baton_io_stop_wait(&session.writable) == 0);
	printf("%d messages of a megabyte, in order, through a full socket\n", MESSAGES);
	return close(ends[0]) || close(ends[1]);
}
