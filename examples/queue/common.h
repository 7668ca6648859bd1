/* SPDX-License-Identifier: MIT */
/*
 * What submitter, scheduler and backend share: the options of a connection, signals as a
 * descriptor, addresses, and how a job's command and output are written.
 */
#ifndef BATON_EXAMPLES_QUEUE_COMMON_H
#define BATON_EXAMPLES_QUEUE_COMMON_H

#include <baton/redis_stats.h>
#include <baton/timer.h>

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#define MS (BATON_SECOND / 1000)

/* Exit statuses, as in <sysexits.h>. */
#define EXIT_USAGE 64
#define EXIT_NO_REDIS 69
#define EXIT_INTERNAL 70
#define EXIT_OUTPUT 74 /* the end of a job's output is missing */
#define EXIT_DENIED 75

extern const char *program; /* its name, for messages */

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint64_t clock_ns(void);

/* ---- The connection ---- */

/* Option characters from here on are the connection's. */
enum {
	OPTION_QUEUE = 1000,
	OPTION_SOCKET,
	OPTION_HOST,
	OPTION_PORT,
	OPTION_SENTINELS,
	OPTION_SENTINEL_MASTER,
	OPTION_SENTINEL_USER,
	OPTION_SENTINEL_PASSWORD_FILE,
	OPTION_PATIENCE,
	OPTION_USER,
	OPTION_PASSWORD_FILE,
	OPTION_TLS_CA,
	OPTION_TLS_CERT,
	OPTION_TLS_KEY,
	OPTION_TLS_NAME,
	OPTION_HELP,
};

/* clang-format off */
#define CONNECTION_OPTIONS                                            \
	{"queue", required_argument, NULL, OPTION_QUEUE},             \
	{"socket", required_argument, NULL, OPTION_SOCKET},           \
	{"host", required_argument, NULL, OPTION_HOST},               \
	{"port", required_argument, NULL, OPTION_PORT},               \
	{"sentinels", required_argument, NULL, OPTION_SENTINELS},     \
	{"sentinel-master", required_argument, NULL, OPTION_SENTINEL_MASTER}, \
	{"sentinel-user", required_argument, NULL, OPTION_SENTINEL_USER}, \
	{"sentinel-password-file", required_argument, NULL, OPTION_SENTINEL_PASSWORD_FILE}, \
	{"patience", required_argument, NULL, OPTION_PATIENCE},       \
	{"user", required_argument, NULL, OPTION_USER},               \
	{"password-file", required_argument, NULL, OPTION_PASSWORD_FILE}, \
	{"tls-ca", required_argument, NULL, OPTION_TLS_CA},           \
	{"tls-cert", required_argument, NULL, OPTION_TLS_CERT},       \
	{"tls-key", required_argument, NULL, OPTION_TLS_KEY},         \
	{"tls-name", required_argument, NULL, OPTION_TLS_NAME},       \
	{"help", no_argument, NULL, OPTION_HELP},                     \
	{NULL, 0, NULL, 0}
/* clang-format on */

#define CONNECTION_HELP                                                                            \
	"Where Redis is:\n"                                                                        \
	"  --socket PATH           its unix socket; otherwise:\n"                                  \
	"  --host NAME --port N    127.0.0.1, 6379\n"                                              \
	"  --sentinels HOST:PORT,HOST:PORT\n"                                                      \
	"                          or its sentinels, for a fail-over\n"                            \
	"  --sentinel-master NAME  what they call it (mymaster)\n"                                 \
	"  --sentinel-user NAME --sentinel-password-file FILE\n"                                   \
	"                          a user of the sentinels' ACL, its password\n"                   \
	"  --patience SECONDS      how long to wait for it (10; with sentinels 60; baton-queue: "  \
	"1)\n"                                                                                     \
	"  --queue NAME            the queue's name (baton)\n"                                     \
	"  --user NAME             a user of its ACL (rights: man 7 baton-redis-server)\n"         \
	"  --password-file FILE    the first line of this file (or $BATON_REDIS_PASSWORD)\n"       \
	"  --tls-ca FILE --tls-cert FILE --tls-key FILE\n"                                         \
	"  --tls-name NAME         what the server's certificate is for (the host)\n"              \
	"  --help                  this text\n"

/* Takes an option of the connection. Any other ends the program, with `help`. */
void connection_option(struct baton_redis_options *options, int option, const char *help);
struct baton_redis *connect_or_die(const struct baton_redis_options *options);

uint64_t parse_seconds(const char *text);
/* A whole number, at most `max`. Anything else ends the program. */
uint64_t parse_number(const char *text, uint64_t max);
uint32_t parse_class(const char *text);
const char *class_name(uint32_t kind, char text[16]);

/* ---- Descriptors ---- */

/* Blocks the signals; the descriptor returned tells them. */
int signal_descriptor(const int *signals);
int next_signal(int fd); /* 0: none */

/* "unix:PATH" or "HOST:PORT"; -1: errno. */
int listen_at(const char *address);
int connect_to(const char *address);

/* ---- Output: frames of a channel (1: stdout, 2: stderr), a length, and bytes ---- */

/* The last frame, which is empty, says that the output is whole. */
#define CHANNEL_END 0

#define FRAME_HEAD 5

static inline void frame_head(unsigned char head[FRAME_HEAD], unsigned channel, uint32_t size)
{
	head[0] = (unsigned char)channel;
	for (int i = 0; i < 4; i++)
		head[1 + i] = (unsigned char)(size >> (24 - 8 * i));
}

static inline uint32_t frame_size(const unsigned char head[FRAME_HEAD])
{
	return (uint32_t)head[1] << 24 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 8 | head[4];
}

#endif
