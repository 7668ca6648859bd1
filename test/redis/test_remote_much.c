/* SPDX-License-Identifier: MIT */
/*
 * Resources over machines: a batch that is more than one call has, a node that is told more than it
 * reads, the nodes' shares of many partitions, and a partition with tasks that is handed over.
 */
#include "crash.h"
#include "nodes.h"

#include <baton/executor.h>
#include <baton/manual.h>
#include <baton/pool.h>

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The tasks of one batch, whose effects are more than one call of remote_commit has (256 KiB). */
#define BATCH 40
#define EFFECT_SIZE 9000

TestSuite(remote_much, .timeout = 120);

static struct baton_remote *join_with(const struct server *server,
                                      struct baton_remote_options options)
{
	struct baton_remote *remote;
	int error;

	options.redis = (struct baton_redis_options){.socket = server->socket, .queue = "test"};
	options.partitions = 1;
	error = baton_remote_create(&options, &remote);
	cr_assert_eq(error, 0, "%d: %s", error, remote ? baton_remote_error(remote) : "");
	return remote;
}

/* ---- A batch that is more than one call ---- */

static int count_much(struct baton_remote_job *job, void *arg)
{
	static const char much[EFFECT_SIZE];

	return count(job, NULL) || baton_remote_job_effect(job, much, sizeof(much)) ? -ENOMEM : 0;
}

static int note_open(void *object, const void *state, size_t size, void *arg)
{
	sem_post(arg);
	return 0;
}

/* Takes all tasks, of which the last one alone is of a second name, runs them, and is killed when
 * the server has answered its first remote_commit. */
static _Noreturn void run_victim(const struct server *server, int go)
{
	static sem_t opened;
	struct baton_manual *manual;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sem_init(&opened, 0, 0);
	if (read(go, &byte, 1) != 1 || baton_manual_create(&manual))
		_exit(1);
	crash_at(&(struct step){"remote_commit", ANSWERED, 1, SIGKILL});
	(void)join_with(server, (struct baton_remote_options){
					.node = "victim",
					.lease_ns = 300 * MS,
					.run = count_much,
					.open = note_open,
					.arg = &opened,
					.executor = baton_manual_executor(manual),
				});
	sem_wait(&opened);
	sem_wait(&opened);
	baton_manual_run(manual, 0);
	for (;;)
		pause();
}

Test(remote_much, the_state_is_that_of_the_last_task_that_counts_when_a_batch_is_cut)
{
	static struct question questions[BATCH];
	struct question last;
	struct server server;
	struct baton_remote *guest;
	struct baton_remote *heir;
	long long effects;
	int status = 0;
	int go[2];
	pid_t victim;

	server_start(&server, NULL);
	cr_assert_eq(pipe(go), 0);
	victim = fork();
	if (victim == 0)
		run_victim(&server, go[0]);
	guest = join_with(&server, (struct baton_remote_options){.node = "guest"});
	for (int i = 0; i < BATCH; i++)
		cr_assert_eq(ask(guest, &questions[i], "a", ""), 0);
	cr_assert_eq(ask(guest, &last, "b", ""), 0);
	while (server_number(&server, "XLEN {test}:remote:in:0") < BATCH + 1)
		usleep(1000);
	cr_assert_eq(write(go[1], "", 1), 1);
	cr_assert_eq(waitpid(victim, &status, 0), victim);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%d", status);
	effects = server_number(&server, "XLEN {test}:remote:effects");
	cr_assert(effects > 0 && effects < 2 * BATCH, "%lld effects", effects);
	heir = join_with(&server, (struct baton_remote_options){.run = count_much});
	for (int i = 0; i < BATCH; i++) {
		cr_assert_eq(await(&questions[i]), 0);
		cr_assert_eq(atoi(questions[i].answer), i + 1);
	}
	cr_assert_eq(await(&last), 0);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 2 * BATCH + 2);
	baton_remote_destroy(guest);
	baton_remote_destroy(heir);
	server_stop(&server);
	close(go[0]);
	close(go[1]);
}

/* ---- A node that reads too little ---- */

#define FLOOD 120
#define MESSAGES 1000 /* of each task: more than a node may leave unread */
#define UNREAD 100000

struct reader {
	const char *node;
	sem_t came;
	sem_t go_on;
	sem_t last;
	unsigned told;
	unsigned troubles;
	int error;
};

/* The first message is not taken until the test says so. */
static void read_slowly(const void *data, size_t size, void *arg)
{
	struct reader *reader = arg;

	if (__atomic_fetch_add(&reader->told, 1, __ATOMIC_RELAXED) == 0) {
		sem_post(&reader->came);
		sem_wait(&reader->go_on);
	}
	if (size == 4 && memcmp(data, "last", 4) == 0)
		sem_post(&reader->last);
}

static void note_trouble(const struct baton_remote_event *event, void *arg)
{
	struct reader *reader = arg;

	if (event->what != BATON_REMOTE_TROUBLE)
		return;
	reader->troubles++;
	reader->error = event->error;
}

