/* SPDX-License-Identifier: MIT */
/*
 * Tells the stories, many at a time, each in a process of its own; see story.h and --help. One line
 * per failure, and the closing line that test/run.sh looks for.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "disguise.h"
#include "server.h"
#include "story.h"

#define JOBS_MAX 64
#define TIMEOUT_DEFAULT 10
#define SKIPPED 77

static const char usage[] =
	"e2e: end-to-end tests of an MQTT 3.1.1 broker\n"
	"\n"
	"  --broker PATH      ours (build/examples/broker/broker)\n"
	"  --mosquitto        is the test right? Asks mosquitto instead\n"
	"  --five             tells the stories of MQTT 3.1.1 by clients of MQTT 5\n"
	"  --strict           asks it even what it is known to do in another way\n"
	"  --filter PATTERN   only stories of such names, like 'will_*'\n"
	"  --jobs N           at a time (16)\n"
	"  --verbose          says which pass, and how long each took; with E2E_TRACE=1\n"
	"                     also each packet\n"
	"  --list\n"
	"\n"
	"E2E_SCALE=n: allows n times as long, for a broker that is slowed down.\n";

struct teller {
	const struct story *story;
	pid_t pid;
	int line;
	long long began;
};

static struct story *stories;
static const struct story *current;
static const char *here_file = "?";
static int here_line;
static int line_fd = STDERR_FILENO;
static bool verbose, strict;
static unsigned int passed, failed, skipped;

void story_register(struct story *story)
{
	struct story **at = &stories;

	while (*at != NULL && strcmp((*at)->name, story->name) < 0)
		at = &(*at)->next;
	story->next = *at;
	*at = story;
}

const char *story_name(void)
{
	return current != NULL ? current->name : "e2e";
}

void story_here(const char *file, int line)
{
	here_file = file;
	here_line = line;
}

void story_fail(const char *format, ...)
{
	va_list arguments;
	char line[LINE_MAX];

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	for (char *end = strchr(line, '\n'); end != NULL; end = strchr(end, '\n'))
		*end = end[1] == '\0' ? '\0' : ';';
	dprintf(line_fd, "%s:%d: %s", here_file, here_line, line);
	_exit(EXIT_FAILURE);
}

void story_skip(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vdprintf(line_fd, format, arguments);
	va_end(arguments);
	_exit(SKIPPED);
}

long long story_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

void story_sleep(long long milliseconds)
{
	const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	nanosleep(&time, NULL);
}

long long story_scaled(long long milliseconds)
{
	const char *scale = getenv("E2E_SCALE");

	return scale != NULL && atoi(scale) > 0 ? milliseconds * atoi(scale) : milliseconds;
}

long long story_limit(long long milliseconds)
{
	return 12 * story_scaled(milliseconds);
}

_Noreturn static void tell(const struct story *story, int fd)
{
	const unsigned int timeout = story->timeout > 0 ? story->timeout : TIMEOUT_DEFAULT;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!verbose) {
		const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
	}
	line_fd = fd;
	alarm((unsigned int)story_limit(timeout));
	story->run();
	_exit(EXIT_SUCCESS);
}

static void begin(struct teller *teller, const struct story *story)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0) {
		perror("pipe");
		exit(1);
	}
	current = story;
	(void)fflush(NULL);
	*teller = (struct teller){story, fork(), ends[0], story_clock()};
	if (teller->pid < 0) {
		perror("fork");
		exit(1);
	}
	if (teller->pid == 0)
		tell(story, ends[1]);
	close(ends[1]);
}

static void end(struct teller *teller, int status)
{
	const double seconds = (double)(story_clock() - teller->began) / 1000;
	char line[4096];
	ssize_t size;

	(void)kill(-teller->pid, SIGKILL); /* whatever it has left running */
	size = read(teller->line, line, sizeof(line) - 1);
	close(teller->line);
	line[size > 0 ? size : 0] = '\0';
	if (status == 0) {
		passed++;
		if (verbose)
			printf("pass %s (%.1f s)\n", teller->story->name, seconds);
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		skipped++;
		printf("skip %s: %s\n", teller->story->name, line);
	} else {
		failed++;
		printf("FAIL %s: %s%s\n", teller->story->name, line,
		       WIFEXITED(status)             ? ""
		       : WTERMSIG(status) == SIGALRM ? "timed out"
		                                     : strsignal(WTERMSIG(status)));
	}
	teller->story = NULL;
}

