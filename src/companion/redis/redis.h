/* SPDX-License-Identifier: MIT */
/*
 * What the files of libbaton-redis share. A connection has two contexts: one for calls and their
 * answers, which redis.c repeats after a lost connection (each function of queue.lua may be called
 * twice); one that waits for the answer to a blocking read, so that a program can poll its
 * descriptor.
 */
#ifndef BATON_SRC_REDIS_H
#define BATON_SRC_REDIS_H

#include <baton/redis.h>
#include <baton/redis_stats.h>

#include <stdint.h>
#include <sys/time.h>

/* The text of the .lua files, in a C file that the Makefile generates. */
extern const char baton__redis_functions[];

#define BATON__REDIS_LIBRARY_SIZE 32

/* Structs of hiredis, so that this header compiles without hiredis. */
struct redisContext;
struct redisReply;

struct baton_redis {
	struct redisContext *calls;
	struct redisContext *reads;
	uint32_t connects; /* how often the calls' connection was made */
	bool asked;        /* a read waits for its answer */
	bool as_scripts;   /* the server has no FUNCTION: EVALSHA */
	bool loaded;       /* the server has the functions; false after each connect */
	uint64_t retry_at; /* when `reads` may connect again */
	uint64_t backoff_ns;
	uint32_t reconnects; /* how often `reads` was connected again */
	uint32_t unanswered; /* how often a call was sent, and its answer was lost */
	int gave_up;         /* what a call returns that has no more patience */
	bool elsewhere;      /* another server may take the call: connect anew */
	uint32_t sentinel;   /* which of them is asked first */
	uint32_t sentinel_count;
	const char *functions; /* their text */
	char library[BATON__REDIS_LIBRARY_SIZE];
	char sha[41];
	char *key; /* the queue's name in braces */
	char *options_text[13];
	struct baton_redis_options options;
	void *tls;
	char error[256];
};

/* ---- Arguments of a call, in the protocol's form ---- */

struct baton__redis_call {
	const char *function; /* of queue.lua; NULL: the arguments are a whole command */
	char *text;
	size_t size;
	size_t room;
	uint32_t count;
	/* The call goes over this connection (`connects`), or fails by -ECONNRESET. 0: any. */
	uint32_t connection;
	uint64_t wait_ns; /* a read that waits so long at the server before it is answered */
	int error;        /* -ENOMEM, -EMSGSIZE: an argument is missing */
};

void baton__redis_call_init(struct baton__redis_call *call, const char *function);
void baton__redis_add(struct baton__redis_call *call, const void *data, size_t size);
void baton__redis_add_text(struct baton__redis_call *call, const char *text);
void baton__redis_add_number(struct baton__redis_call *call, uint64_t number);
/* A key of the queue: `suffix`, then `id` if not NULL. */
void baton__redis_add_key(struct baton__redis_call *call, const struct baton_redis *redis,
                          const char *suffix, const char *id);

/* Adds all arguments of another call. */
void baton__redis_add_all(struct baton__redis_call *call, const struct baton__redis_call *other);

/*
 * Sends the call and waits for the answer, `reply` (NULL: not wanted; freed by freeReplyObject).
 * Frees the call's arguments.
 */
int baton__redis_do(struct baton_redis *redis, struct baton__redis_call *call,
                    struct redisReply **reply);
/* Makes one attempt at the call. */
int baton__redis_do_once(struct baton_redis *redis, struct baton__redis_call *call,
                         struct redisReply **reply);

/*
 * The waiting read: ask, and, when its descriptor is readable, answer. `reply` is NULL if there is
 * no answer yet. A lost connection is no error: `asked` is false then, and the caller asks again.
 * ask frees the arguments.
 */
int baton__redis_ask(struct baton_redis *redis, struct baton__redis_call *call);
int baton__redis_answer(struct baton_redis *redis, struct redisReply **reply);
/* Drops the read that waits. */
void baton__redis_unask(struct baton_redis *redis);

/* ---- Connecting (redis_connect.c) ---- */

/* An error that a later attempt may not have. */
#define BATON__REDIS_RETRY 1

/* Where a server is: socket, or host and port; and who wants what of it. */
struct baton__redis_place {
	const char *socket;
	const char *host;
	uint16_t port;
	const char *user;
	const char *password;
	uint64_t timeout_ns;
};

struct timeval baton__redis_time(uint64_t ns);
int baton__redis_open(struct baton_redis *redis, const struct baton__redis_place *place,
                      struct redisContext **opened);
/* Opens the queue's server, and disturbs no other connection. */
int baton__redis_connect(struct baton_redis *redis, struct redisContext **connected);
void baton__redis_disconnect(struct redisContext **context);
/* The error of a connection; the error of an error reply. Both functions keep the text. */
int baton__redis_unreachable(struct baton_redis *redis, const struct redisContext *context);
int baton__redis_refused(struct baton_redis *redis, const struct redisReply *reply);
/* redis_tls.c. begin: fails by -EACCES if the server has no certificate for its name. */
int baton__redis_begin_tls(struct baton_redis *redis, struct redisContext *context);
void baton__redis_free_tls(struct baton_redis *redis);

/* ---- Sentinels (redis_sentinel.c) ---- */

#define BATON__REDIS_HOST_SIZE 256

/* Returns how many addresses the list has; 0: it is not a list of addresses. */
uint32_t baton__redis_count_sentinels(const char *list);
/* Asks the sentinels where the master is. */
int baton__redis_find_master(struct baton_redis *redis, char host[BATON__REDIS_HOST_SIZE],
                             uint16_t *port);
/* Is this server the master? One that the sentinels have named may not be it yet, or any more. */
int baton__redis_check_role(struct baton_redis *redis, struct redisContext *context);

/* ---- The functions on the server (redis_functions.c) ---- */

/* The text of the .lua files. A function, so that a test has programs with another text. */
const char *baton__redis_functions_text(void);
/* The name of the library with this text. A function's name begins with it. */
void baton__redis_name_library(char name[BATON__REDIS_LIBRARY_SIZE]);
/* Connects for calls, and loads the functions on the server, where that is not done yet. */
int baton__redis_ready(struct baton_redis *redis);

/* ---- Small things ---- */

bool baton__redis_is_name(const char *name);
bool baton__redis_is_lease(uint64_t ns);
/* The text of an error: baton__redis_is_name() has refused a name. */
#define BATON__REDIS_NO_NAME(what) what " is not 1 to 63 letters, digits or \"._-\""
#define BATON__REDIS_UNKNOWN "a word of _reserved is not zero"
#define BATON__REDIS_NO_LEASE "the lease is shorter than 50 ms, or longer than a day"
int baton__redis_fail(struct baton_redis *redis, int error, const char *text);
uint64_t baton__redis_clock(void);

/* The text or number of an element of an array, "" or 0 if it is not there. */
const struct redisReply *baton__redis_at(const struct redisReply *reply, size_t index);
const char *baton__redis_text(const struct redisReply *reply);
uint64_t baton__redis_number(const struct redisReply *reply);
/* The value of a field of a stream's entry [id, [field, value, ...]]. */
const char *baton__redis_field(const struct redisReply *entry, const char *name);

/* Of a reply of XREAD, the entries of the stream with the key suffix, id (add_key); NULL: none. */
const struct redisReply *baton__redis_stream(const struct baton_redis *redis,
                                             const struct redisReply *reply, const char *suffix,
                                             const char *id);

#endif
