/* SPDX-License-Identifier: MIT */
/*
 * A node of a space: create, destroy, and the loop of its thread.
 */
#include "companion/redis/remote.h"

#include "base/atomic.h"
#include "base/platform.h"
#include "base/refused.h"

#include <baton/error.h>
#include <baton/thread.h>
#include <baton/timer.h>
#include <baton/loop.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASE_NS (3 * BATON_SECOND)
#define KEEP_NS (60 * BATON_SECOND)
#define NODE_NAME_MAX 40
#define PARTITIONS_MAX 4096
#define HOME_BATCH 1024

void baton__remote_trouble(struct baton_remote *remote, int error)
{
	struct baton_remote_event event = {
		.what = BATON_REMOTE_TROUBLE,
		.error = error,
		.text = remote->redis->error,
	};

	if (remote->options.event)
		remote->options.event(&event, remote->options.arg);
}

int baton__remote_copy(struct baton__remote_bytes *bytes, const void *data, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy)
		return -ENOMEM;
	if (size > 0)
		memcpy(copy, data, size);
	copy[size] = '\0';
	free(bytes->data);
	*bytes = (struct baton__remote_bytes){copy, size};
	return 0;
}

/* ---- The thread ---- */

static int wait_ms(const struct baton_remote *remote)
{
	uint64_t at = remote->balance_at;
	uint64_t now = baton__redis_clock();

	/* A read that could not be asked for, or a send that has failed, is tried again soon. */
	if (!remote->redis->asked || remote->sent + 1 < remote->next)
		at = now + BATON_SECOND / 100 < at ? now + BATON_SECOND / 100 : at;
	return at <= now ? 0 : (int)((at - now + 999999) / 1000000);
}

static void wait_for_work(struct baton_remote *remote)
{
	struct pollfd fds[2] = {
		{.fd = baton_loop_fd(remote->loop), .events = POLLIN},
		{.fd = baton_redis_fd(remote->redis), .events = POLLIN},
	};

	poll(fds, 2, wait_ms(remote));
}

static void run_home(struct baton_remote *remote)
{
	/* Ends: destroy() stops the node, and its jobs end. */
	while (!remote->stopping || remote->in_work > 0) {
		baton__remote_read(remote);
		baton__remote_look_after_lease(remote);
		baton__remote_send(remote);
		baton__remote_ask(remote);
		wait_for_work(remote);
		baton_loop_run(remote->loop, 0);
	}
}

static void *home_main(void *arg)
{
	struct baton_remote *remote = arg;

	run_home(remote);
	baton__remote_leave(remote);
	baton__remote_forget_names(remote);
	baton_resource_close(&remote->home);
	/* Ends: the closed resource takes no further task. */
	while (!baton_resource_is_idle(&remote->home))
		baton_loop_run(remote->loop, 0);
	baton__remote_fail_waiting(remote, remote->next, -ESHUTDOWN);
	return NULL;
}

static int start_home_thread(struct baton_remote *remote)
{
	sigset_t all;
	sigset_t old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = -pthread_create(&remote->thread, NULL, home_main, remote);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!error)
		pthread_setname_np(remote->thread, "baton-remote");
	return error;
}

/* ---- Create ---- */

static void set_defaults(struct baton_remote_options *options)
{
	if (!options->node)
		options->node = "node";
	if (!options->partitions)
		options->partitions = BATON_REMOTE_PARTITIONS;
	if (!options->lease_ns)
		options->lease_ns = LEASE_NS;
	if (!options->keep_ns)
		options->keep_ns = KEEP_NS;
	/* A renewal keeps the node's keys, too: they must last until the next one. */
	if (options->keep_ns < options->lease_ns)
		options->keep_ns = options->lease_ns;
	if (!options->batch_max)
		options->batch_max = 64;
	if (!options->in_work_max)
		options->in_work_max = 4096;
	if (!options->outstanding_max)
		options->outstanding_max = 65536;
	if (!options->objects_max)
		options->objects_max = 1024;
	if (!options->effects_max)
		options->effects_max = 100000;
	if (!options->redis.timeout_ns || options->redis.timeout_ns > options->lease_ns)
		options->redis.timeout_ns = options->lease_ns;
	if (!options->redis.patience_ns || options->redis.patience_ns > options->lease_ns / 3)
		options->redis.patience_ns = options->lease_ns / 3;
}

