/* SPDX-License-Identifier: MIT */
/* A master is lost, and its replica becomes master. */
#include "nodes.h"
#include "sentinels.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct watched watched;

static void start(void)
{
	watched_start(&watched);
}

static void stop(void)
{
	watched_stop(&watched);
}

TestSuite(failover, .timeout = 180, .init = start, .fini = stop);

static void conclude(struct baton_redis_backend *backend, const char *id)
{
	struct baton_redis_result result = {.effect = id, .effect_size = strlen(id)};
	int error = baton_redis_backend_conclude(backend, &result);

	cr_assert(error == 0 || error == -ESTALE, "%d", error);
}

/* How many effects of the task the server has. */
static int effects_of(const struct server *server, const char *id)
{
	redisReply *reply = server_ask(server, "XRANGE {test}:effects - +");
	int count = 0;

	for (size_t i = 0; i < reply->elements; i++) {
		const redisReply *fields = reply->element[i]->element[1];

		count += strcmp(fields->element[1]->str, id) == 0;
	}
	freeReplyObject(reply);
	return count;
}

/* Runs the next task to its end; it is one of `count` tasks. */
static void run_one(struct baton_redis_backend *backend, struct baton_redis_scheduler *scheduler)
{
	struct baton_redis_order order;

	await_order(backend, &order, BATON_REDIS_RUN, scheduler);
	conclude(backend, order.id);
}

/* A frozen replica takes what its socket holds, and no more: so a large task stays before the rest,
 * which the master alone has. */
static void submit_to_the_master_alone(struct baton_redis *redis, const char *const *ids)
{
	static const size_t size = 64 << 20;
	char *bulk = calloc(1, size);
	struct baton_redis_task large = task_named("large", 0);
	struct baton_redis_task task;

	large.command = bulk;
	large.command_size = size;
	cr_assert_eq(baton_redis_submit(redis, &large), 0, "%s", baton_redis_error(redis));
	free(bulk);
	for (; *ids; ids++) {
		task = task_named(*ids, 0);
		cr_assert_eq(baton_redis_submit(redis, &task), 0, "%s", baton_redis_error(redis));
	}
}

Test(failover,
     a_submit_waits_for_the_replica_and_a_master_that_dies_alone_loses_the_rest)
{
	static const char *const late[] = {"late0", "late1", NULL};
	struct baton_redis *client = watched_connect(&watched);
	struct baton_redis *other = watched_connect(&watched);
	struct baton_redis *leading = watched_connect(&watched);
	struct baton_redis *working = watched_connect(&watched);
	struct baton_redis_scheduler *scheduler = scheduler_on(leading);
	struct baton_redis_backend *backend = backend_on(working, "one");
	struct baton_redis_task task = task_named("safe0", 0);
	long long repeated;

	task.replicas = 1;
	task.replicas_timeout_ns = 60 * BATON_SECOND;
	cr_assert_eq(baton_redis_submit(client, &task), 0, "%s", baton_redis_error(client));
	run_one(backend, scheduler);
	task.id = "safe1";
	cr_assert_eq(baton_redis_submit(client, &task), 0, "%s", baton_redis_error(client));
	kill(watched.server[1].pid, SIGSTOP);
	submit_to_the_master_alone(client, late);
	task.id = "unsafe";
	task.replicas_timeout_ns = 100 * MS;
	cr_assert_eq(baton_redis_submit(client, &task), -ETIMEDOUT);
	cr_assert(strstr(baton_redis_error(client), "on 0 of 1 replicas"), "%s",
	          baton_redis_error(client));
	repeated = server_number(&watched.server[0], "HGET {test}:numbers repeated");
	cr_assert_eq(baton_redis_submit(client, &task), -ETIMEDOUT, "again");
	cr_assert_eq(baton_redis_submit(other, &task), -ETIMEDOUT, "also of another connection");
	/* Each submit has written, which WAIT is about. */
	cr_assert_geq(server_number(&watched.server[0], "HGET {test}:numbers repeated"),
	              2 + repeated);
	server_kill(&watched.server[0]);
	kill(watched.server[1].pid, SIGCONT);

	/* These calls last until the sentinels have made the replica the master. */
	task.id = "safe1";
	cr_assert_eq(baton_redis_keep(client, &task), 0, "%s", baton_redis_error(client));
	for (int i = 0; i < 2; i++) {
		task.id = late[i];
		cr_assert_eq(baton_redis_keep(client, &task), -ENOENT, "%s is lost", late[i]);
		task.replicas = 0;
		cr_assert_eq(baton_redis_submit(client, &task), 0);
	}
	for (int i = 0; i < 3; i++)
		run_one(backend, scheduler);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(effects_of(&watched.server[1], late[i]), 1);
	cr_assert_eq(effects_of(&watched.server[1], "safe0"), 1);
	cr_assert_eq(effects_of(&watched.server[1], "safe1"), 1);
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(working);
	baton_redis_destroy(leading);
	baton_redis_destroy(other);
	baton_redis_destroy(client);
}

