/* SPDX-License-Identifier: MIT */
/*
 * Resources over machines: nodes as threads of this process, on a server of the test's own. For
 * nodes that die and freeze see test_remote_crash.c.
 */
#include "nodes.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS 20

TestSuite(remote, .timeout = 120);

/* ---- One node ---- */

Test(remote, a_task_changes_its_names_state_and_is_answered)
{
	struct server server;
	struct baton_remote *remote;
	struct question question;

	server_start(&server, NULL);
	remote = join(&server, "one", 3 * BATON_SECOND, count, NULL);
	cr_assert_eq(baton_remote_owned(remote), PARTITIONS);
	expect(remote, "a", "1");
	expect(remote, "a", "2");
	expect(remote, "b", "1");
	cr_assert_eq(ask(remote, &question, "a", ""), 0);
	cr_assert_eq(await(&question), 0);
	cr_assert_eq(baton_future_value(&question.future), &question.task);
	cr_assert_eq(question.task.answer_size, 2);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 4);
	baton_remote_destroy(remote);
	server_stop(&server);
}

Test(remote, a_nodes_end_leaves_states_and_effects_alone)
{
	struct server server;
	struct baton_remote *remote;

	server_start(&server, NULL);
	remote = join(&server, "one", 3 * BATON_SECOND, count, NULL);
	expect(remote, "a", "1");
	baton_remote_destroy(remote);
	cr_assert_eq(server_number(&server, "EVAL %s 0",
	                           "local left = 0 "
	                           "for _, key in ipairs(redis.call('KEYS', '*')) do "
	                           "if not string.find(key, ':state:') and "
	                           "not string.find(key, ':effects') and "
	                           "not string.find(key, ':numbers') then left = left + 1 end "
	                           "end return left"),
	             0);
	/* The next node goes on where the first has ended. */
	remote = join(&server, "two", 3 * BATON_SECOND, count, NULL);
	expect(remote, "a", "2");
	baton_remote_destroy(remote);
	server_stop(&server);
}

/* Fails what begins with an x, after it has changed all that it could, and told the node `arg`. */
static int fail_x(struct baton_remote_job *job, void *arg)
{
	size_t size;
	const char *data = baton_remote_job_data(job, &size);
	int error = count(job, NULL);

	if (!error)
		error = baton_remote_job_tell(job, arg, "hello", 5);
	return error ? error : *data == 'x' ? -EDOM : 0;
}

Test(remote, a_task_that_fails_has_its_answer_and_no_other_effect)
{
	struct server server;
	struct baton_remote *remote;
	struct question question;

	server_start(&server, NULL);
	freeReplyObject(server_ask(&server, "XADD {test}:remote:to:listener * what hello"));
	remote = join(&server, "one", 3 * BATON_SECOND, fail_x, "listener");
	expect(remote, "a", "1");
	cr_assert_eq(ask(remote, &question, "a", "x"), 0);
	cr_assert_eq(await(&question), -EDOM);
	cr_assert_str_eq(question.answer, "2");
	expect(remote, "a", "2");
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 2);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:to:listener"), 1 + 2);
	baton_remote_destroy(remote);
	server_stop(&server);
}

static int forget_state(struct baton_remote_job *job, void *arg)
{
	size_t size;

	if (baton_remote_job_set_state(job, "abc", 3) || baton_remote_job_set_state(job, NULL, 0))
		return -ENOMEM;
	return baton_remote_job_state(job, &size) ? -EDOM : 0;
}

Test(remote, a_state_that_is_taken_away_leaves_no_key)
{
	struct server server;
	struct baton_remote *remote;
	struct question question;

	server_start(&server, NULL);
	remote = join(&server, "one", 3 * BATON_SECOND, forget_state, NULL);
	cr_assert_eq(ask(remote, &question, "a", ""), 0);
	cr_assert_eq(await(&question), 0);
	cr_assert_eq(server_number(&server, "EXISTS {test}:remote:state:%u",
	                           baton_remote_partition(remote, "a", 1)),
	             0);
	baton_remote_destroy(remote);
	server_stop(&server);
}

/* ---- Objects, messages ---- */

struct counts {
	unsigned opened;
	unsigned closed;
};

