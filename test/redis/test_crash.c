/* SPDX-License-Identifier: MIT */
/*
 * The crash matrix: two schedulers, three backends, four submitters and their server; one of them
 * is killed, or frozen for longer than its lease, at one step. An SQLite ledger judges: each
 * accepted task had its effect once, no limit was exceeded, no submitter waits for ever, no key is
 * left. Each process is struck at each step once; CRASH=deep: in several places of its life.
 */
#include "crash.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>
#include <sqlite3.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FROZEN_NS (3 * SCHEDULER_LEASE_NS / 2)
#define CASE_NS (240 * BATON_SECOND)
#define LOOK_US 2000

struct world {
	struct server server;
	sqlite3 *ledger;
	redisContext *context;
	pid_t pids[PROCESSES]; /* submitters first, then schedulers, then backends; 0: it is over */
	int victim;            /* -1: the server */
	int report[2];
	bool struck;
	uint64_t frozen_at;
};

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * BATON_SECOND + (uint64_t)now.tv_nsec;
}

/* ---- The ledger ---- */

static void record(sqlite3 *ledger, const char *sql)
{
	char *error = NULL;

	sqlite3_exec(ledger, sql, NULL, NULL, &error);
	cr_assert_null(error, "%s: %s", sql, error);
}

static int judge(sqlite3 *ledger, const char *sql)
{
	sqlite3_stmt *statement;
	int number;

	cr_assert_eq(sqlite3_prepare_v2(ledger, sql, -1, &statement, NULL), SQLITE_OK, "%s", sql);
	cr_assert_eq(sqlite3_step(statement), SQLITE_ROW);
	number = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

static void read_reports(struct world *world)
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
		record(world->ledger, sql);
	}
}

/* How many run, as the server knows: of each class and slower ones. */
static void look_at_limits(struct world *world)
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
	record(world->ledger, sql);
}

static void read_effects(struct world *world)
{
	redisReply *reply = server_ask(&world->server, "XRANGE {test}:effects - +");

	for (size_t i = 0; i < reply->elements; i++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "INSERT INTO effect VALUES ('%s')",
		         reply->element[i]->element[1]->element[1]->str);
		record(world->ledger, sql);
	}
	freeReplyObject(reply);
}

/* ---- A world ---- */

static pid_t begin(struct world *world, int number, const struct step *step)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	if (number == world->victim)
		crash_at(step);
	if (number < SUBMITTERS)
		run_submitter(&world->server, number, world->report[1]);
	if (number < SUBMITTERS + SCHEDULERS)
		run_scheduler(&world->server);
	run_backend(&world->server, number - SUBMITTERS - SCHEDULERS);
}

static void set_up(struct world *world, const struct step *step, const char *const *arguments)
{
	static const int order[PROCESSES] = {4, 5, 6, 7, 8, 0, 1, 2, 3};

	signal(SIGPIPE, SIG_IGN); /* this process's own connection */
	lease_factor = 1;
	server_start(&world->server, arguments);
	cr_assert_eq(sqlite3_open(":memory:", &world->ledger), SQLITE_OK);
	record(world->ledger, "CREATE TABLE accepted (id PRIMARY KEY);"
	                      "CREATE TABLE over (id PRIMARY KEY);"
	                      "CREATE TABLE effect (id);"
	                      "CREATE TABLE looked (busy0, busy1, busy2)");
	cr_assert_eq(pipe2(world->report, O_NONBLOCK | O_CLOEXEC), 0);
	world->context = redisConnectUnix(world->server.socket);
	for (int i = 0; i < PROCESSES; i++) {
		world->pids[order[i]] = begin(world, order[i], step);
		/* The first scheduler leads, unless this is where it is struck. */
		for (int look = 0; i == 0 && look < 200 &&
		                   !server_number(&world->server, "EXISTS {test}:lease:scheduler");
		     look++)
			usleep(LOOK_US);
	}
}

static void tear_down(struct world *world)
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
			world->frozen_at = clock_ns();
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
	if (world->frozen_at && clock_ns() >= world->frozen_at + FROZEN_NS) {
		world->frozen_at = 0;
		kill(world->pids[world->victim], SIGCONT);
	}
}

static bool is_over(const struct world *world)
{
	for (int i = 0; i < SUBMITTERS; i++)
		if (world->pids[i])
			return false;
	return world->struck && !world->frozen_at &&
	       server_number(&world->server, "ZCARD {test}:queue") == 0 &&
	       server_number(&world->server, "HLEN {test}:run") == 0;
}

