/* SPDX-License-Identifier: MIT */
/* The sockets of minimq, over libuv; see minimq_sockets.h. */
#include "minimq_sockets.h"

#include <baton/loop.h>

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPS 2

struct loop {
	struct baton_loop *jobs;
	struct baton_resource_config config; /* of its connections */
	pthread_t thread;
	uv_loop_t uv;
	uv_tcp_t listening;
	uv_signal_t terminate;
	uv_poll_t scheduled; /* other threads have scheduled jobs here */
	uv_prepare_t before; /* the poll */
	uv_check_t after;
	unsigned connections;
};

static size_t client_size;

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

/* ---- Connections ---- */

void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	CHECK(memory != NULL);
	return memory;
}

/* The socket is read as long as there is room. */
static void on_alloc(uv_handle_t *socket, size_t suggested, uv_buf_t *buffer)
{
	struct connection *connection = socket->data;

	(void)suggested;
	*buffer = uv_buf_init((char *)connection->input + connection->size,
	                      (unsigned)(INPUT_MAX - connection->size));
}

static void on_read(uv_stream_t *socket, ssize_t size, const uv_buf_t *buffer)
{
	struct connection *connection = socket->data;

	(void)buffer;
	connection->ended = size < 0;
	connection->size += size > 0 ? (size_t)size : 0;
	if (connection->ended || connection->size == INPUT_MAX)
		(void)uv_read_stop(socket);
	client_go_on(connection);
}

void connection_allow_silence(struct connection *connection, uint64_t ns)
{
	connection->silence_max = ns > 0 ? ns : BATON_NEVER;
	if (!connection->closing)
		CHECK(baton_timer_arm_after(&connection->silence, connection->silence_max) == 0);
}

void connection_take(struct connection *connection, size_t size)
{
	connection_allow_silence(connection, connection->silence_max);
	connection->begin += size;
	if (connection->begin < connection->size && connection->begin < INPUT_MAX / 2)
		return;
	connection->size -= connection->begin;
	memmove(connection->input, connection->input + connection->begin, connection->size);
	connection->begin = 0;
	if (!connection->closing && !connection->ended)
		(void)uv_read_start((uv_stream_t *)&connection->socket, on_alloc, on_read);
}

bool connection_is_full(const struct connection *connection)
{
	return uv_stream_get_write_queue_size((const uv_stream_t *)&connection->socket) >
	       OUTPUT_MAX;
}

static void on_written(uv_write_t *write, int status)
{
	struct output *output = baton_container_of(write, struct output, write);

	if (status == 0)
		client_go_on(output->connection);
	else
		connection_close(output->connection);
	free(output);
}

void output_write(struct output *output, struct connection *connection)
{
	const uv_buf_t buffer = uv_buf_init((char *)output->bytes, (unsigned)output->size);

	output->connection = connection;
	if (connection->closing || (output->optional && connection_is_full(connection)) ||
	    uv_write(&output->write, (uv_stream_t *)&connection->socket, &buffer, 1, on_written))
		free(output);
}

static void *output_come(void *arg)
{
	struct output *output = arg;

	output_write(output, output->connection);
	return NULL;
}

struct output *output_create(size_t room)
{
	return allocate(sizeof(struct output) + room);
}

struct output *output_of(const void *bytes, size_t size)
{
	struct output *output = output_create(size);

	memcpy(output->bytes, bytes, size);
	output->size = size;
	return output;
}

void output_send(struct output *output, struct connection *connection)
{
	output->connection = connection;
	CHECK(baton_post(&connection->resource, output_come, output) == 0);
}

static void on_closed(uv_handle_t *socket)
{
	struct connection *connection = socket->data;

	connection->closed = true;
	client_go_on(connection);
}

void *connection_close(void *arg)
{
	struct connection *connection = arg;

	if (connection->closing)
		return NULL;
	connection->closing = true;
	BATON_IGNORE(baton_timer_stop(&connection->silence).met); /* the end is behind its run */
	uv_close((uv_handle_t *)&connection->socket, on_closed);
	return NULL;
}

static int on_silence(struct baton_timer *silence)
{
	connection_close(baton_container_of(silence, struct connection, silence));
	return 0;
}

/* The finaliser: a task on the loop's thread. */
static int connection_free(struct baton_task *task)
{
	struct connection *connection = baton_container_of(task, struct connection, end);

	connection->loop->connections--;
	free(connection);
	return 0;
}

void connection_end(struct connection *connection)
{
	baton_task_init(&connection->end, connection_free, NULL);
	CHECK(baton_resource_close_then(&connection->resource, &connection->end) == 0);
}

