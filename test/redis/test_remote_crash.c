/* SPDX-License-Identifier: MIT */
/*
 * Three nodes of a space under load, of which one is killed, or frozen for longer than its lease,
 * at one step of one call. An SQLite ledger judges: each task had its effect once, in the order of
 * its name's stream, under epochs that rise, with the state that the task before had left; each
 * future of a node that lives was completed; while a node lived, no partition was without an owner
 * for longer than a lease after its owner's lease had ended; nothing is left on the server.
 * CRASH=deep: each call, each phase, in several places of a node's life.
 */
#include "crash.h"

#include <baton/remote.h>

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>
#include <sqlite3.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NODES 3
#define NAMES 32
#define PARTITIONS 16
#define NODE_TASKS 480
#define WINDOW 16
#define LEASE_NS (500 * MS)
#define FROZEN_NS (3 * LEASE_NS / 2)
#define CASE_NS (600 * BATON_SECOND)
#define LOOK_US 5000
#define SEEN_MAX 8 /* nodes of one case */

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * BATON_SECOND + (uint64_t)now.tv_nsec;
}

/* ---- A node ---- */

/* The name's state is the number of its tasks; the effect says whose task it was. */
static int count(struct baton_remote_job *job, void *arg)
{
	size_t size;
	const char *state = baton_remote_job_state(job, &size);
	char text[64];
	int number = (state ? atoi(state) : 0) + 1;
	int length = snprintf(text, sizeof(text), "%d", number);

	if (baton_remote_job_set_state(job, text, (size_t)length))
		return -ENOMEM;
	length = snprintf(text, sizeof(text), "%s %d",
	                  (const char *)baton_remote_job_data(job, &size), number);
	return baton_remote_job_effect(job, text, (size_t)length);
}

struct item {
	struct baton_remote_task task;
	struct baton_future future;
	char name[16];
	char data[32];
};

static void give_up(const char *what, int number, int error)
{
	fprintf(stderr, "node %d: %s: %d\n", number, what, error);
	_exit(1);
}

static void submit(struct baton_remote *remote, struct item *item, int node, int number, int report)
{
	int error;

	snprintf(item->name, sizeof(item->name), "name-%d", (number * 7 + node) % NAMES);
	snprintf(item->data, sizeof(item->data), "%d %d", node, number);
	item->future = (struct baton_future)BATON_FUTURE_INIT;
	item->task = (struct baton_remote_task)BATON_REMOTE_TASK_INIT(
		item->name, strlen(item->name), item->data, strlen(item->data), &item->future);
	dprintf(report, "tried %d %d\n", node, number);
	/* A node that was frozen may take its server for away, until it has asked again. */
	do {
		error = baton_remote_submit(remote, &item->task);
		if (error == -ECONNREFUSED || error == -ETIMEDOUT)
			usleep(1000);
	} while (error == -ECONNREFUSED || error == -ETIMEDOUT);
	if (error)
		give_up("submit", node, error);
}

static _Noreturn void run_node(const struct server *server, int node, int report, int stop)
{
	static struct item items[WINDOW];
	struct baton_remote_options options = {
		.redis = {.socket = server->socket, .queue = "test"},
		.partitions = PARTITIONS,
		.lease_ns = LEASE_NS,
		.run = count,
	};
	struct baton_remote *remote;
	char end;
	int error = baton_remote_create(&options, &remote);

	if (error)
		give_up(baton_remote_error(remote), node, error);
	for (int number = 0; number < NODE_TASKS; number += WINDOW) {
		for (int i = 0; i < WINDOW; i++)
			submit(remote, &items[i], node, number + i, report);
		for (int i = 0; i < WINDOW; i++) {
			error = baton_future_wait(&items[i].future);
			if (!error)
				error = baton_future_status(&items[i].future);
			if (error)
				give_up("task", node, error);
			dprintf(report, "done %d %d\n", node, number + i);
		}
	}
	dprintf(report, "over %d 0\n", node);
	while (read(stop, &end, 1) > 0)
		;
	baton_remote_destroy(remote);
	_exit(0);
}

/* ---- The ledger ---- */

struct world {
	struct server server;
	sqlite3 *ledger;
	redisContext *context;
	pid_t pids[NODES];
	int victim;
	int report[2];
	int stop[2];
	bool struck;
	bool killed;
	uint64_t frozen_at;
	char effects[48]; /* read up to here */
	struct {
		char node[64];
		char renewal[24];
		uint64_t at;
	} seen[SEEN_MAX];
};

