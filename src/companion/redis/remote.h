/* SPDX-License-Identifier: MIT */
/*
 * What the files of a node share (baton/remote.h). A node has one thread of its own, the *home*
 * thread, which drives a loop executor. Partitions, tasks that wait for an answer, both connections
 * to the server, and all else belong to that thread, unless a comment says otherwise. Other threads
 * submit tasks to the home resource. Its drain hook (hooks.h) sends in one call what many of these
 * tasks have brought: submits, and finished jobs.
 *
 *   remote.c       create, destroy, the thread's loop
 *   remote_own.c   which partitions are this node's
 *   remote_watch.c leases of other nodes, watched by this node's clock
 *   remote_feed.c  from the partitions' streams to the names' resources
 *   remote_job.c   a job: what `run` may call; the batches of a name
 *   remote_send.c  submits and finished jobs, to the server
 */
#ifndef BATON_SRC_REDIS_REMOTE_H
#define BATON_SRC_REDIS_REMOTE_H

#include "companion/redis/redis.h"

#include <baton/registry.h>
#include <baton/remote.h>

#include <pthread.h>

#define BATON__REMOTE_POSITION 48
#define BATON__REMOTE_NODE_MAX 63

struct baton__remote_bytes {
	char *data; /* followed by a NUL; NULL: none */
	size_t size;
};

/*
 * A partition. `epoch` is 0 while the node does not own it. Only the home thread writes; other
 * threads read `epoch` relaxed, to leave out what would be refused (the server decides).
 */
struct baton__remote_partition {
	uint64_t epoch;
	char position[BATON__REMOTE_POSITION]; /* read up to here */
	uint32_t in_work;                      /* jobs of this epoch */
	bool giving;                           /* goes to another node when in_work is 0 */
};

/* A name under one epoch. Its key in the registry is the epoch and the name. */
struct baton__remote_name {
	struct baton_registry_entry entry;
	struct baton_remote *remote;
	/* A job was left out, and so are later jobs of this epoch. Under the name's baton. */
	bool broken;
	struct baton__remote_bytes state;
	struct baton_remote_job *finished; /* finished jobs of the batch that runs */
	struct baton_remote_job **finished_end;
	/* Of the jobs in the call that is being gathered, the last one that changes the state. */
	struct baton_remote_job *last_change; /* of the home thread */
	void *object;                         /* behind this struct */
};

enum baton__remote_change {
	BATON__REMOTE_KEPT,
	BATON__REMOTE_SET,
	BATON__REMOTE_DELETED,
};

struct baton_remote_job {
	struct baton_task run;  /* of the name's resource */
	struct baton_task home; /* of the home resource: the first job of a batch brings the rest */
	struct baton_remote_job *next;
	struct baton_remote *remote;
	struct baton__remote_name *name; /* NULL: could not be opened */
	uint64_t epoch;
	uint32_t partition;
	int status;
	bool left_out; /* not run */
	enum baton__remote_change change;
	struct baton__remote_bytes state; /* the state that the job has set, for the name */
	struct baton__remote_bytes sent;  /* a copy of `state`, for the server */
	struct baton__remote_bytes answer;
	struct baton__redis_call effects; /* one argument each */
	struct baton__redis_call messages;
	const char *entry;
	const char *from;
	const char *number;
	const char *key; /* of the registry; the name is behind the epoch */
	size_t key_size;
	const char *data;
	size_t size;
};

/* A lease of another node, or how long its keys are kept: over if it is not renewed before
 * `over_at`, by this node's clock. */
struct baton__remote_watched {
	char what[8]; /* "leases" or "keeps" */
	char node[BATON__REMOTE_NODE_MAX + 1];
	uint64_t renewal;
	uint64_t over_at;
};

struct baton_remote {
	struct baton_remote_options options;
	struct baton_redis *redis;
	char node[BATON__REMOTE_NODE_MAX + 1];
	char error[256];
	struct baton_loop *loop;
	struct baton_resource_config home_config;
	struct baton_resource_config name_config;
	struct baton_resource home;
	struct baton_registry *names;
	pthread_t thread;
	struct baton_task stop;
	bool stopping;

