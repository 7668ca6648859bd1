/* SPDX-License-Identifier: MIT */
/* Sums and prints the counters of stats.h. The demo reads the lines "name value" by their name. */
#include "common/stats.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/atomic.h"

static const char *const kind_names[STATS_KINDS] = {
	[STATS_TOPIC] = "topics",
	[STATS_SESSION] = "sessions",
	[STATS_CONNECTION] = "connections",
	[STATS_TABLE] = "topic table",
	[STATS_MATCHER] = "subscription tree",
	[STATS_CLIENTS] = "client ids",
};

static void stats_sum(uint64_t *sum, uint64_t more)
{
	add_relaxed(sum, more);
}

const char *stats_kind_name(int kind)
{
	return kind_names[kind];
}

bool stats_kind_counted(int kind, bool all)
{
	return all || (kind != STATS_CONNECTION && kind != STATS_SESSION);
}

uint64_t stats_read(const uint64_t *counter)
{
	return load_relaxed(counter);
}

void stats_count(uint64_t *counter)
{
	stats_sum(counter, 1);
}

void stats_uncount(uint64_t *counter)
{
	stats_sum(counter, UINT64_MAX);
}

void stats_add(struct stats *stats, enum stats_kind kind, const struct baton_resource_stats *more)
{
	struct baton_resource_stats *sum = &stats->kinds[kind];
	uint64_t backlog = load_relaxed(&sum->backlog_max);
	struct baton_resource_stats ended;

	baton_resource_stats_read(more, &ended);
	stats_sum(&stats->resources[kind], 1);
	stats_sum(&sum->submitted, ended.submitted);
	stats_sum(&sum->executed, ended.executed);
	stats_sum(&sum->cancelled, ended.cancelled);
	stats_sum(&sum->captures, ended.captures);
	stats_sum(&sum->handoffs, ended.handoffs);
	stats_sum(&sum->helped, ended.helped);
	stats_sum(&sum->refused, ended.refused);
	while (ended.backlog_max > backlog) /* ends: each failure has raised `backlog` */
		if (cas_relaxed(&sum->backlog_max, &backlog, ended.backlog_max))
			break;
}

void stats_add_sum(struct baton_resource_stats *sum, const struct baton_resource_stats *more)
{
	sum->submitted += more->submitted;
	sum->executed += more->executed;
	sum->cancelled += more->cancelled;
	sum->outstanding += more->outstanding;
	sum->waiting += more->waiting;
	sum->captures += more->captures;
	sum->handoffs += more->handoffs;
	sum->helped += more->helped;
	sum->refused += more->refused;
	if (more->backlog_max > sum->backlog_max)
		sum->backlog_max = more->backlog_max;
	if (more->oldest_ns > 0 && (sum->oldest_ns == 0 || more->oldest_ns < sum->oldest_ns))
		sum->oldest_ns = more->oldest_ns;
}

void stats_add_live(struct baton_resource_stats *sum, const struct baton_resource_stats *live)
{
	struct baton_resource_stats copy;

	baton_resource_stats_read(live, &copy);
	stats_add_sum(sum, &copy);
}

void stats_add_ended(struct baton_resource_stats *sum, const struct baton_resource_stats *ended)
{
	struct baton_resource_stats copy;

	/* A sum has no count of the tasks that have left: what is read as waiting has ended. */
	baton_resource_stats_read(ended, &copy);
	copy.waiting = 0;
	copy.oldest_ns = 0;
	stats_add_sum(sum, &copy);
}

void stats_add_loop(struct loop_stats *sum, const struct loop_stats *loop)
{
	sum->connections += loop->connections;
	sum->connected += loop->connected;
	sum->connects += loop->connects;
	sum->packets_in += loop->packets_in;
	sum->packets_out += loop->packets_out;
	sum->messages_in += loop->messages_in;
	sum->messages_out += loop->messages_out;
	sum->payload_in += loop->payload_in;
	sum->payload_out += loop->payload_out;
	sum->bytes_in += loop->bytes_in;
	sum->bytes_out += loop->bytes_out;
	sum->pauses += loop->pauses;
	sum->writes += loop->writes;
	sum->visits += loop->visits;
	sum->malformed += loop->malformed;
}

static void print_resources(const struct stats *stats)
{
	uint64_t captures = 0, handoffs = 0, helped = 0;

	printf("%-18s %9s %12s %12s %10s %8s %8s\n", "resources", "number", "tasks", "captures",
	       "hand-offs", "helped", "backlog");
	for (int i = 0; i < STATS_KINDS; i++) {
		const struct baton_resource_stats *kind = &stats->kinds[i];

		printf("%-18s %9" PRIu64 " %12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %8" PRIu64
		       " %8" PRIu64 "\n",
		       kind_names[i], stats->resources[i], kind->executed, kind->captures,
		       kind->handoffs, kind->helped, kind->backlog_max);
		captures += kind->captures;
		handoffs += kind->handoffs;
		helped += kind->helped;
	}
	printf("captures           %" PRIu64 "\n", captures);
	printf("handoffs           %" PRIu64 "\n", handoffs);
	printf("helped             %" PRIu64 "\n", helped);
}

void stats_print(const struct stats *stats, const struct loop_stats *loops,
                 const struct baton_pool_stats *pool)
{
	printf("connections        %" PRIu64 "\n", loops->connections);
	printf("messages_in        %" PRIu64 "\n", loops->messages_in);
	printf("messages_out       %" PRIu64 "\n", loops->messages_out);
	printf("bytes_in           %" PRIu64 "\n", loops->bytes_in);
	printf("bytes_out          %" PRIu64 "\n", loops->bytes_out);
	printf("dropped            %" PRIu64 "\n", stats->dropped);
	printf("evicted            %" PRIu64 "\n", stats->evicted);
	printf("malformed          %" PRIu64 "\n", loops->malformed);
	printf("retained           %" PRIu64 "\n", stats->retained);
	printf("pauses             %" PRIu64 "\n", loops->pauses);
	printf("writes             %" PRIu64 "\n", loops->writes);
	printf("visits             %" PRIu64 "\n", loops->visits);
	print_resources(stats);
	printf("pool_jobs          %" PRIu64 "\n", pool->executed);
	printf("steals             %" PRIu64 "\n", pool->stolen);
	printf("parks              %" PRIu64 "\n", pool->parked);
	printf("lifo_hits          %" PRIu64 "\n", pool->lifo_hits);
	fflush(stdout);
}
