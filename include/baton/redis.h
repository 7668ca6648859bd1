/* SPDX-License-Identifier: MIT */
/*
 * A queue of jobs over Redis: the rules of admission (rules.h) for many machines. A library of its
 * own, libbaton-redis (pkg-config: baton-redis), which needs hiredis and a server of Redis 6.2 or
 * later. baton.h does not include this header.
 *
 * Three sorts of processes share a queue:
 *   submitter  submits tasks, keeps them alive, reads its notes: estimates, the backend's address,
 *              the end.
 *   scheduler  decides by the rules what starts. Several may run; one leads, by a lease of 3 s.
 *   backend    runs one task at a time, and renews its lease of 10 s.
 *
 * Corner cases. All state lies on the server. Each change is one function there
 * (companion/redis/queue.lua), which happens whole or not at all, and refuses a caller whose epoch
 * is over. So any process may be killed or frozen at any time:
 *   submitter  its tasks run all the same; what nobody keeps alive is deleted after 600 s.
 *   scheduler  another leads after 4 s at most, and rebuilds its state from the server's. What the
 *              old one still sends is refused.
 *   backend    its task waits again at its old place, and starts again; after `attempts` backends
 *              were lost, the task fails. What the old one still sends is refused (-ESTALE).
 *   server     with `appendfsync always`, all that was acknowledged is there when it comes back.
 *              With `everysec` the last second is lost; keep() then returns -ENOENT, and the
 *              submitter submits again.
 *
 * Promise: an accepted task that is kept alive starts, unless it is denied or withdrawn first. A
 * task whose backend is lost starts again, until its attempts are used up. Its effect
 * (baton_redis_backend_effect) happens at most once. Not promised: that the job's own side effects
 * happen once; what a fail-over loses (see below).
 *
 * What an operator needs, baton-redis-server(7) says: backlog, memory, clocks (no jump ends a lease
 * or a life), upgrades, clusters, fail-over: with `sentinels` a call goes on with the new master;
 * what a master acknowledged, and its replicas did not have yet, is lost then (see `replicas`).
 *
 * Thread safety: none. One thread at a time uses a connection, and what was created with it.
 * Blocking: a call waits for the server. A call whose connection is lost connects again, waits
 * longer after each failure, and gives up after `patience_ns`.
 * Each call that reaches the server may return one of these, and baton_redis_error() has its text:
 *   -ECONNREFUSED  no server, or it takes no more clients, or is busy with a script, and the
 *                  patience is over (-ETIMEDOUT: it does not answer).
 *   -EACCES        user, password, a right (see baton-redis-server(7)) or the certificate is wrong.
 *   -EPROTO        the queue's keys are of another schema than this program's.
 *   -EBADMSG       a key of the queue's name holds something else.
 *   -ENOMEM        this process has no memory left, or the server, which then takes no new tasks.
 *   -EMSGSIZE      the call would send more than BATON_REDIS_SIZE_MAX bytes, about.
 *   -EROFS         the server is a replica, or has too few replicas to write; the patience is over.
 *   -EREMOTE       another node of a cluster has the queue's keys: set `host` and `port`.
 *   -ENOSPC, -EIO  the server cannot write to its disk. -EIO is also any other error of the server.
 *   -ESTALE        the caller's epoch is over: another one leads, or has the task.
 *   -EINTR         a signal came while the call waited to connect again.
 * After -ECONNREFUSED, -ETIMEDOUT and -EINTR the server may have made the change all the same, if
 * only its answer was lost. After any other error the queue is as it was before the call.
 */
#ifndef BATON_REDIS_H
#define BATON_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/rules.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_REDIS_ID_MAX 63 /* characters of an id, a queue's and a backend's name */
/* Bytes that one call sends: a task's command and files, an effect. Redis takes no longer texts by
 * default (proto-max-bulk-len). What is sent must also reach the server within `timeout_ns`. */
#define BATON_REDIS_SIZE_MAX (UINT64_C(512) << 20)

/* ---- A connection to a queue ---- */

struct baton_redis;

