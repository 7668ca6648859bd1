/* SPDX-License-Identifier: MIT */
/* The listening sockets; see listener.h. */
#include "net/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/env.h"
#include "common/log.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/net.h"

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
		log_event(LOG_LEVEL_ERROR, "accept_waits", log_text("reason", strerror(error)));
	listener->short_of = true;
	uv_poll_stop(&listener->poll);
	uv_timer_start(&listener->rest, listener_rested, LISTENER_REST_MS, 0);
}

static void listener_ready(uv_poll_t *poll, int status, int events)
{
	struct listener *listener = poll->data;
	struct listeners *all = listener->all;
	struct net *net = all->net;
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
				log_event(LOG_LEVEL_WARNING, "accept_goes_on",
				          log_text("reason", "nobody waits any more"));
			listener->short_of = false;
			return;
		}
		if (fd < 0)
			continue; /* this client has gone already */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		/* Finds a dead client that has no keep alive of MQTT's own. */
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		loop_accept(&net->loops[all->turn], fd, listener->tls);
		all->turn = (all->turn + 1) % net->env->options.threads;
	}
}

void listener_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		log_event(LOG_LEVEL_WARNING, "descriptors_limited",
		          log_text("reason", strerror(errno)));
}

static int listener_start(struct listeners *all, uv_loop_t *uv, int fd, bool tls)
{
	struct listener *listener = &all->each[all->count];
	int status;

	status = uv_poll_init(uv, &listener->poll, fd);
	if (status != 0) {
		close(fd);
		return status;
	}
	listener->all = all;
	listener->fd = fd;
	listener->tls = tls;
	uv_timer_init(uv, &listener->rest);
	listener->poll.data = listener;
	listener->rest.data = listener;
	listener_rested(&listener->rest);
	all->count++;
	return 0;
}

/* Must this listener not be reached from elsewhere? */
static bool must_be_local(const struct broker_options *options,
                          const struct broker_listener *wanted)
{
	return options->local && !(wanted->tls && options->certificate_required);
}

static void say_open(const struct broker_listener *wanted)
{
	fprintf(stderr,
	        "broker: %s is open to everybody who can reach it: give --password-file, "
	        "--require-certificate (with TLS), or --allow-anonymous\n",
	        wanted->host != NULL ? wanted->host : "a listener without host");
}

/* Listens on all addresses of the host. */
static int listeners_open(struct listeners *all, uv_loop_t *uv,
                          const struct broker_listener *wanted)
{
	const struct broker_options *options = &all->net->env->options;
	const bool local = must_be_local(options, wanted);
	int fds[LISTENERS_MAX], status = 0;
	const int count =
		address_listen(wanted->host, wanted->port, fds, LISTENERS_MAX - all->count);

	for (int i = 0; i < count; i++) {
		if (status == 0 && local && !address_local(fds[i])) {
			say_open(wanted);
			status = -EACCES;
		}
		if (status == 0)
			status = listener_start(all, uv, fds[i], wanted->tls);
		else
			close(fds[i]);
	}
	return count < 0 ? count : status;
}

int listeners_start(struct listeners *listeners, uv_loop_t *uv, struct net *net)
{
	const struct broker_options *options = &net->env->options;
	int status = 0;

	listeners->net = net;
	for (size_t i = 0; i < options->listeners_count && status == 0; i++)
		status = listeners_open(listeners, uv, &options->listeners[i]);
	for (unsigned int i = 0; i < listeners->count && status == 0; i++)
		address_announce(listeners->each[i].fd, listeners->each[i].tls);
	return status;
}

/* Port 0 serves as well to find the addresses of the host: a running broker may have the port. */
int listeners_check(const struct broker_options *options)
{
	int fds[LISTENERS_MAX], status = 0;

	for (size_t i = 0; i < options->listeners_count; i++) {
		const struct broker_listener *wanted = &options->listeners[i];
		const bool local = must_be_local(options, wanted);
		const int count = local ? address_listen(wanted->host, 0, fds, LISTENERS_MAX) : 0;
		bool open = false;

		for (int k = 0; k < count; k++) {
			open = open || !address_local(fds[k]);
			close(fds[k]);
		}
		if (open)
			say_open(wanted);
		if (count < 0 || open)
			status = -EACCES;
	}
	return status;
}

static void listener_closed(uv_handle_t *handle)
{
	struct listener *listener = handle->data;

	close(listener->fd);
}

void listeners_stop(struct listeners *listeners)
{
	for (unsigned int i = 0; i < listeners->count && !listeners->stopped; i++) {
		uv_close((uv_handle_t *)&listeners->each[i].rest, NULL);
		uv_close((uv_handle_t *)&listeners->each[i].poll, listener_closed);
	}
	listeners->stopped = true;
}
