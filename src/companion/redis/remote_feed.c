/* SPDX-License-Identifier: MIT */
/*
 * From the streams to the names' resources: one read waits for entries of all partitions that this
 * node owns, and of what the node is told. The tasks of a partition are submitted in the order of
 * its stream, each to the resource of its name; so they run in that order (law L2).
 */
#include "companion/redis/remote.h"

#include "base/atomic.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS (BATON_SECOND / 1000)
#define READ_MAX 256  /* entries of one stream in one read */
#define HEARD_MAX 500 /* entries that the node hears before it takes them from the stream */
#define FED_MAX 500   /* jobs whose states one call reads */
#define EPOCH_SIZE sizeof(uint64_t)

/* ---- The registry of names ---- */

static int open_name(struct baton_registry_entry *entry, void *arg)
{
	struct baton__remote_name *name =
		baton_container_of(entry, struct baton__remote_name, entry);
	struct baton_remote *remote = arg;
	const redisReply *state = remote->initial;
	int error = 0;

	name->remote = remote;
	name->finished_end = &name->finished;
	name->object = remote->options.object_size > 0 ? name + 1 : NULL;
	if (state && state->str)
		error = baton__remote_copy(&name->state, state->str, state->len);
	if (!error && remote->options.open)
		error = remote->options.open(name->object, name->state.data, name->state.size,
		                             remote->options.arg);
	if (error)
		free(name->state.data);
	return error;
}

static void close_name(struct baton_registry_entry *entry, void *arg)
{
	struct baton__remote_name *name =
		baton_container_of(entry, struct baton__remote_name, entry);
	struct baton_remote *remote = arg;

	if (remote->options.close)
		remote->options.close(name->object, remote->options.arg);
	free(name->state.data);
}

int baton__remote_open_names(struct baton_remote *remote)
{
	struct baton_registry_options options = BATON_REGISTRY_OPTIONS_INIT(
		sizeof(struct baton__remote_name) + remote->options.object_size, open_name,
		close_name, remote);

	remote->name_config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	remote->name_config.capture_max = BATON_CAPTURE_NONE;
	remote->name_config.executor = remote->options.executor;
	remote->name_config.batch_end = baton__remote_end_batch;
	remote->name_config.batch_max = remote->options.batch_max;
	remote->name_config.quantum = remote->options.batch_max;
	remote->name_config.cancelled = baton__remote_cancelled;
	options.object_config = &remote->name_config;
	remote->kept = calloc(remote->options.objects_max, sizeof(struct baton_registry_entry *));
	if (!remote->kept)
		return -ENOMEM;
	return baton_registry_create(&options, &remote->names);
}

/* Keeps the object while it is among those that were opened last. */
static void keep_open(struct baton_remote *remote, struct baton_registry_entry *entry)
{
	struct baton_registry_entry **place = &remote->kept[remote->kept_next];

	if (*place)
		baton_registry_unref(*place);
	baton_registry_ref(entry);
	*place = entry;
	remote->kept_next = (remote->kept_next + 1) % remote->options.objects_max;
}

void baton__remote_forget_names(struct baton_remote *remote)
{
	for (uint32_t i = 0; i < remote->options.objects_max; i++) {
		if (remote->kept[i])
			baton_registry_unref(remote->kept[i]);
		remote->kept[i] = NULL;
	}
}

/* ---- From an entry to a job ---- */

static const redisReply *field_of(const redisReply *entry, const char *name)
{
	const redisReply *fields = baton__redis_at(entry, 1);

	for (size_t i = 0; fields && i + 1 < fields->elements; i += 2)
		if (strcmp(baton__redis_text(fields->element[i]), name) == 0)
			return fields->element[i + 1];
	return NULL;
}

static char *put_text(char **at, const void *data, size_t size)
{
	char *begin = *at;

	if (size > 0)
		memcpy(begin, data, size);
	begin[size] = '\0';
	*at += size + 1;
	return begin;
}

static size_t reply_length(const redisReply *reply)
{
	return reply && reply->str ? reply->len : 0;
}

static struct baton_remote_job *make_job(struct baton_remote *remote, uint32_t partition,
                                         const redisReply *entry)
{
	const redisReply *id = baton__redis_at(entry, 0);
	const redisReply *from = field_of(entry, "node");
	const redisReply *number = field_of(entry, "number");
	const redisReply *name = field_of(entry, "name");
	const redisReply *data = field_of(entry, "data");
	size_t size = reply_length(id) + reply_length(from) + reply_length(number) + EPOCH_SIZE +
	              reply_length(name) + reply_length(data) + 5;
	struct baton_remote_job *job = calloc(1, sizeof(*job) + size);
	char *at = (char *)(job + 1);

	if (!job)
		return NULL;
	job->remote = remote;
	job->partition = partition;
	job->epoch = remote->partitions[partition].epoch;
	job->entry = put_text(&at, baton__redis_text(id), reply_length(id));
	job->from = put_text(&at, baton__redis_text(from), reply_length(from));
	job->number = put_text(&at, baton__redis_text(number), reply_length(number));
	job->data = put_text(&at, baton__redis_text(data), reply_length(data));
	job->size = reply_length(data);
	job->key = at;
	job->key_size = EPOCH_SIZE + reply_length(name);
	memcpy(at, &job->epoch, EPOCH_SIZE);
	at += EPOCH_SIZE;
	put_text(&at, baton__redis_text(name), reply_length(name));
	/* Another program's entry: ended without a run. */
	if (!name)
		job->status = -EBADMSG;
	baton_task_init(&job->run, baton__remote_run, NULL);
	baton_task_init(&job->home, baton__remote_come_home, NULL);
	remote->in_work++;
	remote->partitions[partition].in_work++;
	return job;
}

