/* SPDX-License-Identifier: MIT */
/*
 * Users of the server's ACL with the rights that baton-redis-server(7) names, and users that lack
 * one of them.
 */
#include "nodes.h"
#include "sentinels.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RIGHTS_MAX 64
#define STEPS_MAX 2000

TestSuite(rights, .timeout = 240);

static struct server server;
static char rights[RIGHTS_MAX][24];
static unsigned rights_count;

#define PAGE "src/man/baton-redis-server.7"

/* The words that begin with + behind "ACL SETUSER" and the user's name on the page. */
static void read_rights(const char *user)
{
	char line[256], begin[64];
	FILE *file = fopen(PAGE, "r");
	bool inside = false;

	cr_assert_not_null(file);
	snprintf(begin, sizeof(begin), "ACL SETUSER %s ", user);
	rights_count = 0;
	while (fgets(line, sizeof(line), file)) {
		inside = strstr(line, begin) || (inside && strncmp(line, ".Ed", 3));
		for (const char *at = line; inside && (at = strchr(at, '+')); at++) {
			cr_assert_lt(rights_count, RIGHTS_MAX);
			snprintf(rights[rights_count++], sizeof(rights[0]), "%.*s",
			         (int)strcspn(at, " '\n"), at);
		}
	}
	fclose(file);
	cr_assert_gt(rights_count, 10);
}

/* `lacks`: of the rights that are read; rights_count: none. `more`: a further one, or "". */
static void give_user(const struct server *at, unsigned lacks, const char *more)
{
	char command[2048] = "ACL SETUSER baton reset on >secret ~{test}*";

	for (unsigned i = 0; i < rights_count; i++)
		if (i != lacks)
			snprintf(command + strlen(command), sizeof(command) - strlen(command),
			         " %s", rights[i]);
	snprintf(command + strlen(command), sizeof(command) - strlen(command), "%s%s",
	         more[0] ? " " : "", more);
	cr_assert_str_eq(server_text(at, command), "OK");
}

static void set_user(unsigned lacks)
{
	give_user(&server, lacks, "");
}

/* ---- A way through all of the library, which ends where the server refuses something ---- */

static int refusal;

static bool goes(int error)
{
	if (error && !refusal)
		refusal = error;
	return !error && !refusal;
}

static struct baton_redis_options connection(void)
{
	return (struct baton_redis_options){
		.socket = server.socket, .queue = "test", .user = "baton", .password = "secret"};
}

struct sides {
	struct baton_redis *redis[3];
	struct baton_redis_scheduler *scheduler;
	struct baton_redis_backend *backend;
	struct baton_redis_reader *reader;
};

static bool run(struct baton_redis_scheduler *scheduler)
{
	bool good = true;

	for (int i = 0; good && i < 4; i++)
		good = goes(baton_redis_scheduler_run(scheduler, 0));
	return good;
}

static bool await_run(struct sides *sides, struct baton_redis_order *order)
{
	bool good = true;

	order->what = BATON_REDIS_IDLE;
	for (int i = 0; good && i < STEPS_MAX && order->what != BATON_REDIS_RUN; i++) {
		good = run(sides->scheduler) &&
		       goes(baton_redis_backend_next(sides->backend, order));
		usleep(500);
	}
	return good;
}

static bool await_done(struct sides *sides, const struct baton_redis_task *task)
{
	struct baton_redis_note note = {0};
	bool good = true;

	for (int i = 0; good && i < STEPS_MAX && !baton_redis_is_last(note.what); i++) {
		good = goes(baton_redis_note_next(sides->redis[0], task, &note));
		usleep(500);
	}
	return good;
}

static bool read_effect(struct sides *sides)
{
	const struct baton_redis_reader_options options = {.name = "reader"};
	struct baton_redis_effect effect = {0};
	bool good = goes(baton_redis_reader_create(sides->redis[0], &options, &sides->reader));

	for (int i = 0; good && i < STEPS_MAX && !effect.id; i++) {
		good = goes(baton_redis_reader_next(sides->reader, &effect));
		usleep(500);
	}
	return good && goes(baton_redis_reader_acknowledge(sides->reader)) &&
	       goes(baton_redis_reader_leave(sides->reader));
}