static int open_object(void *object, const void *state, size_t size, void *arg)
{
	struct counts *counts = arg;

	__atomic_fetch_add(&counts->opened, 1, __ATOMIC_RELAXED);
	*(int *)object = state ? atoi(state) : 100;
	return 0;
}

static void close_object(void *object, void *arg)
{
	struct counts *counts = arg;

	cr_expect_geq(*(int *)object, 100);
	__atomic_fetch_add(&counts->closed, 1, __ATOMIC_RELAXED);
}

static int count_in_object(struct baton_remote_job *job, void *arg)
{
	int *object = baton_remote_job_object(job);
	char text[24];
	int length = snprintf(text, sizeof(text), "%d", ++*object);

	if (baton_remote_job_set_state(job, text, (size_t)length))
		return -ENOMEM;
	return baton_remote_job_answer(job, text, (size_t)length + 1);
}

Test(remote, an_object_is_opened_with_the_state_and_closed_when_it_is_not_among_the_last)
{
	struct server server;
	struct counts counts = {0};
	struct baton_remote *remote;
	struct baton_remote_options options = {
		.partitions = PARTITIONS,
		.run = count_in_object,
		.object_size = sizeof(int),
		.open = open_object,
		.close = close_object,
		.arg = &counts,
		.objects_max = 2,
	};

	server_start(&server, NULL);
	options.redis.socket = server.socket;
	options.redis.queue = "test";
	cr_assert_eq(baton_remote_create(&options, &remote), 0);
	expect(remote, "a", "101");
	expect(remote, "a", "102");
	cr_assert_eq(__atomic_load_n(&counts.opened, __ATOMIC_RELAXED), 1);
	expect(remote, "b", "101");
	expect(remote, "c", "101");
	expect(remote, "a", "103");
	cr_assert_eq(__atomic_load_n(&counts.opened, __ATOMIC_RELAXED), 4);
	baton_remote_destroy(remote);
	cr_assert_eq(__atomic_load_n(&counts.closed, __ATOMIC_RELAXED), 4);
	server_stop(&server);
}

struct mailbox {
	sem_t came;
	char text[64];
};

static void told(const void *data, size_t size, void *arg)
{
	struct mailbox *mailbox = arg;

	memcpy(mailbox->text, data, size);
	sem_post(&mailbox->came);
}

/* Tells the node that the data name, and one that is not there. */
static int tell(struct baton_remote_job *job, void *arg)
{
	size_t size;

	if (baton_remote_job_tell(job, "nobody", "hello", 5) ||
	    baton_remote_job_tell(job, baton_remote_job_data(job, &size), "hello", 5))
		return -ENOMEM;
	return 0;
}

Test(remote, a_task_sends_a_message_to_a_node_that_only_submits)
{
	struct server server;
	struct mailbox mailbox = {.text = ""};
	struct baton_remote *owner;
	struct baton_remote *guest;
	struct question question;
	struct baton_remote_options options = {
		.node = "guest",
		.partitions = PARTITIONS,
		.told = told,
		.arg = &mailbox,
	};

	sem_init(&mailbox.came, 0, 0);
	server_start(&server, NULL);
	owner = join(&server, "owner", 3 * BATON_SECOND, tell, NULL);
	options.redis.socket = server.socket;
	options.redis.queue = "test";
	cr_assert_eq(baton_remote_create(&options, &guest), 0);
	cr_assert_eq(baton_remote_owned(guest), 0);
	cr_assert_eq(ask(guest, &question, "a", baton_remote_node(guest)), 0);
	cr_assert_eq(await(&question), 0);
	sem_wait(&mailbox.came);
	cr_assert_str_eq(mailbox.text, "hello");
	cr_assert_eq(server_number(&server, "EXISTS {test}:remote:to:nobody"), 0);
	baton_remote_destroy(guest);
	baton_remote_destroy(owner);
	server_stop(&server);
}

/* ---- Several nodes ---- */

/* Until the shares differ by at most one. */
static void await_balance(struct baton_remote **nodes, uint32_t nodes_count)
{
	uint32_t sum;
	bool even;

	do {
		sum = 0;
		even = true;
		for (uint32_t i = 0; i < nodes_count; i++) {
			uint32_t owned = baton_remote_owned(nodes[i]);

			sum += owned;
			even &= owned >= PARTITIONS / nodes_count &&
			        owned <= PARTITIONS / nodes_count + 1;
		}
		usleep(1000);
	} while (!even || sum != PARTITIONS); /* the suite's timeout ends it */
}

