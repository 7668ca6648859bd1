/* SPDX-License-Identifier: MIT */
/*
 * The pool's threads.
 */
#ifndef BATON_SRC_SPAWN_H
#define BATON_SRC_SPAWN_H

#include <signal.h>

struct baton_pool;
struct baton__mate;
struct baton__worker;

/* Starts one thread per worker. On an error some of them may run. */
int baton__spawn(struct baton_pool *pool);

/* Starts a spare thread. Any thread. On an error it is not COMING; see crew.c. */
int baton__spawn_spare(struct baton_pool *pool);

/*
 * Signals are for the program's own threads. block: blocks signals in the calling thread, and in
 * the threads that it starts, which inherit the mask; `before`: the mask before. open: opens, in a
 * thread of the library, the signals that a thread brings upon itself: the program may have a
 * handler for these that reports a crash.
 */
void baton__signals_block(sigset_t *before);
void baton__signals_open(void);

/*
 * The calling thread becomes this worker: it runs on the worker's CPU, if the pool's are pinned.
 * -EINVAL: this process may not use that CPU.
 */
int baton__pin(const struct baton__worker *worker);

/* Waits for a thread that ends, and frees its place; for all, which have ended. */
void baton__join_mate(struct baton__mate *mate);
void baton__join(struct baton_pool *pool);

#endif
