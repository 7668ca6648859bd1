/* SPDX-License-Identifier: MIT */
/*
 * The broker's addresses (examples/broker/address.h): what it listens on, and whom it takes for one
 * and the same when log-ins wait.
 */
#include "support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include "net/address.h"

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage address = {.ss_family = AF_INET};
	void *host = &((struct sockaddr_in *)&address)->sin_addr;

	if (strchr(text, ':') != NULL) {
		address.ss_family = AF_INET6;
		host = &((struct sockaddr_in6 *)&address)->sin6_addr;
	}
	MUST(inet_pton(address.ss_family, text, host) == 1);
	return address;
}

static uint64_t network(const char *text)
{
	struct sockaddr_storage address = address_of(text);

	return address_network(&address);
}

static const struct {
	const char *one;
	const char *other;
	bool same;
} table[] = {
	{"192.0.2.1", "192.0.2.1", true},
	{"192.0.2.1", "192.0.2.2", false},
	{"192.0.2.1", "::ffff:192.0.2.1", true}, /* of a socket that listens on :: */
	{"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
	{"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true}, /* one network */
	{"2001:db8::1", "2001:db8:0:1::1", false},
	{"2001:db8::1", "2001:db9::1", false},
	{"2001:db8::c000:201", "192.0.2.1", false},
};

Test(address, a_network_is_one_address_of_ipv4_or_64_bits_of_ipv6, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_assert_eq(network(table[i].one) == network(table[i].other), table[i].same,
		             "%s, %s", table[i].one, table[i].other);
}

/* ---- Names with several addresses ---- */

#define ADDRESSES_MAX 3

/* What the broker's look-up of any name finds, in this order; the port is the one asked for. */
static const char *const *found;
static struct sockaddr_storage storage[ADDRESSES_MAX];
static struct addrinfo infos[ADDRESSES_MAX];

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **list)
{
	MUST(hints->ai_socktype == SOCK_STREAM && hints->ai_flags & AI_PASSIVE);
	if (!found[0])
		return EAI_NONAME;
	for (size_t i = 0; i < ADDRESSES_MAX && found[i]; i++) {
		struct sockaddr_in *in = (struct sockaddr_in *)&storage[i];

		storage[i] = address_of(found[i]);
		in->sin_port = htons((uint16_t)atoi(port)); /* in6's lies there, too */
		infos[i] = (struct addrinfo){.ai_family = storage[i].ss_family,
		                             .ai_addr = (struct sockaddr *)in,
		                             .ai_addrlen = in->sin_family == AF_INET
		                                                   ? sizeof(*in)
		                                                   : sizeof(struct sockaddr_in6)};
		if (i > 0)
			infos[i - 1].ai_next = &infos[i];
	}
	*list = infos;
	return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
	MUST(list == infos);
}

/* A machine without IPv6. */
static bool no_ipv6;

int socket(int family, int type, int protocol)
{
	if (no_ipv6 && family == AF_INET6) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return (int)syscall(SYS_socket, family, type, protocol);
}

/* So many binds to 127.0.0.2 find the port taken. By another name, since the type that glibc has
 * is an extension. */
static int taken;

int finds_taken(int fd, const struct sockaddr *address, socklen_t size) __asm__("bind");

int finds_taken(int fd, const struct sockaddr *address, socklen_t size)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;

	if (address->sa_family == AF_INET && in->sin_addr.s_addr == inet_addr("127.0.0.2") &&
	    taken > 0) {
		taken--;
		errno = EADDRINUSE;
		return -1;
	}
	return (int)syscall(SYS_bind, fd, address, size);
}

/* Of a socket that listens; and where. */
static uint16_t port_of(int fd, const char *host)
{
	struct sockaddr_in in;
	socklen_t size = sizeof(in);
	int listens = 0;

	cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &size), 0);
	cr_assert_eq(in.sin_addr.s_addr, inet_addr(host));
	size = sizeof(listens);
	cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
	cr_assert(listens);
	return ntohs(in.sin_port);
}

static int bound_to(const char *host)
{
	struct sockaddr_storage address = address_of(host);
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address,
	                    address.ss_family == AF_INET ? sizeof(struct sockaddr_in)
	                                                 : sizeof(struct sockaddr_in6)) != 0) {
		close(fd);
		return -1; /* this machine does not speak IPv6 */
	}
	return fd;
}

#define SAID_MAX 128

/* What it says of an error goes into `said`. */
static int listen_heard(unsigned port, int *fds, size_t most, char said[SAID_MAX])
{
	int pair[2], saved = dup(STDERR_FILENO), count;
	ssize_t size;

	MUST(saved >= 0 && pipe2(pair, O_NONBLOCK) == 0);
	MUST(dup2(pair[1], STDERR_FILENO) >= 0);
	count = address_listen("name", port, fds, most);
	size = read(pair[0], said, SAID_MAX - 1);
	MUST(dup2(saved, STDERR_FILENO) >= 0);
	said[size > 0 ? size : 0] = 0;
	close(saved);
	close(pair[0]);
	close(pair[1]);
	return count;
}

