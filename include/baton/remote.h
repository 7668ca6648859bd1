/* SPDX-License-Identifier: MIT */
/*
 * Resources over machines: named resources that are shared by the processes of many machines, with
 * a server of Redis between them. Part of libbaton-redis (redis.h). baton.h does not include this
 * header.
 *
 * The processes are *nodes* of a *space*. Each name belongs to one of the space's partitions, each
 * partition is owned by one node, and the owner runs the tasks of the partition's names: a resource
 * for each name (registry.h), tasks in the order in which the server accepted them. Any node
 * submits to any name, and gets a future.
 *
 *	static int take_over(struct baton_remote_job *job, void *arg)
 *	{
 *		size_t size;
 *		const char *former = baton_remote_job_state(job, &size);
 *
 *		if (former && baton_remote_job_tell(job, former, "gone", 4)) // NUL-terminated
 *			return -ENOMEM;
 *		return baton_remote_job_set_state(job, baton_remote_job_data(job, &size), size);
 *	}
 *
 *	struct baton_remote_options options = {.node = "broker-1", .run = take_over};
 *	struct baton_future future = BATON_FUTURE_INIT;
 *	struct baton_remote_task task = BATON_REMOTE_TASK_INIT("client/7", 8, me, size, &future);
 *
 *	error = baton_remote_create(&options, &remote);
 *	if (!error)
 *		error = baton_remote_submit(remote, &task);
 *	if (!error)
 *		error = baton_future_wait(&future);
 *
 *                                | may run beside           | from
 *   submit, owned, node          | everything but destroy   | any thread, also inside tasks
 *   partition                    | everything but destroy   | any thread, also inside tasks
 *   job_...                      | other jobs' calls        | `run`, about the job it was given
 *   run, close                   | those of other names     | called on threads of the executor
 *   open, told, event,           | run, close               | called on the node's thread; event
 *   a future's continuations     |                          | also inside create
 *   create, destroy, error       | nothing                  | the owner
 *
 * Corner cases. What a task does. `run` may change the name's *state* (bytes that the server
 * keeps), append *effects* to the stream {space}:remote:effects, send *messages* to nodes, and give
 * an answer. All of that, and the end of the task, reach the server together: one server-side
 * function for all tasks that have ended since the call before (drain hooks, hooks.h). The function
 * looks first whether this node still owns the partition, by the partition's epoch.
 *
 * Owners. A node holds its partitions by a lease, which it renews when a third of it is over. The
 * nodes that own watch each other's renewals. A node whose lease ends (it was killed, frozen or cut
 * off) loses its partitions to another node, which owns them under later epochs. So no name is
 * without an owner for longer than two leases, as long as another node lives. A node that leaves
 * (destroy) hands its partitions over at once. When nodes join, each owner gives of its own,
 * partition by partition, until the shares differ by at most 1; an owner ends the tasks of a
 * partition that it has begun, then hands the partition over.
 *
 * Clocks. No key expires, and no lease ends by the server's clock, which may jump, or be another
 * machine's after a fail-over. A lease is over when a node that watches it has seen no renewal for
 * as long as the lease lasts, by its own monotonic clock: at most one lease later than the lease
 * itself. keep_ns is measured in the same way. While no node with a `run` lives, nothing is ended:
 * a node that joins then takes the partitions of lost nodes after their lease. What remains: a
 * server that loses its last second, and whose clock is set back too, may give an epoch a second
 * time.
 *
 * Many. No call of a node touches more than 500 partitions, or entries of what the node was told;
 * a node that gets or gives more calls again. A node watches the 64 nodes that have not renewed for
 * longest. Not bounded: the read in which an owner waits for tasks names all its partitions.
 *
 * Promises.
 *   - An accepted task is run by the node that owns its name then, as soon as a node does. Its
 *     effects, its change of state and its answer count exactly once. A run under an epoch that is
 *     over has none of these; the next owner runs the task again.
 *   - Tasks of a name run in the order in which the server accepted them, which for the tasks of
 *     one thread is the order of its submits (law L2). The effects of a name stand in this order.
 *   - `run` finds the state as all earlier tasks of the name have left it.
 *   - At no time do the tasks of two owners of a name both count.
 *
 * Not promised.
 *   - That `run` is called once: what it does beside the calls of this header may happen twice,
 *     also by two nodes at the same time (a node that was frozen within `run`). The epoch is the
 *     fencing number that other systems may compare: it rises with each owner of a name.
 *   - An answer for a node that was away for longer than keep_ns (the future fails with -ESTALE),
 *     or that has left (-ESHUTDOWN). The task is run all the same.
 *   - The last second of a server with `appendfsync everysec` that crashed, as far as its tasks'
 *     futures were complete: tasks without an answer are submitted again. The same of what a new
 *     master does not have after a fail-over (baton-redis-server(7)).
 *   - Order between names.
 *
 * Cost: for each batch one round trip to submit, one to finish; an idle node calls three times in a
 * lease. Figures are in the repository, test/redis/bench/README.md.
 *
 * Sources: Kafka's consumer groups (partitions, epochs), Chubby's sequencers (fencing).
 */