/* ---- Under load ---- */

#define TASKS 8000 /* 10 ms each, at least */

/* The ledger: what submit has accepted. `submitted` counts after the acknowledgement. */
struct load {
	bool replicated; /* submits wait for the replica */
	unsigned submitted;
	bool ended;
	int error;
	char text[128];
};

static bool stopped, drained;

static bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

static void name_task(char id[16], bool replicated, unsigned number)
{
	snprintf(id, 16, "%c%u", replicated ? 'r' : 'm', number);
}

static void *submit_load(void *arg)
{
	struct load *load = arg;
	struct baton_redis *redis = watched_connect(&watched);
	char id[16];
	struct baton_redis_task task = task_named(id, 0);

	task.replicas = load->replicated ? 1 : 0;
	while (!is_set(&stopped) && !load->error && load->submitted < TASKS) {
		name_task(id, load->replicated, load->submitted);
		do
			load->error = baton_redis_submit(redis, &task);
		while (task.replicas > 0 && load->error == -ETIMEDOUT);
		if (!load->error)
			__atomic_fetch_add(&load->submitted, 1, __ATOMIC_RELEASE);
		usleep(10000);
	}
	set(&load->ended);
	snprintf(load->text, sizeof(load->text), "%.127s", baton_redis_error(redis));
	baton_redis_destroy(redis);
	return NULL;
}

static void *lead_load(void *unused)
{
	struct baton_redis *redis = watched_connect(&watched);
	struct baton_redis_scheduler *scheduler = scheduler_on(redis);

	(void)unused;
	while (!is_set(&drained))
		BATON_IGNORE(baton_redis_scheduler_run(scheduler, 50 * MS)); /* it leads again */
	baton_redis_scheduler_destroy(scheduler);
	baton_redis_destroy(redis);
	return NULL;
}

static void *work_load(void *name)
{
	struct baton_redis *redis = watched_connect(&watched);
	struct baton_redis_backend *backend = backend_on(redis, name);
	struct baton_redis_order order;
	char id[16];

	while (!is_set(&drained)) {
		int error = baton_redis_backend_next(backend, &order);

		if (error || order.what == BATON_REDIS_IDLE)
			usleep(1000);
		if (error || order.what != BATON_REDIS_RUN)
			continue;
		snprintf(id, sizeof(id), "%s", order.id);
		conclude(backend, id);
	}
	baton_redis_backend_destroy(backend);
	baton_redis_destroy(redis);
	return NULL;
}

static void await_submits(const struct load *loads, unsigned more)
{
	unsigned least[2];

	for (int i = 0; i < 2; i++)
		least[i] = __atomic_load_n(&loads[i].submitted, __ATOMIC_ACQUIRE) + more;
	for (int i = 0; i < 2; i++)
		while (__atomic_load_n(&loads[i].submitted, __ATOMIC_ACQUIRE) < least[i] &&
		       !is_set(&loads[i].ended))
			usleep(1000);
}

/* What the master has lost, and says so, is submitted again. Returns how many tasks. */
static unsigned submit_what_is_lost(struct baton_redis *redis, const struct load *load)
{
	unsigned lost = 0;
	char id[16];
	struct baton_redis_task task = task_named(id, 0);

	for (unsigned i = 0; i < load->submitted; i++) {
		int error;

		name_task(id, load->replicated, i);
		error = baton_redis_keep(redis, &task);
		cr_assert(error == 0 || error == -ENOENT, "%s", baton_redis_error(redis));
		lost += error == -ENOENT;
		if (error)
			cr_assert_eq(baton_redis_submit(redis, &task), 0);
	}
	return lost;
}

