/* SPDX-License-Identifier: MIT */
/* Logins; see login.h. */
#include "login.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <baton/pool.h>

#include "broker.h"
#include "connection.h"
#include "log.h"
#include "loop.h"
#include "must.h"

#define LOGIN_NICE 10
#define LOGIN_BAD_PASSWORD 4 /* return codes of CONNACK, 3.2.2.3 */
#define LOGIN_NOT_AUTHORISED 5

struct login {
	struct baton_plain_job job;
	struct baton_task done;
	struct connection *connection; /* charged */
	bool good;
	struct slice user;
	const char *password;
	size_t size;
	char text[];
};

static int login_refuse(struct connection *connection, uint8_t return_code, const char *why)
{
	const unsigned char connack[4] = {CODEC_CONNACK << 4, 2, 0, return_code};
	struct packet *packet = packet_create_own(connack, sizeof(connack));

	if (packet != NULL)
		output_append(connection, packet);
	connection->why = why;
	return -EACCES;
}

static void login_destroy(struct login *login)
{
	explicit_bzero(login->text, login->size);
	free(login);
}

/* At the end nobody looks at passwords any more, and nobody is told that his is wrong. */
static bool login_hurried(const struct login *login)
{
	/* Relaxed: a hint. Who has seen it in login_run() submitted us after that. */
	return __atomic_load_n(&login->connection->loop->broker->ending, __ATOMIC_RELAXED);
}

/* On the loop's thread, with the verdict. */
static int login_run_done(struct baton_task *task)
{
	struct login *login = baton_container_of(task, struct login, done);
	struct connection *connection = login->connection;

	if (!connection->closing && login->good) {
		connection->admitted = true;
		connection_read_on(connection);
	} else if (!connection->closing && login_hurried(login)) {
		connection_fail(connection, "the broker ends");
	} else if (!connection->closing) {
		log_line(LOG_LEVEL_WARNING, LOG_NOBODY, "user \"%.*s\": wrong name or password",
		         (int)login->user.size, login->user.bytes);
		login_refuse(connection, LOGIN_BAD_PASSWORD, "wrong name or password");
		connection_close(connection);
	}
	login_destroy(login);
	connection_release(connection, CONNECTION_REFERENCE);
	return 0;
}

/* In the pool for slow things. */
static void login_run(struct baton_plain_job *job)
{
	struct login *login = baton_container_of(job, struct login, job);
	struct broker *broker = login->connection->loop->broker;

	/* The thread's: this is long work, and I/O comes first. No matter if that is refused. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), LOGIN_NICE);
	if (!__atomic_load_n(&broker->ending, __ATOMIC_RELAXED))
		login->good = passwords_check(&broker->passwords, login->user, login->password);
	must(baton_submit(&login->connection->resource, &login->done), "login");
}

static int login_start(struct connection *connection, struct slice user, struct slice password)
{
	const size_t size = user.size + password.size + 1;
	struct login *login = malloc(sizeof(*login) + size);
	int status;

	if (login == NULL)
		return -ENOMEM;
	memcpy(login->text, user.bytes, user.size);
	memcpy(login->text + user.size, password.bytes, password.size);
	login->text[user.size + password.size] = '\0';
	login->user = (struct slice){login->text, user.size};
	login->password = login->text + user.size;
	login->size = size;
	login->connection = connection;
	login->good = false;
	baton_plain_job_init(&login->job, login_run, NULL);
	baton_task_init(&login->done, login_run_done, NULL);
	connection_charge(connection, CONNECTION_REFERENCE);
	connection_pause(connection);
	status = baton_pool_submit(connection->loop->broker->slow_pool, &login->job);
	if (status == 0)
		return 0;
	login_destroy(login);
	connection_release(connection, CONNECTION_REFERENCE);
	return status;
}

int login_begin(struct connection *connection, const struct codec_frame *frame)
{
	const struct broker_options *options = &connection->loop->broker->options;
	struct codec_connect connect;

	if (options->password_file == NULL || codec_connect(frame, &connect) != 0) {
		connection->admitted = true; /* what is wrong with it is found by protocol.c */
		return 1;
	}
	if (connect.user_name.bytes == NULL) {
		connection->admitted = options->anonymous;
		return options->anonymous
		               ? 1
		               : login_refuse(connection, LOGIN_NOT_AUTHORISED, "anonymous");
	}
	if (connect.password.bytes == NULL ||
	    memchr(connect.password.bytes, '\0', connect.password.size) != NULL)
		return login_refuse(connection, LOGIN_BAD_PASSWORD, "no password");
	return login_start(connection, connect.user_name, connect.password);
}