#ifndef BATON_REMOTE_H
#define BATON_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/detach.h>
#include <baton/executor.h>
#include <baton/future.h>
#include <baton/redis.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_REMOTE_PARTITIONS 256
#define BATON_REMOTE_NAME_MAX 1024 /* bytes of a name, which may have any values */
/*
 * Bytes of a task's data; and of all that one run leaves, its state, answer, effects and messages
 * together. They must also pass to and from the server within timeout_ns, and the server must take
 * texts of that size (proto-max-bulk-len): otherwise the node tries again for ever, and the tasks
 * behind wait.
 */
#define BATON_REMOTE_SIZE_MAX (UINT64_C(256) << 20)

struct baton_remote;
struct baton_remote_job;

/* What has happened to a partition. */
enum baton_remote_event_what {
	BATON_REMOTE_GAINED = 1, /* the node owns the partition, under the epoch */
	BATON_REMOTE_LOST = 2,   /* the node owns the partition no more */
	/* error, text. -ENOBUFS: messages to this node were lost (baton_remote_job_tell). Else the
	 * server refuses, or is away; tried again. */
	BATON_REMOTE_TROUBLE = 3,
};

/* What a node is told of its partitions. */
struct baton_remote_event {
	enum baton_remote_event_what what;
	uint32_t partition;
	uint64_t epoch;
	int error;
	const char *text; /* valid in the call */
};

/* Strings are copied. NULL and 0 are defaults. */
struct baton_remote_options {
	/* The server, as in redis.h; `queue` is the space's name. timeout_ns is at most the lease,
	 * patience_ns a third of the lease. */
	struct baton_redis_options redis;
	const char *node;    /* as an id of redis.h, at most 40 characters: "node" */
	uint32_t partitions; /* the same in all nodes of the space, at most 4096: 256 */
	uint64_t lease_ns;   /* 3 s; at least 50 ms, at most a day */
	/* How long answers wait for a node that is away, at least a lease: 60 s; some more while no
	 * node that owns has noticed. */
	uint64_t keep_ns;
	/*
	 * Runs a task. Returns 0, or a status, which the submitter's future fails with; such a task
	 * has its answer, and no other effect. May block as any task of the executor may. NULL: the
	 * node only submits, and owns nothing.
	 */
	int (*run)(struct baton_remote_job *job, void *arg);
	/*
	 * The name's object: zeroed memory of `object_size` bytes on the owner. open: `state` (NULL
	 * if the name has none) is that of the server; returns 0, or an errno, with which the task
	 * that wanted the object fails. open and close may not wait. An object lives while its name
	 * has tasks, and while it is among the `objects_max` (1,024) that were opened last. The
	 * object of an epoch that is over may still be there while that of the next epoch is open.
	 */
	size_t object_size;
	int (*open)(void *object, const void *state, size_t size, void *arg);
	void (*close)(void *object, void *arg);
	/* A message that a task has sent to this node. May not block: its thread renews leases. */
	void (*told)(const void *data, size_t size, void *arg);
	void (*event)(const struct baton_remote_event *event, void *arg);
	void *arg;
	struct baton_executor *executor; /* for the names' resources; NULL: the default pool */
	uint32_t batch_max;              /* tasks in a batch of a name: 64 */
	uint32_t in_work_max;            /* tasks that this node has in work: 4,096 */
	uint32_t outstanding_max; /* tasks of this node that wait for an answer, about: 65,536 */
	uint32_t objects_max;
	/* The effects that the server keeps, and a hundred more: 100,000. The oldest are dropped,
	 * and counted, if no reader (baton_redis_reader_create) has acknowledged them before. */
	uint64_t effects_max;
	uint64_t _reserved[4];
};

/*
 * Joins the space: connects (`redis.create_patience_ns`), and takes its share. A thread of its own
 * then looks after leases, reads, and sends.
 * Ownership: the caller destroys it. If create fails and *remote is not NULL, it holds the text of
 * the error, and is to be destroyed too.
 * Errors: those of baton_redis_create(). -EINVAL: the node's name, the lease or the number of
 * partitions is bad; the space has another number of partitions. -EAGAIN, -EMFILE: no thread, no
 * descriptor.
 */
BATON_MUST_USE int baton_remote_create(const struct baton_remote_options *options,
                                       struct baton_remote **remote) BATON_NONNULL;

/*
 * Leaves: the tasks that are in work end, the partitions go to the other nodes at once. Futures
 * that are not complete fail with -ESHUTDOWN; their tasks, if the server has accepted them, are
 * run. Blocking: until the tasks in work have ended; the server is waited for at most a lease.
 */
void baton_remote_destroy(struct baton_remote *remote) BATON_NONNULL;

