/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CASE_NS (240 * BATON_SECOND)

uint64_t world_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * BATON_SECOND + (uint64_t)now.tv_nsec;
}

/* ---- The ledger ---- */

void ledger_record(sqlite3 *ledger, const char *sql)
{
	char *error = NULL;

	sqlite3_exec(ledger, sql, NULL, NULL, &error);
	cr_assert_null(error, "%s: %s", sql, error);
}

int ledger_judge(sqlite3 *ledger, const char *sql)
{
	sqlite3_stmt *statement;
	int number;

	cr_assert_eq(sqlite3_prepare_v2(ledger, sql, -1, &statement, NULL), SQLITE_OK, "%s", sql);
	cr_assert_eq(sqlite3_step(statement), SQLITE_ROW);
	number = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

void world_read_reports(struct world *world)
{
	char text[4096];
	ssize_t size = read(world->report[0], text, sizeof(text) - 1);
	char what[16];
	char id[16];
	char sql[128];
	int used;

	if (size <= 0)
		return;
	text[size] = '\0';
	for (const char *at = text; sscanf(at, "%15s %15s\n%n", what, id, &used) == 2; at += used) {
		snprintf(sql, sizeof(sql), "INSERT OR IGNORE INTO %s VALUES ('%s')", what, id);
		ledger_record(world->ledger, sql);
	}
}

/* How many run, as the server knows: of each class and slower ones. */
void world_look_at_limits(struct world *world)
{
	redisReply *reply = redisCommand(world->context, "HVALS {test}:run");
	int busy[3] = {0};
	char sql[96];

	if (!reply) {
		redisReconnect(world->context);
		return;
	}
	for (size_t i = 0; i < reply->elements; i++)
		for (int class = atoi(strchr(reply->element[i]->str, ':') + 1); class >= 0;
		     class --)
			busy[class]++;
	freeReplyObject(reply);
	snprintf(sql, sizeof(sql), "INSERT INTO looked VALUES (%d, %d, %d)", busy[0], busy[1],
	         busy[2]);
	ledger_record(world->ledger, sql);
}

void world_read_effects(struct world *world)
{
	redisReply *reply = server_ask(&world->server, "XRANGE {test}:effects - +");

	for (size_t i = 0; i < reply->elements; i++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "INSERT INTO effect VALUES ('%s')",
		         reply->element[i]->element[1]->element[1]->str);
		ledger_record(world->ledger, sql);
	}
	freeReplyObject(reply);
}

/* ---- A world ---- */

pid_t world_begin(struct world *world, int number, const struct step *step)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	if (number == world->victim)
		crash_at(step);
	if (number < SUBMITTERS)
		run_submitter(&world->server, abs(number), world->report[1]);
	if (number < SUBMITTERS + SCHEDULERS)
		run_scheduler(&world->server);
	run_backend(&world->server, number - SUBMITTERS - SCHEDULERS);
}

void world_start(struct world *world, const struct step *step, const char *const *arguments)
{
	static const int order[PROCESSES] = {4, 5, 6, 7, 8, 0, 1, 2, 3};

	signal(SIGPIPE, SIG_IGN); /* this process's own connection */
	lease_factor = 1;
	server_start(&world->server, arguments);
	cr_assert_eq(sqlite3_open(":memory:", &world->ledger), SQLITE_OK);
	ledger_record(world->ledger, "CREATE TABLE accepted (id PRIMARY KEY);"
	                             "CREATE TABLE over (id PRIMARY KEY);"
	                             "CREATE TABLE effect (id);"
	                             "CREATE TABLE looked (busy0, busy1, busy2)");
	cr_assert_eq(pipe2(world->report, O_NONBLOCK | O_CLOEXEC), 0);
	world->context = redisConnectUnix(world->server.socket);
	for (int i = 0; i < PROCESSES; i++) {
		world->pids[order[i]] = world_begin(world, order[i], step);
		/* The first scheduler leads, unless this is where it is struck. */
		for (int look = 0; i == 0 && look < 200 &&
		                   !server_number(&world->server, "EXISTS {test}:lease:scheduler");
		     look++)
			usleep(LOOK_US);
	}
}

void world_stop(struct world *world)
{
	for (int i = 0; i < PROCESSES; i++)
		if (world->pids[i]) {
			kill(world->pids[i], SIGKILL);
			waitpid(world->pids[i], NULL, 0);
		}
	sqlite3_close(world->ledger);
	redisFree(world->context);
	close(world->report[0]);
	close(world->report[1]);
	server_stop(&world->server);
}