/* Strings are copied. NULL and 0 are defaults. */
struct baton_redis_options {
	const char *queue;  /* its name: "baton" */
	const char *socket; /* path of a unix socket; otherwise host and port */
	const char *host;   /* "127.0.0.1" */
	uint16_t port;      /* 6379 */
	const char *user;   /* with a password: a user of the server's ACL */
	const char *password;
	/*
	 * TLS, if one of these is set. The certificate must be of the authority, and for the host
	 * (or tls_server_name, which a unix socket needs): else -EACCES. It needs a hiredis with
	 * TLS (1.0 and later), where this library is built: Debian 12's has none, and create()
	 * returns -ENOTSUP. Then connect to the local end of a tunnel (stunnel, an ssh -L).
	 */
	const char *tls_ca;   /* file with the authority's certificate: those of the system */
	const char *tls_cert; /* file with this program's certificate, and its key: none */
	const char *tls_key;
	const char *tls_server_name;
	uint64_t timeout_ns; /* for an answer, or a connect: 5 s */
	/* How long a call tries to connect again: 10 s; BATON_NEVER: always. */
	uint64_t patience_ns;
	/* How long create tries to connect. 0: once; BATON_NEVER: always. */
	uint64_t create_patience_ns;
	/*
	 * Sentinels, in the place of socket, host and port: "host:port,host:port". (The port may be
	 * left out: 26379. An address of IPv6 stands in brackets.) Each connect asks them, until
	 * one answers, where the master is that they call `sentinel_master`: "mymaster".
	 */
	const char *sentinels;
	const char *sentinel_master;
	const char *sentinel_user; /* of the sentinels' ACL; TLS is as for the server */
	const char *sentinel_password;
	/*
	 * Use a server that may delete keys when its memory is full: its maxmemory-policy, which
	 * INFO tells, is not `noeviction`. It loses tasks, ends and effects, and nobody is told.
	 */
	bool may_evict;
	uint64_t _reserved[4];
};

/*
 * Connects, and loads the queue's functions if the server does not have them.
 * Ownership: the caller destroys the connection, after what was created with it. If create fails
 * and *redis is not NULL, it holds the text of the error, and is to be destroyed too.
 * Errors: -EINVAL: the queue's name is empty, longer than 63 characters, or has not just letters,
 * digits and "._-"; or a TLS file is bad. -ENOTSUP: a TLS option is set, and this library was built
 * without TLS; or the server may evict keys, and `may_evict` is not set. The text says which.
 */
BATON_MUST_USE int baton_redis_create(const struct baton_redis_options *options,
                                      struct baton_redis **redis) BATON_NONNULL_AT(2);
void baton_redis_destroy(struct baton_redis *redis) BATON_NONNULL;

/* The text of the last error, for people. Valid until the next call. */
const char *baton_redis_error(const struct baton_redis *redis) BATON_NONNULL;

/*
 * A descriptor that is readable when baton_redis_note_next() or baton_redis_backend_next() has
 * something to read.
 * Returns: the descriptor, or -1: none now, call these functions again after a while.
 */
int baton_redis_fd(const struct baton_redis *redis) BATON_NONNULL;

/* ---- The submitter ---- */

/*
 * A file that goes with a task. The name is not NULL. The backend gets a task's files in any order;
 * of those with one name the last.
 */
struct baton_redis_file {
	const char *name;
	const void *data;
	size_t size;
};

/* A task, as it is submitted. It is copied to the server; all of it stays the caller's. */
struct baton_redis_task {
	const char *id;    /* unique in the queue; letters, digits and "._-", at most 63 */
	const char *token; /* the submitter's secret, written as an id: withdraw needs it */
	uint32_t kind;     /* a class, BATON_RULES_DEFAULT or BATON_RULES_INTERACTIVE */
	uint32_t attempts; /* when it has lost so many backends, the task fails: 3 */
	const void *command;
	size_t command_size;
	const struct baton_redis_file *files;
	size_t file_count;
	uint64_t keep_ns; /* deleted if not kept alive for so long: 600 s */
	/* How long submit waits for room in a full queue. 0: it is refused at once. BATON_NEVER:
	 * no end. */
	uint64_t room_timeout_ns;
	/* submit returns 0 when so many replicas of the server have the task, too: 0. It waits for
	 * them at most replicas_timeout_ns: timeout_ns of the connection. */
	uint32_t replicas;
	uint64_t replicas_timeout_ns;
	uint64_t _reserved[4];
};

#define BATON_REDIS_TOKEN_SIZE 33

/*
 * Writes 32 random hexadecimal digits: a token, or an id if nobody has to read it.
 * Errors: -EIO: the system has no random numbers.
 */
