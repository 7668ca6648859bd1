/* SPDX-License-Identifier: MIT */
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

const char *program = "baton";

static void say(const char *format, va_list list)
{
	fprintf(stderr, "%s: ", program);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
}

void complain(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say(format, list);
	va_end(list);
}

void die(int status, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	say(format, list);
	va_end(list);
	exit(status);
}

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * BATON_SECOND + (uint64_t)now.tv_nsec;
}

/* ---- Options ---- */

static char *read_password(const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		die(EXIT_USAGE, "cannot read %s: %s", path, strerror(errno));
	errno = 0;
	if (getline(&line, &room, file) < 0)
		die(EXIT_USAGE, "cannot read a password from %s: %s", path,
		    errno ? strerror(errno) : "it is empty");
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

void connection_option(struct baton_redis_options *options, int option, const char *help)
{
	switch (option) {
	case OPTION_QUEUE:
		options->queue = optarg;
		break;
	case OPTION_SOCKET:
		options->socket = optarg;
		break;
	case OPTION_HOST:
		options->host = optarg;
		break;
	case OPTION_PORT:
		options->port = (uint16_t)parse_number(optarg, UINT16_MAX);
		break;
	case OPTION_SENTINELS:
		options->sentinels = optarg;
		break;
	case OPTION_SENTINEL_MASTER:
		options->sentinel_master = optarg;
		break;
	case OPTION_SENTINEL_USER:
		options->sentinel_user = optarg;
		break;
	case OPTION_SENTINEL_PASSWORD_FILE:
		options->sentinel_password = read_password(optarg);
		break;
	case OPTION_PATIENCE:
		options->patience_ns = parse_seconds(optarg) + 1; /* 0 is a default */
		break;
	case OPTION_USER:
		options->user = optarg;
		break;
	case OPTION_PASSWORD_FILE:
		options->password = read_password(optarg);
		break;
	case OPTION_TLS_CA:
		options->tls_ca = optarg;
		break;
	case OPTION_TLS_CERT:
		options->tls_cert = optarg;
		break;
	case OPTION_TLS_KEY:
		options->tls_key = optarg;
		break;
	case OPTION_TLS_NAME:
		options->tls_server_name = optarg;
		break;
	case OPTION_HELP:
		fputs(help, stdout);
		exit(0);
	default:
		fputs(help, stderr);
		exit(EXIT_USAGE);
	}
}

struct baton_redis *connect_or_die(const struct baton_redis_options *options)
{
	struct baton_redis_options copy = *options;
	struct baton_redis *redis;
	int error;

	if (!copy.password)
		copy.password = getenv("BATON_REDIS_PASSWORD");
	/* A fail-over takes longer than a restart. */
	if (!copy.patience_ns)
		copy.patience_ns = (copy.sentinels ? 60 : 10) * BATON_SECOND;
	copy.create_patience_ns = copy.patience_ns;
	error = baton_redis_create(&copy, &redis);
	if (error && !redis)
		die(EXIT_INTERNAL, "no memory");
	if (error)
		die(error == -EINVAL ? EXIT_USAGE : EXIT_NO_REDIS, "%s", baton_redis_error(redis));
	return redis;
}

uint64_t parse_seconds(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || seconds < 0)
		die(EXIT_USAGE, "not a number of seconds: %s", text);
	return (uint64_t)(seconds * (double)BATON_SECOND);
}

uint64_t parse_number(const char *text, uint64_t max)
{
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || number > max)
		die(EXIT_USAGE, "not a number from 0 to %" PRIu64 ": %s", max, text);
	return number;
}

static const struct {
	const char *name;
	uint32_t kind;
} classes[] = {
	{"fast", 0},
	{"medium", 1},
	{"slow", 2},
	{"default", BATON_RULES_DEFAULT},
	{"interactive", BATON_RULES_INTERACTIVE},
};

uint32_t parse_class(const char *text)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strcmp(text, classes[i].name) == 0)
			return classes[i].kind;
	if (text[0] < '0' || text[0] >= '0' + BATON_RULES_CLASSES_MAX || text[1])
		die(EXIT_USAGE, "not a class: %s", text);
	return (uint32_t)(text[0] - '0');
}

const char *class_name(uint32_t kind, char text[16])
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (kind == classes[i].kind)
			return classes[i].name;
	snprintf(text, 16, "%u", kind);
	return text;
}

/* ---- Descriptors ---- */

int signal_descriptor(const int *signals)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (; *signals; signals++)
		sigaddset(&set, *signals);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		die(EXIT_INTERNAL, "signalfd: %s", strerror(errno));
	return fd;
}

int next_signal(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

/* A socket, and what `use` (bind or connect) returned for it. */
static int socket_at(const char *address, int (*use)(int, const struct sockaddr *, socklen_t))
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	struct addrinfo *found = NULL;
	const char *colon = strrchr(address, ':');
	char host[256];
	int fd;

	if (strncmp(address, "unix:", 5) == 0) {
		if (strlen(address + 5) >= sizeof(local.sun_path))
			return errno = ENAMETOOLONG, -1;
		strcpy(local.sun_path, address + 5);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && use(fd, (struct sockaddr *)&local, sizeof(local)) == 0)
			return fd;
	} else {
		if (!colon || (size_t)(colon - address) >= sizeof(host))
			return errno = EINVAL, -1;
		snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
		if (getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, &found))
			return errno = EADDRNOTAVAIL, -1;
		fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && use(fd, found->ai_addr, found->ai_addrlen) == 0) {
			freeaddrinfo(found);
			return fd;
		}
		freeaddrinfo(found);
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int listen_at(const char *address)
{
	int fd;

	if (strncmp(address, "unix:", 5) == 0)
		unlink(address + 5);
	fd = socket_at(address, bind);
	if (fd >= 0 && listen(fd, 16) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int connect_to(const char *address)
{
	return socket_at(address, connect);
}