static bool begin(struct sides *sides)
{
	const struct baton_redis_options options = connection();
	const struct baton_redis_backend_options named = {.name = "one"};
	const struct baton_redis_scheduler_options leading = {.rules = {.limit = {2, 2, 2}}};

	for (int i = 0; i < 3; i++)
		if (!goes(baton_redis_create(&options, &sides->redis[i])))
			return false;
	return goes(baton_redis_scheduler_create(sides->redis[1], &leading, &sides->scheduler)) &&
	       run(sides->scheduler) &&
	       goes(baton_redis_backend_create(sides->redis[2], &named, &sides->backend));
}

static void go_the_queues_way(struct sides *sides)
{
	const struct baton_redis_file file = {.name = "file", .data = "data", .size = 4};
	struct baton_redis_task first = task_named("first", 0);
	struct baton_redis_task second = task_named("second", 0);
	struct baton_redis_scheduler_options leading = {.rules = {.limit = {2, 2, 2}}};
	struct baton_redis_order order;

	first.files = &file;
	first.file_count = 1;
	if (!begin(sides) || !goes(baton_redis_submit(sides->redis[0], &first)) ||
	    !goes(baton_redis_submit(sides->redis[0], &first)) ||
	    !goes(baton_redis_keep(sides->redis[0], &first)) || !await_run(sides, &order))
		return;
	/* Another scheduler reads what waits and runs. */
	baton_redis_scheduler_destroy(sides->scheduler);
	sides->scheduler = NULL;
	if (!goes(baton_redis_scheduler_create(sides->redis[1], &leading, &sides->scheduler)) ||
	    !run(sides->scheduler) || !goes(baton_redis_backend_effect(sides->backend, "1", 1)) ||
	    !goes(baton_redis_backend_finish(sides->backend, 0, "")) ||
	    !await_done(sides, &first) || !goes(baton_redis_forget(sides->redis[0], &first)) ||
	    !read_effect(sides) || !goes(baton_redis_submit(sides->redis[0], &second)) ||
	    !await_run(sides, &order))
		return;
	/* Destroy has no result. */
	baton_redis_backend_destroy(sides->backend);
	sides->backend = NULL;
	if (server_number(&server, "ZCARD {test}:backends"))
		goes(-EACCES);
	else
		goes(baton_redis_withdraw(sides->redis[0], &second));
}

static void end(struct sides *sides)
{
	if (sides->reader)
		baton_redis_reader_destroy(sides->reader);
	if (sides->backend)
		baton_redis_backend_destroy(sides->backend);
	if (sides->scheduler)
		baton_redis_scheduler_destroy(sides->scheduler);
	for (int i = 0; i < 3; i++)
		if (sides->redis[i])
			baton_redis_destroy(sides->redis[i]);
}

/* ---- The same of a space ---- */

static int troubled;

static void note_trouble(const struct baton_remote_event *event, void *arg)
{
	if (event->what == BATON_REMOTE_TROUBLE)
		__atomic_store_n(&troubled, event->error, __ATOMIC_RELAXED);
}

/* Changes the state, and tells the submitter. */
static int tell(struct baton_remote_job *job, void *arg)
{
	size_t size;

	return baton_remote_job_tell(job, baton_remote_job_data(job, &size), "", 0) ||
	                       count(job, arg)
	               ? -ENOMEM
	               : 0;
}

/* Until the future is complete, or the node is in trouble. */
static void await_answer(struct question *question)
{
	while (!baton_future_is_complete(&question->future) &&
	       !__atomic_load_n(&troubled, __ATOMIC_RELAXED))
		usleep(500);
	if (baton_future_is_complete(&question->future))
		goes(baton_future_status(&question->future));
	goes(__atomic_load_n(&troubled, __ATOMIC_RELAXED));
}