static void record(sqlite3 *ledger, const char *format, ...)
{
	va_list list;
	char *sql;
	char *error = NULL;

	va_start(list, format);
	sql = sqlite3_vmprintf(format, list);
	va_end(list);
	sqlite3_exec(ledger, sql, NULL, NULL, &error);
	cr_assert_null(error, "%s: %s", sql, error);
	sqlite3_free(sql);
}

static int judge(sqlite3 *ledger, const char *sql)
{
	sqlite3_stmt *statement;
	int number;

	cr_assert_eq(sqlite3_prepare_v2(ledger, sql, -1, &statement, NULL), SQLITE_OK, "%s: %s",
	             sql, sqlite3_errmsg(ledger));
	cr_assert_eq(sqlite3_step(statement), SQLITE_ROW);
	number = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

static void read_reports(struct world *world)
{
	static char text[16384];
	static size_t kept;
	ssize_t size = read(world->report[0], text + kept, sizeof(text) - 1 - kept);
	char *at = text;
	char *line;

	if (size <= 0)
		return;
	text[kept + (size_t)size] = '\0';
	record(world->ledger, "BEGIN");
	while ((line = strchr(at, '\n'))) {
		char what[8];
		int node;
		int number;

		*line = '\0';
		cr_assert_eq(sscanf(at, "%7s %d %d", what, &node, &number), 3, "%s", at);
		record(world->ledger, "INSERT INTO %s VALUES (%d, %d)", what, node, number);
		at = line + 1;
	}
	record(world->ledger, "COMMIT");
	kept = strlen(at);
	memmove(text, at, kept + 1);
}

/* Of each node that owns partitions: its name, and its last renewal ('0': its lease has ended). */
static const char *const look =
	"local r, seen, owners = '{test}:remote', {}, {} "
	"for _, owner in ipairs(redis.call('HVALS', r .. ':owners')) do "
	"local node = string.match(owner, ':(.*)') "
	"if not seen[node] then seen[node] = true owners[#owners + 1] = node "
	"owners[#owners + 1] = redis.call('ZSCORE', r .. ':leases', node) or '0' end end "
	"return owners";

/* Since when the node's last renewal is its last. */
static uint64_t renewed_at(struct world *world, const char *node, const char *renewal)
{
	size_t i = 0;

	while (i < SEEN_MAX - 1 && world->seen[i].node[0] && strcmp(world->seen[i].node, node) != 0)
		i++;
	snprintf(world->seen[i].node, sizeof(world->seen[i].node), "%s", node);
	if (strcmp(renewal, "0") != 0 && strcmp(world->seen[i].renewal, renewal) != 0) {
		snprintf(world->seen[i].renewal, sizeof(world->seen[i].renewal), "%s", renewal);
		world->seen[i].at = clock_ns();
	}
	return world->seen[i].at;
}

/* How long (ms) a partition has had an owner at most whose lease was over. */
static void look_at_owners(struct world *world)
{
	redisReply *reply = redisCommand(world->context, "EVAL %s 0", look);
	uint64_t longest = 0;

	cr_assert(reply && reply->type == REDIS_REPLY_ARRAY, "%s", reply ? reply->str : "");
	for (size_t i = 0; i < reply->elements; i += 2) {
		uint64_t since = clock_ns() - renewed_at(world, reply->element[i]->str,
		                                         reply->element[i + 1]->str);

		longest = since > longest ? since : longest;
	}
	record(world->ledger, "INSERT INTO gap VALUES (%lld)",
	       (long long)longest / (long long)MS - (long long)(LEASE_NS / MS));
	freeReplyObject(reply);
}

/* An id of Redis's, which is two numbers, as one that rises with it. */
static long long order_of(const char *id)
{
	long long ms = 0;
	long long sequence = 0;

	sscanf(id, "%lld-%lld", &ms, &sequence);
	return ms * 100000 + sequence;
}

static void read_effects(struct world *world)
{
	redisReply *reply = redisCommand(
		world->context, "XRANGE {test}:remote:effects (%s + COUNT 1000", world->effects);

	record(world->ledger, "BEGIN");
	for (size_t i = 0; i < reply->elements; i++) {
		redisReply **fields = reply->element[i]->element[1]->element;
		int node;
		int number;
		int counted;

		snprintf(world->effects, sizeof(world->effects), "%s",
		         reply->element[i]->element[0]->str);
		cr_assert_eq(sscanf(fields[7]->str, "%d %d %d", &node, &number, &counted), 3);
		record(world->ledger, "INSERT INTO effect VALUES (%Q, %lld, %s, %d, %d, %d)",
		       fields[1]->str, order_of(fields[3]->str), fields[5]->str, node, number,
		       counted);
	}
	record(world->ledger, "COMMIT");
	freeReplyObject(reply);
}

/* ---- A world ---- */

static void begin(struct world *world, int number, const struct step *step)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(world->stop[1]);
		if (number == world->victim)
			crash_at(step);
		run_node(&world->server, number, world->report[1], world->stop[0]);
	}
	world->pids[number] = pid;
}