/* Tells the reader "flood" so many times, or what else the task has, once. */
static int tell_reader(struct baton_remote_job *job, void *arg)
{
	const struct reader *reader = arg;
	size_t size;
	const char *data = baton_remote_job_data(job, &size);
	int times = strcmp(data, "flood") == 0 ? MESSAGES : size > 0;
	int error = 0;

	for (int i = 0; !error && i < times; i++)
		error = baton_remote_job_tell(job, reader->node, data, size);
	return error ? error : count(job, NULL);
}

static void flood(struct baton_remote *owner)
{
	static struct question questions[FLOOD];

	for (int i = 0; i < FLOOD; i++)
		cr_assert_eq(ask(owner, &questions[i], "flood", "flood"), 0);
	for (int i = 0; i < FLOOD; i++)
		cr_assert_eq(await(&questions[i]), 0);
}

Test(remote_much, a_node_that_is_told_more_than_it_reads_gets_each_answer_and_learns_of_the_rest)
{
	struct reader reader = {.told = 0};
	struct server server;
	struct baton_remote *guest;
	struct baton_remote *owner;
	struct question question;
	struct question last;

	sem_init(&reader.came, 0, 0);
	sem_init(&reader.go_on, 0, 0);
	sem_init(&reader.last, 0, 0);
	server_start(&server, NULL);
	guest = join_with(&server, (struct baton_remote_options){
					   .node = "guest",
					   .lease_ns = 120 * BATON_SECOND,
					   .told = read_slowly,
					   .event = note_trouble,
					   .arg = &reader,
				   });
	reader.node = baton_remote_node(guest);
	cr_assert_eq(ask(guest, &question, "a", ""), 0);
	while (server_number(&server, "XLEN {test}:remote:in:0") < 1)
		usleep(1000);
	freeReplyObject(server_ask(&server, "XADD {test}:remote:to:%s * what message data first",
	                           reader.node));
	sem_wait(&reader.came);
	owner = join_with(&server,
	                  (struct baton_remote_options){.run = tell_reader, .arg = &reader});
	expect(owner, "a", "2");
	flood(owner);
	cr_assert_leq(server_number(&server, "XLEN {test}:remote:to:%s", reader.node), UNREAD + 1);
	sem_post(&reader.go_on);
	cr_assert_eq(await(&question), 0);
	cr_assert_str_eq(question.answer, "1");
	/* The reader removes what it has read at once, and does not wait for the next renewal of
	 * its lease. */
	while (server_number(&server, "XLEN {test}:remote:to:%s", reader.node) >= UNREAD)
		usleep(1000);
	cr_assert_eq(ask(owner, &last, "a", "last"), 0);
	cr_assert_eq(await(&last), 0);
	sem_wait(&reader.last);
	cr_assert_eq(reader.troubles, 1);
	cr_assert_eq(reader.error, -ENOBUFS);
	/* "hello" and the answer were in the stream, too; "last" came when there was room again. */
	cr_assert_eq(__atomic_load_n(&reader.told, __ATOMIC_RELAXED), UNREAD - 2 + 1);
	baton_remote_destroy(guest);
	baton_remote_destroy(owner);
	server_stop(&server);
}

/* ---- Shares ---- */

static struct redisReply *balance(const struct server *server, const char *key, unsigned node,
                                  unsigned partitions)
{
	struct redisReply *reply = server_ask(
		server, "FCALL baton_remote_balance 1 %s node%u 60000 60000 %u 1 0 0 0-0 0", key,
		node, partitions);

	cr_assert(reply->type == REDIS_REPLY_ARRAY && reply->elements == 7, "%s", reply->str);
	return reply;
}

/* One node's turn: it renews its lease, and gives what is too much. Returns how many it gives. */
static unsigned turn(const struct server *server, const char *key, unsigned node,
                     unsigned partitions, unsigned *owned)
{
	struct redisReply *reply = balance(server, key, node, partitions);
	struct redisReply *own;
	char release[512];
	unsigned surplus;
	int at;

	own = reply->element[4];
	surplus = (unsigned)reply->element[3]->integer;
	*owned = (unsigned)own->elements / 2;
	cr_assert_leq(surplus, *owned);
	at = snprintf(release, sizeof(release), "FCALL baton_remote_release 1 %s node%u", key,
	              node);
	for (unsigned i = 0; i < 2 * surplus; i++)
		at += snprintf(release + at, sizeof(release) - (size_t)at, " %s",
		               own->element[i]->str);
	if (surplus) {
		cr_assert_eq(server_number(server, release), 1);
		freeReplyObject(reply);
		reply = balance(server, key, node, partitions);
		cr_assert_eq(reply->element[4]->elements, 2 * (*owned - surplus), "all were given");
	}
	freeReplyObject(reply);
	return surplus;
}