BATON_MUST_USE int baton_redis_token(char token[BATON_REDIS_TOKEN_SIZE]) BATON_NONNULL;

/*
 * Submits the task. To submit it again, with the same id and token, has no effect, even when the
 * task is over, as long as the server has its note.
 * Ownership: the task's bytes are copied to the server; they stay the caller's.
 * Errors: -EEXIST: the id is another task's. -EINVAL: a bad id or token; no such class (before a
 * scheduler has led, a class below BATON_RULES_CLASSES_MAX is accepted, and may be denied later).
 * -EAGAIN: the queue is full (`queue_max`), also after room_timeout_ns; who waits for room asks
 * again several times a second, and gets it in no order. -ETIMEDOUT, too: the server has the task,
 * but fewer replicas than `replicas` have it yet; to submit it again waits for them again.
 */
BATON_MUST_USE int baton_redis_submit(struct baton_redis *redis,
                                      const struct baton_redis_task *task) BATON_NONNULL;

/*
 * The task's keys live on for keep_ns. A submitter calls this a few times in that time.
 * Errors: -ENOENT: the server does not know the task (any more).
 */
BATON_MUST_USE int baton_redis_keep(struct baton_redis *redis,
                                    const struct baton_redis_task *task) BATON_NONNULL;

/*
 * withdraw: a task that waits is over; a task that runs is stopped. forget: deletes the note of a
 * task that is over, which is its last key: call it when the last note has been read.
 * Errors: -ENOENT as for keep; forget returns 0 if there is no note (any more). forget: -EBUSY: the
 * task is not over, or the server has lost its end with its last second.
 */
BATON_MUST_USE int baton_redis_withdraw(struct baton_redis *redis,
                                        const struct baton_redis_task *task) BATON_NONNULL;
BATON_MUST_USE int baton_redis_forget(struct baton_redis *redis,
                                      const struct baton_redis_task *task) BATON_NONNULL;

/* The state of a task, as a submitter is told of it. */
enum baton_redis_what {
	BATON_REDIS_NOTHING = 0,
	BATON_REDIS_WAITING = 1, /* ns: it starts in at most so long; BATON_NEVER: not known yet */
	BATON_REDIS_STARTED = 2, /* ns: how long it may run; a backend will take it */
	BATON_REDIS_RUNNING = 3, /* text: the backend's address; number: which attempt */
	BATON_REDIS_SHORTENED = 4, /* ns: how long it may run from now on */
	BATON_REDIS_LOST = 5,      /* its backend, named in text, was lost: it waits again */
	/* number: the status, text: the reason, both the backend's; -1 and "halted" or "stopped" if
	 * the task was stopped before a backend took it */
	BATON_REDIS_DONE = 6,
	BATON_REDIS_DENIED = 7, /* text: why */
	BATON_REDIS_FAILED = 8, /* text: why */
	BATON_REDIS_WITHDRAWN = 9,
};

/* Is this the last note? */
static inline bool baton_redis_is_last(enum baton_redis_what what)
{
	return what >= BATON_REDIS_DONE;
}

/* A note: what the submitter of a task is told. */
struct baton_redis_note {
	enum baton_redis_what what;
	uint64_t ns;
	int64_t number;
	uint64_t epoch; /* of the start that the note is about */
	char text[128];
	char _position[48]; /* zeroed before the first call */
};

/*
 * The next note of the task, in `note`; NOTHING: none yet. Never waits for a note. Give each call
 * for a task the same `note`, which holds the place in its notes. A connection looks for the notes
 * of one task at a time: after a change of task the first note may come some seconds late.
 * Errors: those of all calls.
 */
BATON_MUST_USE int baton_redis_note_next(struct baton_redis *redis,
                                         const struct baton_redis_task *task,
                                         struct baton_redis_note *note) BATON_NONNULL;

/* ---- The scheduler ---- */

struct baton_redis_scheduler;

/* What the scheduler has decided, for a log. `id` is valid in the call. */
struct baton_redis_decision {
	const char *what; /* "start", "shorten", "halt", "deny", "estimate", "overrun", "lost" */
	const char *id;
	uint32_t kind;
	uint64_t ns;
};

