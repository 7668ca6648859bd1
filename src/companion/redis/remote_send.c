/* SPDX-License-Identifier: MIT */
/*
 * What goes to the server: tasks that this node submits, and jobs that are finished. Both gather
 * while the calls before are under way, and then go together, by the home resource's drain hook.
 *
 * A task gets a number, and waits for its answer in a ring. A submit may be repeated over any
 * connection: the server has the last number of each node. The end of jobs goes over the connection
 * over which the partitions were got, or not at all: a server that came back without its last
 * second has entries again that this node has read.
 */
#include "companion/redis/remote.h"

#include "base/atomic.h"
#include "base/platform.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS_MAX 500         /* in one call */
#define CALL_MAX (256 * 1024) /* bytes of one call, about */
#define JOB_SIZE 192          /* bytes of a job in a call: its numbers, and the lengths, about */
#define RING_MIN 1024
#define PAUSE_NS (BATON_SECOND / 50)

/* ---- Tasks that wait for an answer ---- */

static struct baton_remote_task **place(struct baton_remote *remote, uint64_t number)
{
	return &remote->waiting[number & (remote->room - 1)];
}

static bool grow_ring(struct baton_remote *remote)
{
	uint64_t room = remote->room ? 2 * remote->room : RING_MIN;
	struct baton_remote_task **ring;

	if (remote->next - remote->oldest < remote->room)
		return true;
	ring = calloc(room, sizeof(struct baton_remote_task *));
	if (!ring)
		return false;
	for (uint64_t number = remote->oldest; number < remote->next; number++)
		ring[number & (room - 1)] = *place(remote, number);
	free(remote->waiting);
	remote->waiting = ring;
	remote->room = room;
	return true;
}

static struct baton_remote_task *take_waiting(struct baton_remote *remote, uint64_t number)
{
	struct baton_remote_task *task;

	if (number < remote->oldest || number >= remote->next)
		return NULL;
	task = *place(remote, number);
	*place(remote, number) = NULL;
	while (remote->oldest < remote->next && !*place(remote, remote->oldest))
		remote->oldest++;
	return task;
}

/* The last touch of the task. */
static void complete_task(struct baton_remote *remote, struct baton_remote_task *task, int status)
{
	/* Relaxed: only a bound. */
	store_relaxed(&remote->outstanding, remote->outstanding - 1);
	/* Cannot fail: this thread has a record, and alone completes the token. */
	BATON_IGNORE(baton_detached_complete(&task->_token, status, task));
}

void baton__remote_answered(struct baton_remote *remote, uint64_t number, int status,
                            const redisReply *answer)
{
	struct baton_remote_task *task = take_waiting(remote, number);

	if (!task)
		return;
	task->answer_size = answer && answer->str ? answer->len : 0;
	if (task->answer_size > 0 && task->answer_room > 0)
		memcpy(task->answer, answer->str,
		       task->answer_size < task->answer_room ? task->answer_size
		                                             : task->answer_room);
	complete_task(remote, task, status);
}

void baton__remote_fail_waiting(struct baton_remote *remote, uint64_t last, int error)
{
	for (uint64_t number = remote->oldest; number < remote->next && number <= last; number++) {
		struct baton_remote_task *task = take_waiting(remote, number);

		if (task)
			complete_task(remote, task, error);
	}
}

/* On the home thread. */
static int submit_at_home(struct baton_task *base)
{
	struct baton_remote_task *task = baton_container_of(base, struct baton_remote_task, _task);
	struct baton_remote *remote = task->_remote;

	if (baton_detach(&task->_token, 0))
		return -EBUSY;
	/* Relaxed: only a bound. */
	store_relaxed(&remote->outstanding, remote->outstanding + 1);
	if (remote->stopping || !grow_ring(remote))
		complete_task(remote, task, remote->stopping ? -ESHUTDOWN : -ENOMEM);
	else
		*place(remote, remote->next++) = task;
	return 0;
}

BATON_EXPORT int baton_remote_submit(struct baton_remote *remote, struct baton_remote_task *task)
{
	int away = load_relaxed(&remote->away); /* a hint */
	int error;

	if (!task->_task._future || task->_length == 0 || task->_length > BATON_REMOTE_NAME_MAX)
		return -EINVAL;
	if (task->_size > BATON_REMOTE_SIZE_MAX)
		return -EMSGSIZE;
	if (away)
		return away;
	if (load_relaxed(&remote->outstanding) >= remote->options.outstanding_max)
		return -EAGAIN;
	task->_remote = remote;
	task->_task._run = submit_at_home;
	error = baton_submit(&remote->home, &task->_task);
	return error == -EPIPE ? -ESHUTDOWN : error;
}

/* ---- Sending submits ---- */

