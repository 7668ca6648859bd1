/* SPDX-License-Identifier: MIT */
/* Addresses; see address.h. */
#include "net/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESS_BACKLOG 1024

/* A port that the system chose for the first address may be taken at another address. */
#define ADDRESS_ATTEMPTS_MAX 8

bool address_local(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return false;
	if (address.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((struct sockaddr_in6 *)&address)->sin6_addr);
	return ntohl(((struct sockaddr_in *)&address)->sin_addr.s_addr) >> 24 == 127;
}

uint64_t address_network(const struct sockaddr_storage *address)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
	uint64_t network = 0;
	uint32_t host = 0;

	if (address->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(in6)) {
		memcpy(&network, in6, sizeof(network));
		return network;
	}
	if (address->ss_family == AF_INET6)
		memcpy(&host, &in6->s6_addr[12], sizeof(host));
	else
		host = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
	return host; /* read as an IPv6 network it is in ::/32, which is never assigned */
}

void address_announce(int fd, bool tls)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
	const char *open = "", *close = "";

	if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port,
		            sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	if (strchr(host, ':') != NULL) {
		open = "[";
		close = "]";
	}
	printf("listening on %s%s%s:%s%s\n", open, host, close, port, tls ? " TLS" : "");
	fflush(stdout);
}

/* The descriptor, or a negative errno. `all`: of all addresses of IPv4 and IPv6, this is one. */
static int address_bind(const struct addrinfo *address, bool all)
{
	const int on = 1;
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int status;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (all && address->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
	    listen(fd, ADDRESS_BACKLOG) == 0)
		return fd;
	status = -errno;
	close(fd);
	return status;
}

static in_port_t *address_port(struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? &((struct sockaddr_in6 *)address)->sin6_port
	                                      : &((struct sockaddr_in *)address)->sin_port;
}

static void address_set_port(const struct addrinfo *first, in_port_t port)
{
	for (; first != NULL; first = first->ai_next)
		*address_port(first->ai_addr) = port;
}

/* All sockets get the port of the first one. */
static void address_share_port(const struct addrinfo *first, int fd)
{
	struct sockaddr_storage address = {.ss_family = AF_INET};
	socklen_t size = sizeof(address);

	(void)getsockname(fd, (struct sockaddr *)&address, &size);
	address_set_port(first, *address_port((struct sockaddr *)&address));
}

/* A name may have an address twice, for example by two lines of /etc/hosts. */
static bool address_again(const struct addrinfo *first, const struct addrinfo *at)
{
	while (first != at && (first->ai_addrlen != at->ai_addrlen ||
	                       memcmp(first->ai_addr, at->ai_addr, at->ai_addrlen) != 0))
		first = first->ai_next;
	return first != at;
}

/* A name may have addresses of a family that this machine lacks. */
static bool address_missing(int status)
{
	return status == -EADDRNOTAVAIL || status == -EAFNOSUPPORT;
}

static int address_bind_all(const struct addrinfo *first, bool all, int *fds, size_t most)
{
	int count = 0, status = -EADDRNOTAVAIL;

	for (const struct addrinfo *at = first; at != NULL && (size_t)count < most;
	     at = at->ai_next) {
		if (address_again(first, at))
			continue;
		status = address_bind(at, all);
		if (status < 0 && !address_missing(status))
			break;
		if (status < 0)
			continue;
		fds[count++] = status;
		if (count == 1)
			address_share_port(first, status);
	}
	if (count > 0 && (status >= 0 || address_missing(status)))
		return count;
	while (count > 0)
		close(fds[--count]);
	return status;
}

int address_listen(const char *host, unsigned int port, int *fds, size_t most)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *addresses;
	int status, attempts = port == 0 ? ADDRESS_ATTEMPTS_MAX : 1;
	char text[16];

	snprintf(text, sizeof(text), "%u", port);
	status = getaddrinfo(host, text, &hints, &addresses);
	if (status != 0) {
		fprintf(stderr, "broker: %s: %s\n", host != NULL ? host : "*",
		        gai_strerror(status));
		return -EADDRNOTAVAIL;
	}
	do {
		address_set_port(addresses, htons((in_port_t)port));
		status = address_bind_all(addresses, host == NULL, fds, most);
	} while (status == -EADDRINUSE && --attempts > 0);
	freeaddrinfo(addresses);
	if (status < 0)
		fprintf(stderr, "broker: %s:%s: %s\n", host != NULL ? host : "*", text,
		        strerror(-status));
	return status;
}
