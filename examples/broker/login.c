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
#include "common/atomic.h"
#include "common/hop.h"
#include "common/log.h"
#include "common/must.h"
#include "common/why.h"
#include "connect.h"
#include "net/address.h"
#include "net/connection.h"
#include "net/loop.h"

#define LOGIN_NICE 10

enum login_verdict {
	LOGIN_GOOD,
	LOGIN_BAD,
	LOGIN_TOO_MANY,
	LOGIN_UNCHECKED, /* the connection closes, or the broker shuts down */
};

struct login {
	struct turns_item item; /* first: an item is its login */
	struct baton_plain_job job;
	struct baton_task step;  /* of each hop in turn */
	struct baton_task leave; /* once, before the last hop */
	struct logins *logins;
	struct connection *connection; /* charged, until the verdict */
	enum login_verdict verdict;
	struct password_proof proof;
	uint64_t address;
	struct slice user;
	const char *password;
	size_t size;
	char text[];
};

static int login_admit(struct connection *connection)
{
	connection->admitted = true;
	stranger_forget(connection);
	return 1;
}

static int login_refuse(struct connection *connection, enum why why)
{
	connection->why = why;
	return -EACCES;
}

static void login_next(struct login *login, struct baton_resource *resource, baton_task_fn run)
{
	hop(resource, &login->step, run, "login");
}

static int login_run_end(struct baton_task *task)
{
	struct login *login = baton_container_of(task, struct login, step);

	explicit_bzero(login->text, login->size);
	free(login);
	return 0;
}

/* Has the password file changed during the check, and lost the user's line? */
static bool login_outdated(const struct vouchers *vouchers, const struct login *login)
{
	return login->verdict == LOGIN_GOOD && vouchers != NULL &&
	       vouchers->generation > login->proof.generation &&
	       !vouchers_has(vouchers, login->proof.voucher);
}

static void login_tell(struct connection *connection, const struct login *login)
{
	switch (login_outdated(connection->loop->vouchers, login) ? LOGIN_BAD : login->verdict) {
	case LOGIN_GOOD:
		connection->voucher = login->proof.voucher;
		login_admit(connection);
		connection_pause(connection); /* until the end of this turn */
		connection_read_on(connection);
		return;
	case LOGIN_BAD:
		log_event(LOG_LEVEL_WARNING, "login_failed", log_slice("user", login->user),
		          log_text("reason", why_text(WHY_WRONG_PASSWORD)));
		connection_fail(connection, WHY_WRONG_PASSWORD);
		break;
	case LOGIN_TOO_MANY:
		connection_fail(connection, WHY_MAX_LOGINS);
		break;
	case LOGIN_UNCHECKED:
		connection_fail(connection, WHY_SHUTDOWN);
		break;
	}
}

/* On the loop's thread, with the verdict. */
static int login_run_told(struct baton_task *task)
{
	struct login *login = baton_container_of(task, struct login, step);
	struct connection *connection = login->connection;

	connection->login = NULL;
	connection->stranger.login = 0;
	if (!connection->closing)
		login_tell(connection, login);
	/* Comes behind `leave`: if `leave` was submitted at all, this thread has submitted it
	 * before. */
	login_next(login, &login->logins->resource, login_run_end);
	connection_release(connection, CONNECTION_REFERENCE);
	return 0;
}

static void login_decide(struct login *login, enum login_verdict verdict)
{
	login->verdict = verdict;
	login_next(login, &login->connection->resource, login_run_told);
}

/* ---- Under the baton of the logins, except login_check() ---- */

static void login_check(struct baton_plain_job *job);

static void logins_go_on(struct logins *logins)
{
	while (logins->checking < ENV_SLOW_WORKERS && logins->turns.count > 0) {
		struct login *login = (struct login *)turns_take(&logins->turns);

		logins->checking++;
		baton_plain_job_init(&login->job, login_check, NULL);
		must(baton_pool_submit(logins->env->slow_pool, &login->job), "check");
	}
}

static int login_run_checked(struct baton_task *task)
{
	struct login *login = baton_container_of(task, struct login, step);
	struct logins *logins = login->logins;

	logins->checking--;
	logins_go_on(logins);
	login_decide(login, login->verdict);
	return 0;
}