/* The next tasks that the server has not accepted; *last: the number of the last one. */
static uint32_t gather_tasks(struct baton_remote *remote, struct baton__redis_call *call,
                             uint64_t *last)
{
	uint32_t count = 0;
	uint32_t most = remote->options.batch_max == 1 ? 1 : TASKS_MAX;
	uint64_t number = remote->sent + 1 > remote->oldest ? remote->sent + 1 : remote->oldest;

	for (; number < remote->next && count < most && call->size < CALL_MAX; number++) {
		const struct baton_remote_task *task = *place(remote, number);

		*last = number;
		if (!task)
			continue;
		baton__redis_add_number(call,
		                        baton_remote_partition(remote, task->_name, task->_length));
		baton__redis_add_number(call, number);
		baton__redis_add(call, task->_name, task->_length);
		baton__redis_add(call, task->_data, task->_size);
		count++;
	}
	return count;
}

/*
 * The server has refused a submit, of which it may have accepted an earlier attempt: asks for the
 * last accepted number, and fails the tasks after it.
 */
static int resolve(struct baton_remote *remote, int refusal)
{
	struct baton__redis_call call;
	redisReply *reply = NULL;
	int error;

	baton__redis_call_init(&call, "remote_number");
	baton__redis_add_text(&call, remote->node);
	error = baton__redis_do(remote->redis, &call, &reply);
	if (error)
		return error;
	remote->sent = remote->accepted = baton__redis_number(reply);
	freeReplyObject(reply);
	for (uint64_t number = remote->sent + 1; number < remote->next; number++) {
		struct baton_remote_task *task = take_waiting(remote, number);

		if (task)
			complete_task(remote, task, refusal);
	}
	remote->sent = remote->next - 1;
	return 0;
}

/* The server has refused these tasks, of which it has seen no attempt before. */
static int refuse_tasks(struct baton_remote *remote, uint64_t first, uint64_t last, int refusal)
{
	for (uint64_t number = first; number <= last; number++) {
		struct baton_remote_task *task = take_waiting(remote, number);

		if (task)
			complete_task(remote, task, refusal);
	}
	remote->sent = last;
	return 0;
}

static bool is_away(int error)
{
	return error == -ECONNREFUSED || error == -ETIMEDOUT || error == -EINTR;
}

static int send_some(struct baton_remote *remote, bool *more)
{
	struct baton__redis_call call;
	redisReply *reply = NULL;
	uint64_t last = remote->sent;
	uint64_t tried = remote->tried;
	uint32_t unanswered = remote->redis->unanswered;
	int error;

	baton__redis_call_init(&call, "remote_submit");
	baton__redis_add_text(&call, remote->node);
	baton__redis_add_text(&call, remote->told);
	baton__redis_add_number(&call, remote->accepted);
	*more = gather_tasks(remote, &call, &last) > 0;
	if (!*more) {
		free(call.text);
		remote->sent = remote->next - 1;
		return 0;
	}
	remote->tried = last > remote->tried ? last : remote->tried;
	error = baton__redis_do(remote->redis, &call, &reply);
	if (!error) {
		uint64_t accepted = baton__redis_number(reply);

		/* Less than before: the server has lost tasks, which are sent again. */
		remote->sent = accepted < remote->accepted ? accepted : last;
		remote->accepted = accepted;
	} else if (error == -ESTALE) {
		remote->balance_at = 0;
	} else if (!is_away(error)) {
		baton__remote_trouble(remote, error);
		if (tried <= remote->sent && unanswered == remote->redis->unanswered) {
			remote->tried = tried;
			error = refuse_tasks(remote, remote->sent + 1, last, error);
		} else {
			error = resolve(remote, error);
		}
	}
	freeReplyObject(reply);
	return error;
}

static void send_submits(struct baton_remote *remote)
{
	bool more = remote->sent + 1 < remote->next;
	int error = 0;

	if (!more || baton__redis_clock() < remote->send_at)
		return;
	while (!error && more)
		error = send_some(remote, &more);
	if (error)
		remote->send_at = baton__redis_clock() + PAUSE_NS;
	/* Relaxed: a hint for submitters. */
	if (is_away(error) && error != -EINTR)
		store_relaxed(&remote->away, error);
}

/* ---- Finished jobs ---- */

int baton__remote_come_home(struct baton_task *task)
{
	struct baton_remote_job *job = baton_container_of(task, struct baton_remote_job, home);
	struct baton_remote *remote = job->remote;

	*remote->finished_end = job;
	while (job->next)
		job = job->next;
	remote->finished_end = &job->next;
	return 0;
}

static bool is_over(const struct baton_remote_job *job)
{
	return job->remote->partitions[job->partition].epoch != job->epoch;
}

/* How many bytes the job adds to a call, about, without its state. */
static size_t size_of(const struct baton_remote_job *job)
{
	return JOB_SIZE + job->key_size + job->answer.size + job->effects.size + job->messages.size;
}