/* ---- From a job to its name ---- */

static void free_jobs(struct baton_remote_job *jobs)
{
	while (jobs) {
		struct baton_remote_job *next = jobs->next;

		baton__remote_free(jobs);
		jobs = next;
	}
}

static void give_up(struct baton_remote *remote, struct baton_remote_job *jobs, int error)
{
	free_jobs(jobs);
	baton__remote_begin_anew(remote, error);
}

static struct baton__remote_name *find_open(struct baton_remote *remote,
                                            const struct baton_remote_job *job)
{
	struct baton_registry_entry *entry;

	if (baton_registry_find(remote->names, job->key, job->key_size, &entry))
		return NULL;
	return baton_container_of(entry, struct baton__remote_name, entry);
}

/* Finds the names that are open, and asks the server for the states of all that are not. */
static int find_names(struct baton_remote *remote, struct baton_remote_job *jobs,
                      redisReply **states)
{
	struct baton__redis_call call;

	baton__redis_call_init(&call, "remote_states");
	call.connection = remote->connection;
	for (struct baton_remote_job *job = jobs; job; job = job->next) {
		if (job->status)
			continue;
		job->name = find_open(remote, job);
		if (job->name)
			continue;
		baton__redis_add_number(&call, job->partition);
		baton__redis_add(&call, job->key + EPOCH_SIZE, job->key_size - EPOCH_SIZE);
	}
	if (call.count > 0)
		return baton__redis_do(remote->redis, &call, states);
	free(call.text);
	return 0;
}

static void acquire_name(struct baton_remote *remote, struct baton_remote_job *job,
                         const redisReply *state)
{
	struct baton_registry_entry *entry;

	remote->initial = state;
	job->name = find_open(remote, job); /* an earlier job of the same read may have opened it */
	if (job->name)
		return;
	job->status = baton_registry_acquire(remote->names, job->key, job->key_size, &entry);
	if (job->status)
		return;
	job->name = baton_container_of(entry, struct baton__remote_name, entry);
	keep_open(remote, entry);
}

static bool feed(struct baton_remote *remote, struct baton_remote_job *jobs)
{
	redisReply *states = NULL;
	size_t asked = 0;
	int error = find_names(remote, jobs, &states);

	if (error) {
		give_up(remote, jobs, error);
		return false;
	}
	while (jobs) {
		struct baton_remote_job *job = jobs;

		jobs = job->next;
		job->next = NULL;
		if (!job->status && !job->name)
			acquire_name(remote, job, baton__redis_at(states, asked++));
		/* A job without a name has a status for its answer. */
		if (!job->name)
			error = baton_submit(&remote->home, &job->home);
		else
			error = baton_submit(&job->name->entry.resource, &job->run);
		if (error) {
			job->next = jobs;
			give_up(remote, job, error);
			break;
		}
	}
	freeReplyObject(states);
	return !error;
}

/* Feeds the jobs, some at a time. */
static void feed_all(struct baton_remote *remote, struct baton_remote_job *jobs)
{
	bool good = true;

	while (jobs && good) {
		struct baton_remote_job *last = jobs;
		struct baton_remote_job *rest;

		for (uint32_t i = 1; i < FED_MAX && last->next; i++)
			last = last->next;
		rest = last->next;
		last->next = NULL;
		good = feed(remote, jobs);
		jobs = rest;
	}
	/* The next owner reads them again. */
	free_jobs(jobs);
}

/* ---- Reading ---- */

/* remote.lua dropped messages, because this node had left too many unread. */
static void lose_messages(struct baton_remote *remote)
{
	baton__remote_trouble(remote,
	                      baton__redis_fail(remote->redis, -ENOBUFS,
	                                        "messages to this node were dropped: it reads "
	                                        "them too slowly"));
}

