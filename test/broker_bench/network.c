/* SPDX-License-Identifier: MIT */
/* The sockets of a run; see network.h. */
#include "network.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "load.h"
#include "publisher.h"
#include "wire.h"

#define READ_SIZE ((size_t)256 << 10)
#define EVENTS 256

static struct sockaddr_storage address;
static socklen_t address_size;

static int find_address(struct load *load)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	                         .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found;
	char port[16];
	int status;

	snprintf(port, sizeof(port), "%u", load->options.port);
	status = getaddrinfo(load->options.host, port, &hints, &found);
	if (status != 0) {
		load_fail(load, LOAD_SYSTEM, NULL, "%s: %s", load->options.host,
		          gai_strerror(status));
		return -1;
	}
	memcpy(&address, found->ai_addr, found->ai_addrlen);
	address_size = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int find_descriptors(struct load *load)
{
	const rlim_t needed = load->client_count + 64;
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < needed) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur >= needed)
		return 0;
	load_fail(load, LOAD_SYSTEM, NULL, "%u connections, but only %lu descriptors (ulimit -n)",
	          load->client_count, (unsigned long)limit.rlim_cur);
	return -1;
}

int network_init(struct load *load)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};

	if (find_address(load) != 0 || find_descriptors(load) != 0)
		return LOAD_SYSTEM;
	load->input = malloc(READ_SIZE + load->frame_max);
	load->epoll = epoll_create1(EPOLL_CLOEXEC);
	load->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (load->input != NULL && load->epoll >= 0 && load->timer >= 0 &&
	    epoll_ctl(load->epoll, EPOLL_CTL_ADD, load->timer, &event) == 0)
		return 0;
	load_fail(load, LOAD_SYSTEM, NULL, "start: %s", strerror(errno));
	return LOAD_SYSTEM;
}

void network_deinit(struct load *load)
{
	free(load->input);
	if (load->epoll >= 0)
		close(load->epoll);
	if (load->timer >= 0)
		close(load->timer);
}

bool network_probe(struct load *load)
{
	const uint64_t until = load_clock() + (uint64_t)(load->options.wait * 1e9);
	const struct timespec pause = {.tv_nsec = 20000000};

	for (;;) {
		const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		const int status = connect(fd, (struct sockaddr *)&address, address_size);
		const int error = errno;

		if (fd >= 0)
			close(fd);
		if (status == 0)
			return true;
		if (load_clock() >= until) {
			load_fail(load, LOAD_BROKER, NULL, "no broker at %s port %u: %s",
			          load->options.host, load->options.port, strerror(error));
			return false;
		}
		nanosleep(&pause, NULL);
	}
}

static void watch(struct load *load, struct client *client, int operation, bool writable)
{
	struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0),
	                            .data.ptr = client};

	client->waits_writable = writable;
	if (epoll_ctl(load->epoll, operation, client->fd, &event) != 0)
		load_fail(load, LOAD_SYSTEM, client, "epoll: %s", strerror(errno));
}

void network_connect(struct load *load, struct client *client)
{
	const int on = 1;

	client->fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (client->fd < 0) {
		load_fail(load, LOAD_SYSTEM, client, "socket: %s", strerror(errno));
		return;
	}
	setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(client->fd, (struct sockaddr *)&address, address_size) != 0 &&
	    errno != EINPROGRESS) {
		load_fail(load, LOAD_BROKER, client, "connect: %s", strerror(errno));
		return;
	}
	client_begin(load, client);
	/* Sent when the connection is there: then it is writable. */
	watch(load, client, EPOLL_CTL_ADD, true);
}

/* Some brokers know no QoS 2 and close the connection of who tries it. */
static void closed(struct load *load, struct client *client, const char *how)
{
	const bool tried = load->options.publish_qos > 0 && client->publisher != NULL &&
	                   client->publisher->sent > 0 && load->counts.acked == 0;

	client->state = CLIENT_CLOSED;
	if (tried)
		load_fail(load, LOAD_UNSUPPORTED, client,
		          "not supported: closed after a PUBLISH at QoS %u, none was acknowledged",
		          load->options.publish_qos);
	else
		load_fail(load, LOAD_BROKER, client, "the broker closed the connection%s", how);
}

void network_flush(struct load *load, struct client *client)
{
	struct buffer *out = &client->out;
	ssize_t sent = 0;

	if (client->waits_writable)
		return;
	while (buffer_pending(out) > 0) {
		sent = send(client->fd, out->bytes + out->head, buffer_pending(out),
		            MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0)
			break;
		buffer_take(out, (size_t)sent);
	}
	if (sent >= 0 || errno == EINTR)
		return;
	if (errno == EAGAIN)
		watch(load, client, EPOLL_CTL_MOD, true);
	else if (client->state == CLIENT_CONNECTING)
		load_fail(load, LOAD_BROKER, client, "connect: %s", strerror(errno));
	else
		closed(load, client, " (reset)");
}

static void receive(struct load *load, struct client *client)
{
	const size_t before = client_prefix(client, load->input);
	const ssize_t got = recv(client->fd, load->input + before, READ_SIZE, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		closed(load, client, got < 0 ? " (reset)" : "");
		return;
	}
	load->now = load_clock();
	load->progress_ns = load->now;
	client_feed(load, client, load->input, before + (size_t)got);
}

void network_wait(struct load *load, int timeout_ms)
{
	struct epoll_event events[EVENTS];
	const int count = epoll_wait(load->epoll, events, EVENTS, timeout_ms);

	for (int i = 0; i < count && load->status == LOAD_GOOD; i++) {
		struct client *client = events[i].data.ptr;

		if (client == NULL) /* the alarm */
			continue;
		if (events[i].events & EPOLLOUT) {
			watch(load, client, EPOLL_CTL_MOD, false);
			network_flush(load, client);
			if (client->publisher != NULL)
				publisher_wake(load, client->publisher);
		}
		if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			receive(load, client);
	}
}

void network_alarm(struct load *load, uint64_t at_ns)
{
	const struct itimerspec when = {.it_value = {.tv_sec = (time_t)(at_ns / 1000000000U),
	                                             .tv_nsec = (long)(at_ns % 1000000000U)}};

	if (at_ns == load->alarm_ns)
		return;
	load->alarm_ns = at_ns;
	timerfd_settime(load->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

void network_close(struct load *load)
{
	unsigned char bytes[WIRE_HEADER_MAX];
	const size_t size = wire_put_disconnect(bytes);

	for (unsigned int i = 0; load->clients != NULL && i < load->client_count; i++) {
		struct client *client = &load->clients[i];

		if (client->fd < 0)
			continue;
		if (client->state == CLIENT_READY && buffer_pending(&client->out) == 0)
			(void)!send(client->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(client->fd);
		client->fd = -1;
	}
}
