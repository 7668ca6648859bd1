/* SPDX-License-Identifier: MIT */
/*
 * One hot resource: the users of locks, plain and combining. They are done with an operation when
 * the call returns, so they need no ring. A plain lock's body is inlined between lock and unlock; a
 * combining lock's is called by pointer, since another thread may have to run it.
 */
#include "hot.h"

#include <stdlib.h>

static inline __attribute__((always_inline)) void locker(struct team_member *member,
                                                         enum lock_kind kind)
{
	struct hot *hot = member->context;
	struct machine_work work = hot->work;
	struct ck_spinlock_mcs node;

	for (uint64_t i = 0; !team_stopped(member); i++) {
		uint64_t submitted = hot_stamp(member, i);

		lock_acquire(&hot->lock, kind, &node);
		hot_body(hot, work, submitted);
		lock_release(&hot->lock, kind, &node);
		team_count(member, 1);
	}
}

static void mutex_locker(struct team_member *member)
{
	locker(member, LOCK_MUTEX);
}

static void mutex_batch_locker(struct team_member *member)
{
	struct hot *hot = member->context;
	struct machine_work work = hot->work;
	unsigned batch = hot->batch;

	for (uint64_t i = 0; !team_stopped(member); i += batch) {
		uint64_t submitted = hot_stamp(member, i);

		(void)pthread_mutex_lock(&hot->lock.mutex);
		for (unsigned task = 0; task < batch; task++)
			hot_body(hot, work, task == 0 ? submitted : 0);
		(void)pthread_mutex_unlock(&hot->lock.mutex);
		team_count(member, batch);
	}
}

static void ticket_locker(struct team_member *member)
{
	locker(member, LOCK_TICKET);
}

static void mcs_locker(struct team_member *member)
{
	locker(member, LOCK_MCS);
}

struct request {
	struct hot *hot;
	struct machine_work work;
	uint64_t submitted;
};

static void request_run(void *argument)
{
	const struct request *request = argument;

	hot_body(request->hot, request->work, request->submitted);
}

static void cc_locker(struct team_member *member)
{
	struct hot *hot = member->context;
	struct request request = {hot, hot->work, 0};
	struct cc_node *mine = &hot->nodes[member->index + 1];

	for (uint64_t i = 0; !team_stopped(member); i++) {
		request.submitted = hot_stamp(member, i);
		cc_call(&hot->cc, &mine, request_run, &request);
		team_count(member, 1);
	}
}

/* The record stays in the lock's list, asking for nothing, until the whole team has ended. */
static void flat_locker(struct team_member *member)
{
	struct hot *hot = member->context;
	struct request request = {hot, hot->work, 0};
	struct flat_record *mine = &hot->records[member->index];

	flat_join(&hot->flat, mine);
	for (uint64_t i = 0; !team_stopped(member); i++) {
		request.submitted = hot_stamp(member, i);
		flat_call(&hot->flat, mine, request_run, &request);
		team_count(member, 1);
	}
}

static void oyama_locker(struct team_member *member)
{
	struct hot *hot = member->context;
	struct request request = {hot, hot->work, 0};

	for (uint64_t i = 0; !team_stopped(member); i++) {
		request.submitted = hot_stamp(member, i);
		oyama_call(&hot->oyama, request_run, &request);
		team_count(member, 1);
	}
}

static enum lock_kind plain_kind(enum hot_lock_kind kind)
{
	switch (kind) {
	case HOT_TICKET:
		return LOCK_TICKET;
	case HOT_MCS:
		return LOCK_MCS;
	default:
		return LOCK_MUTEX;
	}
}

void hot_lock_run(const void *setup, double *values)
{
	static struct hot hot;
	static const team_body bodies[] = {
		[HOT_MUTEX] = mutex_locker,   [HOT_MUTEX_BATCH] = mutex_batch_locker,
		[HOT_TICKET] = ticket_locker, [HOT_MCS] = mcs_locker,
		[HOT_CC_SYNCH] = cc_locker,   [HOT_FLAT] = flat_locker,
		[HOT_OYAMA] = oyama_locker,
	};
	const struct hot_lock *lock = setup;
	size_t threads = lock->load.threads;

	hot_begin(&hot, &lock->load);
	hot.nodes = aligned_alloc(64, (threads + 1) * sizeof(*hot.nodes));
	hot.records = aligned_alloc(64, threads * sizeof(*hot.records));
	if (!hot.nodes || !hot.records)
		abort();
	if (lock->kind == HOT_CC_SYNCH)
		cc_init(&hot.cc, &hot.nodes[0]);
	else if (lock->kind == HOT_FLAT)
		flat_init(&hot.flat);
	else if (lock->kind == HOT_OYAMA)
		oyama_init(&hot.oyama);
	else
		lock_init(&hot.lock, plain_kind(lock->kind));
	hot_run(&hot, &lock->load, bodies[lock->kind], values);
	free(hot.nodes);
	free(hot.records);
}
