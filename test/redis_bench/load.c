/* SPDX-License-Identifier: MIT */
/*
 * Measures a queue on a redis-server: prints one line of numbers for run.sh.
 *
 *	load SOCKET baton|list rate TASKS WORKERS    tasks a second, commands a task by role
 *	load SOCKET baton|list latency TASKS WORKERS us from submit to start: median, 99 %, longest
 *	load SOCKET baton|list next TASKS WORKERS    us from an end to the worker's next start,
 *	                                             while so many wait: the same
 *	load SOCKET baton|list trips TASKS WORKERS   commands a task by role, one task at a time
 *	load SOCKET baton takeover scheduler|worker killed|frozen    ms until a task starts again
 */
#include "load.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define SUBMITTERS 4
#define PACE_NS 2000000 /* between two tasks, when latency is measured */
#define PATIENCE_NS (60 * SECOND)
#define NEXT_MAX 2000 /* starts that `next` measures */

struct shared *shared;
const char *socket_path;
enum role role;

static const struct load_kind *kind;
static pid_t schedulers[SCHEDULERS];
static pid_t workers[WORKERS_MAX];
static uint32_t processes;

uint64_t load_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

void load_until(uint64_t ns)
{
	struct timespec at = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

void load_die(const char *what, const char *why)
{
	fprintf(stderr, "load: %s: %s\n", what, why);
	exit(1);
}

static uint64_t ended_at; /* this worker's last task */
static uint32_t ended;    /* that was so many-th, of all workers' */

void load_start(uint32_t task)
{
	shared->started_at[task] = load_clock();
	if (ended_at > 0)
		__atomic_store_n(&shared->idle[ended], shared->started_at[task] - ended_at,
		                 __ATOMIC_RELAXED);
}

void load_end(void)
{
	ended_at = load_clock();
	ended = __atomic_fetch_add(&shared->done, 1, __ATOMIC_ACQ_REL);
}

void load_ready(void)
{
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_ACQ_REL);
}

/* ---- Processes ---- */

static pid_t begin(enum role which, uint32_t number, bool hold)
{
	pid_t pid = fork();

	if (pid < 0)
		load_die("fork", strerror(errno));
	processes++;
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	role = which;
	if (which == SCHEDULER)
		kind->schedule(number);
	else
		kind->work(number, hold);
	exit(1);
}

static void await(const uint32_t *word, uint32_t value, const char *what)
{
	uint64_t end = load_clock() + PATIENCE_NS;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) {
		if (load_clock() > end)
			load_die(what, "does not come");
		usleep(50);
	}
}

static void begin_all(uint32_t worker_count, uint32_t scheduler_count, bool hold)
{
	for (uint32_t i = 0; kind->has_scheduler && i < scheduler_count; i++)
		schedulers[i] = begin(SCHEDULER, i, false);
	for (uint32_t i = 0; i < worker_count; i++)
		workers[i] = begin(WORKER, i, hold);
	await(&shared->ready, processes, "a process");
	memset(shared->commands, 0, sizeof(shared->commands));
}

static void submit_only(uint32_t count, uint64_t every_ns)
{
	pid_t pids[SUBMITTERS];

	for (uint32_t i = 0; i < SUBMITTERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			role = SUBMITTER;
			kind->submit(i, SUBMITTERS, count, every_ns);
			exit(0);
		}
	}
	for (uint32_t i = 0; i < SUBMITTERS; i++) {
		int status;

		if (waitpid(pids[i], &status, 0) != pids[i] || status != 0)
			load_die("a submitter", "has failed");
	}
}

static void submit_all(uint32_t count, uint64_t every_ns)
{
	submit_only(count, every_ns);
	await(&shared->done, count, "the last end");
}

static void print_commands(uint32_t count)
{
	for (int i = 0; i < ROLES; i++)
		printf(" %.2f", (double)shared->commands[i] / count);
	printf("\n");
}

/* ---- What is measured ---- */