/* Waits until as many effects are there; each task must have exactly one. */
static void expect_one_effect_each(const struct load *loads)
{
	static unsigned char effects[2][TASKS];
	unsigned count = loads[0].submitted + loads[1].submitted;
	redisReply *reply;

	memset(effects, 0, sizeof(effects));
	for (int i = 0; i < 6000 && server_number(&watched.server[1], "XLEN {test}:effects") <
	                                    (long long)count;
	     i++)
		usleep(10000);
	reply = server_ask(&watched.server[1], "XRANGE {test}:effects - +");
	for (size_t i = 0; i < reply->elements; i++) {
		const char *id = reply->element[i]->element[1]->element[1]->str;

		effects[id[0] == 'r'][atoi(id + 1)]++;
	}
	freeReplyObject(reply);
	for (int j = 0; j < 2; j++)
		for (unsigned i = 0; i < loads[j].submitted; i++)
			cr_assert_eq(effects[loads[j].replicated][i], 1, "task %c%u has %d effects",
			             loads[j].replicated ? 'r' : 'm', i,
			             effects[loads[j].replicated][i]);
}

/* The master is killed, or frozen and then goes on, while tasks are submitted and run. */
static void lose_master(int signal)
{
	struct load loads[2] = {{.replicated = true}, {.replicated = false}};
	void *(*const mains[])(void *) = {submit_load, submit_load, lead_load, work_load,
	                                  work_load};
	void *const args[] = {&loads[0], &loads[1], NULL, (void *)"one", (void *)"two"};
	pthread_t threads[5];
	struct baton_redis *redis;
	unsigned lost;

	for (int i = 0; i < 5; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, mains[i], args[i]), 0);
	await_submits(loads, 50);
	kill(watched.server[0].pid, signal);
	await_failover(&watched);
	watched_bring_back(&watched, signal == SIGKILL);
	await_submits(loads, 50);
	set(&stopped);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(loads[i].error, 0, "%d: %s", loads[i].error, loads[i].text);
	redis = watched_connect(&watched);
	cr_assert_eq(submit_what_is_lost(redis, &loads[0]), 0, "a replica had each");
	lost = submit_what_is_lost(redis, &loads[1]);
	fprintf(stderr, "%u of %u submits that did not wait for the replica were lost\n", lost,
	        loads[1].submitted);
	expect_one_effect_each(loads);
	set(&drained);
	for (int i = 2; i < 5; i++)
		pthread_join(threads[i], NULL);
	baton_redis_destroy(redis);
}

Test(failover, a_killed_master_loses_no_submit_that_a_replica_has)
{
	lose_master(SIGKILL);
}

Test(failover, a_frozen_master_loses_no_submit_that_a_replica_has)
{
	lose_master(SIGSTOP);
}

Test(failover, a_space_goes_on_with_the_new_master)
{
	struct baton_remote_options options = {
		.redis = {.sentinels = watched.list, .queue = "test"},
		.node = "one",
		.partitions = PARTITIONS,
		.run = count,
	};
	struct baton_remote *remote;
	struct question question;
	int error;

	cr_assert_eq(baton_remote_create(&options, &remote), 0, "%s", baton_remote_error(remote));
	expect(remote, "a", "1");
	while (server_number(&watched.server[1], "XLEN {test}:remote:effects") < 1)
		usleep(1000);
	server_kill(&watched.server[0]);
	do {
		usleep(10000);
		error = ask(remote, &question, "a", "");
	} while (error == -ECONNREFUSED || error == -ETIMEDOUT);
	cr_assert_eq(error, 0);
	cr_assert_eq(await(&question), 0);
	cr_assert_str_eq(question.answer, "2");
	expect(remote, "a", "3");
	cr_assert_eq(server_number(&watched.server[1], "XLEN {test}:remote:effects"), 3);
	baton_remote_destroy(remote);
}
