/* SPDX-License-Identifier: MIT */
/*
 * Which partitions are this node's. A node renews its lease when a third of it is over; the answer
 * says what the node owns. The node drops all it owns and begins anew, under later epochs, when its
 * lease has ended by its own clock; when the connection was lost (the server may have come back
 * without its last second); when a read, a release or a commit fails; when a job was left out, or
 * there was no memory for one. Of a dropped job the server has all (only the answer to the commit
 * was lost) or nothing: then the next owner reads the task again.
 */
#include "companion/redis/remote.h"

#include "base/atomic.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS (BATON_SECOND / 1000)
#define PAUSE_NS (20 * MS)
#define RELEASED 250 /* partitions in one call */

static void tell_program(struct baton_remote *remote, enum baton_remote_event_what what,
                         uint32_t partition)
{
	struct baton_remote_event event = {
		.what = what,
		.partition = partition,
		.epoch = remote->partitions[partition].epoch,
	};

	if (remote->options.event)
		remote->options.event(&event, remote->options.arg);
}

static void set_owned(struct baton_remote *remote, int more)
{
	store_relaxed(&remote->owned, remote->owned + (uint32_t)more); /* a hint */
}

void baton__remote_lose(struct baton_remote *remote, uint32_t partition)
{
	struct baton__remote_partition *lost = &remote->partitions[partition];

	if (lost->epoch == 0)
		return;
	tell_program(remote, BATON_REMOTE_LOST, partition);
	if (lost->giving)
		remote->giving--;
	lost->giving = false;
	lost->in_work = 0;
	/* Relaxed: a thread that sees the 0 late runs a job whose effects the server refuses. */
	store_relaxed(&lost->epoch, 0);
	set_owned(remote, -1);
}

static void gain(struct baton_remote *remote, uint32_t partition, uint64_t epoch)
{
	struct baton__remote_partition *gained = &remote->partitions[partition];

	baton__remote_lose(remote, partition);
	snprintf(gained->position, sizeof(gained->position), "0-0");
	/* Relaxed: jobs of this epoch reach other threads by submits. */
	store_relaxed(&gained->epoch, epoch);
	set_owned(remote, 1);
	tell_program(remote, BATON_REMOTE_GAINED, partition);
}

static void drop_all(struct baton_remote *remote)
{
	for (uint32_t i = 0; i < remote->options.partitions; i++)
		baton__remote_lose(remote, i);
	baton__redis_unask(remote->redis);
	remote->anew = true;
	remote->seen = 0;
}

void baton__remote_begin_anew(struct baton_remote *remote, int error)
{
	drop_all(remote);
	remote->balance_at = baton__redis_clock() + (error ? PAUSE_NS : 0);
	if (error)
		baton__remote_trouble(remote, error);
}

/* ---- Giving ---- */

/* Chooses the partitions with the fewest jobs in work: these partitions are free soonest. */
static void choose_to_give(struct baton_remote *remote, uint64_t surplus)
{
	/* Ends: each round gives one more away, or finds none. */
	while (remote->giving < surplus) {
		struct baton__remote_partition *best = NULL;

		for (uint32_t i = 0; i < remote->options.partitions; i++) {
			struct baton__remote_partition *one = &remote->partitions[i];

			if (one->epoch != 0 && !one->giving &&
			    (!best || one->in_work < best->in_work))
				best = one;
		}
		if (!best)
			return;
		best->giving = true;
		remote->giving++;
	}
}

static void release_partitions(struct baton_remote *remote)
{
	struct baton__redis_call call;
	uint32_t count = 0;
	uint32_t last = 0;
	int error;

	baton__redis_call_init(&call, "remote_release");
	baton__redis_add_text(&call, remote->node);
	for (uint32_t i = 0; i < remote->options.partitions; i++) {
		const struct baton__remote_partition *one = &remote->partitions[i];

		if (!one->giving || one->in_work > 0 || count == RELEASED)
			continue;
		last = i;
		baton__redis_add_number(&call, i);
		baton__redis_add_number(&call, one->epoch);
		count++;
	}
	if (count == 0) {
		free(call.text);
		return;
	}
	error = baton__redis_do(remote->redis, &call, NULL);
	if (error) {
		baton__remote_begin_anew(remote, error);
		return;
	}
	for (uint32_t i = 0; i <= last; i++)
		if (remote->partitions[i].giving && remote->partitions[i].in_work == 0)
			baton__remote_lose(remote, i);
	/* Ask whether there is more to give, now that others have given, too. */
	remote->balance_at = 0;
}

/* ---- The lease ---- */

/* Epochs up to `old` are over. own: pairs of partition and epoch that the node has got. */
static void adopt_partitions(struct baton_remote *remote, uint64_t old, const redisReply *own)
{
	const redisReply *number;
	uint32_t owned = remote->owned;

	for (uint32_t i = 0; old > 0 && i < remote->options.partitions; i++)
		if (remote->partitions[i].epoch <= old)
			baton__remote_lose(remote, i);
	for (size_t i = 0; (number = baton__redis_at(own, i)); i += 2) {
		uint32_t partition = (uint32_t)baton__redis_number(number);

		remote->seen = baton__redis_number(baton__redis_at(own, i + 1));
		if (partition < remote->options.partitions)
			gain(remote, partition, remote->seen);
	}
	/* The read that waits is for the old partitions. */
	if (remote->owned != owned || baton__redis_at(own, 0))
		baton__redis_unask(remote->redis);
}

