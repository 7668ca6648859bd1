/* SPDX-License-Identifier: MIT */
/*
 * A job: what `run` may call about it; and a name's batches. The jobs of a batch go to the home
 * thread together: the task `home` of the first job brings the list.
 */
#include "companion/redis/remote.h"

#include "base/atomic.h"
#include "base/platform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Running ---- */

/* Would the server refuse the job's effects? A hint: the server decides. */
static bool is_stale(const struct baton_remote_job *job)
{
	struct baton_remote *remote = job->remote;

	/* Relaxed: see struct baton__remote_partition. */
	return load_relaxed(&remote->partitions[job->partition].epoch) != job->epoch ||
	       baton__redis_clock() >= load_relaxed(&remote->lease_until);
}

static void free_bytes(struct baton__remote_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct baton__remote_bytes){0};
}

static void clear(struct baton__redis_call *call)
{
	free(call->text);
	baton__redis_call_init(call, NULL);
}

/* A failed task keeps its answer only. */
static void undo(struct baton_remote_job *job)
{
	job->change = BATON__REMOTE_KEPT;
	free_bytes(&job->state);
	free_bytes(&job->sent);
	clear(&job->effects);
	clear(&job->messages);
}

static void append_finished(struct baton_remote_job *job)
{
	job->next = NULL;
	*job->name->finished_end = job;
	job->name->finished_end = &job->next;
}

int baton__remote_run(struct baton_task *task)
{
	struct baton_remote_job *job = baton_container_of(task, struct baton_remote_job, run);
	struct baton__remote_name *name = job->name;

	/* The state lacks the change of a job that was left out: so leave out all later jobs. */
	name->broken |= is_stale(job);
	job->left_out = name->broken;
	if (!job->left_out)
		job->status = job->remote->options.run(job, job->remote->options.arg);
	if (job->left_out || job->status)
		undo(job);
	if (job->change != BATON__REMOTE_KEPT) {
		free(name->state.data);
		name->state = job->state;
		job->state = (struct baton__remote_bytes){0};
	}
	append_finished(job);
	return 0;
}

static int go_home(struct baton__remote_name *name)
{
	struct baton_remote_job *jobs = name->finished;

	name->finished = NULL;
	name->finished_end = &name->finished;
	if (!jobs)
		return 0;
	/* The last touch of the jobs, and maybe of the name: they are the home thread's now. */
	return baton_submit(&jobs->remote->home, &jobs->home);
}

int baton__remote_end_batch(struct baton_resource *resource)
{
	struct baton_registry_entry *entry =
		baton_container_of(resource, struct baton_registry_entry, resource);

	return go_home(baton_container_of(entry, struct baton__remote_name, entry));
}

/* The executor has shut down. */
void baton__remote_cancelled(struct baton_task *task)
{
	struct baton_remote_job *job = baton_container_of(task, struct baton_remote_job, run);

	job->left_out = true;
	job->name->broken = true;
	append_finished(job);
	go_home(job->name);
}

void baton__remote_free(struct baton_remote_job *job)
{
	struct baton_remote *remote = job->remote;
	struct baton__remote_partition *partition = &remote->partitions[job->partition];

	remote->in_work--;
	if (partition->epoch == job->epoch)
		partition->in_work--;
	if (job->name)
		baton_registry_unref(&job->name->entry);
	undo(job);
	free_bytes(&job->answer);
	free(job);
}

/* ---- What run may call ---- */

BATON_EXPORT const void *baton_remote_job_name(const struct baton_remote_job *job, size_t *length)
{
	*length = job->key_size - sizeof(uint64_t);
	return job->key + sizeof(uint64_t);
}

BATON_EXPORT const void *baton_remote_job_data(const struct baton_remote_job *job, size_t *size)
{
	*size = job->size;
	return job->data;
}

BATON_EXPORT uint64_t baton_remote_job_epoch(const struct baton_remote_job *job)
{
	return job->epoch;
}

BATON_EXPORT void *baton_remote_job_object(const struct baton_remote_job *job)
{
	return job->name->object;
}

BATON_EXPORT const void *baton_remote_job_state(const struct baton_remote_job *job, size_t *size)
{
	const struct baton__remote_bytes *state =
		job->change != BATON__REMOTE_KEPT ? &job->state : &job->name->state;

	*size = state->size;
	return state->data;
}

/* Would the job leave too much if it left `size` bytes more, and `replaced` bytes less? */
static bool is_too_much(const struct baton_remote_job *job, size_t size, size_t replaced)
{
	size_t others = job->sent.size + job->effects.size + job->messages.size + job->answer.size;

	return size > BATON_REMOTE_SIZE_MAX || others - replaced > BATON_REMOTE_SIZE_MAX - size;
}

BATON_EXPORT int baton_remote_job_set_state(struct baton_remote_job *job, const void *data,
                                            size_t size)
{
	struct baton__remote_bytes state = {0};
	struct baton__remote_bytes sent = {0};

	if (data && is_too_much(job, size, job->sent.size))
		return -EMSGSIZE;
	if (data &&
	    (baton__remote_copy(&state, data, size) || baton__remote_copy(&sent, data, size))) {
		free(state.data);
		return -ENOMEM;
	}
	/* Freed last: `data` may be the state that the job has set before. */
	free_bytes(&job->state);
	free_bytes(&job->sent);
	job->state = state;
	job->sent = sent;
	job->change = data ? BATON__REMOTE_SET : BATON__REMOTE_DELETED;
	return 0;
}

/* A failed argument leaves the call as it was. */
static int take_error(struct baton__redis_call *call)
{
	int error = call->error;

	call->error = 0;
	return error;
}

BATON_EXPORT int baton_remote_job_effect(struct baton_remote_job *job, const void *data,
                                         size_t size)
{
	if (is_too_much(job, size, 0))
		return -EMSGSIZE;
	baton__redis_add(&job->effects, data, size);
	return take_error(&job->effects);
}

BATON_EXPORT int baton_remote_job_tell(struct baton_remote_job *job, const char *node,
                                       const void *data, size_t size)
{
	struct baton__redis_call pair;
	uint32_t before = job->messages.count;
	int error;

	if (is_too_much(job, size, 0))
		return -EMSGSIZE;
	baton__redis_call_init(&pair, NULL);
	baton__redis_add_text(&pair, node);
	baton__redis_add(&pair, data, size);
	error = take_error(&pair);
	if (error) {
		free(pair.text);
		return error;
	}
	baton__redis_add_all(&job->messages, &pair);
	free(pair.text);
	return job->messages.count == before ? take_error(&job->messages) : 0;
}

BATON_EXPORT int baton_remote_job_answer(struct baton_remote_job *job, const void *data,
                                         size_t size)
{
	if (is_too_much(job, size, job->answer.size))
		return -EMSGSIZE;
	return baton__remote_copy(&job->answer, data, size);
}