static void run(struct world *world, void (*strike)(struct world *world))
{
	uint64_t end = clock_ns() + CASE_NS;

	while (!is_over(world)) {
		cr_assert(clock_ns() < end, "not over (struck: %d): %d accepted, %d over",
		          world->struck, judge(world->ledger, "SELECT count(*) FROM accepted"),
		          judge(world->ledger, "SELECT count(*) FROM over"));
		read_reports(world);
		look_after(world);
		look_at_limits(world);
		if (strike && !world->struck &&
		    judge(world->ledger, "SELECT count(*) FROM over") >= TASKS)
			strike(world);
		usleep(LOOK_US);
	}
	read_reports(world);
	read_effects(world);
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

static void judge_all(struct world *world, bool all_there)
{
	sqlite3 *ledger = world->ledger;

	cr_assert_eq(judge(ledger, "SELECT count(*) FROM (SELECT id FROM effect GROUP BY id "
	                           "HAVING count(*) > 1)"),
	             0, "an effect happened twice");
	if (all_there)
		cr_assert_eq(judge(ledger, "SELECT count(*) FROM accepted WHERE id NOT IN "
		                           "(SELECT id FROM effect)"),
		             0, "a task that was accepted had no effect");
	cr_assert_eq(judge(ledger, "SELECT count(*) FROM looked WHERE busy0 > 3 OR busy1 > 2 OR "
	                           "busy2 > 1"),
	             0, "more ran than the limits allow");
	cr_assert(judge(ledger, "SELECT max(busy0) FROM looked") > 1, "nothing ran together");
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

/* ---- Cases ---- */

#define SUBMITTER 1
#define SCHEDULER SUBMITTERS
#define BACKEND (SUBMITTERS + SCHEDULERS)

static const struct {
	int victim;
	const char *function;
	int count;
} functions[] = {
	{SUBMITTER, "submit", 2},   {SUBMITTER, "forget", 2}, {SCHEDULER, "lead", 1},
	{SCHEDULER, "admit", 2},    {SCHEDULER, "sweep", 2},  {BACKEND, "renew", 2},
	{BACKEND, "take", 2},       {BACKEND, "effect", 2},   {BACKEND, "finish", 2},
	{BACKEND + 1, "finish", 2}, /* with the effect */
};

#define CASES (int)(sizeof(functions) / sizeof(functions[0]) * 6)

#define DEEP 4

/* A scheduler that is not disturbed asks to lead once. */
static bool leads_once(int number)
{
	return strcmp(functions[number / 6].function, "lead") == 0;
}

static void strike_one(int number, int more)
{
	struct world world = {.victim = functions[number / 6].victim};
	struct step step = {
		.function = functions[number / 6].function,
		.phase = (enum phase)(number % 3),
		.count = functions[number / 6].count + (leads_once(number) ? 0 : more),
		.signal = number % 6 < 3 ? SIGKILL : SIGSTOP,
	};

	fprintf(stderr, "%s %s, phase %d\n", step.signal == SIGKILL ? "killed at" : "frozen at",
	        step.function, (int)step.phase);
	set_up(&world, &step, (const char *const[]){"--appendfsync", "always", NULL});
	run(&world, NULL);
	judge_all(&world, true);
	tear_down(&world);
}

/* Each fourth case from `part` on: four parts run side by side. */
static void strike_part(int part)
{
	bool deep = getenv("CRASH") && strcmp(getenv("CRASH"), "deep") == 0;

	for (int number = part; number < CASES; number += 4)
		for (int more = 0; more < (deep ? DEEP : 1); more++)
			strike_one(number, more);
}

TestSuite(crash, .timeout = 300);

Test(crash, the_first_quarter_of_all_steps)
{
	strike_part(0);
}

Test(crash, the_second_quarter_of_all_steps)
{
	strike_part(1);
}

Test(crash, the_third_quarter_of_all_steps)
{
	strike_part(2);
}

Test(crash, the_last_quarter_of_all_steps)
{
	strike_part(3);
}

/* ---- The server ---- */

static const char *const always[] = {"--appendfsync", "always", NULL};

static void kill_server(struct world *world)
{
	server_kill(&world->server);
	server_restart(&world->server, always);
	world->struck = true;
}

Test(crash, a_server_that_writes_always_has_all_that_it_accepted)
{
	struct world world = {.victim = -1};
	struct step never = {0};

	set_up(&world, &never, always);
	run(&world, kill_server);
	judge_all(&world, true);
	tear_down(&world);
}

/* Takes the last changes from the file, as if they had never reached the disk. */
static void lose_tail(struct world *world)
{
	char path[400];
	char directory[96];
	struct dirent *entry;
	struct stat stat_;
	DIR *files;

	server_kill(&world->server);
	snprintf(directory, sizeof(directory), "%s/appendonlydir", world->server.directory);
	files = opendir(directory);
	cr_assert_not_null(files);
	while ((entry = readdir(files))) {
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (strstr(entry->d_name, ".incr.aof") && stat(path, &stat_) == 0)
			cr_assert_eq(truncate(path, stat_.st_size - 3000), 0);
	}
	closedir(files);
	server_restart(&world->server, NULL);
	world->struck = true;
}

Test(crash, what_a_server_lost_with_its_last_second_is_submitted_again)
{
	struct world world = {.victim = -1};
	struct step never = {0};

	set_up(&world, &never, NULL);
	run(&world, lose_tail);
	judge_all(&world, false);
	tear_down(&world);
}
