/* SPDX-License-Identifier: MIT */
/* The listening socket; see listener.h. */
#include "listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker.h"
#include "loop.h"

#define LISTENER_BACKLOG 1024
#define LISTENER_BATCH 64
#define LISTENER_REST_MS 100

static void listener_ready(uv_poll_t *poll, int status, int events);

static void listener_rested(uv_timer_t *timer)
{
	struct listener *listener = timer->data;

	uv_poll_start(&listener->poll, UV_READABLE, listener_ready);
}

static void listener_ready(uv_poll_t *poll, int status, int events)
{
	struct listener *listener = poll->data;
	struct broker *broker = listener->broker;
	const int on = 1;

	(void)status;
	(void)events;
	for (int i = 0; i < LISTENER_BATCH; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 &&
		    (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
			uv_poll_stop(poll);
			uv_timer_start(&listener->rest, listener_rested, LISTENER_REST_MS, 0);
			return;
		}
		if (fd < 0 && errno == EAGAIN)
			return;
		if (fd < 0)
			continue; /* this client has gone already */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		loop_accept(&broker->loops[listener->turn], fd);
		listener->turn = (listener->turn + 1) % broker->options.threads;
	}
}

static int listener_bind(const struct addrinfo *address)
{
	const int on = 1;
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int status;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
	    listen(fd, LISTENER_BACKLOG) == 0)
		return fd;
	status = -errno;
	close(fd);
	return status;
}

static void listener_announce(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port,
		            sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	printf("listening on %s:%s\n", host, port);
	fflush(stdout);
}

int listener_start(struct listener *listener, uv_loop_t *uv, struct broker *broker)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	const struct broker_options *options = &broker->options;
	struct addrinfo *addresses;
	char port[16];
	int status;

	snprintf(port, sizeof(port), "%u", options->port);
	status = getaddrinfo(options->host, port, &hints, &addresses);
	if (status != 0) {
		fprintf(stderr, "broker: %s: %s\n", options->host, gai_strerror(status));
		return -EADDRNOTAVAIL;
	}
	listener->fd = -EADDRNOTAVAIL;
	for (const struct addrinfo *at = addresses; at != NULL && listener->fd < 0;
	     at = at->ai_next)
		listener->fd = listener_bind(at);
	freeaddrinfo(addresses);
	if (listener->fd < 0) {
		fprintf(stderr, "broker: %s:%s: %s\n", options->host, port,
		        strerror(-listener->fd));
		return listener->fd;
	}
	listener->broker = broker;
	status = uv_poll_init(uv, &listener->poll, listener->fd);
	if (status != 0) {
		close(listener->fd);
		return status;
	}
	uv_timer_init(uv, &listener->rest);
	listener->poll.data = listener;
	listener->rest.data = listener;
	listener_rested(&listener->rest);
	listener_announce(listener->fd);
	return 0;
}

static void listener_closed(uv_handle_t *handle)
{
	struct listener *listener = handle->data;

	close(listener->fd);
}

void listener_stop(struct listener *listener)
{
	uv_close((uv_handle_t *)&listener->rest, NULL);
	uv_close((uv_handle_t *)&listener->poll, listener_closed);
}
