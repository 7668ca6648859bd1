/* SPDX-License-Identifier: MIT */
/*
 * Resources over machines: a batch that is more than one call has, and a node that is told more
 * than it reads.
 */
#include "crash.h"
#include "nodes.h"

#include <baton/executor.h>

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
	baton_manual_run_until_idle(manual);
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