static void go_the_spaces_way(void)
{
	struct baton_remote_options options = {
		.redis = connection(),
		.partitions = 4,
		.run = tell,
		.event = note_trouble,
	};
	struct baton_remote *nodes[2] = {NULL, NULL};
	static struct question question;
	bool asked;

	troubled = 0;
	question = (struct question){.answer = ""};
	for (int i = 0; i < 2; i++)
		goes(baton_remote_create(&options, &nodes[i]));
	asked = !refusal && goes(ask(nodes[0], &question, "a", baton_remote_node(nodes[0])));
	if (asked)
		await_answer(&question);
	while (!refusal && baton_remote_owned(nodes[1]) < 2) {
		goes(__atomic_load_n(&troubled, __ATOMIC_RELAXED));
		usleep(500);
	}
	for (int i = 0; i < 2; i++)
		baton_remote_destroy(nodes[i]);
	/* Destroy has no result. */
	if (!refusal && server_number(&server, "EXISTS {test}:remote:owners"))
		goes(-EACCES);
}

static void go(unsigned lacks)
{
	struct sides sides = {.reader = NULL};

	refusal = 0;
	set_user(lacks);
	/* Not the notes alone: the functions, too. */
	server_text(&server, "FLUSHALL");
	server_text(&server, "FUNCTION FLUSH");
	go_the_queues_way(&sides);
	end(&sides);
	if (!refusal)
		go_the_spaces_way();
}

Test(rights, those_that_the_page_names_are_enough_and_each_is_needed)
{
	server_start(&server, NULL);
	read_rights("baton");
	go(rights_count);
	cr_assert_eq(refusal, 0, "%d: %s", refusal, strerror(-refusal));
	for (unsigned i = 0; i < rights_count; i++) {
		go(i);
		cr_expect_eq(refusal, -EACCES, "without %s: %d", rights[i], refusal);
	}
	server_stop(&server);
}

Test(rights, keys_of_another_queue_are_refused)
{
	struct baton_redis_options options;
	struct baton_remote *remote;
	struct baton_remote_options joining = {.run = count};
	struct baton_redis *redis;

	server_start(&server, NULL);
	read_rights("baton");
	set_user(rights_count);
	options = connection();
	options.queue = "another";
	joining.redis = options;
	cr_assert_eq(baton_redis_create(&options, &redis), -EACCES);
	cr_assert(strstr(baton_redis_error(redis), "the queue's keys are {another}*"), "%s",
	          baton_redis_error(redis));
	baton_redis_destroy(redis);
	cr_assert_eq(baton_remote_create(&joining, &remote), -EACCES);
	baton_remote_destroy(remote);
	options.password = "wrong";
	cr_assert_eq(baton_redis_create(&options, &redis), -EACCES);
	baton_redis_destroy(redis);
	server_stop(&server);
}

/* A refusal says where the rights are to be found, also one from within a function. */
static int look(const struct baton_redis_options *options)
{
	struct baton_redis_stats stats;
	struct baton_redis *redis;
	int error = baton_redis_create(options, &redis);

	if (!error)
		error = baton_redis_stats_read(redis, &stats);
	if (error == -EACCES)
		cr_expect(strstr(baton_redis_error(redis), "baton-redis-server(7)"), "%s",
		          baton_redis_error(redis));
	baton_redis_destroy(redis);
	return error;
}

/* Also at a queue of which nobody has written yet which schema it has. */
static int look_twice(const struct baton_redis_options *options)
{
	int error = look(options);

	if (error)
		return error;
	server_text(&server, "RENAME {test}:numbers {test}:kept_away");
	error = look(options);
	server_text(&server, "RENAME {test}:kept_away {test}:numbers");
	return error;
}

Test(rights, those_of_a_user_that_only_looks_are_enough_and_each_is_needed)
{
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis_scheduler *leads;
	struct baton_redis_options options;
	struct baton_redis *redis;

	server_start(&server, NULL);
	options = connection();
	redis = server_connect(&server);
	leads = scheduler_on(redis);
	settle(leads);
	cr_assert_eq(baton_redis_submit(redis, &task), 0);
	read_rights("watch");
	set_user(rights_count);
	cr_assert_eq(look_twice(&options), 0);
	for (unsigned i = 0; i < rights_count; i++) {
		set_user(i);
		cr_expect_eq(look_twice(&options), -EACCES, "without %s", rights[i]);
	}
	baton_redis_scheduler_destroy(leads);
	baton_redis_destroy(redis);
	server_stop(&server);
}

