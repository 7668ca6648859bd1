/* SPDX-License-Identifier: MIT */
/*
 * Group commit with SQLite. Threads insert rows, each row by a task of its own. A transaction spans
 * a batch of tasks, so many rows share one commit. The future of a row completes when the row is
 * committed.
 *
 *	group_commit [FILE]                inserts 1,000 rows, and prints the number of commits
 *	group_commit --until-killed FILE   inserts for ever, and prints the committed rows
 *	group_commit --check FILE          fails unless FILE has all rows named on standard input
 */
#include <baton.h>
#include <baton/hooks.h>

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define ROWS 1000
#define WINDOW 50 /* rows that a thread has under way at once */

struct store {
	struct baton_resource resource;
	sqlite3 *db;
	sqlite3_stmt *insert;
	unsigned commits;
};

/* ---- The hooks: one transaction around a batch ---- */

static int execute(struct baton_resource *resource, const char *sql)
{
	struct store *store = baton_container_of(resource, struct store, resource);

	return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

static int begin(struct baton_resource *resource)
{
	return execute(resource, "BEGIN IMMEDIATE");
}

static int end(struct baton_resource *resource)
{
	struct store *store = baton_container_of(resource, struct store, resource);
	int status = execute(resource, "COMMIT");

	if (status)
		(void)execute(resource, "ROLLBACK");
	store->commits++;
	return status;
}

/* All tasks run on the pool's threads. A transaction has at most `quantum` rows. */
static const struct baton_resource_config config = {
	.capture_max = BATON_CAPTURE_NONE,
	.quantum = 256,
	.batch_begin = begin,
	.batch_end = end,
	.delay_completions = true,
};

static struct store store = {.resource = BATON_RESOURCE_INIT(&config)};

/* ---- A row ---- */

struct row {
	struct baton_task task;
	struct baton_future future;
	sqlite3_int64 number;
};

static int row_run(struct baton_task *task)
{
	struct row *row = baton_container_of(task, struct row, task);
	int status;

	(void)sqlite3_bind_int64(store.insert, 1, row->number);
	status = sqlite3_step(store.insert);
	(void)sqlite3_reset(store.insert);
	return status == SQLITE_DONE ? 0 : status;
}

static void must(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "group_commit: %s: %s\n", what, sqlite3_errmsg(store.db));
	exit(1);
}

/* Submits `count` rows and waits until all are committed. `say`: prints their numbers. */
static void insert_rows(struct row *rows, sqlite3_int64 first, unsigned count, bool say)
{
	char line[32];

	for (unsigned i = 0; i < count; i++) {
		rows[i].number = first + i;
		baton_future_init(&rows[i].future);
		baton_task_init(&rows[i].task, row_run, &rows[i].future);
		must(baton_submit(&store.resource, &rows[i].task) == 0, "submit");
	}
	for (unsigned i = 0; i < count; i++) {
		must(baton_future_wait(&rows[i].future) == 0, "wait");
		must(baton_future_status(&rows[i].future) == 0, "insert");
		if (!say)
			continue;
		/* One write per line, so that lines of several threads do not mix. */
		(void)snprintf(line, sizeof(line), "%lld\n", (long long)rows[i].number);
		must(write(STDOUT_FILENO, line, strlen(line)) == (ssize_t)strlen(line), "write");
	}
}

static void *insert_some(void *first)
{
	sqlite3_int64 number = *(sqlite3_int64 *)first;
	struct row rows[WINDOW];

	for (unsigned done = 0; done < ROWS / THREADS; done += WINDOW)
		insert_rows(rows, number + done, WINDOW, false);
	return NULL;
}

static void *insert_for_ever(void *first)
{
	sqlite3_int64 number = *(sqlite3_int64 *)first;
	struct row rows[WINDOW];

	for (unsigned count = 1;; number += count, count = count % WINDOW + 1)
		insert_rows(rows, number, count, true);
	return NULL;
}

static sqlite3_int64 query(const char *sql, sqlite3_int64 number)
{
	sqlite3_stmt *select;
	sqlite3_int64 result;

	must(sqlite3_prepare_v2(store.db, sql, -1, &select, NULL) == SQLITE_OK, sql);
	(void)sqlite3_bind_int64(select, 1, number);
	must(sqlite3_step(select) == SQLITE_ROW, sql);
	result = sqlite3_column_int64(select, 0);
	(void)sqlite3_finalize(select);
	return result;
}

static int check(void)
{
	long long number;
	unsigned acknowledged = 0;
	unsigned lost = 0;

	while (scanf("%lld", &number) == 1) {
		acknowledged++;
		lost += query("SELECT count(*) FROM rows WHERE number = ?", number) != 1;
	}
	printf("%lld rows, %u acknowledged, %u lost\n",
	       (long long)query("SELECT count(*) FROM rows WHERE ? = 0", 0), acknowledged, lost);
	return lost != 0;
}

static void run(void *(*body)(void *))
{
	/* The rows of a run that was killed stay: each run begins above them. */
	sqlite3_int64 above = query("SELECT ifnull(max(number), 0) FROM rows WHERE ? = 0", 0);
	sqlite3_int64 first[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		first[i] = (above / 1000000 + 1 + i) * 1000000;
		must(pthread_create(&threads[i], NULL, body, &first[i]) == 0, "thread");
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	bool checks = argc > 2 && strcmp(argv[1], "--check") == 0;
	bool forever = argc > 2 && strcmp(argv[1], "--until-killed") == 0;
	const char *file = argc > 1 ? argv[argc - 1] : "";
	int status = 0;

	must(sqlite3_open(file, &store.db) == SQLITE_OK, "open");
	must(sqlite3_exec(store.db, "CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY)",
	                  NULL, NULL, NULL) == SQLITE_OK,
	     "create");
	must(sqlite3_prepare_v2(store.db, "INSERT INTO rows VALUES (?)", -1, &store.insert, NULL) ==
	             SQLITE_OK,
	     "prepare");
	if (checks) {
		status = check();
	} else {
		run(forever ? insert_for_ever : insert_some);
		must(baton_resource_close(&store.resource) == 0, "close");
		must(baton_resource_await(&store.resource) == 0, "await");
		printf("%u rows in %u commits\n", ROWS, store.commits);
		status = query("SELECT count(*) % ? FROM rows", ROWS) != 0 ||
		         store.commits >= ROWS / 2;
	}
	(void)sqlite3_finalize(store.insert);
	(void)sqlite3_close(store.db);
	return status;
}