static void set_up(struct world *world, const struct step *step)
{
	server_start(&world->server, NULL);
	cr_assert_eq(sqlite3_open(":memory:", &world->ledger), SQLITE_OK);
	record(world->ledger, "CREATE TABLE tried (node, number);"
	                      "CREATE TABLE done (node, number);"
	                      "CREATE TABLE over (node, number);"
	                      "CREATE TABLE effect (name, entry, epoch, node, number, counted);"
	                      "CREATE TABLE gap (ms)");
	cr_assert_eq(pipe2(world->report, O_CLOEXEC), 0);
	cr_assert_eq(fcntl(world->report[0], F_SETFL, O_NONBLOCK), 0);
	cr_assert_eq(pipe2(world->stop, O_CLOEXEC), 0);
	world->context = redisConnectUnix(world->server.socket);
	snprintf(world->effects, sizeof(world->effects), "0-0");
	for (int i = 0; i < NODES; i++)
		begin(world, i, step);
}

/* Who is over; the victim, which is frozen, goes on after a while. */
static void look_after(struct world *world)
{
	int status;

	for (int i = 0; i < NODES; i++) {
		if (!world->pids[i] || waitpid(world->pids[i], &status, WNOHANG | WUNTRACED) <= 0)
			continue;
		cr_assert_eq(i, world->victim, "node %d is over", i);
		world->struck = true;
		if (WIFSTOPPED(status)) {
			world->frozen_at = clock_ns();
			continue;
		}
		cr_assert(WIFSIGNALED(status), "the victim has failed");
		world->killed = true;
		world->pids[i] = 0;
	}
	if (world->frozen_at && clock_ns() >= world->frozen_at + FROZEN_NS) {
		world->frozen_at = 0;
		kill(world->pids[world->victim], SIGCONT);
	}
}

static bool is_over(struct world *world)
{
	return world->struck && !world->frozen_at &&
	       judge(world->ledger, "SELECT count(DISTINCT node) FROM over") >=
	               NODES - world->killed;
}

static void look_at_all(struct world *world)
{
	read_reports(world);
	look_after(world);
	look_at_owners(world);
	read_effects(world);
}

static void run(struct world *world)
{
	uint64_t end = clock_ns() + CASE_NS;

	while (!is_over(world)) {
		cr_assert(clock_ns() < end, "not over (struck: %d): %d tried, %d done",
		          world->struck, judge(world->ledger, "SELECT count(*) FROM tried"),
		          judge(world->ledger, "SELECT count(*) FROM done"));
		look_at_all(world);
		usleep(LOOK_US);
	}
	/* What the killed node had submitted is run by the others, who then are alone. */
	while (server_number(&world->server, "EVAL %s 0",
	                     "local left = redis.call('ZCARD', '{test}:remote:leases') "
	                     "for _, key in ipairs(redis.call('KEYS', '{test}:remote:in:*')) do "
	                     "left = left + redis.call('XLEN', key) end return left") !=
	       NODES - world->killed) {
		cr_assert(clock_ns() < end, "tasks, or the killed node, are left");
		usleep(LOOK_US);
	}
	look_at_all(world);
	read_effects(world);
	close(world->stop[0]);
	close(world->stop[1]);
	for (int i = 0; i < NODES; i++) {
		int status = 0;

		if (world->pids[i])
			waitpid(world->pids[i], &status, 0);
		cr_assert_eq(status, 0, "node %d has failed at its end", i);
	}
}

#define NONE(sql, message) cr_assert_eq(judge(ledger, "SELECT count(*) FROM (" sql ")"), 0, message)