/* Waits for one of them. False: the shared broker has ended. */
static bool await_one(struct teller tellers[], unsigned int jobs)
{
	int status;
	const pid_t pid = waitpid(-1, &status, 0);

	if (pid == server_pid()) {
		failed++;
		printf("FAIL the shared broker ended, %s %d; it said: %s\n",
		       WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), server_said());
		return false;
	}
	for (unsigned int i = 0; i < jobs; i++)
		if (tellers[i].story != NULL && tellers[i].pid == pid)
			end(&tellers[i], status);
	return true;
}

static bool leave_out(const struct story *story, const char *pattern)
{
	if (pattern != NULL && fnmatch(pattern, story->name, 0) != 0)
		return true;
	if (disguised() && story->five != NULL) {
		skipped++;
		printf("skip %s: %s\n", story->name, story->five);
		return true;
	}
	if (!server_is_mosquitto() || strict || story->mosquitto == NULL)
		return false;
	skipped++;
	printf("skip %s: mosquitto %s\n", story->name, story->mosquitto);
	return true;
}

static void tell_all(const char *pattern, unsigned int jobs)
{
	struct teller tellers[JOBS_MAX] = {0};
	unsigned int running = 0;
	bool alive = true;

	for (const struct story *story = stories; story != NULL && alive; story = story->next) {
		unsigned int i = 0;

		if (leave_out(story, pattern))
			continue;
		if (running == jobs)
			alive = await_one(tellers, jobs);
		else
			running++;
		while (alive && tellers[i].story != NULL)
			i++;
		if (alive)
			begin(&tellers[i], story);
	}
	while (alive && running-- > 0)
		alive = await_one(tellers, jobs);
	if (alive) {
		const int status = server_stop();

		if (status != 0) {
			failed++;
			printf("FAIL the shared broker's end: wait status %d\n", status);
		}
	}
}

static void list(const char *pattern)
{
	for (const struct story *story = stories; story != NULL; story = story->next)
		if (pattern == NULL || fnmatch(pattern, story->name, 0) == 0)
			printf("%s\n", story->name);
}

/* Some stories have many connections, and so has the broker. */
static void raise_limits(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max < 16384 ? limit.rlim_max : 16384;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"broker", required_argument, NULL, 'b'},
		{"mosquitto", no_argument, NULL, 'm'},
		{"filter", required_argument, NULL, 'f'},
		{"jobs", required_argument, NULL, 'j'},
		{"verbose", no_argument, NULL, 'v'},
		{"list", no_argument, NULL, 'l'},
		{"strict", no_argument, NULL, 's'},
		{"five", no_argument, NULL, '5'},
		{NULL, 0, NULL, 0},
	};
	const char *path = NULL, *pattern = NULL;
	bool mosquitto = false, list_only = false;
	unsigned int jobs = 16;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'b')
			path = optarg;
		else if (option == 'm')
			mosquitto = true;
		else if (option == 'f')
			pattern = optarg;
		else if (option == 'j')
			jobs = (unsigned int)atoi(optarg);
		else if (option == 'v')
			verbose = true;
		else if (option == 's')
			strict = true;
		else if (option == '5')
			disguise_begin();
		else if (option == 'l')
			list_only = true;
		else
			return fputs(usage, stderr), 2;
	}
	if (list_only)
		return list(pattern), 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	raise_limits();
	if (path == NULL)
		path = mosquitto ? "/usr/sbin/mosquitto" : "build/examples/broker/broker";
	server_choose(path, mosquitto);
	server_start("", 0);
	tell_all(pattern, jobs < 1 || jobs > JOBS_MAX ? 16 : jobs);
	if (skipped > 0)
		printf("%u skipped\n", skipped);
	printf("[====] Synthesis: Tested: %u | Passing: %u | Failing: %u\n", passed + failed,
	       passed, failed);
	return failed > 0;
}
