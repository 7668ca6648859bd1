/* SPDX-License-Identifier: MIT */
/*
 * baton-queue: the figures of a queue, for who operates it: as a table, as JSON, or as Prometheus
 * reads them.
 */
#include "common.h"

#include <baton/version.h>

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_FOREIGN 65

static const char help[] =
	"Usage: baton-queue [--json | --prometheus] [OPTION]...\n"
	"Prints the figures of a queue. It changes nothing, and touches one task, however many\n"
	"wait.\n"
	"\n"
	"  --json                  as JSON\n"
	"  --prometheus            as Prometheus reads it (text format 0.0.4)\n"
	"  --version               the version\n" CONNECTION_HELP "\n"
	"Exit status: 0; 64: wrong usage; 65: a key of the queue's name holds something else;\n"
	"69: no Redis, or it refuses; 70: any other error; 74: the output cannot be written.\n";

enum form { TABLE, JSON, PROMETHEUS };

/* A figure. Those of one metric follow each other. */
struct figure {
	const char *metric; /* without "baton_queue_" */
	const char *label;  /* of the metric, or NULL */
	const char *name;   /* in the table, and, with _ for each space, in JSON */
	const char *help;
	size_t offset; /* in struct baton_redis_stats */
	bool is_time;  /* ns, shown in seconds */
};

#define AT(member) offsetof(struct baton_redis_stats, member)

