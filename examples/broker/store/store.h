/* SPDX-License-Identifier: MIT */
/*
 * The store: what outlives the process, in an SQLite file. One resource with a thread of its own
 * does all of it. Other threads hand it small structs, the writes, and never wait.
 *
 * Drain hooks put one transaction around all writes that have come meanwhile. The completion of a
 * write is held back until the commit has ended; then `done` is called. With --durability batch or
 * none the transaction lasts --batch-ms at least, and nobody waits for it (store_waits()).
 *
 * A write without a `done` is not urgent: a transaction that has only such writes is left open, and
 * ends with the next urgent write, or after a second.
 *
 * Order. Writes are applied in the order of their submits. So a thread that has submitted a write,
 * and then a task to another thread, knows that this thread's writes come later.
 *
 * Errors. A transaction that fails (a full disk, an I/O error) is rolled back, and its writes are
 * applied again until they are committed: nothing is dropped. Meanwhile publishers are slowed down,
 * since their messages are charged until they are committed; after STORE_PATIENCE_MS they are
 * refused (store_refuses()). Only the shutdown of the broker gives up: then `kept` is false.
 */
#ifndef BROKER_STORE_H
#define BROKER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/future.h>
#include <baton/task.h>

#define STORE_PATIENCE_MS 5000

struct env;
struct store;
struct store_write;

/* Called once, on the store's thread, and frees the write. It must not wait. */
typedef void (*store_done_fn)(struct store_write *write, bool kept);

/* The beginning of a write; see writes.h. */
struct store_write {
	struct baton_task task;
	struct baton_future future;
	struct baton_continuation then;
	struct store *store;
	struct store_write *next; /* of those that are not committed */
	/* Applies the write; once more if the transaction has failed. 0, or an SQLite code. */
	int (*apply)(struct store *store, struct store_write *write);
	store_done_fn done; /* NULL: the write is not urgent, and is freed by the store */
};

/* Opens the file that the options name, and makes or upgrades it. Logs errors. */
int store_open(struct env *env, struct store **store);

/*
 * The broker shuts down; both take NULL, too. stop: commits what was submitted, and closes the
 * file; later writes are dropped (not kept): the sessions end because the broker does, and are to
 * be there again. destroy: no thread uses the store any more.
 */
void store_stop(struct store *store);
void store_destroy(struct store *store);

/* Any thread. Takes the write. */
void store_submit(struct store *store, struct store_write *write);

/* Draws `count` numbers that were never drawn before, not even by an earlier run; the first one.
 * Any thread. Numbers grow. */
uint64_t store_draw(struct store *store, uint64_t count);

/*
 * Is nothing acknowledged before it is committed? Also with --durability batch while commits fail.
 * store may be NULL: no. Any thread.
 */
bool store_waits(const struct store *store);

/* Commits have failed for so long that nothing more is accepted. Any thread; a hint. */
bool store_refuses(const struct store *store);

#endif
