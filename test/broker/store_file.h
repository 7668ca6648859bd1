/* SPDX-License-Identifier: MIT */
/* A story's own store: a file below build, which the next run of the story removes. */
#ifndef BROKER_STORE_FILE_H
#define BROKER_STORE_FILE_H

#include "story.h"

/* The file; the first call removes what an earlier run has left. */
const char *store_path(void);
void store_remove(void);

/* Starts a broker with the store and these options. */
void store_begin(const char *options);
#define store_start(options) AT(store_begin(options))

/* kill -9; the broker is gone when the call returns. */
void store_kill(void);

/* Runs a broker with that store, which ends by itself with that status; what it says has these
 * words. */
void store_run(const char *path, const char *options, int status, const char *words);
#define store_path_refused(path, words) AT(store_run(path, "--port 0", 1, words))
#define store_start_refused(words) store_path_refused(store_path(), words)
#define store_check(status, words) AT(store_run(store_path(), "--check-store", status, words))

#endif