	/* ---- Leases (remote_own.c) ---- */
	struct baton__remote_partition *partitions;
	uint64_t lease_until; /* read by other threads, relaxed: as a partition's epoch */
	uint32_t owned;       /* read by other threads, relaxed: a hint */
	uint32_t giving;
	uint32_t connection; /* over which the partitions were got */
	uint64_t balance_at;
	bool joined;
	bool anew;     /* everything was dropped: the epochs must end */
	uint64_t seen; /* the last epoch that the server has given this node */
	struct baton__remote_watched *watched;
	size_t watched_count;

	/* ---- Reading (remote_feed.c) ---- */
	char told[BATON__REMOTE_POSITION];
	uint64_t heard; /* how many entries of its stream the node has read */
	uint32_t in_work;
	bool narrow; /* the read that waits leaves the partitions out */
	struct baton_registry_entry **kept;
	uint32_t kept_next;
	const struct redisReply *initial; /* state of the name that is being opened */

	/* ---- Sending (remote_send.c) ---- */
	struct baton_remote_task **waiting; /* for answers: a ring, by number */
	uint64_t room;
	uint64_t oldest;      /* the first number that may be in the ring */
	uint64_t next;        /* the number of the next task */
	uint64_t sent;        /* all tasks up to here are accepted, or were failed */
	uint64_t accepted;    /* what the server has said */
	uint64_t tried;       /* the last number that was in a call */
	uint64_t send_at;     /* not before */
	uint32_t outstanding; /* read by other threads, relaxed: only a bound */
	int away;             /* read by other threads, relaxed: a hint */
	struct baton_remote_job *finished;
	struct baton_remote_job **finished_end;
};

/* ---- remote.c ---- */
void baton__remote_trouble(struct baton_remote *remote, int error);
int baton__remote_copy(struct baton__remote_bytes *bytes, const void *data, size_t size);

/* ---- remote_own.c ---- */
/* join: makes the first balance. look_after_lease: renews and gives, when it is time. */
int baton__remote_join(struct baton_remote *remote);
void baton__remote_look_after_lease(struct baton_remote *remote);
/* Drops the partition: it is another node's. */
void baton__remote_lose(struct baton_remote *remote, uint32_t partition);
/* Drops all partitions, and gets them back under new epochs; after an error, with a pause. */
void baton__remote_begin_anew(struct baton_remote *remote, int error);
void baton__remote_leave(struct baton_remote *remote);

/* ---- remote_watch.c ---- */
/* add_over: the leases that are over, as arguments. watch: those of an answer. next: when the first
 * will be over. */
void baton__remote_add_over(const struct baton_remote *remote, struct baton__redis_call *call);
int baton__remote_watch(struct baton_remote *remote, const struct redisReply *leases);
uint64_t baton__remote_watch_next(const struct baton_remote *remote);

/* ---- remote_feed.c ---- */
int baton__remote_open_names(struct baton_remote *remote);
void baton__remote_read(struct baton_remote *remote);
void baton__remote_ask(struct baton_remote *remote);
void baton__remote_forget_names(struct baton_remote *remote);

/* ---- remote_job.c ---- */
/* Any thread that runs the name's tasks. */
int baton__remote_run(struct baton_task *task);
void baton__remote_cancelled(struct baton_task *task);
int baton__remote_end_batch(struct baton_resource *resource);
/* Frees a job that is over. The home thread. */
void baton__remote_free(struct baton_remote_job *job);

/* ---- remote_send.c ---- */
int baton__remote_come_home(struct baton_task *task);
int baton__remote_flush(struct baton_resource *home);
void baton__remote_send(struct baton_remote *remote);
void baton__remote_answered(struct baton_remote *remote, uint64_t number, int status,
                            const struct redisReply *answer);
/* Fails what waits for an answer, up to a number. */
void baton__remote_fail_waiting(struct baton_remote *remote, uint64_t last, int error);

#endif
