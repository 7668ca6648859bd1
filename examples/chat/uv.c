/* SPDX-License-Identifier: MIT */
/*
 * The chat server on libuv. Each thread has a uv loop, a listening socket, and a loop executor. The
 * uv loop polls the executor's descriptor.
 *
 *	uv [PORT]	on 127.0.0.1; prints the port; SIGTERM ends it
 */
#include "chat.h"

#include <pthread.h>
#include <uv.h>

struct loop {
	struct baton_loop *jobs;
	struct baton_resource_config config; /* of the clients and `control` */
	struct baton_resource control;       /* runs other threads' tasks */
	pthread_t thread;
	uv_loop_t uv;
	uv_tcp_t listening;
	uv_poll_t scheduled; /* other threads have scheduled jobs here */
	uv_prepare_t before; /* before the poll */
	uv_check_t after;
	unsigned connections;
	bool stopping;
};

struct connection {
	struct chat_client client;
	struct loop *loop;
	uv_tcp_t socket;
	uv_write_t rest;
	char bytes[4096];
};

/* ---- The executor of the loop ---- */

static void on_scheduled(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	(void)baton_loop_run(((struct loop *)poll->loop->data)->jobs, 0);
}

/* A job that the loop's callbacks schedule needs no wake-up: the job runs after the callbacks. */
static void on_before(uv_prepare_t *before)
{
	baton_loop_gather(((struct loop *)before->loop->data)->jobs);
}

static void on_after(uv_check_t *after)
{
	(void)baton_loop_run_gathered(((struct loop *)after->loop->data)->jobs);
}

/* Closes the last handles, so that uv_run returns, when the loop stops and has no connections. */
static void let_go(struct loop *loop)
{
	if (!loop->stopping || loop->connections)
		return;
	uv_close((uv_handle_t *)&loop->scheduled, NULL);
	uv_close((uv_handle_t *)&loop->before, NULL);
	uv_close((uv_handle_t *)&loop->after, NULL);
}

/* ---- Connections ---- */

static void on_closed(uv_handle_t *socket)
{
	chat_closed(&((struct connection *)socket->data)->client);
}

static void connection_close(struct connection *connection)
{
	if (!uv_is_closing((uv_handle_t *)&connection->socket))
		uv_close((uv_handle_t *)&connection->socket, on_closed);
}

void chat_client_free(struct chat_client *client)
{
	struct connection *connection = baton_container_of(client, struct connection, client);
	struct loop *loop = connection->loop;

	free(connection);
	loop->connections--;
	let_go(loop);
}

static void on_written(uv_write_t *rest, int status)
{
	struct connection *connection = rest->handle->data;

	(void)status; /* an error shows when the socket is read */
	if (!uv_is_closing((uv_handle_t *)&connection->socket))
		chat_written(&connection->client);
}

bool chat_write(struct chat_client *client, const char *text, size_t length)
{
	struct connection *connection = baton_container_of(client, struct connection, client);
	uv_stream_t *socket = (uv_stream_t *)&connection->socket;
	uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)text, (unsigned)length);
	int written;

	if (uv_is_closing((uv_handle_t *)socket))
		return true;
	written = uv_try_write(socket, &buffer, 1);
	if (written == UV_EAGAIN)
		written = 0;
	if (written < 0 || (size_t)written == length)
		return true;
	buffer = uv_buf_init((char *)(uintptr_t)text + written,
	                     (unsigned)length - (unsigned)written);
	return uv_write(&connection->rest, socket, &buffer, 1, on_written) != 0;
}

static void on_alloc(uv_handle_t *socket, size_t suggested, uv_buf_t *buffer)
{
	struct connection *connection = socket->data;

	(void)suggested;
	*buffer = uv_buf_init(connection->bytes, sizeof(connection->bytes));
}

static void on_read(uv_stream_t *socket, ssize_t length, const uv_buf_t *buffer)
{
	struct connection *connection = socket->data;

	if (length > 0)
		chat_read(&connection->client, buffer->base, (size_t)length);
	else if (length < 0)
		connection_close(connection);
}

static void on_connection(uv_stream_t *listening, int status)
{
	struct loop *loop = listening->loop->data;
	struct connection *connection;

	if (status < 0)
		return;
	connection = calloc(1, sizeof(*connection));
	CHECK(connection != NULL);
	chat_client_init(&connection->client, &loop->config);
	connection->loop = loop;
	loop->connections++;
	CHECK(uv_tcp_init(&loop->uv, &connection->socket) == 0);
	connection->socket.data = connection;
	if (uv_accept(listening, (uv_stream_t *)&connection->socket) ||
	    uv_read_start((uv_stream_t *)&connection->socket, on_alloc, on_read))
		connection_close(connection);
}

/* ---- Loops ---- */

static void *loop_main(void *arg)
{
	struct loop *loop = arg;

	CHECK(baton_loop_adopt(loop->jobs) == 0);
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
	return NULL;
}

static void close_connection(uv_handle_t *handle, void *unused)
{
	(void)unused;
	if (handle->data && handle->type == UV_TCP)
		connection_close(handle->data);
}

/* A task of `control`. Runs on the loop's thread. */
static void *stop(void *arg)
{
	struct loop *loop = arg;

	loop->stopping = true;
	uv_close((uv_handle_t *)&loop->listening, NULL);
	uv_walk(&loop->uv, close_connection, NULL);
	let_go(loop);
	return NULL;
}

static void loop_start(struct loop *loop, int listening)
{
	CHECK(baton_loop_create(&loop->jobs) == 0);
	chat_config_init(&loop->config, baton_loop_executor(loop->jobs));
	baton_resource_init(&loop->control, &loop->config);
	CHECK(uv_loop_init(&loop->uv) == 0);
	loop->uv.data = loop;
	CHECK(uv_poll_init(&loop->uv, &loop->scheduled, baton_loop_fd(loop->jobs)) == 0);
	CHECK(uv_poll_start(&loop->scheduled, UV_READABLE, on_scheduled) == 0);
	CHECK(uv_prepare_init(&loop->uv, &loop->before) == 0);
	CHECK(uv_prepare_start(&loop->before, on_before) == 0);
	CHECK(uv_check_init(&loop->uv, &loop->after) == 0);
	CHECK(uv_check_start(&loop->after, on_after) == 0);
	CHECK(uv_tcp_init(&loop->uv, &loop->listening) == 0);
	CHECK(uv_tcp_open(&loop->listening, listening) == 0);
	CHECK(uv_listen((uv_stream_t *)&loop->listening, 100, on_connection) == 0);
	CHECK(pthread_create(&loop->thread, NULL, loop_main, loop) == 0);
}

static void loop_end(struct loop *loop)
{
	CHECK(baton_call(&loop->control, stop, loop, NULL) == 0);
	CHECK(pthread_join(loop->thread, NULL) == 0);
	CHECK(baton_resource_close(&loop->control) == 0);
	CHECK(baton_resource_await(&loop->control) == 0);
	CHECK(uv_loop_close(&loop->uv) == 0);
	baton_loop_destroy(loop->jobs);
}

int main(int argc, char **argv)
{
	static struct loop loops[CHAT_THREADS];
	int listening = chat_listen((unsigned short)(argc > 1 ? atoi(argv[1]) : 0));

	chat_begin();
	for (int i = 0; i < CHAT_THREADS; i++)
		loop_start(&loops[i], i ? chat_listen_beside(listening) : listening);
	chat_wait_for_signal(listening);
	for (int i = 0; i < CHAT_THREADS; i++)
		loop_end(&loops[i]);
	chat_end();
	return 0;
}