static void on_connection(uv_stream_t *listening, int status)
{
	struct loop *loop = listening->loop->data;
	struct connection *connection;

	if (status < 0)
		return;
	connection = allocate(client_size);
	connection->loop = loop;
	baton_resource_init(&connection->resource, &loop->config);
	CHECK(uv_tcp_init(&loop->uv, &connection->socket) == 0);
	connection->socket.data = connection;
	loop->connections++;
	baton_timer_init(&connection->silence, NULL, &connection->resource, on_silence);
	connection_allow_silence(connection, CONNECT_WITHIN);
	/* Another loop may have been faster: then uv_accept() fails. */
	if (uv_accept(listening, (uv_stream_t *)&connection->socket) != 0 ||
	    uv_tcp_nodelay(&connection->socket, 1) != 0 ||
	    uv_read_start((uv_stream_t *)&connection->socket, on_alloc, on_read) != 0)
		connection_close(connection);
}

/* ---- Loops ---- */

static void on_each(uv_handle_t *handle, void *unused)
{
	(void)unused;
	if (handle->type == UV_TCP && handle->data != NULL)
		connection_close(handle->data);
}

static void on_terminate(uv_signal_t *terminate, int number)
{
	struct loop *loop = terminate->loop->data;

	(void)number;
	uv_close((uv_handle_t *)terminate, NULL);
	uv_close((uv_handle_t *)&loop->listening, NULL);
	uv_walk(&loop->uv, on_each, NULL);
}

/* uv_run() returns when no socket is left. What other threads still have to do for the connections
 * ends with tasks of this loop. */
static void *loop_main(void *arg)
{
	struct loop *loop = arg;
	struct pollfd polled = {baton_loop_fd(loop->jobs), POLLIN, 0};

	CHECK(baton_loop_adopt(loop->jobs) == 0);
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
	for (; loop->connections > 0; (void)baton_loop_run(loop->jobs, 0))
		(void)poll(&polled, 1, -1);
	uv_close((uv_handle_t *)&loop->scheduled, NULL);
	uv_close((uv_handle_t *)&loop->before, NULL);
	uv_close((uv_handle_t *)&loop->after, NULL);
	(void)uv_run(&loop->uv, UV_RUN_DEFAULT);
	CHECK(uv_loop_close(&loop->uv) == 0);
	return NULL;
}

static void loop_start(struct loop *loop, int listening)
{
	CHECK(baton_loop_create(&loop->jobs) == 0);
	loop->config = (struct baton_resource_config){.capture_max = BATON_CAPTURE_NONE,
	                                              .executor = baton_loop_executor(loop->jobs),
	                                              .name = "connection"};
	CHECK(uv_loop_init(&loop->uv) == 0);
	loop->uv.data = loop;
	CHECK(uv_poll_init(&loop->uv, &loop->scheduled, baton_loop_fd(loop->jobs)) == 0);
	CHECK(uv_poll_start(&loop->scheduled, UV_READABLE, on_scheduled) == 0);
	CHECK(uv_prepare_init(&loop->uv, &loop->before) == 0);
	CHECK(uv_prepare_start(&loop->before, on_before) == 0);
	CHECK(uv_check_init(&loop->uv, &loop->after) == 0);
	CHECK(uv_check_start(&loop->after, on_after) == 0);
	uv_unref((uv_handle_t *)&loop->scheduled); /* these do not keep uv_run() */
	uv_unref((uv_handle_t *)&loop->before);
	uv_unref((uv_handle_t *)&loop->after);
	CHECK(uv_signal_init(&loop->uv, &loop->terminate) == 0);
	CHECK(uv_signal_start(&loop->terminate, on_terminate, SIGTERM) == 0);
	CHECK(uv_tcp_init(&loop->uv, &loop->listening) == 0);
	CHECK(uv_tcp_open(&loop->listening, listening) == 0);
	CHECK(uv_listen((uv_stream_t *)&loop->listening, 100, on_connection) == 0);
	CHECK(pthread_create(&loop->thread, NULL, loop_main, loop) == 0);
}

/* All loops accept from one socket. */
void sockets_run(unsigned short port, size_t size)
{
	static struct loop loops[LOOPS];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	const int listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(address);
	int yes = 1;

	client_size = size;
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0);
	CHECK(bind(listening, (const struct sockaddr *)&address, length) == 0);
	CHECK(getsockname(listening, (struct sockaddr *)&address, &length) == 0);
	for (int i = 0; i < LOOPS; i++)
		loop_start(&loops[i], i == 0 ? listening : dup(listening));
	printf("listening on 127.0.0.1:%u\n", ntohs(address.sin_port));
	CHECK(fflush(stdout) == 0);
	for (int i = 0; i < LOOPS; i++) {
		CHECK(pthread_join(loops[i].thread, NULL) == 0);
		baton_loop_destroy(loops[i].jobs);
	}
}