/* How a scheduler decides. */
struct baton_redis_scheduler_options {
	/* As for baton_rules_init(). limit[0] is 0: each limit is 100 %; a grace_ns of 0 is 1 s. */
	struct baton_rules_config rules;
	/* The limits are percentages of the number of backends, rounded down, but at least 1. */
	bool percent;
	uint64_t lease_ns; /* 3 s; at least 50 ms, at most a day */
	/*
	 * How many effects the server keeps, and a hundred more: the oldest are dropped, and
	 * counted (baton_redis_reader_dropped). 0: all, until each reader has acknowledged them.
	 * Without a reader they are kept for ever.
	 */
	uint64_t effects_max;
	/* How many tasks may wait; how many bytes commands and files of all tasks may have together
	 * until they are over. More are refused by submit. 0: no limit. They are the queue's from
	 * the first lead on. */
	uint64_t queue_max;
	uint64_t queue_bytes_max;
	void (*decided)(void *arg, const struct baton_redis_decision *decision);
	void *arg;
	uint64_t _reserved[4];
};

/*
 * Errors: -EINVAL: as for baton_rules_init(); a percentage above 100; the lease is bad.
 * Ownership: destroy resigns. Another scheduler leads within a third of its lease.
 */
BATON_MUST_USE int baton_redis_scheduler_create(
	struct baton_redis *redis, const struct baton_redis_scheduler_options *options,
	struct baton_redis_scheduler **scheduler) BATON_NONNULL;
void baton_redis_scheduler_destroy(struct baton_redis_scheduler *scheduler) BATON_NONNULL;

/*
 * Leads if no other does, and then decides what has come. Waits for that at most `timeout_ns`, and
 * returns after each batch. A scheduler that has lost its lease is a candidate again. Redis ends a
 * waiting read with a tick of its own (its setting `hz`, by default each 100 ms): a run may wait
 * longer by a tick, and a decision that is due at a time may come later by a tick. A lease that is
 * shorter than some ticks may be lost.
 * Errors: those of all calls. What the rules have decided is not lost: the next run sends it.
 */
BATON_MUST_USE int baton_redis_scheduler_run(struct baton_redis_scheduler *scheduler,
                                             uint64_t timeout_ns) BATON_NONNULL;

/* Returns: the epoch of a scheduler that leads; 0: it does not. */
uint64_t baton_redis_scheduler_epoch(const struct baton_redis_scheduler *scheduler) BATON_NONNULL;

/* ---- The backend ---- */

struct baton_redis_backend;

/* How a backend is called, and how long its lease is. */
struct baton_redis_backend_options {
	const char *name; /* unique in the queue, as an id */
	/* Where the submitter gets the output: a text of the program's own, at most 127 bytes. */
	const char *address;
	uint64_t lease_ns; /* 10 s; at least 50 ms, at most a day */
	uint64_t _reserved[4];
};

/*
 * Creates a backend, which has no task yet.
 *
 * Ownership: end it with baton_redis_backend_destroy().
 * Errors: those of all calls. -EINVAL: the name, the address or the lease is bad.
 */
BATON_MUST_USE int baton_redis_backend_create(struct baton_redis *redis,
                                              const struct baton_redis_backend_options *options,
                                              struct baton_redis_backend **backend) BATON_NONNULL;
/* Leaves: a task that is not finished waits again at once. */
void baton_redis_backend_destroy(struct baton_redis_backend *backend) BATON_NONNULL;

/* What a backend shall do. */
enum baton_redis_order_what {
	BATON_REDIS_IDLE = 0,
	BATON_REDIS_RUN = 1,     /* run the task; it may run `may_run_ns` */
	BATON_REDIS_SHORTEN = 2, /* it may run `may_run_ns` from now on; 0: stop it */
	BATON_REDIS_STOP = 3,    /* stop it, and call finish(); text: "halted", "withdrawn" */
	BATON_REDIS_STALE = 4,   /* stop it: it is another backend's now, or over: no finish() */
};

/* An order to a backend. */
struct baton_redis_order {
	enum baton_redis_order_what what;
	uint64_t may_run_ns; /* BATON_NEVER: no limit */
	/* RUN: the task. Valid until the first baton_redis_backend_next() after it is over. */
	const char *id;
	const char *token;
	uint64_t epoch;
	uint32_t kind;
	uint32_t attempt;
	const void *command;
	size_t command_size;
	const struct baton_redis_file *files;
	size_t file_count;
	const char *text; /* STOP. Valid until the next call */
};