static void ask_all(struct baton_remote **nodes, struct question questions[3][NAMES], int round)
{
	char name[24];
	bool seen[4] = {0};

	for (int node = 0; node < 3; node++)
		for (int i = 0; i < NAMES; i++) {
			snprintf(name, sizeof(name), "name-%d", i);
			cr_assert_eq(ask(nodes[node], &questions[node][i], name, ""), 0);
		}
	for (int node = 0; node < 3; node++)
		for (int i = 0; i < NAMES; i++)
			cr_assert_eq(await(&questions[node][i]), 0);
	for (int i = 0; i < NAMES; i++) {
		memset(seen, 0, sizeof(seen));
		for (int node = 0; node < 3; node++)
			seen[(atoi(questions[node][i].answer) - 3 * round) & 3] = true;
		cr_assert(!seen[0] && seen[1] && seen[2] && seen[3], "name-%d, round %d", i, round);
	}
}

Test(remote, any_node_submits_to_any_name_while_nodes_join_and_leave)
{
	static struct question questions[3][NAMES];
	struct server server;
	struct baton_remote *nodes[4];

	server_start(&server, NULL);
	for (int i = 0; i < 3; i++)
		nodes[i] = join(&server, "node", 30 * BATON_SECOND, count, NULL);
	for (int round = 0; round < ROUNDS; round++) {
		ask_all(nodes, questions, round);
		if (round == ROUNDS / 4)
			nodes[3] = join(&server, "late", 30 * BATON_SECOND, count, NULL);
		/* The lease is so long that only a hand-over keeps the time. */
		if (round == ROUNDS / 2)
			baton_remote_destroy(nodes[3]);
	}
	await_balance(nodes, 3);
	for (int i = 0; i < 3; i++)
		baton_remote_destroy(nodes[i]);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 3 * NAMES * ROUNDS);
	server_stop(&server);
}

/* ---- Fences ---- */

Test(remote, what_ran_under_an_epoch_that_is_over_has_no_effect_and_runs_again)
{
	struct server server;
	struct gate gate;
	struct baton_remote *remote;
	struct question question;
	unsigned partition;

	gate_init(&gate);
	server_start(&server, NULL);
	remote = join(&server, "one", 60 * BATON_SECOND, pass_gate, &gate);
	partition = baton_remote_partition(remote, "a", 1);
	cr_assert_eq(ask(remote, &question, "a", ""), 0);
	await_entered(&gate);
	/* A node that is lost soon takes the partition. */
	steal(&server, remote, partition);
	sem_post(&gate.open);
	/* The node hears that it is refused, and takes what nobody alive owns. */
	await_entered(&gate);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 0);
	sem_post(&gate.open);
	cr_assert_eq(await(&question), 0);
	cr_assert_str_eq(question.answer, "1");
	cr_assert_eq(gate.runs, 2);
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 1);
	baton_remote_destroy(remote);
	server_stop(&server);
}

Test(remote, a_server_that_writes_always_and_is_killed_has_each_effect_once)
{
	static const char *const always[] = {"--appendfsync", "always", NULL};
	static struct question questions[NAMES];
	struct server server;
	struct baton_remote *remote;
	char name[24];

	server_start(&server, always);
	remote = join(&server, "one", 3 * BATON_SECOND, count, NULL);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < NAMES; i++) {
			snprintf(name, sizeof(name), "name-%d", i % 5);
			/* Refused while the server is away. */
			while (ask(remote, &questions[i], name, "") != 0)
				usleep(1000);
		}
		if (round == 1) {
			server_kill(&server);
			server_restart(&server, always);
		}
		for (int i = 0; i < NAMES; i++)
			cr_assert_eq(await(&questions[i]), 0);
	}
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), 4 * NAMES);
	baton_remote_destroy(remote);
	server_stop(&server);
}

/* ---- A server that has lost something ---- */

/* The file to which the server appends. */
static void find_file(const struct server *server, char path[320])
{
	char directory[96];
	struct dirent *entry;
	DIR *files;

	snprintf(directory, sizeof(directory), "%s/appendonlydir", server->directory);
	files = opendir(directory);
	cr_assert_not_null(files);
	while ((entry = readdir(files)))
		if (strstr(entry->d_name, ".incr.aof"))
			snprintf(path, 320, "%s/%.200s", directory, entry->d_name);
	closedir(files);
}

