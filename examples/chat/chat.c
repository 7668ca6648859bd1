/* SPDX-License-Identifier: MIT */
#include "chat.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#define ROOMS_MAX 64
#define NAME_MAX_LENGTH 31

struct chat_room {
	struct baton_resource resource;
	char name[NAME_MAX_LENGTH + 1];
	struct chat_client *clients;
};

/* A line said in a room: one task of the room, then one delivery for each client in the room. */
struct chat_line {
	struct baton_task task; /* of the room */
	struct chat_room *room;
	const struct chat_client *from; /* only compared */
	unsigned references;            /* of the deliveries, and of the room's task */
	size_t length;
	char text[];
};

struct delivery {
	struct baton_task task; /* of the client */
	struct chat_client *client;
	struct chat_line *line;
};

/* Its tasks find and make rooms. */
static struct baton_resource directory = BATON_RESOURCE_INIT(NULL);
static struct chat_room rooms[ROOMS_MAX];
static size_t room_count;

static const struct baton_bound_config bounded = {.tasks_max = CHAT_LINES_WAITING};

/* ---- Lines ---- */

static struct chat_line *line_new(const char *text, size_t length)
{
	struct chat_line *line = malloc(sizeof(*line) + length + 1);

	CHECK(line != NULL);
	memset(line, 0, sizeof(*line));
	memcpy(line->text, text, length);
	line->text[length] = '\n';
	line->length = length + 1;
	line->references = 1;
	return line;
}

static void line_unref(struct chat_line *line)
{
	if (__atomic_sub_fetch(&line->references, 1, __ATOMIC_ACQ_REL) == 0)
		free(line);
}

/* ---- Rooms ---- */

static const char *room_name(const struct baton_resource *resource)
{
	return baton_container_of(resource, const struct chat_room, resource)->name;
}

static const struct baton_resource_config room_config = {
	.capture_max = BATON_CAPTURE_MAX,
	.quantum = BATON_QUANTUM,
	.name_of = room_name,
};

/* A task of the directory: finds or makes the room of this name. NULL: there are too many rooms. */
static void *find_room(void *name)
{
	for (size_t i = 0; i < room_count; i++)
		if (strcmp(rooms[i].name, name) == 0)
			return &rooms[i];
	if (room_count == ROOMS_MAX)
		return NULL;
	baton_resource_init(&rooms[room_count].resource, &room_config);
	strcpy(rooms[room_count].name, name);
	return &rooms[room_count++];
}

/* enter and leave are tasks of the room. */
static void *enter(void *arg)
{
	struct chat_client *client = arg;

	client->next = client->room->clients;
	client->room->clients = client;
	return NULL;
}

static int leave(struct baton_task *task)
{
	struct chat_client *client = baton_container_of(task, struct chat_client, leaves);
	struct chat_client **link = &client->room->clients;

	while (*link != client)
		link = &(*link)->next;
	*link = client->next;
	/* No task delivers to the client any more. Its finaliser runs after the deliveries under
	 * way. */
	CHECK(baton_resource_close_then(&client->resource, &client->ends) == 0);
	return 0;
}

/* A task of the client, on its loop's thread. */
static int deliver(struct baton_task *task)
{
	struct delivery *delivery = baton_container_of(task, struct delivery, task);
	struct chat_client *client = delivery->client;
	struct chat_line *line = delivery->line;

	free(delivery);
	if (client->gone || chat_write(client, line->text, line->length)) {
		line_unref(line);
		return 0;
	}
	/* After this task the client runs no other until the rest is written. */
	client->writing = line;
	CHECK(baton_resource_suspend(&client->resource, &client->blocked) == 0);
	return 0;
}

/* False: too many lines wait for the client. */
static bool submit_line(struct chat_client *client, struct chat_line *line)
{
	struct delivery *delivery = malloc(sizeof(*delivery));
	int error;

	CHECK(delivery != NULL);
	*delivery = (struct delivery){BATON_TASK_INIT(deliver, NULL), client, line};
	(void)__atomic_add_fetch(&line->references, 1, __ATOMIC_RELAXED);
	error = baton_submit(&client->resource, &delivery->task);
	if (!error)
		return true;
	CHECK(error == -EAGAIN);
	free(delivery);
	line_unref(line);
	return false;
}

/* Tells the client how many lines it has missed. False: too many lines wait for it. */
static bool tell_missed(struct chat_client *client)
{
	char text[64];
	struct chat_line *notice;
	bool sent;

	if (client->missed == 0)
		return true;
	notice =
		line_new(text, (size_t)snprintf(text, sizeof(text), "* %u missed", client->missed));
	sent = submit_line(client, notice);
	line_unref(notice);
	if (sent)
		client->missed = 0;
	return sent;
}

