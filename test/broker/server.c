/* SPDX-License-Identifier: MIT */
/* The broker under test; see server.h. */
#include "server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "story.h"

static struct {
	const char *path;
	bool mosquitto;
	unsigned int port;
	pid_t pid;
	int said; /* its stderr */
} server;

void server_choose(const char *path, bool mosquitto)
{
	server.path = path;
	server.mosquitto = mosquitto;
}

bool server_is_mosquitto(void)
{
	return server.mosquitto;
}

unsigned int server_port(void)
{
	return server.port;
}

const char *server_path(void)
{
	return server.path;
}

int memfd_open(void)
{
	return memfd_create("e2e", 0);
}

const char *file_write(const char *text)
{
	static char path[64];
	const int fd = memfd_open();

	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		story_fail("no file: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	return path;
}

const char *server_said(void)
{
	static char said[4096];
	const off_t end = lseek(server.said, 0, SEEK_END);
	const off_t begin = end > (off_t)sizeof(said) - 1 ? end - (off_t)sizeof(said) + 1 : 0;
	ssize_t size = pread(server.said, said, sizeof(said) - 1, begin);
	char *line;

	while (size > 0 && said[size - 1] == '\n')
		size--;
	said[size > 0 ? size : 0] = '\0';
	line = strrchr(said, '\n');
	return line != NULL ? line + 1 : said;
}

unsigned int server_said_lines(void)
{
	unsigned int lines = 0;
	char text[4096];
	off_t at = 0;
	ssize_t size;

	while ((size = pread(server.said, text, sizeof(text), at)) > 0) {
		at += size;
		for (ssize_t i = 0; i < size; i++)
			lines += text[i] == '\n';
	}
	return lines;
}

/* The last line with these words in it, or NULL. */
static const char *find_said(const char *words)
{
	static char *said;
	const off_t size = lseek(server.said, 0, SEEK_END);
	char *found = NULL, *end;

	free(said);
	said = calloc(1, (size_t)size + 1);
	if (said == NULL || pread(server.said, said, (size_t)size, 0) < 0)
		story_fail("what it has said cannot be read");
	for (char *at = said; (at = strstr(at, words)) != NULL; at++)
		found = at;
	if (found == NULL)
		return NULL;
	end = strchr(found, '\n');
	if (end != NULL)
		*end = '\0';
	while (found > said && found[-1] != '\n')
		found--;
	return found;
}

const char *server_await_said(const char *words)
{
	const long long deadline = story_clock() + story_limit(5000);
	const char *found;

	while ((found = find_said(words)) == NULL) {
		if (story_clock() > deadline)
			story_fail("the log has no \"%s\": %s", words, server_said());
		story_sleep(5);
	}
	return found;
}

pid_t server_pid(void)
{
	return server.pid;
}

#define PORT_FIRST 12000u
#define PORT_COUNT 20000u

/*
 * One that was free a moment ago. It is none of those that the system gives to clients, of which
 * other stories have many: one of these could take it before the broker does.
 */
unsigned int server_free_port(void)
{
	static unsigned int tries;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	bool bound = false;

	for (unsigned int end = tries + 100; !bound && tries < end; tries++) {
		const unsigned int number = (unsigned int)getpid() * 7 + tries;
		const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		address.sin_port = htons((uint16_t)(PORT_FIRST + number % PORT_COUNT));
		bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
		if (fd >= 0)
			close(fd);
	}
	if (!bound)
		story_fail("no free port: %s", strerror(errno));
	return ntohs(address.sin_port);
}

/* Our option, mosquitto's setting. */
static const char *const translation[][2] = {
	{"--max-packet", "max_packet_size"},
	{"--max-queued", "max_queued_messages"},
	{"--max-inflight", "max_inflight_messages"},
	{"--password-file", "password_file"},
	{"--access-file", "acl_file"},
	{"--tls-cert", "certfile"},
	{"--tls-key", "keyfile"},
};

/* mosquitto's configuration, in a file that only its descriptor names. */
static int write_configuration(const char *options)
{
	const bool strict = strstr(options, "--password-file") != NULL &&
	                    strstr(options, "--allow-anonymous") == NULL;
	int fd = memfd_open();
	char *copy = strdup(options), *rest = copy, *word, *value;

	dprintf(fd,
	        "listener %u 127.0.0.1\nallow_anonymous %s\npersistence false\nuser root\n"
	        "set_tcp_nodelay true\nsys_interval 1\nlog_dest none\n",
	        server.port, strict ? "false" : "true");
	if (strstr(options, "--max-queued") == NULL)
		dprintf(fd, "max_queued_messages 0\n");
	while ((word = strsep(&rest, " ")) != NULL && *word != '\0') {
		size_t i = 0;

		if (strcmp(word, "--allow-anonymous") == 0)
			continue;
		value = strsep(&rest, " ");
		while (i < sizeof(translation) / sizeof(*translation) &&
		       strcmp(word, translation[i][0]) != 0)
			i++;
		if (i == sizeof(translation) / sizeof(*translation))
			story_fail("mosquitto has nothing like %s", word);
		dprintf(fd, "%s %s\n", translation[i][1], value != NULL ? value : "");
	}
	free(copy);
	return fd;
}

_Noreturn static void run_server(const char *options, int out, unsigned int files)
{
	struct rlimit limit = {files, files};
	char *arguments[64] = {(char *)server.path, NULL};
	size_t count = 1;
	char configuration[32], *copy = strdup(options), *word;
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(0);
	if (server.mosquitto) {
		snprintf(configuration, sizeof(configuration), "/proc/self/fd/%d",
		         write_configuration(options));
		arguments[count++] = "-c";
		arguments[count++] = configuration;
	} else {
		arguments[count++] = "--host";
		arguments[count++] = "127.0.0.1";
		arguments[count++] = "--port";
		arguments[count++] = "0";
		while ((word = strsep(&copy, " ")) != NULL && count < 60)
			if (*word != '\0')
				arguments[count++] = word;
	}
	dup2(out, STDOUT_FILENO);
	dup2(server.said, STDERR_FILENO);
	if (files > 0)
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	execvp(server.path, arguments);
	_exit(127);
}

/* Our broker says where it listens; mosquitto is asked until it answers. */
static void await_start(int from)
{
	const struct sockaddr_in address = {.sin_family = AF_INET,
	                                    .sin_port = htons((unsigned short)server.port),
	                                    .sin_addr = {htonl(INADDR_LOOPBACK)}};
	FILE *said;
	char line[256];

	if (!server.mosquitto) {
		said = fdopen(from, "r");
		while (said != NULL && fgets(line, sizeof(line), said) != NULL)
			if (sscanf(line, "listening on %*[^:]:%u", &server.port) == 1)
				return; /* left open, so that what it prints later has a reader */
		story_fail("the broker did not start: %s", server_said());
	}
	for (int i = 0; i < 6000; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		const int status = connect(fd, (const struct sockaddr *)&address, sizeof(address));

		close(fd);
		if (status == 0)
			return;
		story_sleep(10);
	}
	story_fail("mosquitto did not start: %s", server_said());
}

pid_t server_start(const char *options, unsigned int files)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		story_fail("pipe: %s", strerror(errno));
	if (server.mosquitto)
		server.port = server_free_port();
	server.said = memfd_create("said", MFD_CLOEXEC);
	(void)fflush(NULL);
	server.pid = fork();
	if (server.pid < 0)
		story_fail("fork: %s", strerror(errno));
	if (server.pid == 0)
		run_server(options, ends[1], files);
	close(ends[1]);
	await_start(ends[0]);
	return server.pid;
}