/* The text of the error of baton_remote_create(), for people. */
const char *baton_remote_error(const struct baton_remote *remote) BATON_NONNULL;

/* The node's address for baton_remote_job_tell(): its name and a random part. */
const char *baton_remote_node(const struct baton_remote *remote) BATON_NONNULL;

/* owned: how many partitions the node owns, a hint. partition: which one the name belongs to. */
uint32_t baton_remote_owned(const struct baton_remote *remote) BATON_NONNULL;
uint32_t baton_remote_partition(const struct baton_remote *remote, const void *name,
                                size_t length) BATON_NONNULL;

/* ---- Submitting ---- */

/* A task for a name. All of it, and what it points to, is baton's until the future is complete. */
struct baton_remote_task {
	struct baton_task _task;
	struct baton_detached _token;
	struct baton_remote *_remote;
	const void *_name;
	size_t _length;
	const void *_data;
	size_t _size;
	/* The answer: at most `answer_room` bytes go to `answer`; answer_size is its whole size. */
	void *answer;
	size_t answer_room;
	size_t answer_size;
};

#define BATON_REMOTE_TASK_INIT(name, length, data, size, future)                                   \
	{                                                                                          \
		BATON_TASK_INIT(NULL, future), BATON_DETACHED_INIT, NULL, (name), (length),        \
			(data), (size), NULL, 0, 0                                                 \
	}

/*
 * Submits the task to its name. The future is complete when the task's effects are on the server:
 * it is done, or failed with the status that `run` returned; its value is the task.
 *
 * Thread safety: any thread, also inside tasks. Blocking: never.
 * Ownership: the task, its name and its data belong to baton until the future is complete.
 * Errors: the task is untouched. -EINVAL: no future; the name is empty, or longer than
 * BATON_REMOTE_NAME_MAX. -EMSGSIZE: the data is larger than BATON_REMOTE_SIZE_MAX. -EAGAIN: too
 * many tasks are outstanding. -ECONNREFUSED, -ETIMEDOUT: the server is away. -ESHUTDOWN.
 * The future fails, beside what `run` returns, with -ENOMEM, -EROFS, -ENOSPC, -EIO, -EACCES,
 * -EBADMSG, -EPROTO (see redis.h: the server has not accepted the task); -ESTALE, -ESHUTDOWN (see
 * above: the task may be run); -ECANCELED: cancelled before it was sent.
 */
BATON_MUST_USE int baton_remote_submit(struct baton_remote *remote,
                                       struct baton_remote_task *task) BATON_NONNULL;

/* ---- Running: inside `run`, about its job ---- */

/*
 * name, data: the name and the data of the submitted task. A NUL follows the bytes of each.
 * epoch: the partition's. object: the name's object; NULL if object_size is 0.
 */
const void *baton_remote_job_name(const struct baton_remote_job *job, size_t *length) BATON_NONNULL;
const void *baton_remote_job_data(const struct baton_remote_job *job, size_t *size) BATON_NONNULL;
uint64_t baton_remote_job_epoch(const struct baton_remote_job *job) BATON_NONNULL;
void *baton_remote_job_object(const struct baton_remote_job *job) BATON_NONNULL;

/*
 * state: the name's, as this task has found or set it; NULL: it has none. Valid until the next
 * set_state. set_state: copies `data`; NULL: the name has no state any more.
 * Returns: state: the bytes; always followed by a NUL. Errors of set_state: nothing has changed:
 * -ENOMEM. -EMSGSIZE: the run leaves more than BATON_REMOTE_SIZE_MAX bytes.
 */
const void *baton_remote_job_state(const struct baton_remote_job *job, size_t *size) BATON_NONNULL;
BATON_MUST_USE int baton_remote_job_set_state(struct baton_remote_job *job, const void *data,
                                              size_t size) BATON_NONNULL_AT(1);

/*
 * effect: one entry of the stream {space}:remote:effects {name, task, epoch, data}; a task may have
 * several. answer: for the submitter; the last call counts. tell: a message to the node with that
 * address (baton_remote_node). A node that is gone gets none. While a node has left about 100,000
 * unread, messages to it are lost, but no answers; where messages are lost, the node gets an event
 * instead. All copy `data`.
 * Errors: nothing was added: -ENOMEM, -EMSGSIZE as for set_state.
 */
BATON_MUST_USE int baton_remote_job_effect(struct baton_remote_job *job, const void *data,
                                           size_t size) BATON_NONNULL_AT(1);
BATON_MUST_USE int baton_remote_job_tell(struct baton_remote_job *job, const char *node,
                                         const void *data, size_t size) BATON_NONNULL_AT(1, 2);
BATON_MUST_USE int baton_remote_job_answer(struct baton_remote_job *job, const void *data,
                                           size_t size) BATON_NONNULL_AT(1);

#ifdef __cplusplus
}
#endif

#endif