static void hear(struct baton_remote *remote, const redisReply *entry)
{
	const char *what = baton__redis_field(entry, "what");
	const redisReply *data = field_of(entry, "data");

	snprintf(remote->told, sizeof(remote->told), "%s",
	         baton__redis_text(baton__redis_at(entry, 0)));
	/* A balance also deletes from the stream what was heard: that makes room for messages. */
	if (++remote->heard % HEARD_MAX == 0)
		remote->balance_at = 0;
	if (strcmp(what, "answer") == 0)
		baton__remote_answered(remote,
		                       strtoull(baton__redis_field(entry, "number"), NULL, 10),
		                       atoi(baton__redis_field(entry, "status")), data);
	else if (strcmp(what, "balance") == 0)
		remote->balance_at = 0;
	else if (strcmp(what, "message") == 0 && remote->options.told)
		remote->options.told(baton__redis_text(data), reply_length(data),
		                     remote->options.arg);
	else if (strcmp(what, "lost") == 0)
		lose_messages(remote);
}

/* Appends the jobs of a partition's entries. */
static int take_entries(struct baton_remote *remote, uint32_t number, const redisReply *entries,
                        struct baton_remote_job ***end)
{
	struct baton__remote_partition *partition = &remote->partitions[number];
	const redisReply *entry;

	/* Drops the entries: the next owner reads the partition from the beginning. */
	if (partition->epoch == 0 || partition->giving || remote->stopping)
		return 0;
	for (size_t i = 0; (entry = baton__redis_at(entries, i)); i++) {
		struct baton_remote_job *job = make_job(remote, number, entry);

		if (!job)
			return -ENOMEM;
		snprintf(partition->position, sizeof(partition->position), "%s",
		         baton__redis_text(baton__redis_at(entry, 0)));
		**end = job;
		*end = &job->next;
	}
	return 0;
}

static void take_reply(struct baton_remote *remote, const redisReply *reply)
{
	struct baton_remote_job *jobs = NULL;
	struct baton_remote_job **end = &jobs;
	const redisReply *stream;
	const redisReply *entry;
	int error = 0;

	for (size_t i = 0; !error && (stream = baton__redis_at(reply, i)); i++) {
		const redisReply *entries = baton__redis_at(stream, 1);
		const char *in = strstr(baton__redis_text(baton__redis_at(stream, 0)), ":in:");

		if (in)
			error = take_entries(remote, (uint32_t)strtoul(in + 4, NULL, 10), entries,
			                     &end);
		for (size_t k = 0; !in && (entry = baton__redis_at(entries, k)); k++)
			hear(remote, entry);
	}
	if (error)
		give_up(remote, jobs, error);
	else
		feed_all(remote, jobs);
}

void baton__remote_read(struct baton_remote *remote)
{
	redisReply *reply = NULL;
	int error = baton__redis_answer(remote->redis, &reply);

	if (error)
		baton__remote_begin_anew(remote, error);
	else
		take_reply(remote, reply);
	freeReplyObject(reply);
}

static bool is_read(const struct baton_remote *remote, uint32_t partition)
{
	const struct baton__remote_partition *one = &remote->partitions[partition];

	return !remote->narrow && one->epoch != 0 && !one->giving;
}

static void add_streams(struct baton_remote *remote, struct baton__redis_call *call)
{
	char number[16];

	baton__redis_add_text(call, "STREAMS");
	baton__redis_add_key(call, remote->redis, ":remote:to:", remote->node);
	for (uint32_t i = 0; i < remote->options.partitions; i++) {
		snprintf(number, sizeof(number), "%u", i);
		if (is_read(remote, i))
			baton__redis_add_key(call, remote->redis, ":remote:in:", number);
	}
	baton__redis_add_text(call, remote->told);
	for (uint32_t i = 0; i < remote->options.partitions; i++)
		if (is_read(remote, i))
			baton__redis_add_text(call, remote->partitions[i].position);
}

void baton__remote_ask(struct baton_remote *remote)
{
	struct baton__redis_call call;
	uint32_t free_places = remote->in_work < remote->options.in_work_max
	                               ? remote->options.in_work_max - remote->in_work
	                               : 0;
	uint32_t count = free_places / (remote->owned + 1);
	int error;

	/* There is room again: the read that waits leaves the partitions out. */
	if (remote->redis->asked && remote->narrow && !remote->stopping &&
	    free_places > remote->options.in_work_max / 2)
		baton__redis_unask(remote->redis);
	if (remote->redis->asked)
		return;
	remote->narrow = free_places == 0 || remote->stopping;
	count = count < 1 ? 1 : count > READ_MAX ? READ_MAX : count;
	baton__redis_call_init(&call, NULL);
	baton__redis_add_text(&call, "XREAD");
	baton__redis_add_text(&call, "COUNT");
	baton__redis_add_number(&call, remote->narrow ? READ_MAX : count);
	baton__redis_add_text(&call, "BLOCK");
	baton__redis_add_number(&call, remote->options.lease_ns / 3 / MS + 1);
	add_streams(remote, &call);
	error = baton__redis_ask(remote->redis, &call);
	if (error)
		baton__remote_trouble(remote, error);
}
