/* SPDX-License-Identifier: MIT */
/*
 * Exclusive ownership of sessions by several broker nodes: at any time one node serves a client id,
 * and a client that connects elsewhere takes its session over. Each client id is a name of a space
 * (baton/remote.h). The state of the name is the session's generation and the node that serves it.
 *
 *	connect ID         the session is this node's; the node that had it is told
 *	publish ID TEXT    counts (is an effect) if the session is still this node's
 *	disconnect ID      the session is nobody's
 *
 * Lines come from stdin; what happens goes to stdout. A node that was frozen may not know yet that
 * its session is another's: it publishes under an old generation, and is refused.
 */
#include <baton/error.h>
#include <baton/redis.h>
#include <baton/remote.h>
#include <baton/timer.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_MAX 64
#define TEXT_MAX 256
#define SESSIONS 256
#define LINE_MAX_ (ID_MAX + TEXT_MAX + 32)

/* ---- On the owner of the name: all tasks of a client id, one after the other ---- */

struct session {
	uint64_t generation;
	char node[BATON_REDIS_ID_MAX + 1]; /* "": nobody's */
};

static struct session read_state(const struct baton_remote_job *job)
{
	struct session session = {0, ""};
	size_t size;
	const char *state = baton_remote_job_state(job, &size);

	if (state)
		sscanf(state, "%" SCNu64 " %63s", &session.generation, session.node);
	return session;
}

static int write_state(struct baton_remote_job *job, uint64_t generation, const char *node)
{
	char text[96];
	int length = snprintf(text, sizeof(text), "%" PRIu64 " %s", generation, node);

	return baton_remote_job_set_state(job, text, (size_t)length);
}

/* The former node hears that its session is gone; the new one gets the generation. */
static int take(struct baton_remote_job *job, const char *node)
{
	struct session former = read_state(job);
	size_t length;
	const char *id = baton_remote_job_name(job, &length);
	char text[ID_MAX + 48];
	int size;

	if (former.node[0] != '\0') {
		size = snprintf(text, sizeof(text), "%" PRIu64 " %.*s", former.generation,
		                (int)length, id);
		if (baton_remote_job_tell(job, former.node, text, (size_t)size + 1))
			return -ENOMEM;
	}
	if (write_state(job, former.generation + 1, node))
		return -ENOMEM;
	size = snprintf(text, sizeof(text), "%" PRIu64, former.generation + 1);
	return baton_remote_job_answer(job, text, (size_t)size + 1);
}

static int publish(struct baton_remote_job *job, uint64_t generation, const char *text)
{
	if (read_state(job).generation != generation)
		return -EPERM;
	return baton_remote_job_effect(job, text, strlen(text));
}

static int leave(struct baton_remote_job *job, uint64_t generation)
{
	if (read_state(job).generation != generation)
		return -EPERM;
	return write_state(job, generation, "");
}

/* "take NODE", "publish GENERATION TEXT", "leave GENERATION" */
static int run(struct baton_remote_job *job, void *arg)
{
	size_t size;
	const char *data = baton_remote_job_data(job, &size);
	uint64_t generation;
	int at = 0;

	(void)arg;
	if (strncmp(data, "take ", 5) == 0)
		return take(job, data + 5);
	if (sscanf(data, "publish %" SCNu64 " %n", &generation, &at) == 1 && at > 0)
		return publish(job, generation, data + at);
	if (sscanf(data, "leave %" SCNu64, &generation) == 1)
		return leave(job, generation);
	return -EINVAL;
}

/* ---- On the node that serves clients ---- */

static struct {
	char id[ID_MAX];
	uint64_t generation;
} sessions[SESSIONS];

static uint64_t *generation_of(const char *id, bool make)
{
	for (int i = 0; i < SESSIONS; i++) {
		if (strcmp(sessions[i].id, id) == 0)
			return &sessions[i].generation;
		if (sessions[i].id[0] == '\0' && make) {
			snprintf(sessions[i].id, sizeof(sessions[i].id), "%s", id);
			return &sessions[i].generation;
		}
	}
	return NULL;
}