/* In the pool for slow things. */
static void login_check(struct baton_plain_job *job)
{
	struct login *login = baton_container_of(job, struct login, job);
	struct logins *logins = login->logins;

	/* Lowers the thread's priority: this work is long, and I/O comes first. It does not matter
	 * if the system refuses. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), LOGIN_NICE);
	if (load_relaxed(&logins->env->ending)) /* a hint */
		login->verdict = LOGIN_UNCHECKED;
	else
		login->verdict = passwords_check(logins->passwords, login->user, login->password,
		                                 &login->proof)
		                         ? LOGIN_GOOD
		                         : LOGIN_BAD;
	login_next(login, &logins->resource, login_run_checked);
}

static int login_run_enter(struct baton_task *task)
{
	struct login *login = baton_container_of(task, struct login, step);
	struct logins *logins = login->logins;
	struct turns_item *out = turns_add(&logins->turns, login->address, &login->item);

	if (out != NULL)
		login_decide((struct login *)out, LOGIN_TOO_MANY);
	logins_go_on(logins);
	return 0;
}

/* A log-in that does not wait any more is in the pool, or has its verdict. */
static int login_run_leave(struct baton_task *task)
{
	struct login *login = baton_container_of(task, struct login, leave);

	if (login->item.address == NULL)
		return 0;
	turns_remove(&login->logins->turns, &login->item);
	login_decide(login, LOGIN_UNCHECKED);
	return 0;
}

void login_leave(struct login *login)
{
	hop(&login->logins->resource, &login->leave, login_run_leave, "leave");
}

/* ---- The connection's ---- */

static int login_start(struct connection *connection, struct slice user, struct slice password)
{
	const size_t size = user.size + password.size + 1;
	struct login *login = malloc(sizeof(*login) + size);

	if (login == NULL)
		return -ENOMEM;
	*login = (struct login){
		.logins = &broker_of(connection)->logins,
		.connection = connection,
		.address = connection_network(connection),
		.user = {login->text, user.size},
		.password = login->text + user.size,
		.size = size,
	};
	memcpy(login->text, user.bytes, user.size);
	memcpy(login->text + user.size, password.bytes, password.size);
	login->text[user.size + password.size] = '\0';
	connection_charge(connection, CONNECTION_REFERENCE);
	connection->login = login;
	connection->stranger.login = sizeof(*login) + size;
	login_next(login, &login->logins->resource, login_run_enter);
	return 0;
}

/* As tls_identity(); 0 also where a certificate is nobody's name. */
static int login_identity(struct connection *connection, struct slice *name)
{
	return connection->loop->env->options.identity && connection->tls != NULL
	               ? tls_identity(connection->tls, name)
	               : 0;
}

struct slice login_user(struct connection *connection, const struct codec_connect *connect)
{
	struct slice name;

	return login_identity(connection, &name) == 1 ? name : connect->user_name;
}

int login_begin(struct connection *connection, const struct codec_frame *frame)
{
	const bool anonymous = limit_of(connection->loop->env, anonymous);
	struct codec_connect connect;
	struct slice name;
	int identity;

	connection->loop->stats.connects++;
	if (connect_decode(connection, frame, &connect) != 0)
		return login_admit(connection); /* connect.c finds what is wrong with it */
	identity = login_identity(connection, &name);
	if (identity != 0)
		return identity == 1 ? login_admit(connection)
		                     : login_refuse(connection, WHY_IDENTITY);
	if (connect.user_name.bytes == NULL || connection->loop->vouchers == NULL)
		return anonymous ? login_admit(connection)
		                 : login_refuse(connection, WHY_ANONYMOUS);
	if (connect.password.bytes == NULL ||
	    memchr(connect.password.bytes, '\0', connect.password.size) != NULL)
		return login_refuse(connection, WHY_NO_PASSWORD);
	return login_start(connection, connect.user_name, connect.password);
}

int logins_init(struct logins *logins, struct env *env, struct passwords *passwords)
{
	baton_resource_init(&logins->resource, &env->configs[ENV_LOGINS]);
	logins->env = env;
	logins->passwords = passwords;
	return turns_init(&logins->turns, env->options.logins_max);
}

void logins_deinit(struct logins *logins)
{
	baton_resource_close(&logins->resource);
	/* A thread of the pool for slow things may still run its last task. */
	must(baton_resource_await(&logins->resource), "end of the logins");
	baton_resource_deinit(&logins->resource);
	turns_deinit(&logins->turns);
}
