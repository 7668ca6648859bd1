/* SPDX-License-Identifier: MIT */
/* I/O threads; see loop.h. */
#include "loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "broker.h"
#include "connection.h"
#include "must.h"

/* The descriptor only wakes the loop; the tasks run in loop_turn(). */
static void loop_wake(uv_poll_t *poll, int status, int events)
{
	(void)poll;
	(void)status;
	(void)events;
}

static void loop_turn(uv_check_t *check)
{
	struct loop *loop = check->data;

	baton_loop_run(loop->executor, 0);
	while (loop->dirty != NULL) {
		struct connection *connection = loop->dirty;

		loop->dirty = connection->dirty_next;
		connection->dirty = false;
		connection_turn(connection);
	}
}

static void loop_tick(uv_timer_t *tick)
{
	struct loop *loop = tick->data;
	const uint64_t now = uv_now(&loop->uv);

	for (struct connection *connection = loop->connections; connection != NULL;
	     connection = connection->next)
		if (connection->silence_max > 0 && !connection->paused &&
		    now - connection->seen > connection->silence_max)
			connection_close(connection);
}

static void loop_end_if_idle(struct loop *loop)
{
	if (!loop->stopping || loop->connections != NULL ||
	    uv_is_closing((uv_handle_t *)&loop->check))
		return;
	uv_close((uv_handle_t *)&loop->poll, NULL);
	uv_close((uv_handle_t *)&loop->check, NULL);
	uv_close((uv_handle_t *)&loop->tick, NULL);
}

void loop_remember(struct loop *loop, struct connection *connection)
{
	loop->stats.connections++;
	connection->previous = NULL;
	connection->next = loop->connections;
	if (loop->connections != NULL)
		loop->connections->previous = connection;
	loop->connections = connection;
}

void loop_forget(struct loop *loop, struct connection *connection)
{
	if (connection->previous != NULL)
		connection->previous->next = connection->next;
	else
		loop->connections = connection->next;
	if (connection->next != NULL)
		connection->next->previous = connection->previous;
	loop_end_if_idle(loop);
}

struct accept {
	struct baton_task task;
	struct loop *loop;
	int fd;
};

static int loop_run_accept(struct baton_task *task)
{
	struct accept *accept = baton_container_of(task, struct accept, task);
	int status = connection_open(accept->loop, accept->fd);

	if (status != 0)
		fprintf(stderr, "broker: accept: %s\n", strerror(-status));
	free(accept);
	return 0;
}

int loop_accept(struct loop *loop, int fd)
{
	struct accept *accept = malloc(sizeof(*accept));

	if (accept == NULL) {
		close(fd);
		return -ENOMEM;
	}
	accept->loop = loop;
	accept->fd = fd;
	baton_task_init(&accept->task, loop_run_accept, NULL);
	must(baton_submit(&loop->resource, &accept->task), "accept");
	return 0;
}

static int loop_run_stop(struct baton_task *task)
{
	struct loop *loop = baton_container_of(task, struct loop, stop);

	loop->stopping = true;
	for (struct connection *connection = loop->connections; connection != NULL;
	     connection = connection->next)
		connection_close(connection);
	loop_end_if_idle(loop);
	return 0;
}

void loop_stop(struct loop *loop)
{
	must(baton_submit(&loop->resource, &loop->stop), "stop");
}

static void *loop_thread(void *arg)
{
	struct loop *loop = arg;

	must(baton_loop_adopt(loop->executor), "adopt the loop");
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	return NULL;
}

/* libuv's part; the handles are closed by loop_end_if_idle(). */
static int loop_init_uv(struct loop *loop)
{
	int status = uv_loop_init(&loop->uv);

	if (status != 0)
		return status;
	status = uv_poll_init(&loop->uv, &loop->poll, baton_loop_fd(loop->executor));
	if (status != 0) {
		uv_loop_close(&loop->uv);
		return status;
	}
	uv_check_init(&loop->uv, &loop->check);
	uv_timer_init(&loop->uv, &loop->tick);
	loop->poll.data = loop;
	loop->check.data = loop;
	loop->tick.data = loop;
	uv_poll_start(&loop->poll, UV_READABLE, loop_wake);
	uv_check_start(&loop->check, loop_turn);
	uv_timer_start(&loop->tick, loop_tick, LOOP_TICK_MS, LOOP_TICK_MS);
	return 0;
}

int loop_start(struct loop *loop, struct broker *broker)
{
	const struct baton_resource_config defaults = BATON_RESOURCE_CONFIG_INIT;
	int status = baton_loop_create(&loop->executor);

	if (status != 0)
		return status;
	loop->broker = broker;
	loop->config = defaults;
	loop->config.capture_limit = 0;
	loop->config.quantum = LOOP_QUANTUM;
	loop->config.executor = baton_loop_executor(loop->executor);
	baton_resource_init(&loop->resource, loop, "loop", &loop->config, NULL);
	baton_task_init(&loop->stop, loop_run_stop, NULL);
	status = loop_init_uv(loop);
	if (status != 0)
		goto destroy_executor;
	status = -pthread_create(&loop->thread, NULL, loop_thread, loop);
	if (status != 0)
		goto close_uv;
	return 0;

close_uv:
	loop->stopping = true;
	loop_end_if_idle(loop);
	uv_run(&loop->uv, UV_RUN_DEFAULT);
	uv_loop_close(&loop->uv);
destroy_executor:
	baton_loop_destroy(loop->executor);
	return status;
}

void loop_join(struct loop *loop)
{
	pthread_join(loop->thread, NULL);
}

void loop_deinit(struct loop *loop)
{
	must(baton_loop_adopt(loop->executor), "adopt the loop");
	baton_resource_close(&loop->resource);
	baton_resource_deinit(&loop->resource);
	baton_loop_destroy(loop->executor);
	must(uv_loop_close(&loop->uv), "close loop");
}
