/* SPDX-License-Identifier: MIT */
/*
 * The chat server on epoll. Each thread has an epoll instance, a listening socket, and a loop
 * executor. epoll watches the executor's descriptor beside the sockets.
 *
 *	epoll [PORT]	on 127.0.0.1; prints the port; SIGTERM ends it
 */
#include "chat.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX 64

struct connection;

struct loop {
	struct baton_loop *jobs;
	struct baton_resource_config config; /* of the clients and `control` */
	struct baton_resource control;       /* runs other threads' tasks */
	pthread_t thread;
	int epoll;
	int listening;
	struct connection *connections;
	bool stopping;
};

struct connection {
	struct chat_client client;
	struct loop *loop;
	struct connection *next;
	struct connection **link;
	int fd; /* -1: closed */
	const char *rest;
	size_t rest_length;
};

static void watch(const struct loop *loop, int operation, int fd, uint32_t events, void *what)
{
	struct epoll_event event = {.events = events, .data.ptr = what};

	CHECK(epoll_ctl(loop->epoll, operation, fd, &event) == 0);
}

static void accept_one(struct loop *loop)
{
	int fd = accept4(loop->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct connection *connection;

	if (fd < 0)
		return;
	connection = calloc(1, sizeof(*connection));
	CHECK(connection != NULL);
	chat_client_init(&connection->client, &loop->config);
	connection->loop = loop;
	connection->fd = fd;
	connection->next = loop->connections;
	connection->link = &loop->connections;
	if (connection->next)
		connection->next->link = &connection->next;
	loop->connections = connection;
	watch(loop, EPOLL_CTL_ADD, fd, EPOLLIN, connection);
}

static void connection_close(struct connection *connection)
{
	if (connection->fd < 0)
		return;
	CHECK(close(connection->fd) == 0); /* also ends the watch */
	connection->fd = -1;
	chat_closed(&connection->client);
}

void chat_client_free(struct chat_client *client)
{
	struct connection *connection = baton_container_of(client, struct connection, client);

	*connection->link = connection->next;
	if (connection->next)
		connection->next->link = connection->link;
	free(connection);
}

/* Returns how much the socket has taken. An error shows when the socket is read. */
static size_t write_some(const struct connection *connection, const char *text, size_t length)
{
	ssize_t written = send(connection->fd, text, length, MSG_NOSIGNAL);

	if (written < 0)
		return errno == EAGAIN ? 0 : length;
	return (size_t)written;
}

bool chat_write(struct chat_client *client, const char *text, size_t length)
{
	struct connection *connection = baton_container_of(client, struct connection, client);
	size_t written = write_some(connection, text, length);

	if (written == length)
		return true;
	connection->rest = text + written;
	connection->rest_length = length - written;
	watch(connection->loop, EPOLL_CTL_MOD, connection->fd, EPOLLIN | EPOLLOUT, connection);
	return false;
}

static void writable(struct connection *connection)
{
	size_t written = write_some(connection, connection->rest, connection->rest_length);

	connection->rest += written;
	connection->rest_length -= written;
	if (connection->rest_length)
		return;
	watch(connection->loop, EPOLL_CTL_MOD, connection->fd, EPOLLIN, connection);
	chat_written(&connection->client);
}

static void connection_event(struct connection *connection, uint32_t events)
{
	char bytes[4096];
	ssize_t length;

	if (events & EPOLLOUT)
		writable(connection);
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	length = read(connection->fd, bytes, sizeof(bytes));
	if (length > 0)
		chat_read(&connection->client, bytes, (size_t)length);
	else if (length == 0 || (errno != EAGAIN && errno != EINTR))
		connection_close(connection);
}

static void turn(struct loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	bool others = false; /* have other threads scheduled jobs here? */
	int count = epoll_wait(loop->epoll, events, EVENTS_MAX, -1);

	CHECK(count >= 0 || errno == EINTR);
	/* From here on, a job that this thread schedules needs no wake-up: the job runs below. */
	baton_loop_gather(loop->jobs);
	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr == loop)
			accept_one(loop);
		else if (events[i].data.ptr == loop->jobs)
			others = true;
		else
			connection_event(events[i].data.ptr, events[i].events);
	}
	if (others)
		(void)baton_loop_run(loop->jobs, 0);
	else
		(void)baton_loop_run_gathered(loop->jobs);
}

static void *loop_main(void *arg)
{
	struct loop *loop = arg;

	CHECK(baton_loop_adopt(loop->jobs) == 0);
	while (!loop->stopping || loop->connections)
		turn(loop);
	return NULL;
}

/* A task of `control`. Runs on the loop's thread. */
static void *stop(void *arg)
{
	struct loop *loop = arg;

	loop->stopping = true;
	CHECK(close(loop->listening) == 0);
	for (struct connection *each = loop->connections; each; each = each->next)
		connection_close(each);
	return NULL;
}

static void loop_start(struct loop *loop, int listening)
{
	CHECK(baton_loop_create(&loop->jobs) == 0);
	chat_config_init(&loop->config, baton_loop_executor(loop->jobs));
	baton_resource_init(&loop->control, &loop->config);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	CHECK(loop->epoll >= 0);
	loop->listening = listening;
	watch(loop, EPOLL_CTL_ADD, listening, EPOLLIN, loop);
	watch(loop, EPOLL_CTL_ADD, baton_loop_fd(loop->jobs), EPOLLIN, loop->jobs);
	CHECK(pthread_create(&loop->thread, NULL, loop_main, loop) == 0);
}

static void loop_end(struct loop *loop)
{
	CHECK(baton_call(&loop->control, stop, loop, NULL) == 0);
	CHECK(pthread_join(loop->thread, NULL) == 0);
	CHECK(baton_resource_close(&loop->control) == 0);
	CHECK(baton_resource_await(&loop->control) == 0);
	baton_loop_destroy(loop->jobs);
	CHECK(close(loop->epoll) == 0);
}

int main(int argc, char **argv)
{
	static struct loop loops[CHAT_THREADS];
	int listening = chat_listen((unsigned short)(argc > 1 ? atoi(argv[1]) : 0));

	chat_begin();
	for (int i = 0; i < CHAT_THREADS; i++)
		loop_start(&loops[i], i ? chat_listen_beside(listening) : listening);
	chat_wait_for_signal(listening);
	for (int i = 0; i < CHAT_THREADS; i++)
		loop_end(&loops[i]);
	chat_end();
	return 0;
}
