/* SPDX-License-Identifier: MIT */
/*
 * The party of a group of readers (reader.c): the readers that the leader has taken out of the
 * queue. The leader invites a worker by a plain job. A worker that runs the job takes a reader, and
 * invites the next worker while there are more. Leader and workers take readers until none is left.
 *
 * The word `posted` says where the party's job is:
 *   IDLE     in no queue
 *   OUT      in the executor's queue, or in the hands of a worker that has taken no reader yet
 *   AGAIN    OUT, and readers have come since: the worker looks again before it leaves
 *   ORPHAN   OUT, and the readers are gone: the worker frees the party
 *
 * Invariants:
 * reader.taken: The leader takes readers of the party, too, until none is left. So each reader of
 *    the party is begun by a thread that is awake, whether the workers come or not (L9).
 * reader.party: A worker touches the party while COUNT has a reader that it has taken, or while it
 *    has the job. The job is in one place: only the thread that makes posted OUT from IDLE puts it
 *    into the queue.
 * party.next: Only the leader adds readers, when all former readers of the party have been taken.
 *    `tasks` and `executor` do not change while the readers' word counts a reader of the party.
 */
#include "module/reader_party.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "core/frame.h"
#include "core/guard.h"
#include "module/reader.h"

#include <stdlib.h>

#define IDLE 0U
#define OUT 1U
#define AGAIN 2U
#define ORPHAN 3U

#define ONE_TAKEN 1U
#define ONE_THERE 0x10000U

/* Lock-free: a CAS fails only because another thread has taken a reader. */
struct baton_task *baton__party_take(struct baton__party *party)
{
	uint32_t next = load_relaxed(&party->next); /* validated by the CAS */

	do {
		if (next % ONE_THERE == next / ONE_THERE)
			return NULL;
		/* [reader.party] acquire: the tasks, and all that the leader has seen; pairs with
		 * [reader.party] in baton__party_begin */
	} while (!cas_acquire(&party->next, &next, next + ONE_TAKEN));
	return party->tasks[next % ONE_THERE];
}

/* Asks a worker for help. Called by a thread that is counted (reader.party). */
static void invite_worker_to(struct baton__party *party)
{
	uint32_t posted = IDLE;

	/* [reader.job] acquire: the job has left the queue; pairs with [reader.job] in
	 * run_party_job and take_or_leave */
	if (cas_acquire(&party->posted, &posted, OUT)) {
		/* Relaxed: a job that is refused is untouched. */
		if (party->executor->_ops->offer(party->executor, &party->job) < 0)
			store_relaxed(&party->posted, IDLE);
		return;
	}
	/* Relaxed, here and in take_or_leave: the leader takes the readers that a worker misses
	 * (reader.taken). */
	if (posted == OUT)
		(void)cas_relaxed(&party->posted, &posted, AGAIN);
}

/* The readers are gone; the calling thread has the job. */
static void free_orphan(struct baton__party *party)
{
	/* [reader.orphan] acquire: what leaders did with the party; pairs with [reader.orphan] in
	 * baton__party_end */
	(void)load_acquire(&party->posted);
	free(party);
}

/* The worker that has the job takes a reader. NULL: none is left; this was the last touch. */
static struct baton_task *take_or_leave(struct baton__party *party)
{
	/* Ends: another round follows an invitation, or the end of the readers. */
	for (;;) {
		struct baton_task *task = baton__party_take(party);
		uint32_t posted = OUT;

		/* [reader.job] release: the job has left the queue; pairs with [reader.job] in
		 * invite_worker_to and baton__party_end */
		if (task || cas_release(&party->posted, &posted, IDLE))
			return task;
		if (posted == ORPHAN) {
			free_orphan(party);
			return NULL;
		}
		(void)cas_relaxed(&party->posted, &posted, OUT);
	}
}

static void run_party_job(struct baton_plain_job *job)
{
	struct baton__party *party = baton_container_of(job, struct baton__party, job);
	struct baton_task *task = take_or_leave(party);
	struct baton_readers *readers;
	struct baton__frame frame;
	uint32_t ended = 0;
	uint32_t next;

	if (!task)
		return;
	readers = party->readers;
	/* [reader.job] release: the job has left the queue; pairs with [reader.job] in
	 * invite_worker_to */
	store_release(&party->posted, IDLE);
	next = load_relaxed(&party->next); /* a hint */
	if (next % ONE_THERE != next / ONE_THERE)
		invite_worker_to(party);
	baton__frame_push(&frame, readers->_resource);
	BATON_GUARD(guard);
	/* Ends with the party, to which the leader alone adds, once in a group. */
	for (; task; task = baton__party_take(party), ended++) {
		BATON__CHECKED(enter(frame.resource, task));
		baton__reader_run(&frame, task);
	}
	guard = false;
	baton__frame_pop(&frame);
	baton__readers_leave(readers, ended);
}

/* No worker will run the job. The leader takes what is in the party. */
static void cancel_party_job(struct baton_plain_job *job)
{
	struct baton__party *party = baton_container_of(job, struct baton__party, job);
	uint32_t posted = OUT;

	/* Ends: OUT may become AGAIN or ORPHAN meanwhile, and AGAIN may become ORPHAN.
	 * [reader.job] release: as in take_or_leave */
	while (!cas_release(&party->posted, &posted, IDLE))
		if (posted == ORPHAN) {
			free_orphan(party);
			return;
		}
}

struct baton__party *baton__party_of(struct baton_readers *readers)
{
	struct baton__party *party = readers->_party;

	if (!party) {
		party = calloc(1, sizeof(*party));
		if (!party)
			return NULL;
		baton_plain_job_init(&party->job, run_party_job, cancel_party_job);
		party->readers = readers;
		readers->_party = party;
	}
	/* Not once for all: the default pool may have ended, and been made again. */
	party->executor = baton__self->member;
	return party;
}

void baton__party_begin(struct baton__party *party, uint32_t count)
{
	/* [reader.party] release: the tasks, and what the tasks before did; pairs with
	 * [reader.party] in baton__party_take */
	store_release(&party->next, count * ONE_THERE);
	invite_worker_to(party);
}

void baton__party_end(struct baton_readers *readers)
{
	struct baton__party *party = readers->_party;

	readers->_party = NULL;
	/* [reader.job] acquire: the worker touches the party no more; pairs with [reader.job] in
	 * take_or_leave. [reader.orphan] release: what leaders did with the party; pairs with
	 * [reader.orphan] in free_orphan */
	if (party && swap_acq_rel(&party->posted, ORPHAN) == IDLE)
		free(party);
}
