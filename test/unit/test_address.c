/* SPDX-License-Identifier: MIT */
/* Whom the broker takes for one and the same when log-ins wait (examples/broker/address.h). */
#include "support.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/address.h"

static uint64_t network(const char *text)
{
	struct sockaddr_storage address = {.ss_family = AF_INET};
	void *host = &((struct sockaddr_in *)&address)->sin_addr;

	if (strchr(text, ':') != NULL) {
		address.ss_family = AF_INET6;
		host = &((struct sockaddr_in6 *)&address)->sin6_addr;
	}
	MUST(inet_pton(address.ss_family, text, host) == 1);
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