/* The nodes join one after the other; `late`: not before the first has its share. */
static void share(const struct server *server, unsigned partitions, unsigned nodes, bool late)
{
	unsigned owned[8] = {0}, least = partitions, most = 0, sum = 0, given = 1;
	char key[32];

	snprintf(key, sizeof(key), "{share.%u.%u.%d}", partitions, nodes, late);
	for (unsigned round = 0; given || round <= nodes; round++) {
		given = 0;
		cr_assert_lt(round, nodes + 8, "they give for ever: %s", key);
		for (unsigned i = 0; i < nodes && (!late || i <= round); i++)
			given += turn(server, key, i, partitions, &owned[i]);
	}
	for (unsigned i = 0; i < nodes; i++) {
		(void)turn(server, key, i, partitions, &owned[i]);
		least = owned[i] < least ? owned[i] : least;
		most = owned[i] > most ? owned[i] : most;
		sum += owned[i];
	}
	cr_assert(sum == partitions && most - least <= 1, "%s: %u to %u, %u in all", key, least,
	          most, sum);
}

Test(remote_much, each_nodes_share_differs_by_one_at_most)
{
	struct server server;

	server_start(&server, NULL);
	baton_redis_destroy(server_connect(&server)); /* it brings the functions */
	for (unsigned partitions = 1; partitions <= 9; partitions++)
		for (unsigned nodes = 1; nodes <= 5; nodes++)
			for (int late = 0; late < 2; late++)
				share(&server, partitions, nodes, late);
	server_stop(&server);
}

/* A node runs a task of each partition when another one joins: it ends them first. */
Test(remote_much, a_partition_is_handed_over_when_its_tasks_have_ended)
{
	static struct question questions[PARTITIONS];
	const struct baton_pool_options workers = {.workers = PARTITIONS};
	struct baton_remote_options options = {
		.partitions = PARTITIONS, .lease_ns = 30 * BATON_SECOND, .run = pass_gate};
	struct server server;
	struct gate gate;
	struct baton_pool *pool;
	struct baton_remote *one, *two;
	bool taken[PARTITIONS] = {0};

	gate_init(&gate);
	server_start(&server, NULL);
	cr_assert_eq(baton_pool_create(&workers, &pool), 0);
	options.redis.socket = server.socket;
	options.redis.queue = "test";
	options.arg = &gate;
	options.executor = baton_pool_executor(pool);
	cr_assert_eq(baton_remote_create(&options, &one), 0);
	for (unsigned i = 0, asked = 0; asked < PARTITIONS; i++) {
		char name[24];
		int length = snprintf(name, sizeof(name), "name-%u", i);
		uint32_t partition = baton_remote_partition(one, name, (size_t)length);

		if (!taken[partition])
			cr_assert_eq(ask(one, &questions[asked++], name, ""), 0);
		taken[partition] = true;
	}
	for (unsigned i = 0; i < PARTITIONS; i++)
		await_entered(&gate);
	two = join(&server, "two", 30 * BATON_SECOND, count, NULL);
	usleep(200000);
	cr_assert_eq(baton_remote_owned(two), 0);
	for (unsigned i = 0; i < PARTITIONS; i++)
		sem_post(&gate.open);
	for (unsigned i = 0; i < PARTITIONS; i++)
		cr_assert_eq(await(&questions[i]), 0);
	while (baton_remote_owned(two) < PARTITIONS / 2) /* the suite's timeout ends it */
		usleep(1000);
	cr_assert_eq(gate.runs, PARTITIONS, "none has run twice");
	baton_remote_destroy(two);
	baton_remote_destroy(one);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	server_stop(&server);
}

/* The end of a task under an epoch that is over is not the end of the same task under the next. */
Test(remote_much, a_partition_whose_task_runs_again_is_not_given_before_its_end)
{
	struct server server;
	struct gate gate;
	struct baton_remote *nodes[2];
	struct question question;
	char name[24];
	int i = 0;

	gate_init(&gate);
	server_start(&server, NULL);
	nodes[0] = join(&server, "one", 60 * BATON_SECOND, pass_gate, &gate);
	/* The first of those that are free is given first. */
	do
		snprintf(name, sizeof(name), "name-%d", i++);
	while (baton_remote_partition(nodes[0], name, strlen(name)) != 0);
	cr_assert_eq(ask(nodes[0], &question, name, ""), 0);
	await_entered(&gate);
	steal(&server, nodes[0], 0);
	sem_post(&gate.open);
	await_entered(&gate);
	nodes[1] = join(&server, "two", 60 * BATON_SECOND, count, NULL);
	while (baton_remote_owned(nodes[1]) < PARTITIONS / 2) /* the suite's timeout ends it */
		usleep(1000);
	cr_assert_not_null(strstr(server_text(&server, "HGET {test}:remote:owners 0"), ":one"));
	sem_post(&gate.open);
	cr_assert_eq(await(&question), 0);
	cr_assert_eq(gate.runs, 2);
	for (int node = 0; node < 2; node++)
		baton_remote_destroy(nodes[node]);
	server_stop(&server);
}
