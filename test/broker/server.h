/* SPDX-License-Identifier: MIT */
/*
 * The broker under test. Stories share one; a story that needs other settings, or is out to harm,
 * starts one of its own. Settings are our broker's options; for mosquitto they are translated.
 */
#ifndef BROKER_SERVER_H
#define BROKER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "story.h"

/* Which broker: a path, and whether it is mosquitto. Before anything else. */
void server_choose(const char *path, bool mosquitto);
bool server_is_mosquitto(void);
const char *server_path(void);

/*
 * Starts one that all clients of this process use from now on; it ends with this process. `files`:
 * how many descriptors it may have; 0: as many as this process may.
 */
pid_t server_start(const char *options, unsigned int files);

/* A line of a password file: the password is "secret". */
#define SERVER_ALICE_HASH                                                                          \
	"$6$batonbaton$Pr/VD0QDrFnM/C00dLZZRyQsooB3GH7Bs4NY00o63KvZHl"                             \
	"xsiS/xj8D.spBZI3zslAmkaoR/HKhSU9kd48jfK.\n"
#define SERVER_ALICE "alice:" SERVER_ALICE_HASH

#define start_server(options) (story_here(__FILE__, __LINE__), server_start(options, 0))

unsigned int server_port(void);

/* One that nobody listened on just now. */
unsigned int server_free_port(void);
pid_t server_pid(void);

/* Ends it by SIGTERM; its status as of waitpid(). */
int server_stop(void);

/* False: the broker has ended, without being asked to; its status. */
bool server_alive(int *status);

/* The last line that it has said on stderr. */
const char *server_said(void);
unsigned int server_said_lines(void);

/* Waits until a line has these words; the last such line, until the next call. */
const char *server_await_said(const char *words);
#define await_said(words) (story_here(__FILE__, __LINE__), server_await_said(words))

/* A file without a name, for what a broker is to read at its start. */
int memfd_open(void);

/* One with a name, until the next call, and this text: gone when this process ends. */
const char *file_write(const char *text);

/*
 * What a command says on either stream, until the next call, and its wait status. run: of the
 * broker with these arguments, which is ended after so many seconds.
 */
const char *server_shell(const char *command, int *status);
const char *server_run(long long seconds, const char *arguments, int *status);

/* What it uses now. */
unsigned int server_files(void);
size_t server_memory(void);
double server_cpu_seconds(void);

/* Until no more descriptors than these are open. */
void server_await_files(unsigned int most, long long milliseconds);
#define await_files(most, milliseconds)                                                            \
	(story_here(__FILE__, __LINE__), server_await_files(most, milliseconds))

#endif
