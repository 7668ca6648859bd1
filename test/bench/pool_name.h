/* SPDX-License-Identifier: MIT */
/*
 * A peer's name where its pool is meant, not its queue: "Boost.Asio strand" is "Boost.Asio pool".
 */
#ifndef BATON_BENCH_POOL_NAME_H
#define BATON_BENCH_POOL_NAME_H

#include <stdio.h>
#include <string.h>

#include "peers/peer.h"

#define POOL_NAME_MAX 40

static inline void pool_name(char *name, size_t size, const struct peer *peer)
{
	(void)snprintf(name, size, "%.*s pool", (int)strcspn(peer->name, " "), peer->name);
}

#endif