static const struct figure figures[] = {
	{"oldest_wait_seconds", NULL, "oldest wait", "How long the first waiting task has waited.",
         AT(oldest_ns), true},
	{"running_tasks", NULL, "running", "Tasks that have started, and are not over.",
         AT(running), false},
	{"backends", NULL, "backends", "Backends whose lease is not over.", AT(backends), false},
	{"leader_epoch", NULL, "leader epoch",
         "Epoch of the scheduler that leads; 0 if none leads.", AT(leader), false},
	{"lease_seconds", NULL, "lease", "How long the scheduler's lease lasts.", AT(lease_ns),
         true},
	{"lease_age_seconds", NULL, "lease age", "Time since the lease was renewed.",
         AT(renewed_ns), true},
	{"unread_effects", NULL, "effects unread",
         "Effects that not all readers have acknowledged.", AT(effects), false},
	{"readers", NULL, "readers", "Names under which effects are read.", AT(readers), false},
	{"submitted_tasks_total", NULL, "submitted", "Tasks that were accepted.", AT(submitted),
         false},
	{"ended_tasks_total", "done", "done", "Tasks that are over, by how they ended.", AT(done),
         false},
	{"ended_tasks_total", "denied", "denied", NULL, AT(denied), false},
	{"ended_tasks_total", "failed", "failed", NULL, AT(failed), false},
	{"ended_tasks_total", "withdrawn", "withdrawn", NULL, AT(withdrawn), false},
	{"retries_total", NULL, "retries", "Tasks that waited again: their backend was lost.",
         AT(retries), false},
	{"dropped_effects_total", NULL, "effects dropped",
         "Effects that were dropped before all readers had them.", AT(effects_dropped), false},
	{"task_bytes", NULL, "bytes", "Bytes of commands and files of tasks that are not over.",
         AT(bytes), false},
	{"waiting_tasks_max", NULL, "waiting max", "How many tasks may wait; 0: no limit.",
         AT(queue_max), false},
	{"task_bytes_max", NULL, "bytes max", "How many bytes tasks may have; 0: no limit.",
         AT(queue_bytes_max), false},
	{"unread_effects_max", NULL, "effects max",
         "How many unread effects are kept; 0: no limit.", AT(effects_max), false},
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

static uint64_t value_of(const struct baton_redis_stats *stats, const struct figure *figure)
{
	return *(const uint64_t *)(const void *)((const char *)stats + figure->offset);
}

static void print_value(const struct baton_redis_stats *stats, const struct figure *figure)
{
	uint64_t value = value_of(stats, figure);

	if (figure->is_time)
		printf("%" PRIu64 ".%06" PRIu64, value / BATON_SECOND, value % BATON_SECOND / 1000);
	else
		printf("%" PRIu64, value);
}

/* A kind below the number of classes; a default, an interactive one; what waits all the same. */
static bool is_shown(const struct baton_redis_stats *stats, uint32_t kind)
{
	return kind < stats->classes || kind >= BATON_RULES_CLASSES_MAX ||
	       stats->waiting_by_kind[kind] > 0;
}

/* A reader's name is what a queue's program has written, or what another has. */
static const char *reader_name(const struct baton_redis_stats *stats)
{
	for (const char *at = stats->slowest_reader; *at; at++)
		if (*at < ' ' || *at > '~' || *at == '"' || *at == '\\')
			return "?";
	return stats->slowest_reader;
}

/* ---- As a table ---- */

static void print_table(const struct baton_redis_stats *stats, const char *queue)
{
	char name[16];

	printf("queue            %s\n", queue);
	printf("waiting          %" PRIu64, stats->waiting);
	for (uint32_t kind = 0; kind < BATON_REDIS_KINDS; kind++)
		if (stats->waiting_by_kind[kind] > 0)
			printf("  %s %" PRIu64, class_name(kind, name),
			       stats->waiting_by_kind[kind]);
	printf("\n");
	for (size_t i = 0; i < FIGURES; i++) {
		printf("%-16s ", figures[i].name);
		print_value(stats, &figures[i]);
		if (figures[i].is_time)
			printf(" s");
		if (figures[i].offset == AT(leader) && stats->leader == 0)
			printf("  nobody leads");
		if (figures[i].offset == AT(readers) && stats->readers > 0)
			printf("  slowest: %s", reader_name(stats));
		printf("\n");
	}
}

/* ---- As JSON ---- */

static void print_json(const struct baton_redis_stats *stats, const char *queue)
{
	const char *between = "";
	char name[16];

	printf("{\"queue\": \"%s\", \"waiting\": %" PRIu64 ", \"waiting_by_class\": {", queue,
	       stats->waiting);
	for (uint32_t kind = 0; kind < BATON_REDIS_KINDS; kind++)
		if (is_shown(stats, kind)) {
			printf("%s\"%s\": %" PRIu64, between, class_name(kind, name),
			       stats->waiting_by_kind[kind]);
			between = ", ";
		}
	printf("}, \"slowest_reader\": \"%s\"", reader_name(stats));
	for (size_t i = 0; i < FIGURES; i++) {
		printf(", \"");
		for (const char *at = figures[i].name; *at; at++)
			putchar(*at == ' ' ? '_' : *at);
		printf("%s\": ", figures[i].is_time ? "_seconds" : "");
		print_value(stats, &figures[i]);
	}
	printf("}\n");
}

/* ---- As Prometheus reads it ---- */

static void print_head(const char *metric, const char *text)
{
	bool counts = strstr(metric, "_total") != NULL;

	printf("# HELP baton_queue_%s %s\n", metric, text);
	printf("# TYPE baton_queue_%s %s\n", metric, counts ? "counter" : "gauge");
}

static void print_prometheus(const struct baton_redis_stats *stats, const char *queue)
{
	char name[16];

	print_head("waiting_tasks", "Tasks that wait, by class.");
	for (uint32_t kind = 0; kind < BATON_REDIS_KINDS; kind++)
		if (is_shown(stats, kind))
			printf("baton_queue_waiting_tasks{queue=\"%s\",class=\"%s\"} %" PRIu64 "\n",
			       queue, class_name(kind, name), stats->waiting_by_kind[kind]);
	for (size_t i = 0; i < FIGURES; i++) {
		const struct figure *figure = &figures[i];

		if (figure->help)
			print_head(figure->metric, figure->help);
		printf("baton_queue_%s{queue=\"%s\"", figure->metric, queue);
		if (figure->label)
			printf(",how=\"%s\"", figure->label);
		printf("} ");
		print_value(stats, figure);
		printf("\n");
	}
}

/* ---- */

static int status_of(int error)
{
	switch (error) {
	case -EBADMSG:
		return EXIT_FOREIGN;
	case -ECONNREFUSED:
	case -ETIMEDOUT:
	case -EACCES:
	case -EREMOTE:
	case -EPROTO:
		return EXIT_NO_REDIS;
	default:
		return EXIT_INTERNAL;
	}
}

static enum form parse(int argc, char **argv, struct baton_redis_options *connection)
{
	static const struct option known[] = {
		{"json", no_argument, NULL, 'j'},
		{"prometheus", no_argument, NULL, 'p'},
		{"version", no_argument, NULL, 'V'},
		CONNECTION_OPTIONS,
	};
	enum form form = TABLE;
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'j') {
			form = JSON;
		} else if (option == 'p') {
			form = PROMETHEUS;
		} else if (option == 'V') {
			printf("baton-queue %s\n", baton_version());
			exit(0);
		} else {
			connection_option(connection, option, help);
		}
	}
	if (optind < argc)
		connection_option(connection, '?', help);
	return form;
}

int main(int argc, char **argv)
{
	struct baton_redis_options connection = {.patience_ns = BATON_SECOND};
	struct baton_redis_stats stats;
	struct baton_redis *redis;
	const char *queue;
	enum form form;
	int error;

	program = "baton-queue";
	form = parse(argc, argv, &connection);
	queue = connection.queue ? connection.queue : "baton";
	redis = connect_or_die(&connection);
	error = baton_redis_stats_read(redis, &stats);
	if (error)
		die(status_of(error), "%s", baton_redis_error(redis));
	baton_redis_destroy(redis);
	if (form == JSON)
		print_json(&stats, queue);
	else if (form == PROMETHEUS)
		print_prometheus(&stats, queue);
	else
		print_table(&stats, queue);
	if (fflush(stdout) || ferror(stdout))
		die(EXIT_OUTPUT, "the output cannot be written");
	return 0;
}