/* A broker would close the client's connection now. */
static void told(const void *data, size_t size, void *arg)
{
	const char *id = strchr(data, ' ');

	(void)size;
	(void)arg;
	printf("%s was taken over: generation %" PRIu64 " is over\n", id + 1,
	       (uint64_t)strtoull(data, NULL, 10));
	fflush(stdout);
}

static int ask(struct baton_remote *remote, const char *id, const char *text, char answer[32])
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_remote_task task =
		BATON_REMOTE_TASK_INIT(id, strlen(id), text, strlen(text), &future);
	int error;

	task.answer = answer;
	task.answer_room = 32;
	error = baton_remote_submit(remote, &task);
	if (!error)
		error = baton_future_wait(&future);
	return error ? error : baton_future_status(&future);
}

static void say(const char *id, int error, const char *done)
{
	if (error == -EPERM)
		printf("%s refused: the session is another's\n", id);
	else if (error)
		printf("%s failed: %s\n", id, baton_error_text(error));
	else
		printf("%s %s\n", id, done);
}

static void obey(struct baton_remote *remote, const char *line)
{
	char id[ID_MAX];
	char text[TEXT_MAX] = "";
	char request[TEXT_MAX + 64];
	char answer[32] = "";
	char done[64];
	uint64_t *generation;
	int error;

	if (sscanf(line, "connect %63s", id) == 1) {
		snprintf(request, sizeof(request), "take %s", baton_remote_node(remote));
		error = ask(remote, id, request, answer);
		generation = generation_of(id, true);
		if (!error && generation)
			*generation = strtoull(answer, NULL, 10);
		snprintf(done, sizeof(done), "connected, generation %s", answer);
		say(id, error, done);
		return;
	}
	if (sscanf(line, "publish %63s %255[^\n]", id, text) >= 1) {
		generation = generation_of(id, false);
		snprintf(request, sizeof(request), "publish %" PRIu64 " %s",
		         generation ? *generation : 0, text);
		say(id, ask(remote, id, request, answer), "published");
	} else if (sscanf(line, "disconnect %63s", id) == 1) {
		generation = generation_of(id, false);
		snprintf(request, sizeof(request), "leave %" PRIu64, generation ? *generation : 0);
		say(id, ask(remote, id, request, answer), "disconnected");
	} else {
		printf("not a command: %s", line);
	}
}

/* ---- The program ---- */

static const char help[] =
	"A node that serves sessions of clients, each exclusively. Commands come from stdin:\n"
	"connect ID, publish ID TEXT, disconnect ID.\n\n"
	"  --node NAME             the node's name (node)\n"
	"  --lease SECONDS         after so long without a sign of life it is lost (3)\n"
	"  --socket PATH           the unix socket of Redis; otherwise:\n"
	"  --host NAME --port N    127.0.0.1, 6379\n"
	"  --help                  this text\n";

static const struct option long_options[] = {
	{"node", required_argument, NULL, 'n'},
	{"lease", required_argument, NULL, 'l'},
	{"socket", required_argument, NULL, 's'},
	{"host", required_argument, NULL, 'H'},
	{"port", required_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static void read_options(int argc, char **argv, struct baton_remote_options *options)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 'n')
			options->node = optarg;
		else if (option == 'l')
			options->lease_ns = (uint64_t)(atof(optarg) * (double)BATON_SECOND);
		else if (option == 's')
			options->redis.socket = optarg;
		else if (option == 'H')
			options->redis.host = optarg;
		else if (option == 'p')
			options->redis.port = (uint16_t)atoi(optarg);
		else {
			fputs(help, option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : 64);
		}
	}
}

int main(int argc, char **argv)
{
	struct baton_remote_options options = {
		.redis.queue = "sessions",
		.run = run,
		.told = told,
	};
	struct baton_remote *remote;
	char line[LINE_MAX_];
	int error;

	read_options(argc, argv, &options);
	error = baton_remote_create(&options, &remote);
	if (error) {
		fprintf(stderr, "%s: %s\n", argv[0],
		        remote ? baton_remote_error(remote) : baton_error_text(error));
		if (remote)
			baton_remote_destroy(remote);
		return 69;
	}
	printf("node %s\n", baton_remote_node(remote));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		obey(remote, line);
		fflush(stdout);
	}
	baton_remote_destroy(remote);
	return 0;
}