/* A call has only the last state of each name. Returns how many bytes the job's state adds. */
static size_t replace_state(struct baton_remote_job *job)
{
	const struct baton_remote_job *replaced;

	if (job->change == BATON__REMOTE_KEPT)
		return 0;
	replaced = job->name->last_change;
	job->name->last_change = job;
	/* May be below 0, which the sum wraps back. */
	return job->sent.size - (replaced ? replaced->sent.size : 0);
}

/*
 * The first finished job that the next call does not have. The end of the call is found first,
 * since it decides which states the call has: each name's last one before that end.
 */
static struct baton_remote_job *find_end(struct baton_remote *remote)
{
	uint32_t most = remote->options.batch_max == 1 ? 1 : TASKS_MAX;
	uint32_t count = 0;
	size_t size = 0;
	struct baton_remote_job *job = remote->finished;

	for (; job && count < most && size < CALL_MAX; job = job->next) {
		if (is_over(job))
			continue;
		if (job->left_out && count > 0)
			break;
		if (job->left_out) {
			/* The job's task, and all tasks that follow, must be read again. */
			baton__remote_begin_anew(remote, 0);
			continue;
		}
		size += size_of(job) + replace_state(job);
		count++;
	}
	return job;
}

static void add_job(struct baton__redis_call *call, const struct baton_remote_job *job)
{
	static const char *const changes[] = {"", "set", "delete"};
	bool changes_state = job->name && job->name->last_change == job;
	char status[16];

	baton__redis_add_number(call, job->partition);
	baton__redis_add_number(call, job->epoch);
	baton__redis_add_text(call, job->entry);
	baton__redis_add(call, job->key + sizeof(uint64_t), job->key_size - sizeof(uint64_t));
	baton__redis_add_text(call, changes_state ? changes[job->change] : "");
	baton__redis_add(call, job->sent.data, changes_state ? job->sent.size : 0);
	baton__redis_add_text(call, job->from);
	baton__redis_add_text(call, job->number);
	snprintf(status, sizeof(status), "%d", job->status);
	baton__redis_add_text(call, status);
	baton__redis_add(call, job->answer.data, job->answer.size);
	baton__redis_add_number(call, job->effects.count);
	baton__redis_add_number(call, job->messages.count / 2);
	baton__redis_add_all(call, &job->effects);
	baton__redis_add_all(call, &job->messages);
	if (changes_state)
		job->name->last_change = NULL;
}

/* The finished jobs before `end` as arguments; returns how many. */
static uint32_t gather_jobs(struct baton_remote *remote, const struct baton_remote_job *end,
                            struct baton__redis_call *call)
{
	uint32_t count = 0;

	for (const struct baton_remote_job *job = remote->finished; job != end; job = job->next) {
		if (is_over(job))
			continue;
		add_job(call, job);
		count++;
	}
	return count;
}

static void free_jobs_before(struct baton_remote *remote, const struct baton_remote_job *end)
{
	while (remote->finished != end) {
		struct baton_remote_job *job = remote->finished;

		remote->finished = job->next;
		baton__remote_free(job);
	}
	if (!remote->finished)
		remote->finished_end = &remote->finished;
}

static int commit(struct baton_remote *remote, const struct baton__redis_call *jobs, uint32_t count)
{
	struct baton__redis_call call;
	redisReply *reply = NULL;
	const redisReply *stale;
	int error;

	baton__redis_call_init(&call, "remote_commit");
	call.connection = remote->connection;
	baton__redis_add_text(&call, remote->node);
	baton__redis_add_text(&call, remote->told);
	baton__redis_add_number(&call, remote->options.effects_max);
	baton__redis_add_number(&call, count);
	baton__redis_add_all(&call, jobs);
	error = baton__redis_do(remote->redis, &call, &reply);
	for (size_t i = 0; !error && (stale = baton__redis_at(reply, i)); i++) {
		baton__remote_lose(remote, (uint32_t)baton__redis_number(stale));
		remote->balance_at = 0;
	}
	freeReplyObject(reply);
	return error;
}

static void send_finished(struct baton_remote *remote)
{
	while (remote->finished) {
		struct baton_remote_job *end = find_end(remote);
		struct baton__redis_call jobs;
		uint32_t count;
		int error = 0;

		baton__redis_call_init(&jobs, NULL);
		count = gather_jobs(remote, end, &jobs);
		if (count > 0)
			error = commit(remote, &jobs, count);
		free(jobs.text);
		free_jobs_before(remote, end);
		if (error)
			baton__remote_begin_anew(remote, error);
	}
}

void baton__remote_send(struct baton_remote *remote)
{
	send_finished(remote);
	send_submits(remote);
}

int baton__remote_flush(struct baton_resource *home)
{
	baton__remote_send(baton_container_of(home, struct baton_remote, home));
	return 0;
}
