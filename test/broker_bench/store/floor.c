/* SPDX-License-Identifier: MIT */
/*
 * The floor of a durable broker: a plain program that runs the statements of QoS 1 messages from
 * one publisher to one stored session each, in transactions of so many messages, on a file of the
 * broker's tables. Nothing else is done; no more messages a second can be committed.
 *
 *	floor FILE [SECONDS]		a new file, on the disk that is asked about
 *
 * Prints what a sync of the disk takes, then a line for each size of a transaction.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../latency.h"
#include "store/database.h"

#define SYNCS 200
#define PAYLOAD 64
#define SESSIONS 50

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Appends and syncs, as a commit into a write-ahead log does. */
static void time_syncs(const char *path)
{
	static const char page[4096];
	static struct latency latency;
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		fail(path);
	for (int i = 0; i < SYNCS; i++) {
		const uint64_t begin = now_ns();

		if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page) || fdatasync(fd) != 0)
			fail(path);
		latency_add(&latency, now_ns() - begin);
	}
	close(fd);
	unlink(path);
	printf("a page written and synced: p50 %.0f us, p99 %.0f us\n",
	       latency_quantile(&latency, 0.5) / 1e3, latency_quantile(&latency, 0.99) / 1e3);
}

static void run(struct database *database, enum database_statement statement, int64_t session,
                int64_t number, int64_t message)
{
	static const char topic[] = "bench/12", payload[PAYLOAD];
	struct database_record record = {
		.texts = {{topic, sizeof(topic) - 1}, {payload, sizeof(payload)}}};

	if (statement == DATABASE_ADD_ROW)
		record = (struct database_record){.numbers = {session, number, message, 1}};
	else if (statement == DATABASE_ADD_MESSAGE)
		memcpy(record.numbers, (int64_t[]){message, 1}, 2 * sizeof(int64_t));
	else if (statement == DATABASE_END_MESSAGE)
		record.numbers[0] = message;
	else
		memcpy(record.numbers, (int64_t[]){session, number, number % 65535 + 1},
		       3 * sizeof(int64_t));
	if (database_run(database, statement, &record) != 0) {
		fprintf(stderr, "floor: %s\n", database_error(database));
		exit(1);
	}
}

/* One transaction: `batch` messages come, and those of the transaction before are acknowledged. */
static void transact(struct database *database, int64_t first, int64_t batch)
{
	run(database, DATABASE_BEGIN, 0, 0, 0);
	for (int64_t i = first; i < first + batch; i++) {
		run(database, DATABASE_ADD_MESSAGE, 0, 0, 2 * i);
		run(database, DATABASE_ADD_ROW, i % SESSIONS, 2 * i + 1, 2 * i);
	}
	for (int64_t i = first - batch; i < first && i >= 0; i++) {
		run(database, DATABASE_SEND_ROW, i % SESSIONS, 2 * i + 1, 0);
		run(database, DATABASE_END_ROW, i % SESSIONS, 2 * i + 1, 0);
		run(database, DATABASE_END_MESSAGE, 0, 0, 2 * i);
	}
	run(database, DATABASE_COMMIT, 0, 0, 0);
}

static void measure(const char *path, int64_t batch, double seconds)
{
	static struct latency latency;
	struct database database;
	const uint64_t begin = now_ns();
	int64_t done = 0;

	memset(&latency, 0, sizeof(latency));
	if (database_open(&database, path, true) != 0)
		exit(1);
	while ((double)(now_ns() - begin) < seconds * 1e9) {
		const uint64_t start = now_ns();

		transact(&database, done, batch);
		latency_add(&latency, now_ns() - start);
		done += batch;
	}
	printf("%4lld messages a transaction: %8.0f messages a second, a transaction takes p50 "
	       "%.0f us, p99 %.0f us\n",
	       (long long)batch, (double)done * 1e9 / (double)(now_ns() - begin),
	       latency_quantile(&latency, 0.5) / 1e3, latency_quantile(&latency, 0.99) / 1e3);
	database_close(&database);
	unlink(path);
}

int main(int argc, char **argv)
{
	static const int64_t batches[] = {1, 10, 100, 1000};
	const double seconds = argc > 2 ? atof(argv[2]) : 1;

	if (argc < 2 || seconds <= 0) {
		fprintf(stderr, "usage: floor FILE [SECONDS]\n");
		return 2;
	}
	time_syncs(argv[1]);
	for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++)
		measure(argv[1], batches[i], seconds);
	return 0;
}
