/* SPDX-License-Identifier: MIT */
/*
 * Leases of other nodes. The server's clock may jump, so that a lease has no end there: each
 * renewal has a number, and a lease is over when a node that watches it has seen no later number
 * for as long as the lease lasts, by the watcher's monotonic clock. The server compares once more:
 * it ends no lease that was renewed meanwhile. So a watcher that was stopped for a while ends none
 * too early.
 */
#include "companion/redis/remote.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS (BATON_SECOND / 1000)

void baton__remote_add_over(const struct baton_remote *remote, struct baton__redis_call *call)
{
	uint64_t now = baton__redis_clock();

	for (size_t i = 0; i < remote->watched_count; i++) {
		const struct baton__remote_watched *one = &remote->watched[i];

		if (one->over_at > now)
			continue;
		baton__redis_add_text(call, one->what);
		baton__redis_add_text(call, one->node);
		baton__redis_add_number(call, one->renewal);
	}
}

/* When the lease is over, if it was seen before, with no later renewal. */
static uint64_t watched_until(const struct baton_remote *remote,
                              const struct baton__remote_watched *lease)
{
	for (size_t i = 0; i < remote->watched_count; i++) {
		const struct baton__remote_watched *one = &remote->watched[i];

		if (one->renewal == lease->renewal && strcmp(one->what, lease->what) == 0 &&
		    strcmp(one->node, lease->node) == 0)
			return one->over_at;
	}
	return 0;
}

/* Of each lease its sort, the node, the last renewal, and how many ms the lease lasts. */
int baton__remote_watch(struct baton_remote *remote, const redisReply *leases)
{
	size_t count = leases ? leases->elements / 4 : 0;
	struct baton__remote_watched *watched = calloc(count + 1, sizeof(*watched));
	uint64_t now = baton__redis_clock();

	if (!watched)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct baton__remote_watched *one = &watched[i];

		snprintf(one->what, sizeof(one->what), "%s",
		         baton__redis_text(baton__redis_at(leases, 4 * i)));
		snprintf(one->node, sizeof(one->node), "%s",
		         baton__redis_text(baton__redis_at(leases, 4 * i + 1)));
		one->renewal = baton__redis_number(baton__redis_at(leases, 4 * i + 2));
		one->over_at = watched_until(remote, one);
		if (one->over_at == 0)
			one->over_at =
				now + baton__redis_number(baton__redis_at(leases, 4 * i + 3)) * MS;
	}
	free(remote->watched);
	remote->watched = watched;
	remote->watched_count = count;
	return 0;
}

uint64_t baton__remote_watch_next(const struct baton_remote *remote)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < remote->watched_count; i++)
		if (remote->watched[i].over_at < next)
			next = remote->watched[i].over_at;
	return next;
}