/*
 * The next order; IDLE: none yet. Never waits for an order. Renews the lease when a third of it is
 * over. So call it when the descriptor is readable, and after baton_redis_backend_due() ns.
 * Errors: those of all calls.
 */
BATON_MUST_USE int baton_redis_backend_next(struct baton_redis_backend *backend,
                                            struct baton_redis_order *order) BATON_NONNULL;
uint64_t baton_redis_backend_due(const struct baton_redis_backend *backend) BATON_NONNULL;

/*
 * effect: writes `data` to the stream {queue}:effects, for readers (baton_redis_reader_create), at
 * most once for each task, whatever number of backends run it; a second effect of the same backend
 * is not written, and returns 0. finish: the task is over; the submitter is told `status` and the
 * first 127 bytes of `reason`.
 * Errors: -ESTALE: the task is another backend's, or over: the backend is idle now. effect:
 * -EALREADY: an earlier backend's effect has happened. -EINVAL: the backend runs no task.
 */
BATON_MUST_USE int baton_redis_backend_effect(struct baton_redis_backend *backend, const void *data,
                                              size_t size) BATON_NONNULL;
BATON_MUST_USE int baton_redis_backend_finish(struct baton_redis_backend *backend, int status,
                                              const char *reason) BATON_NONNULL;

/* What a task has come to. */
struct baton_redis_result {
	const void *effect;
	size_t effect_size;
	int status;
	const char *reason; /* NULL: "" */
};

/*
 * effect and finish in one call to the server: both happen, or neither. If an earlier backend's
 * effect has happened, that effect counts, and the task is over all the same.
 * Errors: as for effect, but for -EALREADY.
 */
BATON_MUST_USE int baton_redis_backend_conclude(
	struct baton_redis_backend *backend, const struct baton_redis_result *result) BATON_NONNULL;

/* ---- A reader of effects ---- */

struct baton_redis_reader;

/* Which reader it is, and whose effects it reads. */
struct baton_redis_reader_options {
	const char *name; /* as an id. Not NULL */
	bool remote;      /* reads the effects of the space of this name (remote.h) */
	uint64_t _reserved[4];
};

/* An effect. What it points to is valid until the next baton_redis_reader_next(). */
struct baton_redis_effect {
	const char *id; /* the task's, or the name's in a space; NULL: no effect */
	size_t id_size;
	uint64_t epoch; /* of the backend or owner that had the effect */
	const void *data;
	size_t size;
};

/*
 * A reader has a name, under which the server keeps how far it has acknowledged: each effect is
 * kept until all readers have acknowledged it. So a program that ends, and creates a reader of the
 * same name later, goes on behind the last acknowledged effect. The first reader of a name begins
 * with the oldest effect there is.
 * Errors: those of all calls. -EINVAL: the name is bad. -EAGAIN: there are 64 readers already.
 * Ownership: destroy does not leave: the server goes on keeping effects for the name.
 */
BATON_MUST_USE int baton_redis_reader_create(struct baton_redis *redis,
                                             const struct baton_redis_reader_options *options,
                                             struct baton_redis_reader **reader) BATON_NONNULL;
void baton_redis_reader_destroy(struct baton_redis_reader *reader) BATON_NONNULL;

/*
 * next: gives the effects one by one, in the order in which the effects happened. It never waits:
 * if there is no further effect yet, `effect->id` is NULL, and baton_redis_fd() becomes readable
 * when an effect has come. A reader needs a connection on which nobody reads notes or orders.
 * acknowledge: all effects that next has given are dealt with. An effect that was given, and not
 * acknowledged, is given again after a crash.
 * leave: the server keeps effects for this name no more. Then destroy the reader.
 * Errors: those of all calls. acknowledge: -ESTALE: the reader has left.
 */
BATON_MUST_USE int baton_redis_reader_next(struct baton_redis_reader *reader,
                                           struct baton_redis_effect *effect) BATON_NONNULL;
BATON_MUST_USE int baton_redis_reader_acknowledge(struct baton_redis_reader *reader) BATON_NONNULL;
BATON_MUST_USE int baton_redis_reader_leave(struct baton_redis_reader *reader) BATON_NONNULL;

/*
 * Returns: how many effects of the queue were dropped, ever, before all readers had acknowledged
 * them (`effects_max`): as of the last create or acknowledge of this reader.
 */
uint64_t baton_redis_reader_dropped(const struct baton_redis_reader *reader) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