static int check_options(struct baton_remote *remote)
{
	const struct baton_remote_options *options = &remote->options;
	const char *text = NULL;

	if (!baton__redis_is_name(options->node) || strlen(options->node) > NODE_NAME_MAX)
		text = BATON__REDIS_NO_NAME("the node's name");
	else if (options->partitions > PARTITIONS_MAX)
		text = "a space has at most 4096 partitions";
	else if (!baton__redis_is_lease(options->lease_ns))
		text = BATON__REDIS_NO_LEASE;
	else if (BATON__UNKNOWN(options))
		text = BATON__REDIS_UNKNOWN;
	if (!text)
		return 0;
	snprintf(remote->error, sizeof(remote->error), "%s", text);
	return -EINVAL;
}

static int name_node(struct baton_remote *remote)
{
	char token[BATON_REDIS_TOKEN_SIZE];
	int error = baton_redis_token(token);

	if (!error)
		snprintf(remote->node, sizeof(remote->node), "%.40s-%.16s", remote->options.node,
		         token);
	return error;
}

static int make_parts(struct baton_remote *remote)
{
	int error = baton_loop_create(&remote->loop);

	remote->partitions = calloc(remote->options.partitions, sizeof(*remote->partitions));
	if (!error && !remote->partitions)
		error = -ENOMEM;
	if (error)
		return error;
	remote->home_config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	remote->home_config.capture_max = BATON_CAPTURE_NONE;
	remote->home_config.quantum = HOME_BATCH;
	remote->home_config.executor = baton_loop_executor(remote->loop);
	remote->home_config.batch_end = baton__remote_flush;
	/* A batch of one is for measuring: then nothing is sent together. */
	remote->home_config.batch_max = remote->options.batch_max == 1 ? 1 : HOME_BATCH;
	remote->home_config.name = "remote";
	baton_resource_init(&remote->home, &remote->home_config);
	remote->finished_end = &remote->finished;
	remote->oldest = remote->next = 1;
	snprintf(remote->told, sizeof(remote->told), "0-0");
	return baton__remote_open_names(remote);
}

BATON_EXPORT int baton_remote_create(const struct baton_remote_options *options,
                                     struct baton_remote **remote)
{
	struct baton_remote *new = calloc(1, sizeof(*new));
	int error;

	*remote = new;
	if (!new)
		return -ENOMEM;
	new->options = *options;
	set_defaults(&new->options);
	error = check_options(new);
	if (error)
		return error;
	error = baton_redis_create(&new->options.redis, &new->redis);
	if (!error)
		error = name_node(new);
	if (!error)
		error = make_parts(new);
	if (!error)
		error = baton__remote_join(new);
	if (!error) {
		error = start_home_thread(new);
		if (error)
			baton__remote_leave(new);
	}
	if (error) {
		snprintf(new->error, sizeof(new->error), "%s",
		         new->redis &&new->redis->error[0] ? new->redis->error
		                                           : baton_error_text(error));
		return error;
	}
	return 0;
}

/* ---- Destroy ---- */

static int stop_run(struct baton_task *task)
{
	baton_container_of(task, struct baton_remote, stop)->stopping = true;
	return 0;
}

static void free_remote(struct baton_remote *remote)
{
	if (remote->names)
		BATON_IGNORE(baton_registry_destroy(remote->names)); /* no name has a reference */
	if (remote->loop)
		baton_loop_destroy(remote->loop);
	if (remote->redis)
		baton_redis_destroy(remote->redis);
	free(remote->kept);
	free(remote->watched);
	free(remote->waiting);
	free(remote->partitions);
	free(remote);
}

BATON_EXPORT void baton_remote_destroy(struct baton_remote *remote)
{
	if (remote->error[0] == '\0') {
		baton_task_init(&remote->stop, stop_run, NULL);
		if (baton_submit(&remote->home, &remote->stop) == 0)
			pthread_join(remote->thread, NULL);
	}
	free_remote(remote);
}

BATON_EXPORT const char *baton_remote_error(const struct baton_remote *remote)
{
	return remote->error;
}

BATON_EXPORT const char *baton_remote_node(const struct baton_remote *remote)
{
	return remote->node;
}

BATON_EXPORT uint32_t baton_remote_owned(const struct baton_remote *remote)
{
	return load_relaxed(&remote->owned); /* a hint */
}

/* FNV-1a, folded: another implementation of a node needs three lines for it. */
BATON_EXPORT uint32_t baton_remote_partition(const struct baton_remote *remote, const void *name,
                                             size_t length)
{
	const unsigned char *bytes = name;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)((hash ^ hash >> 32) % remote->options.partitions);
}