/* ---- With sentinels, and for replicas ---- */

static void is_on_the_page(const char *right)
{
	char line[256], words[64];
	FILE *file = fopen(PAGE, "r");
	bool found = false;

	cr_assert_not_null(file);
	snprintf(words, sizeof(words), ".Ql %s .\n", right);
	while (!found && fgets(line, sizeof(line), file))
		found = strcmp(line, words) == 0;
	fclose(file);
	cr_assert(found, "%s", right);
}

static void give_sentinels(const struct watched *watched, const char *right)
{
	for (const char *at = watched->list; at;
	     at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		redisContext *context = redisConnect("127.0.0.1", atoi(strchr(at, ':') + 1));
		redisReply *reply =
			redisCommand(context, "ACL SETUSER asks reset on >asked %s", right);

		cr_assert(reply && reply->type == REDIS_REPLY_STATUS, "%s",
		          reply ? reply->str : "");
		freeReplyObject(reply);
		redisFree(context);
	}
}

static int submit_by_sentinels(const struct watched *watched)
{
	const struct baton_redis_options options = {
		.sentinels = watched->list,
		.sentinel_user = "asks",
		.sentinel_password = "asked",
		.queue = "test",
		.user = "baton",
		.password = "secret",
		.patience_ns = 60 * BATON_SECOND,
	};
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis *redis;
	int error = baton_redis_create(&options, &redis);

	task.replicas = 1;
	task.replicas_timeout_ns = 60 * BATON_SECOND;
	if (!error)
		error = baton_redis_submit(redis, &task);
	if (error == -EACCES)
		cr_expect(strstr(baton_redis_error(redis), "baton-redis-server(7)"), "%s",
		          baton_redis_error(redis));
	baton_redis_destroy(redis);
	return error;
}

/* baton-queue, with the password of the sentinels' user in a file: its status. */
static int figures_by_sentinels(const struct watched *watched, const char *sentinel_user)
{
	char command[1024], path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/asked", watched->server[0].directory);
	file = fopen(path, "w");
	cr_assert(file && fputs("asked\n", file) >= 0 && fclose(file) == 0);
	snprintf(command, sizeof(command),
	         "BATON_REDIS_PASSWORD=secret ${QUEUE_PROGRAMS:-build/examples/queue}/baton-queue "
	         "--patience 30 --queue test --user baton --sentinels %s --sentinel-user %s "
	         "--sentinel-password-file %s >/dev/null 2>&1",
	         watched->list, sentinel_user, path);
	return WEXITSTATUS(system(command));
}

Test(rights, sentinels_and_replicas_need_one_more_each)
{
	static struct watched watched;

	is_on_the_page("+role");
	is_on_the_page("+wait");
	is_on_the_page("+sentinel|get-master-addr-by-name");
	read_rights("baton");
	watched_start(&watched);
	give_sentinels(&watched, "+sentinel|get-master-addr-by-name");
	give_user(&watched.server[0], rights_count, "+role");
	cr_expect_eq(submit_by_sentinels(&watched), -EACCES, "without +wait");
	give_user(&watched.server[0], rights_count, "+wait");
	cr_expect_eq(submit_by_sentinels(&watched), -EACCES, "without +role");
	server_text(&watched.server[0], "ACL SETUSER baton +role");
	cr_expect_eq(submit_by_sentinels(&watched), 0);
	cr_expect_eq(figures_by_sentinels(&watched, "asks"), 0);
	cr_expect_eq(figures_by_sentinels(&watched, "nobody"), 69);
	give_sentinels(&watched, "+ping");
	cr_expect_eq(submit_by_sentinels(&watched), -EACCES, "of the sentinels");
	watched_stop(&watched);
}