/* Who is over; the victim, which is frozen, goes on after a while. */
static void look_after(struct world *world)
{
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		if (!world->pids[i] || waitpid(world->pids[i], &status, WNOHANG | WUNTRACED) <= 0)
			continue;
		if (WIFSTOPPED(status)) {
			world->frozen_at = world_clock_ns();
			world->struck = true;
			continue;
		}
		cr_assert(i < SUBMITTERS || i == world->victim, "process %d is over", i);
		cr_assert(i == world->victim || (WIFEXITED(status) && !WEXITSTATUS(status)),
		          "process %d has failed", i);
		if (i == world->victim && WIFSIGNALED(status))
			world->struck = true;
		world->pids[i] = 0;
	}
	if (world->frozen_at && world_clock_ns() >= world->frozen_at + FROZEN_NS) {
		world->frozen_at = 0;
		kill(world->pids[world->victim], SIGCONT);
	}
}

/* A scheduler or backend may have had less to do than its step needs: more is submitted. */
static void go_on(struct world *world)
{
	static const struct step never;

	if (world->struck || world->victim < SUBMITTERS)
		return;
	for (int i = 0; i < SUBMITTERS; i++)
		if (!world->pids[i])
			world->pids[i] = world_begin(world, -PROCESSES - world->more++, &never);
}

bool world_is_over(const struct world *world)
{
	for (int i = 0; i < SUBMITTERS; i++)
		if (world->pids[i])
			return false;
	return world->struck && !world->frozen_at &&
	       server_number(&world->server, "ZCARD {test}:queue") == 0 &&
	       server_number(&world->server, "HLEN {test}:run") == 0;
}

void world_run(struct world *world, void (*strike)(struct world *world))
{
	uint64_t end = world_clock_ns() + CASE_NS;

	while (!world_is_over(world)) {
		cr_assert(world_clock_ns() < end, "not over (struck: %d): %d accepted, %d over",
		          world->struck,
		          ledger_judge(world->ledger, "SELECT count(*) FROM accepted"),
		          ledger_judge(world->ledger, "SELECT count(*) FROM over"));
		world_read_reports(world);
		look_after(world);
		world_look_at_limits(world);
		go_on(world);
		if (strike && !world->struck &&
		    ledger_judge(world->ledger, "SELECT count(*) FROM over") >= TASKS)
			strike(world);
		usleep(LOOK_US);
	}
	world_read_reports(world);
	world_read_effects(world);
}

/* What was submitted is over, and each counter of tasks that wait is 0 again. */
static void judge_stats(struct world *world)
{
	static const uint64_t none[BATON_REDIS_KINDS];
	struct baton_redis *redis = server_connect(&world->server);
	struct baton_redis_stats stats;

	cr_assert_eq(baton_redis_stats_read(redis, &stats), 0, "%s", baton_redis_error(redis));
	cr_assert_eq(memcmp(stats.waiting_by_kind, none, sizeof(none)), 0);
	cr_assert_eq(stats.done, stats.submitted);
	cr_assert_eq(stats.bytes, 0);
	baton_redis_destroy(redis);
}

void world_judge(struct world *world, bool all_there)
{
	sqlite3 *ledger = world->ledger;

	cr_assert_eq(ledger_judge(ledger, "SELECT count(*) FROM (SELECT id FROM effect GROUP BY id "
	                                  "HAVING count(*) > 1)"),
	             0, "an effect happened twice");
	if (all_there)
		cr_assert_eq(ledger_judge(ledger, "SELECT count(*) FROM accepted WHERE id NOT IN "
		                                  "(SELECT id FROM effect)"),
		             0, "a task that was accepted had no effect");
	cr_assert_eq(ledger_judge(ledger,
	                          "SELECT count(*) FROM looked WHERE busy0 > 3 OR busy1 > 2 OR "
	                          "busy2 > 1"),
	             0, "more ran than the limits allow");
	cr_assert(ledger_judge(ledger, "SELECT max(busy0) FROM looked") > 1,
	          "nothing ran together");
	judge_stats(world);
	/* A submitter that was killed has left its last task's, and a server that has lost a forget
	 * the note; the queue deletes them when their time is over. */
	cr_assert(server_number(&world->server, "EVAL %s 0",
	                        "local left = 0 "
	                        "for _, kind in ipairs({'task', 'files', 'note'}) do "
	                        "for _, key in ipairs(redis.call('KEYS', '{test}:' .. kind .. "
	                        "':*')) do "
	                        "if not redis.call('ZSCORE', '{test}:kept', "
	                        "string.sub(key, #kind + 9)) then left = left + 1000 end "
	                        "left = left + 1 end end return left") <= (all_there ? 1 : 999),
	          "keys are left");
}