static int listen_quietly(unsigned port, int *fds, size_t most)
{
	char said[SAID_MAX];

	return listen_heard(port, fds, most, said);
}

/* 203.0.113.1 is nobody's. At 127.0.0.9 the port is taken already. This machine lacks IPv6. */
Test(address, each_address_of_a_name_is_listened_on_with_one_port, .timeout = 5)
{
	static const struct {
		const char *found[ADDRESSES_MAX + 1];
		size_t most;
		const char *listens[ADDRESSES_MAX + 1];
		int error; /* where nothing does */
	} rows[] = {
		{{"127.0.0.1"}, 3, {"127.0.0.1"}, 0},
		{{"127.0.0.1", "127.0.0.2"}, 3, {"127.0.0.1", "127.0.0.2"}, 0},
		{{"127.0.0.3", "127.0.0.2", "127.0.0.1"}, 2, {"127.0.0.3", "127.0.0.2"}, 0},
		{{"127.0.0.3", "127.0.0.2", "127.0.0.1"},
	         3,
	         {"127.0.0.3", "127.0.0.2", "127.0.0.1"},
	         0},
		{{"127.0.0.1", "127.0.0.1"}, 3, {"127.0.0.1"}, 0},
		{{"127.0.0.1", "127.0.0.2", "127.0.0.1"}, 3, {"127.0.0.1", "127.0.0.2"}, 0},
		{{"203.0.113.1", "127.0.0.1"}, 3, {"127.0.0.1"}, 0},
		{{"127.0.0.1", "203.0.113.1"}, 3, {"127.0.0.1"}, 0},
		{{"::1", "127.0.0.1"}, 3, {"127.0.0.1"}, 0},
		{{"127.0.0.1", "::1"}, 3, {"127.0.0.1"}, 0},
		{{"::1"}, 3, {NULL}, -EAFNOSUPPORT},
		{{"203.0.113.1"}, 3, {NULL}, -EADDRNOTAVAIL},
		{{NULL}, 3, {NULL}, -EADDRNOTAVAIL},
		{{"127.0.0.9"}, 3, {NULL}, -EADDRINUSE},
		{{"127.0.0.1", "127.0.0.9"}, 3, {NULL}, -EADDRINUSE},
		{{"127.0.0.1", "127.0.0.2", "127.0.0.9"}, 3, {NULL}, -EADDRINUSE},
		{{"203.0.113.1", "127.0.0.9", "127.0.0.1"}, 3, {NULL}, -EADDRINUSE},
	};
	const char *const busy_host[] = {"127.0.0.9", NULL};
	int busy, fds[ADDRESSES_MAX];
	uint16_t port;

	no_ipv6 = true;
	found = busy_host;
	cr_assert_eq(address_listen("name", 0, &busy, 1), 1);
	port = port_of(busy, "127.0.0.9");
	cr_assert_neq(port, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const int before = open_files();
		int expected = rows[i].error, count;
		uint16_t chosen = 0;

		while (rows[i].listens[expected > 0 ? expected : 0] && expected >= 0)
			expected++;
		found = rows[i].found;
		count = listen_quietly(rows[i].error ? port : 0, fds, rows[i].most);
		cr_assert_eq(count, expected, "row %zu: %d", i, count);
		cr_assert_eq(open_files(), before + (count > 0 ? count : 0), "row %zu", i);
		for (int j = 0; j < count; j++) {
			if (j == 0)
				chosen = port_of(fds[0], rows[i].listens[0]);
			cr_assert_eq(port_of(fds[j], rows[i].listens[j]), chosen);
			close(fds[j]);
		}
	}
	close(busy);
	/* A program whose standard input is closed. */
	found = rows[0].found;
	close(STDIN_FILENO);
	cr_assert_eq(address_listen("name", 0, fds, 1), 1);
	cr_assert_eq(fds[0], STDIN_FILENO);
}

