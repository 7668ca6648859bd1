/* SPDX-License-Identifier: MIT */
/* The listening socket; see listener.h. */
#include "listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker.h"
#include "log.h"
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

static void listener_rest(struct listener *listener, int error)
{
	if (!listener->short_of)
		log_line(LOG_LEVEL_ERROR, LOG_NOBODY, "accept: %s; new clients have to wait",
		         strerror(error));
	listener->short_of = true;
	uv_poll_stop(&listener->poll);
	uv_timer_start(&listener->rest, listener_rested, LISTENER_REST_MS, 0);
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
			listener_rest(listener, errno);
			return;
		}
		if (fd < 0 && errno == EAGAIN) {
			if (listener->short_of)
				log_line(LOG_LEVEL_WARNING, LOG_NOBODY,
				         "accept: nobody waits any more");
			listener->short_of = false;
			return;
		}
		if (fd < 0)
			continue; /* this client has gone already */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		/* Without a keep alive of MQTT's own nothing else would notice that a client is no
		 * more. */
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		loop_accept(&broker->loops[listener->turn], fd);
		listener->turn = (listener->turn + 1) % broker->options.threads;
	}
}

void listener_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		log_line(LOG_LEVEL_WARNING, LOG_NOBODY, "limit of descriptors: %s",
		         strerror(errno));
}

/* Can nobody but this machine reach it? */
static bool listener_local(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return false;
	if (address.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&address)->sin6_addr);
	return ntohl(((struct sockaddr_in *)&address)->sin_addr.s_addr) >> 24 == 127;
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
	printf(strchr(host, ':') == NULL ? "listening on %s:%s\n" : "listening on [%s]:%s\n", host,
	       port);
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
	if (options->password_file == NULL && !options->anonymous &&
	    !listener_local(listener->fd)) {
		fprintf(stderr,
		        "broker: --host %s is open to everybody who can reach it: give "
		        "--password-file, or --allow-anonymous\n",
		        options->host);
		close(listener->fd);
		return -EACCES;
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