static void judge_all(struct world *world)
{
	sqlite3 *ledger = world->ledger;

	NONE("SELECT node, number FROM effect GROUP BY node, number HAVING count(*) > 1",
	     "an effect happened twice");
	NONE("SELECT node, number FROM done EXCEPT SELECT node, number FROM effect",
	     "a task that was done had no effect");
	NONE("SELECT node, number FROM effect EXCEPT SELECT node, number FROM tried",
	     "an effect of no task");
	if (world->killed)
		record(ledger, "DELETE FROM done WHERE node = %d", world->victim);
	cr_assert_eq(judge(ledger, "SELECT count(*) FROM done"),
	             NODE_TASKS * (NODES - world->killed),
	             "a future of a node that lives was not completed");
	NONE("SELECT 1 FROM (SELECT counted, row_number() OVER (PARTITION BY name ORDER BY rowid) "
	     "AS place FROM effect) WHERE counted != place",
	     "a task found another state than the task before had left");
	NONE("SELECT 1 FROM (SELECT entry, lag(entry) OVER (PARTITION BY name ORDER BY rowid) AS "
	     "before FROM effect) WHERE entry <= before",
	     "a name's effects are not in its stream's order");
	NONE("SELECT 1 FROM (SELECT number, lag(number) OVER (PARTITION BY name, node ORDER BY "
	     "rowid) AS before FROM effect) WHERE number <= before",
	     "a submitter's tasks were not run in its order");
	NONE("SELECT 1 FROM (SELECT epoch, lag(epoch) OVER (PARTITION BY name ORDER BY rowid) AS "
	     "before FROM effect) WHERE epoch < before",
	     "an epoch that was over had an effect");
	/* A lease, on a machine that is not busy. */
	cr_assert_leq(judge(ledger, "SELECT max(ms) FROM gap"), (int)(12 * LEASE_NS / MS),
	              "a partition had no owner for too long");
	/* What is for a node that was killed is kept for a while. */
	cr_assert_eq(server_number(&world->server, "EVAL %s 0",
	                           "local left = 0 "
	                           "for _, key in ipairs(redis.call('KEYS', '*')) do "
	                           "local node = string.match(key, ':to:(.*)') or "
	                           "string.match(key, ':seq:(.*)') "
	                           "if not (string.find(key, ':state:') or "
	                           "string.find(key, ':effects') or string.find(key, ':numbers') "
	                           "or string.find(key, ':keeps') or string.find(key, ':spans') or "
	                           "node and redis.call('ZSCORE', '{test}:remote:keeps', node)) "
	                           "then left = left + 1 end end return left"),
	             0, "keys are left");
}

static void tear_down(struct world *world)
{
	sqlite3_close(world->ledger);
	redisFree(world->context);
	close(world->report[0]);
	close(world->report[1]);
	server_stop(&world->server);
}

/* ---- Cases ---- */

static const struct {
	const char *function;
	int count;
	int more; /* later for each further node */
} functions[] = {
	{"remote_commit", 4, 3},
	{"remote_submit", 4, 3},
	{"remote_balance", 3, 1},
	{"remote_states", 1, 0},
};

#define FUNCTIONS (int)(sizeof(functions) / sizeof(functions[0]))

static void strike(int victim, int function, enum phase phase, int signal)
{
	struct world world = {.victim = victim};
	struct step step = {
		.function = functions[function].function,
		.phase = phase,
		.count = functions[function].count + victim * functions[function].more,
		.signal = signal,
	};

	fprintf(stderr, "node %d %s %s, phase %d\n", victim,
	        signal == SIGKILL ? "killed at" : "frozen at", step.function, (int)phase);
	set_up(&world, &step);
	run(&world);
	judge_all(&world);
	tear_down(&world);
}

/* Each node once; CRASH=deep: each node at each step. */
static void strike_all(int signal)
{
	bool deep = getenv("CRASH") && strcmp(getenv("CRASH"), "deep") == 0;

	for (int victim = 0; victim < NODES; victim++)
		for (int function = 0; deep && function < FUNCTIONS; function++)
			for (int phase = 0; phase < 3; phase++)
				strike(victim, function, (enum phase)phase, signal);
	for (int victim = 0; !deep && victim < NODES; victim++)
		strike(victim, victim, (enum phase)((victim + (signal == SIGKILL)) % 3), signal);
}

TestSuite(remote_crash, .timeout = 600);

Test(remote_crash, each_node_killed_under_load)
{
	strike_all(SIGKILL);
}

Test(remote_crash, each_node_frozen_beyond_its_lease_under_load)
{
	strike_all(SIGSTOP);
}
