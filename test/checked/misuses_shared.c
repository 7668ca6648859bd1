/* SPDX-License-Identifier: MIT */
/* Misuses of shared holds. */
#include "misuses.h"

#include <pthread.h>

static struct baton_readers readers = BATON_READERS_INIT(&topic);
static struct baton_shared_hold shared = BATON_SHARED_HOLD_INIT;
static struct baton_shared_hold mine = BATON_SHARED_HOLD_INIT; /* the main thread's */

static void in_thread(baton_call_fn fn)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, fn, NULL))
		(void)pthread_join(thread, NULL);
}

/* ---- A forgotten release ---- */

static void *share(void *arg)
{
	BATON_IGNORE(baton_hold_shared(&readers, &shared));
	return arg;
}

static int share_in_task(struct baton_task *task)
{
	(void)task;
	return baton_hold_shared(&readers, &shared);
}

void shared_outlives_task(void)
{
	baton_task_init(&second, share_in_task, NULL);
	BATON_IGNORE(baton_submit(&other, &second));
}

static void *submit_sharer(void *arg)
{
	shared_outlives_task();
	return arg;
}

/* The hold joins that of the main thread. */
void shared_outlives_joined_task(void)
{
	if (!baton_hold_shared(&readers, &mine))
		in_thread(submit_sharer);
}

struct look {
	struct baton_task task;
	struct baton_reader reader;
};

void shared_outlives_reader(void)
{
	static const struct baton_task_type look_type = {
		.run = share_in_task,
		.reader = BATON_TASK_PLACE(struct look, task, reader),
	};
	static struct baton_readers lookers;
	static struct look look;

	baton_readers_init(&lookers, &other);
	baton_task_init_of(&look.task, &look_type);
	baton_reader_init(&look.reader, &lookers);
	BATON_IGNORE(baton_submit(&other, &look.task));
}

void shared_outlives_thread(void)
{
	in_thread(share);
}

/* ---- A release in the wrong place ---- */

static void *release_mine(void *arg)
{
	BATON_IGNORE(baton_release_shared(&mine));
	return arg;
}

void shared_released_elsewhere(void)
{
	if (!baton_hold_shared(&readers, &mine))
		in_thread(release_mine);
}

static void *share_and_release_mine(void *arg)
{
	return release_mine(share(arg));
}

/* The thread has a shared hold of the same resource, but another one. */
void shared_released_by_a_holder(void)
{
	if (!baton_hold_shared(&readers, &mine))
		in_thread(share_and_release_mine);
}

void shared_released_inside_a_task(void)
{
	if (!baton_hold_shared(&readers, &mine))
		BATON_IGNORE(baton_call(&other, release_mine, NULL, NULL));
}

void shared_copied(void)
{
	if (baton_hold_shared(&readers, &shared))
		return;
	mine = shared;
	(void)release_mine(NULL);
}

/* ---- Memory ---- */

void shared_not_initialised(void)
{
	struct baton_shared_hold garbage;

	memset(&garbage, 0x5a, sizeof(garbage));
	garbage._hold = (struct baton_hold)BATON_HOLD_INIT;
	BATON_IGNORE(baton_hold_shared(&readers, &garbage));
}

void deinit_while_shared(void)
{
	if (!baton_hold_shared(&readers, &mine))
		baton_readers_deinit(&readers);
}
