/* SPDX-License-Identifier: MIT */
/*
 * The idle path in the caller: a meter counts the bytes of each of many connections. The only
 * difference from other programs is the second include.
 */
#include "../check.h"

#include <baton.h>
#include <baton/inline.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#define CONNECTIONS 1000

struct connection {
	struct baton_resource resource;
	uint64_t bytes;
};

struct packet {
	struct connection *connection;
	uint32_t length;
};

static struct connection connections[CONNECTIONS]; /* zeroed: idle resources */

static void *count(void *arg)
{
	const struct packet *packet = arg;

	packet->connection->bytes += packet->length;
	return NULL;
}

int main(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 100 * CONNECTIONS; i++) {
		struct packet packet = {&connections[i % CONNECTIONS], 1 + i % 1500};

		/* A macro: captures, counts and releases here, if the connection is idle. */
		CHECK(baton_call(&packet.connection->resource, count, &packet, NULL) == 0);
	}
	for (int i = 0; i < CONNECTIONS; i++) {
		struct baton_resource *resource = &connections[i].resource;

		sum += connections[i].bytes;
		CHECK(baton_resource_close(resource) == 0);
		CHECK(baton_call(resource, count, NULL, NULL) == -EPIPE);
		CHECK(baton_resource_await(resource) == 0);
	}
	printf("%llu bytes\n", (unsigned long long)sum);
	CHECK(sum == 74800000);
	return 0;
}