Test(remote, tasks_without_an_answer_that_the_server_has_lost_are_submitted_again)
{
	/* With "everysec" the server puts off its writes while a slow disk syncs: the file would be
	 * shorter than what the server has answered. */
	static const char *const at_once[] = {"--appendfsync", "no", NULL};
	static struct question questions[NAMES];
	struct server server;
	struct gate gate;
	struct baton_remote *remote;
	struct stat file;
	char path[320];
	char name[24];

	gate_init(&gate);
	server_start(&server, at_once);
	remote = join(&server, "one", 3 * BATON_SECOND, pass_gate, &gate);
	cr_assert_eq(ask(remote, &questions[0], "first", ""), 0);
	await_entered(&gate);
	find_file(&server, path);
	cr_assert_eq(stat(path, &file), 0);
	for (int i = 1; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name-%d", i);
		cr_assert_eq(ask(remote, &questions[i], name, ""), 0);
	}
	while (server_number(&server, "GET {test}:remote:seq:%s", baton_remote_node(remote)) <
	       NAMES)
		usleep(1000);
	server_kill(&server);
	cr_assert_eq(truncate(path, file.st_size), 0);
	server_restart(&server, at_once);
	/* What waits at the gate belongs to an epoch that is over; it comes again. */
	for (int i = 0; i < 3 * NAMES; i++)
		sem_post(&gate.open);
	for (int i = 0; i < NAMES; i++) {
		cr_assert_eq(await(&questions[i]), 0);
		cr_assert_str_eq(questions[i].answer, "1");
	}
	cr_assert_eq(server_number(&server, "XLEN {test}:remote:effects"), NAMES);
	baton_remote_destroy(remote);
	server_stop(&server);
}

Test(remote, a_node_that_the_server_has_forgotten_fails_what_waits_and_goes_on)
{
	struct server server;
	struct gate gate;
	struct baton_remote *owner;
	struct baton_remote *guest;
	struct question question;

	gate_init(&gate);
	server_start(&server, NULL);
	owner = join(&server, "owner", 60 * BATON_SECOND, pass_gate, &gate);
	guest = join(&server, "guest", 300 * MS, NULL, NULL);
	cr_assert_eq(ask(guest, &question, "a", ""), 0);
	await_entered(&gate);
	cr_assert_eq(server_number(&server, "DEL {test}:remote:seq:%s {test}:remote:to:%s",
	                           baton_remote_node(guest), baton_remote_node(guest)),
	             2);
	cr_assert_eq(await(&question), -ESTALE);
	sem_post(&gate.open);
	sem_post(&gate.open);
	/* The task is run all the same. */
	expect(guest, "a", "2");
	baton_remote_destroy(guest);
	baton_remote_destroy(owner);
	server_stop(&server);
}

/* A call takes one task: of those that wait at the node one at most was in a call. */
Test(remote, a_node_that_the_server_has_forgotten_submits_what_was_in_no_call)
{
	static struct question questions[200];
	struct baton_remote_options options = {
		.redis = {.queue = "test"},
		.node = "guest",
		.partitions = PARTITIONS,
		.lease_ns = 60 * BATON_SECOND,
		.batch_max = 1,
	};
	struct baton_remote *owner;
	struct baton_remote *guest;
	struct server server;
	int forgotten = 0;

	server_start(&server, NULL);
	owner = join(&server, "owner", 60 * BATON_SECOND, count, NULL);
	options.redis.socket = server.socket;
	cr_assert_eq(baton_remote_create(&options, &guest), 0);
	expect(guest, "a", "1");
	cr_assert_eq(server_number(&server, "DEL {test}:remote:seq:%s {test}:remote:to:%s",
	                           baton_remote_node(guest), baton_remote_node(guest)),
	             2);
	for (int i = 0; i < 200; i++)
		cr_assert_eq(ask(guest, &questions[i], "a", ""), 0);
	for (int i = 0; i < 200; i++) {
		const int status = await(&questions[i]);

		cr_assert(status == 0 || status == -ESTALE);
		forgotten += status == -ESTALE;
	}
	cr_assert_leq(forgotten, 1);
	baton_remote_destroy(guest);
	baton_remote_destroy(owner);
	server_stop(&server);
}
