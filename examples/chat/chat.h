/* SPDX-License-Identifier: MIT */
/*
 * A chat server in three files: this one and chat.c are about rooms and clients, and know baton but
 * no sockets; epoll.c and uv.c are the two event loops that it runs on, each with several threads.
 *
 * A client's first line names its room; every further line goes to the other clients in that room.
 *
 *   room a resource: each line said in the room is one task, run by the thread that has read the
 *            line, or, if the room is busy, by the room's runner
 *   client   a resource whose tasks write, on its own loop's thread alone (capture limit 0, the
 *            loop's executor). While its socket takes nothing it is suspended, so lines wait in
 *            the resource; its bound refuses lines beyond the limit, and the room counts the lines
 *            that are missed
 */
#ifndef CHAT_H
#define CHAT_H

#include "../check.h"

#include <baton.h>

#include <stdbool.h>
#include <stddef.h>

#define CHAT_LINE_MAX 512
#define CHAT_LINES_WAITING 100 /* for one client that does not read */
#define CHAT_THREADS 2

struct chat_line;
struct chat_room;

/* Embedded in the event loop's own struct of a connection. Its fields are chat.c's. */
struct chat_client {
	struct baton_resource resource;
	struct baton_extension extension;
	struct baton_bound bound;
	struct baton_suspension blocked; /* while `writing` */
	struct baton_task leaves;        /* a task of the room */
	struct baton_task ends;          /* the finaliser */
	/* The loop's thread. */
	struct chat_room *room;
	struct chat_line *writing; /* the socket is full in the middle of this line */
	size_t length;             /* of the line that is being read */
	bool gone;
	char line[CHAT_LINE_MAX];
	/* The room's. */
	struct chat_client *next;
	unsigned missed;
};

/* The settings of the clients of one loop. To be called before its first client. */
void chat_config_init(struct baton_resource_config *config, struct baton_executor *executor);

/* ---- On the loop's thread ---- */

void chat_client_init(struct chat_client *client, const struct baton_resource_config *config);

/* Bytes have been read. */
void chat_read(struct chat_client *client, const char *bytes, size_t length);

/* The rest that chat_write could not write at once has been written. */
void chat_written(struct chat_client *client);

/* The connection is over: nothing is written any more. chat_client_free follows. */
void chat_closed(struct chat_client *client);

/* ---- Defined by the loop, called on its thread ---- */

/* Writes. True: all of it is written. False: chat_written will be called; until then `text` stays
 * where it is. */
bool chat_write(struct chat_client *client, const char *text, size_t length);

void chat_client_free(struct chat_client *client);

/* ---- On the main thread ---- */

/* A listening socket of 127.0.0.1; another one of the same port: each loop has its own, and the
 * kernel spreads the clients over them. */
int chat_listen(unsigned short port);
int chat_listen_beside(int listening);

/* Prints the port, waits for SIGINT or SIGTERM, which are blocked from `chat_begin` on. */
void chat_begin(void);
void chat_wait_for_signal(int listening);

/* When all clients have gone. */
void chat_end(void);

#endif
