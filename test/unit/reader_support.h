/* SPDX-License-Identifier: MIT */
/* What the readers' tests share: a reader that says that it runs, and stays until it is let go. */
#ifndef BATON_TEST_UNIT_READER_SUPPORT_H
#define BATON_TEST_UNIT_READER_SUPPORT_H

#include "fixture.h"

#include <baton/reader.h>
#include <baton/thread.h>

#include "../parts.h"

static struct baton_readers readers = BATON_READERS_INIT(&fix.resource);

/* A reader that says that it runs, and stays until it is let go. */
struct look {
	struct read_task read;
	struct baton_future future;
	sem_t entered;
	sem_t leave;
	int (*inside)(struct look *look); /* NULL: nothing */
	bool stays;
	bool ran;
	pthread_t thread;
	uint32_t beside; /* readers at work, itself included */
	int result;
	int status; /* of the submit */
};

static atomic_int looking; /* how many are in their functions */
static int seen;           /* written by writers */

static inline int look_run(struct baton_task *task)
{
	struct look *look = baton_container_of(task, struct look, read.task);
	int status;

	atomic_fetch_add(&looking, 1);
	look->ran = true;
	look->thread = pthread_self();
	look->beside = baton_readers_at_work(&readers);
	status = look->inside ? look->inside(look) : 0;
	gate_open(&look->entered);
	if (look->stays)
		gate_pass(&look->leave);
	atomic_fetch_sub(&looking, 1);
	return status;
}

static inline void look_init(struct look *look, bool stays)
{
	memset(look, 0, sizeof(*look));
	baton_future_init(&look->future);
	read_task_init(&look->read, &readers, look_run, &look->future);
	gate_init(&look->entered);
	gate_init(&look->leave);
	look->stays = stays;
}

static inline void looks_init(struct look *looks, size_t count, bool stays)
{
	for (size_t i = 0; i < count; i++)
		look_init(&looks[i], stays);
}

static inline int look_submit(struct look *look)
{
	return look->status = baton_submit(&fix.resource, &look->read.task);
}

static inline void *look_main(void *arg)
{
	BATON_IGNORE(baton_thread_attach());
	BATON_IGNORE(look_submit(arg));
	return NULL;
}

/* Submits it on a thread of its own. Returns when it runs. */
static inline pthread_t look_start(struct look *look)
{
	pthread_t thread = thread_start(look_main, look);

	gate_pass(&look->entered);
	return thread;
}

static inline void look_end(struct look *look, pthread_t thread)
{
	gate_open(&look->leave);
	(void)thread_join(thread);
}

static inline void readers_end(void)
{
	fixture_end();
	cr_assert_eq(baton_readers_at_work(&readers), 0);
	baton_readers_deinit(&readers);
}

/* A task that notes that no reader runs beside it. */
static int beside_write = -1;

static inline int write_run(struct baton_task *task)
{
	(void)task;
	beside_write = atomic_load(&looking);
	seen++;
	return 0;
}

static atomic_int met;

/* Stays until three of these are there. */
static inline int meets(struct look *look)
{
	atomic_fetch_add(&met, 1);
	until_at_least(&met, 3);
	look->result = 1;
	return 0;
}

#endif