/* The server does not know the node any more, or has lost a part of what the node has submitted. */
static void compare_numbers(struct baton_remote *remote, bool known, uint64_t accepted)
{
	if (!known && remote->joined)
		baton__remote_fail_waiting(remote, remote->tried, -ESTALE);
	if (!known)
		remote->sent = remote->accepted = accepted;
	else if (accepted < remote->accepted)
		remote->sent = remote->accepted = accepted;
	remote->joined = true;
}

/* old: as for remote_balance; "0": none. */
static int ask_balance(struct baton_remote *remote, const char *old, redisReply **reply)
{
	struct baton__redis_call call;

	baton__redis_call_init(&call, "remote_balance");
	baton__redis_add_text(&call, remote->node);
	baton__redis_add_number(&call, remote->options.lease_ns / MS);
	baton__redis_add_number(&call, remote->options.keep_ns / MS + 1);
	baton__redis_add_number(&call, remote->options.partitions);
	baton__redis_add_text(&call, remote->options.run ? "1" : "0");
	baton__redis_add_text(&call, old);
	baton__redis_add_number(&call, remote->seen);
	baton__redis_add_text(&call, remote->told);
	baton__redis_add_number(&call, remote->tried);
	baton__remote_add_over(remote, &call);
	return baton__redis_do(remote->redis, &call, reply);
}

/* The same. If the connection was lost since the last time, the node drops all, and asks again. */
static int ask_connected(struct baton_remote *remote, char old[24], uint64_t *sent_at,
                         redisReply **reply)
{
	bool begins = old[0] == '\0';
	int error;

	*sent_at = baton__redis_clock();
	error = ask_balance(remote, old, reply);
	if (error || begins || !remote->joined || remote->redis->connects == remote->connection)
		return error;
	drop_all(remote);
	freeReplyObject(*reply);
	*reply = NULL;
	old[0] = '\0';
	*sent_at = baton__redis_clock();
	return ask_balance(remote, old, reply);
}

/* The next balance comes directly after the end of another node's lease. */
static void plan_next(struct baton_remote *remote, uint64_t sent_at)
{
	uint64_t lease_at = sent_at + remote->options.lease_ns / 3;
	uint64_t next = baton__remote_watch_next(remote);

	remote->balance_at = next < lease_at ? next : lease_at;
}

/* One call of a balance, which moves some of the partitions. Afterwards `old` is for the next. */
static int balance_some(struct baton_remote *remote, char old[24], bool *more)
{
	uint64_t sent_at;
	redisReply *reply = NULL;
	int error = ask_connected(remote, old, &sent_at, &reply);

	if (!error)
		error = baton__remote_watch(remote, baton__redis_at(reply, 6));
	if (error) {
		freeReplyObject(reply);
		return error;
	}
	remote->connection = remote->redis->connects;
	/* Relaxed: as a partition's epoch. */
	store_relaxed(&remote->lease_until, sent_at + remote->options.lease_ns);
	plan_next(remote, sent_at);
	compare_numbers(remote, baton__redis_number(baton__redis_at(reply, 0)) == 1,
	                baton__redis_number(baton__redis_at(reply, 1)));
	snprintf(old, 24, "%s", baton__redis_text(baton__redis_at(reply, 2)));
	adopt_partitions(remote, strtoull(old, NULL, 10), baton__redis_at(reply, 4));
	*more = baton__redis_number(baton__redis_at(reply, 5)) == 1;
	if (!*more)
		choose_to_give(remote, baton__redis_number(baton__redis_at(reply, 3)));
	freeReplyObject(reply);
	return 0;
}

static int balance(struct baton_remote *remote)
{
	uint64_t lease_until = remote->lease_until;
	bool more = true;
	char old[24];
	int error = 0;

	if (lease_until != 0 && baton__redis_clock() >= lease_until && remote->owned > 0)
		drop_all(remote);
	snprintf(old, sizeof(old), "%s", remote->anew ? "" : "0");
	/* Ends: each call moves partitions, of which there are so many. */
	while (!error && more)
		error = balance_some(remote, old, &more);
	if (error)
		remote->balance_at = baton__redis_clock() + PAUSE_NS;
	else
		remote->anew = false;
	return error;
}

int baton__remote_join(struct baton_remote *remote)
{
	remote->connection = remote->redis->connects;
	return balance(remote);
}

void baton__remote_look_after_lease(struct baton_remote *remote)
{
	int error = 0;

	if (baton__redis_clock() >= remote->balance_at)
		error = balance(remote);
	/* Relaxed: a hint for submitters. */
	if (error == -ECONNREFUSED || error == -ETIMEDOUT)
		store_relaxed(&remote->away, error);
	else if (!error)
		store_relaxed(&remote->away, 0);
	if (error)
		baton__remote_trouble(remote, error);
	else if (remote->giving > 0)
		release_partitions(remote);
}

void baton__remote_leave(struct baton_remote *remote)
{
	uint64_t left = 1;
	int error = 0;

	for (uint32_t i = 0; i < remote->options.partitions; i++)
		baton__remote_lose(remote, i);
	/* Ends: each call gives partitions away. If a call is lost, the lease tells the others. */
	while (!error && left > 0) {
		struct baton__redis_call call;
		redisReply *reply = NULL;

		baton__redis_call_init(&call, "remote_leave");
		baton__redis_add_text(&call, remote->node);
		baton__remote_add_over(remote, &call);
		error = baton__redis_do_once(remote->redis, &call, &reply);
		left = baton__redis_number(reply);
		freeReplyObject(reply);
	}
}
