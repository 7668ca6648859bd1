/* SPDX-License-Identifier: MIT */
/*
 * What a task of a space costs (baton/remote.h): sent and ended in batches, and each alone; how
 * many calls of the server that takes; and how long a name is without an answer after its owner was
 * killed, was frozen, or left. On a redis-server of its own, over a unix socket. Owners are
 * processes of their own: this program, with the argument "owner".
 *
 *	make bench-remote
 */
#include "../../bench/machine.h"

#include <baton/remote.h>
#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES 64
#define WINDOW 1024
#define TASKS 40000
#define ALONE_TASKS 8000
#define LATENCY_TASKS 1000
#define TAKE_OVERS 7
#define LEASE_MS 600

static char directory[] = "/tmp/baton-bench.XXXXXX";
static char path[64];
static pid_t server;

/* ---- The server ---- */

static void end(void)
{
	char command[96];

	kill(server, SIGKILL);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command))
		perror(directory);
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "bench-remote: %s\n", what);
	exit(1);
}

static void start_server(void)
{
	redisContext *context;

	if (!mkdtemp(directory))
		die("mkdtemp");
	snprintf(path, sizeof(path), "%s/redis.sock", directory);
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(open("/dev/null", O_WRONLY), 1);
		execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path, "--dir",
		       directory, "--save", "", "--appendonly", "yes", "--appendfsync", "everysec",
		       (char *)NULL);
		_exit(127);
	}
	atexit(end);
	for (int i = 0; i < 500; i++) {
		context = redisConnectUnix(path);
		if (context && !context->err) {
			redisFree(context);
			return;
		}
		redisFree(context);
		usleep(10000);
	}
	die("redis-server does not start (Debian: redis-server)");
}

/* How many calls of the space's functions, and reads, the server has had. */
static long long server_calls(void)
{
	redisContext *context = redisConnectUnix(path);
	redisReply *reply = redisCommand(context, "INFO commandstats");
	long long sum = 0;

	for (const char *at = reply->str; at && (at = strstr(at, "cmdstat_")); at += 8)
		if (strncmp(at, "cmdstat_fcall:", 14) == 0 ||
		    strncmp(at, "cmdstat_xread:", 14) == 0)
			sum += atoll(strchr(at, '=') + 1);
	freeReplyObject(reply);
	redisFree(context);
	return sum;
}

/* ---- Nodes ---- */

static int run(struct baton_remote_job *job, void *arg)
{
	return baton_remote_job_set_state(job, "state", 5) ||
	                       baton_remote_job_effect(job, "effect", 6)
	               ? -ENOMEM
	               : 0;
}

static struct baton_remote *join(const char *node, bool owns, uint32_t batch_max)
{
	struct baton_remote_options options = {
		.redis.socket = path,
		.node = node,
		.lease_ns = LEASE_MS * (BATON_SECOND / 1000),
		.run = owns ? run : NULL,
		.batch_max = batch_max,
	};
	struct baton_remote *remote;

	if (baton_remote_create(&options, &remote))
		die(baton_remote_error(remote));
	return remote;
}

static volatile sig_atomic_t leaving;

static void leave(int number)
{
	leaving = 1;
}

/* Until it is killed, or told to leave by SIGTERM. */
static int own(const char *batch_max)
{
	struct baton_remote *remote;
	sigset_t term;
	sigset_t old;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &old);
	signal(SIGTERM, leave);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	remote = join("owner", true, (uint32_t)atoi(batch_max));
	if (write(1, "!", 1) != 1)
		return 1;
	while (!leaving)
		sigsuspend(&old);
	baton_remote_destroy(remote);
	return 0;
}

static pid_t start_owner(const char *batch_max)
{
	char ready;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], 1);
		execl("/proc/self/exe", "remote", "owner", path, batch_max, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	if (read(fds[0], &ready, 1) != 1)
		die("the owner does not start");
	close(fds[0]);
	return pid;
}

static void end_owner(pid_t pid, int signal)
{
	kill(pid, SIGCONT);
	kill(pid, signal);
	waitpid(pid, NULL, 0);
}

/* ---- Tasks ---- */

static struct {
	struct baton_remote_task task;
	struct baton_future future;
	char name[16];
} window[WINDOW];