static void rate(uint32_t count)
{
	uint64_t began = load_clock();

	submit_all(count, 0);
	printf("%.0f", (double)count * 1e9 / (double)(load_clock() - began));
	print_commands(count);
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static void print_sorted(uint64_t *waits, uint32_t count)
{
	qsort(waits, count, sizeof(*waits), compare);
	printf("%.0f %.0f %.0f\n", (double)waits[count / 2] / 1e3,
	       (double)waits[count * 99 / 100] / 1e3, (double)waits[count - 1] / 1e3);
}

static void latency(uint32_t count)
{
	submit_all(count, PACE_NS);
	for (uint32_t i = 0; i < count; i++)
		shared->idle[i] = shared->started_at[i] - shared->sent_at[i];
	print_sorted(shared->idle, count);
}

/* The tasks are there before the workers. The first ends come while a leader still reads them. */
static void next(uint32_t count, uint32_t worker_count)
{
	uint32_t left = count / 10 > NEXT_MAX ? NEXT_MAX : count / 10;

	shared->limit = worker_count;
	role = SUBMITTER;
	submit_only(count, 0);
	if (kind->has_scheduler)
		schedulers[0] = begin(SCHEDULER, 0, false);
	for (uint32_t i = 0; i < worker_count; i++)
		workers[i] = begin(WORKER, i, false);
	await(&shared->done, left + 2 * worker_count, "an end");
	print_sorted(shared->idle, left);
}

/* One task at a time: no command is shared by two. */
static void trips(uint32_t count)
{
	role = SUBMITTER;
	for (uint32_t i = 0; i < count; i++) {
		kind->submit(i, 1, i + 1, 0);
		await(&shared->done, i + 1, "an end");
	}
	print_commands(count);
}

/* From the blow to the start of a task that another process has to start, or to let start. */
static void takeover(bool scheduler, int blow)
{
	uint64_t began;
	pid_t victim;

	role = SUBMITTER;
	kind->submit(0, 1, 1, 0);
	if (scheduler)
		await(&shared->done, 1, "the first end");
	else
		await(&shared->holds, 1, "the first start");
	victim = scheduler ? schedulers[__atomic_load_n(&shared->leader, __ATOMIC_ACQUIRE)]
	                   : workers[shared->holds - 1];
	began = load_clock();
	kill(victim, blow);
	if (scheduler)
		kind->submit(1, 1, 2, 0);
	await(&shared->done, scheduler ? 2 : 1, "the take-over");
	printf("%.0f\n", (double)(shared->started_at[scheduler ? 1 : 0] - began) / 1e6);
}

static uint32_t number(const char *text, uint32_t most)
{
	unsigned long value = strtoul(text, NULL, 10);

	if (value == 0 || value > most)
		load_die(text, "not a number that is possible");
	return (uint32_t)value;
}

int main(int argc, char **argv)
{
	uint32_t count;

	if (argc != 6)
		load_die("usage", "load SOCKET KIND MEASURE A B");
	socket_path = argv[1];
	kind = strcmp(argv[2], "baton") == 0 ? &baton_kind : &list_kind;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	if (shared == MAP_FAILED)
		load_die("mmap", strerror(errno));
	shared->limit = WORKERS_MAX;
	if (strcmp(argv[3], "takeover") == 0) {
		bool scheduler = strcmp(argv[4], "scheduler") == 0;

		begin_all(scheduler ? 1 : 2, 2, !scheduler);
		takeover(scheduler, strcmp(argv[5], "killed") == 0 ? SIGKILL : SIGSTOP);
		return 0;
	}
	count = number(argv[4], TASKS_MAX);
	if (strcmp(argv[3], "next") == 0) {
		next(count, number(argv[5], WORKERS_MAX));
		return 0;
	}
	begin_all(number(argv[5], WORKERS_MAX), 1, false);
	if (strcmp(argv[3], "rate") == 0)
		rate(count);
	else if (strcmp(argv[3], "latency") == 0)
		latency(count);
	else
		trips(count);
	return 0;
}