/* A task of the room. */
static int say(struct baton_task *task)
{
	struct chat_line *line = baton_container_of(task, struct chat_line, task);

	for (struct chat_client *client = line->room->clients; client; client = client->next)
		if (client != line->from && (!tell_missed(client) || !submit_line(client, line)))
			client->missed++;
	line_unref(line);
	return 0;
}

/* ---- Clients ---- */

void chat_config_init(struct baton_resource_config *config, struct baton_executor *executor)
{
	*config = (struct baton_resource_config){
		.capture_max = BATON_CAPTURE_NONE, .executor = executor, .name = "client"};
}

static int end(struct baton_task *task)
{
	chat_client_free(baton_container_of(task, struct chat_client, ends));
	return 0;
}

void chat_client_init(struct chat_client *client, const struct baton_resource_config *config)
{
	memset(client, 0, sizeof(*client));
	baton_resource_init(&client->resource, config);
	baton_bound_init(&client->bound, &bounded);
	baton_resource_set_bound(&client->resource, &client->bound);
	baton_task_init(&client->leaves, leave, NULL);
	baton_task_init(&client->ends, end, NULL);
}

static void heard(struct chat_client *client)
{
	struct chat_line *line;
	void *room = NULL;

	if (client->room) {
		line = line_new(client->line, client->length);
		line->room = client->room;
		line->from = client;
		baton_task_init(&line->task, say, NULL);
		CHECK(baton_submit(&client->room->resource, &line->task) == 0);
		return;
	}
	client->line[client->length < NAME_MAX_LENGTH ? client->length : NAME_MAX_LENGTH] = 0;
	CHECK(baton_call(&directory, find_room, client->line, &room) == 0);
	client->room = room;
	if (room)
		CHECK(baton_call(&client->room->resource, enter, client, NULL) == 0);
	line = line_new(room ? "* welcome" : "* full", room ? 9 : 6);
	(void)submit_line(client, line);
	line_unref(line);
}

void chat_read(struct chat_client *client, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] == '\n') {
			heard(client);
			client->length = 0;
		} else if (client->length < CHAT_LINE_MAX - 1) {
			client->line[client->length++] = bytes[i]; /* a longer line is cut */
		}
	}
}

void chat_written(struct chat_client *client)
{
	line_unref(client->writing);
	client->writing = NULL;
	CHECK(baton_resource_resume(&client->blocked) == 0);
}

void chat_closed(struct chat_client *client)
{
	client->gone = true;
	if (client->writing)
		chat_written(client);
	if (client->room)
		CHECK(baton_submit(&client->room->resource, &client->leaves) == 0);
	else
		CHECK(baton_resource_close_then(&client->resource, &client->ends) == 0);
}

/* ---- The process ---- */

int chat_listen(unsigned short port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int yes = 1;

	CHECK(listening >= 0);
	CHECK(setsockopt(listening, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) == 0);
	CHECK(bind(listening, (const struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(listen(listening, 100) == 0);
	return listening;
}

static unsigned short port_of(int listening)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);

	CHECK(getsockname(listening, (struct sockaddr *)&address, &length) == 0);
	return ntohs(address.sin_port);
}

int chat_listen_beside(int listening)
{
	return chat_listen(port_of(listening));
}

static void signals_of_the_end(sigset_t *signals)
{
	CHECK(sigemptyset(signals) == 0);
	CHECK(sigaddset(signals, SIGINT) == 0);
	CHECK(sigaddset(signals, SIGTERM) == 0);
}

void chat_begin(void)
{
	sigset_t signals;

	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	signals_of_the_end(&signals);
	CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
}

void chat_wait_for_signal(int listening)
{
	sigset_t signals;
	int number;

	printf("%u\n", port_of(listening));
	CHECK(fflush(stdout) == 0);
	signals_of_the_end(&signals);
	CHECK(sigwait(&signals, &number) == 0);
}

void chat_end(void)
{
	for (size_t i = 0; i < room_count; i++) {
		CHECK(baton_resource_close(&rooms[i].resource) == 0);
		CHECK(baton_resource_await(&rooms[i].resource) == 0);
	}
	CHECK(baton_resource_close(&directory) == 0);
	CHECK(baton_resource_await(&directory) == 0);
	CHECK(baton_pool_default_destroy() == 0);
}