Test(address, a_port_that_was_chosen_and_is_taken_at_another_address_is_chosen_anew, .timeout = 5)
{
	static const char *const hosts[] = {"127.0.0.1", "127.0.0.2", NULL};
	static const struct {
		unsigned port;
		int taken, expected;
	} rows[] = {{0, 1, 2}, {0, 7, 2}, {0, 8, -EADDRINUSE}, {1, 1, -EADDRINUSE}};

	found = hosts;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const int before = open_files();
		/* A port that is asked for is one that was free a moment ago. */
		int fds[2], free_fd = bound_to("127.0.0.2"), count;
		struct sockaddr_in in;
		socklen_t size = sizeof(in);
		unsigned port = 0;

		cr_assert_eq(getsockname(free_fd, (struct sockaddr *)&in, &size), 0);
		close(free_fd);
		if (rows[i].port)
			port = ntohs(in.sin_port);
		taken = rows[i].taken;
		count = listen_quietly(port, fds, 2);
		cr_assert_eq(count, rows[i].expected, "row %zu: %d", i, count);
		cr_assert_eq(open_files(), before + (count > 0 ? count : 0), "row %zu", i);
		if (count > 0)
			cr_assert_eq(port_of(fds[0], hosts[0]), port_of(fds[1], hosts[1]));
		while (count > 0)
			close(fds[--count]);
		taken = 0;
	}
}

Test(address, the_reason_is_said_why_a_name_is_not_listened_on, .timeout = 5)
{
	const struct {
		const char *found[ADDRESSES_MAX + 1];
		const char *reason; /* NULL: there is none */
		bool port;          /* is said before the reason */
	} rows[] = {
		/* Where no connection of another program has the port. */
		{{"127.0.0.8"}, NULL, false},
		{{"127.0.0.9"}, strerror(EADDRINUSE), true},
		{{"203.0.113.1"}, strerror(EADDRNOTAVAIL), true},
		{{NULL}, gai_strerror(EAI_NONAME), false},
	};
	const char *const busy_host[] = {"127.0.0.9", NULL};
	int busy, fds[ADDRESSES_MAX];
	uint16_t port;

	found = busy_host;
	cr_assert_eq(address_listen("name", 0, &busy, 1), 1);
	port = port_of(busy, "127.0.0.9");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char line[SAID_MAX] = "", said[SAID_MAX], colon_port[8] = "";

		found = rows[i].found;
		if (rows[i].port)
			snprintf(colon_port, sizeof(colon_port), ":%u", port);
		if (rows[i].reason)
			snprintf(line, sizeof(line), "broker: name%s: %s\n", colon_port,
			         rows[i].reason);
		if (listen_heard(port, fds, ADDRESSES_MAX, said) == 1)
			close(fds[0]);
		cr_assert_str_eq(said, line, "row %zu: %s", i, said);
	}
	close(busy);
}

/* ---- What is said, and who is local ---- */

/* A call of getsockname() that fails may leave anything in the caller's memory. By another name,
 * since the type that glibc declares is an extension. */
int leaves_anything(int fd, void *address, socklen_t *size) __asm__("getsockname");

int leaves_anything(int fd, void *address, socklen_t *size)
{
	const struct sockaddr_storage anything = address_of("127.0.0.1");

	if (syscall(SYS_getsockname, fd, address, size) == 0)
		return 0;
	memcpy(address, &anything, *size < sizeof(anything) ? *size : sizeof(anything));
	return -1;
}

static const char *announced(int fd, bool tls)
{
	static char text[128];
	int ends[2], saved = dup(STDOUT_FILENO);
	ssize_t size;

	MUST(saved >= 0 && pipe2(ends, O_NONBLOCK) == 0 && fflush(stdout) == 0);
	MUST(dup2(ends[1], STDOUT_FILENO) >= 0);
	address_announce(fd, tls);
	size = read(ends[0], text, sizeof(text) - 1);
	MUST(dup2(saved, STDOUT_FILENO) >= 0);
	text[size > 0 ? size : 0] = 0;
	close(saved);
	close(ends[0]);
	close(ends[1]);
	return text;
}

Test(address, it_is_announced_and_known_whether_only_this_machine_reaches_it, .timeout = 5)
{
	static const struct {
		const char *host;
		const char *line;
		bool local;
	} rows[] = {
		{"127.0.0.1", "listening on 127.0.0.1:%u%s\n", true},
		{"127.255.0.1", "listening on 127.255.0.1:%u%s\n", true},
		{"0.0.0.0", "listening on 0.0.0.0:%u%s\n", false},
		{"::1", "listening on [::1]:%u%s\n", true},
		{"::", "listening on [::]:%u%s\n", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int fd = bound_to(rows[i].host);
		struct sockaddr_in in; /* its port is where in6's is */
		socklen_t size = sizeof(in);

		if (fd < 0)
			continue;
		cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &size), 0);
		cr_assert_eq(address_local(fd), rows[i].local, "%s", rows[i].host);
		for (int tls = 0; tls < 2; tls++) {
			char line[128];

			snprintf(line, sizeof(line), rows[i].line, ntohs(in.sin_port),
			         tls ? " TLS" : "");
			cr_assert_str_eq(announced(fd, tls), line);
		}
		close(fd);
	}
	cr_assert_not(address_local(-1));
	cr_assert_str_eq(announced(-1, false), "listening on ?:?\n");
}
