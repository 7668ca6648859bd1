/* SPDX-License-Identifier: MIT */
/* What threads do: one random call of the public interface after the other. */
#ifndef BATON_TEST_STRESS_DEED_H
#define BATON_TEST_STRESS_DEED_H

#include <stdbool.h>
#include <stdint.h>

struct actor;
struct baton_future;
struct engine;
struct errand;
struct note;
struct open;
struct site;

enum deed {
	DEED_SUBMIT,
	DEED_LATER,
	DEED_BATCH,
	DEED_POST,
	DEED_ASYNC,
	DEED_CALL,
	DEED_TRY_CALL,
	DEED_THEN,
	DEED_JOB,
	DEED_PROMISE,
	DEED_FULFIL,
	DEED_SHARE,
	DEED_SHARED,
	DEED_COLLECT,
	DEED_WAIT,
	DEED_WAIT_ANY,
	DEED_WAIT_ALL,
	DEED_CANCEL,
	DEED_CANCEL_PENDING,
	DEED_AWAIT,
	DEED_RETIRE,
	DEED_STALE,
	DEED_EARLY,
	DEED_STATS,
	DEED_COUNT,
};

/* Draws how often each deed is done in this round. */
void deeds_weigh(uint64_t *random);

/* Does one deed. Called by a thread of the test's own, outside of tasks. */
void deed_do(void);

/* Perhaps does one deed. Called in a task of that site; NULL: in a job or a finaliser. */
void deed_nested(struct site *site);

/* Finishes those of the thread's own futures that are complete. `all`: waits for the others,
 * too. */
void deed_collect(bool all);

/* Finishes the futures of all threads, and gives back what the threads have left in the boxes of
 * share.h. Call it while all threads are at rest. */
void deed_collect_everybodys(void);

/* The parts: deed_submit.c, deed_future.c, deed_share.c, deed_end.c. */
void deed_submit_one(struct site *site, bool later);
void deed_batch(struct site *site);
void deed_post(struct site *site);
void deed_async(struct site *site);
void deed_call(struct site *site);
void deed_try_call(struct site *site);
void deed_then(struct site *site);
/* At a round's end: each function that is told of an end has been called. */
void deed_all_told(void);
void deed_stale(struct site *site);
void deed_early(struct site *site);
void deed_give_reference(const struct open *open);
void deed_job(void);
void deed_promise(void);
void deed_fulfil(void);
void deed_share(void);
void deed_shared(void);
void deed_wait(void);
void deed_wait_any(void);
void deed_wait_all(void);
void deed_cancel(void);
void deed_cancel_pending(struct site *site);
void deed_await(struct site *site);
void deed_stats(struct site *site);

/*
 * A future that its thread will wait for needs a place. reserve: reserves a place, before the
 * submit, since tasks that run nested in the submit need places, too. open: puts the future into
 * the reserved place. release: gives the reserved place up. take: takes out a random open future,
 * and keeps its place reserved.
 */
bool deed_reserve(void);
void deed_release(void);
void deed_open(struct baton_future *future, struct note *note, struct errand *errand);
bool deed_take(struct open *open);

/* Waits for a future; checks what the wait says, and the future if it is complete. True: it is. */
bool deed_wait_for(struct baton_future *future, struct note *note, uint64_t deadline);
void deed_cancel_it(struct baton_future *future, struct note *note);
uint64_t deed_deadline(void);

/* May a wait for this note's task return -EDEADLK? */
bool deed_deadlock_ok(const struct note *note);

#endif
