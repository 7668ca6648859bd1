/* SPDX-License-Identifier: MIT */
/*
 * A chat server. chat.h and chat.c are about rooms and clients: they know baton but no sockets.
 * epoll.c and uv.c are two event loops; with either of them chat.c makes a program with several
 * threads.
 *
 * A client's first line names its room. Each further line goes to the other clients in that room.
 *
 *   room     A resource. Each line said in the room is a task. The thread that has read the line
 *            runs the task; if the room is busy, the room's runner does.
 *   client   A resource whose tasks write to the socket, on the thread of the client's loop alone
 *            (BATON_CAPTURE_NONE, the loop's executor). While the socket is full the resource is
 *            suspended, and lines wait in it. Its bound refuses lines beyond the limit, and the
 *            room counts those lines.
 */
#ifndef CHAT_H
#define CHAT_H

#include "../check.h"

#include <baton.h>
#include <baton/bound.h>
#include <baton/loop.h>
#include <baton/suspend.h>

#include <stdbool.h>
#include <stddef.h>

#define CHAT_LINE_MAX 512
#define CHAT_LINES_WAITING 100 /* for a client that does not read */
#define CHAT_THREADS 2

struct chat_line;
struct chat_room;

/* Embedded in the event loop's struct of a connection. Only chat.c touches the fields. */
struct chat_client {
	struct baton_resource resource;
	struct baton_bound bound;
	struct baton_suspension blocked; /* while `writing` */
	struct baton_task leaves;        /* a task of the room */
	struct baton_task ends;          /* the finaliser */
	/* Touched by the loop's thread. */
	struct chat_room *room;
	struct chat_line *writing; /* the socket is full in the middle of this line */
	size_t length;             /* of the line that is being read */
	bool gone;
	char line[CHAT_LINE_MAX];
	/* Touched by the room's tasks. */
	struct chat_client *next;
	unsigned missed;
};

/* Sets what the clients of one loop share. Call it before the loop's first client. */
void chat_config_init(struct baton_resource_config *config, struct baton_executor *executor);

/* ---- On the loop's thread ---- */

void chat_client_init(struct chat_client *client, const struct baton_resource_config *config);

/* Bytes have been read. */
void chat_read(struct chat_client *client, const char *bytes, size_t length);

/* The rest of the text that chat_write could not write at once is written now. */
void chat_written(struct chat_client *client);

/* The connection is closed: nothing more is written. chat_client_free follows. */
void chat_closed(struct chat_client *client);

/* ---- Defined by the loop, called on its thread ---- */

/* Writes the text. True: all of it is written. False: the loop calls chat_written later, and `text`
 * stays where it is until then. */
bool chat_write(struct chat_client *client, const char *text, size_t length);

void chat_client_free(struct chat_client *client);

/* ---- On the main thread ---- */

/* Returns a listening socket of 127.0.0.1; beside: another socket of the same port. Each loop has a
 * socket of its own, and the kernel spreads the clients over the sockets. */
int chat_listen(unsigned short port);
int chat_listen_beside(int listening);

/* begin blocks SIGINT and SIGTERM. wait_for_signal prints the port, and waits for one of them. */
void chat_begin(void);
void chat_wait_for_signal(int listening);

/* Closes the rooms. Call it when all clients are gone. */
void chat_end(void);

#endif