static void submit(struct baton_remote *remote, unsigned place, unsigned number)
{
	snprintf(window[place].name, sizeof(window[place].name), "name-%u", number % NAMES);
	window[place].future = (struct baton_future)BATON_FUTURE_INIT;
	window[place].task = (struct baton_remote_task)BATON_REMOTE_TASK_INIT(
		window[place].name, strlen(window[place].name), "data", 4, &window[place].future);
	if (baton_remote_submit(remote, &window[place].task))
		die("submit");
}

static void await(unsigned place)
{
	if (baton_future_wait(&window[place].future) || baton_future_status(&window[place].future))
		die("a task has failed");
}

static void measure_tasks(const char *label, const char *batch_max, unsigned tasks, unsigned depth)
{
	pid_t owner = start_owner(batch_max);
	struct baton_remote *remote = join("guest", false, (uint32_t)atoi(batch_max));
	long long calls;
	uint64_t begin;
	double ns;

	for (unsigned i = 0; i < 64; i++) {
		submit(remote, 0, i);
		await(0);
	}
	calls = server_calls();
	begin = machine_now_ns();
	for (unsigned i = 0; i < tasks; i++) {
		if (i >= depth)
			await(i % depth);
		submit(remote, i % depth, i);
	}
	for (unsigned i = 0; i < depth; i++)
		await(i);
	ns = (double)(machine_now_ns() - begin) / tasks;
	printf("%-44s %8.1f us/task %9.0f tasks/s %6.2f calls/task\n", label, ns / 1e3, 1e9 / ns,
	       (double)(server_calls() - calls) / tasks);
	baton_remote_destroy(remote);
	end_owner(owner, SIGTERM);
}

/* ---- Take-over ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* From the loss of an owner until each of its names has answered. */
static void measure_take_over(const char *label, int signal)
{
	double ms[TAKE_OVERS];

	for (int round = 0; round < TAKE_OVERS; round++) {
		pid_t lost = start_owner("64");
		struct baton_remote *remote = join("guest", false, 64);
		pid_t next;
		uint64_t begin;

		for (unsigned i = 0; i < NAMES; i++)
			submit(remote, i, i);
		for (unsigned i = 0; i < NAMES; i++)
			await(i);
		next = start_owner("64");
		/* Until the second has its share, at another moment of the lease each time. */
		usleep(300000 + 70000 * (unsigned)round);
		begin = machine_now_ns();
		kill(lost, signal);
		for (unsigned i = 0; i < NAMES; i++)
			submit(remote, i, i);
		for (unsigned i = 0; i < NAMES; i++)
			await(i);
		ms[round] = (double)(machine_now_ns() - begin) / 1e6;
		end_owner(lost, SIGKILL);
		end_owner(next, SIGTERM);
		baton_remote_destroy(remote);
	}
	qsort(ms, TAKE_OVERS, sizeof(ms[0]), compare);
	printf("%-44s %8.0f ms median %6.0f least %6.0f most (lease %d ms)\n", label,
	       ms[TAKE_OVERS / 2], ms[0], ms[TAKE_OVERS - 1], LEASE_MS);
}

int main(int argc, char **argv)
{
	struct machine machine;

	if (argc == 4 && strcmp(argv[1], "owner") == 0) {
		snprintf(path, sizeof(path), "%s", argv[2]);
		return own(argv[3]);
	}
	machine_describe(&machine);
	machine_others_percent();
	start_server();
	printf("%s, %u CPUs, %s, commit %s, %s; one redis-server, append-only file\n", machine.cpu,
	       machine.cpus, machine.kernel, machine.commit, machine.date);
	measure_tasks("1,024 outstanding, in batches", "64", TASKS, WINDOW);
	measure_tasks("1,024 outstanding, each alone", "1", ALONE_TASKS, WINDOW);
	measure_tasks("one outstanding", "64", LATENCY_TASKS, 1);
	measure_take_over("take-over after kill -9", SIGKILL);
	measure_take_over("take-over after a freeze (SIGSTOP)", SIGSTOP);
	measure_take_over("hand-over by an owner that leaves", SIGTERM);
	printf("others had %.0f %% of the CPU time\n", machine_others_percent());
	return 0;
}