int server_stop(void)
{
	const long long deadline = story_clock() + story_limit(5000);
	int status;

	kill(server.pid, SIGTERM);
	while (waitpid(server.pid, &status, WNOHANG) == 0) {
		if (story_clock() > deadline) {
			kill(server.pid, SIGKILL);
			waitpid(server.pid, &status, 0);
			story_fail("the broker did not end within a minute of SIGTERM");
		}
		story_sleep(5);
	}
	server.pid = 0;
	return status;
}

bool server_alive(int *status)
{
	return waitpid(server.pid, status, WNOHANG) == 0;
}

const char *server_shell(const char *command, int *status)
{
	static char said[65536];
	FILE *output = popen(command, "r");
	size_t size;

	if (output == NULL)
		story_fail("cannot run %s", command);
	size = fread(said, 1, sizeof(said) - 1, output);
	said[size] = '\0';
	*status = pclose(output);
	return said;
}

const char *server_run(long long seconds, const char *arguments, int *status)
{
	char command[1024];

	snprintf(command, sizeof(command), "exec 2>&1; timeout --preserve-status %lld %s %s",
	         story_scaled(seconds), server.path, arguments);
	return server_shell(command, status);
}

unsigned int server_files(void)
{
	char path[64];
	unsigned int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)server.pid);
	dir = opendir(path);
	if (dir == NULL)
		story_fail("%s: %s", path, strerror(errno));
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2;
}

void server_await_files(unsigned int most, long long milliseconds)
{
	const long long deadline = story_clock() + story_limit(milliseconds);

	while (server_files() > most) {
		if (story_clock() > deadline)
			story_fail("%u descriptors, there were %u", server_files(), most);
		story_sleep(20);
	}
}

static void read_proc(const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)server.pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, size - 1);
	if (got < 0)
		story_fail("%s: %s", path, strerror(errno));
	text[got] = '\0';
	close(fd);
}

size_t server_memory(void)
{
	unsigned long pages = 0;
	char text[256];

	read_proc("statm", text, sizeof(text));
	sscanf(text, "%*u %lu", &pages);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

double server_cpu_seconds(void)
{
	unsigned long user = 0, system = 0;
	char text[1024];

	read_proc("stat", text, sizeof(text));
	sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
	       &system);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}
