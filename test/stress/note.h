/* SPDX-License-Identifier: MIT */
/*
 * The history: one note per operation, kept for a round. A task's note has what its submitter saw
 * (begin, end, result) and what its runner saw (ran, ran_end, position); each is written by one
 * thread, with plain stores, so that ThreadSanitizer checks what happens before what.
 *
 * Times are tickets: one counter, drawn with relaxed additions, which order nothing that the
 * library should have ordered itself.
 */
#ifndef BATON_TEST_STRESS_NOTE_H
#define BATON_TEST_STRESS_NOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct actor;
struct engine;
struct site;

enum note_kind {
	/* Tasks */
	NOTE_SUBMIT,
	NOTE_LATER,
	NOTE_BATCH,
	NOTE_POST,
	NOTE_ASYNC,
	NOTE_CALL,
	NOTE_TRY_CALL,
	NOTE_THEN,
	/* Operations without a resource */
	NOTE_JOB,
	NOTE_PROMISE,
	/* Operations on a resource, or on a future */
	NOTE_CREATE,
	NOTE_CANCEL_PENDING,
	NOTE_CLOSE,
	NOTE_CLOSE_THEN,
	NOTE_FINALISER,
	NOTE_AWAIT,
	NOTE_CANCEL,
	NOTE_WAIT,
	NOTE_ENDED,
};

#define NOTE_PENDING INT32_MAX /* the result of a call that has not returned */
#define NOTE_NEVER UINT64_MAX

struct note {
	uint64_t begin;
	uint64_t end;
	uint64_t ran;
	uint64_t ran_end;
	struct site *site;
	struct note *about; /* a wait's or cancel's task; a batch's head; the continuation before */
	struct note *after; /* a task that must have run before this one */
	uint32_t resource;  /* its number; 0: none */
	uint32_t position;  /* among its resource's tasks, in the order in which they ran */
	int32_t result;
	uint32_t batch; /* its number within its batch, from 1 */
	const struct engine *engine;
	uint16_t actor;
	uint16_t runner;
	uint8_t kind;
	uint8_t runs;
	uint8_t cancels;
	uint8_t future;         /* it has one */
	uint8_t helpable;       /* its resource may be captured */
	uint8_t seen;           /* its owner has seen the future complete */
	uint8_t unjustified;    /* NOTE_ENDED: its executor cannot have cancelled anything */
	uint8_t early;          /* its future is known to others before the submit */
	uint8_t visited;        /* the head of a batch: the verdict has met it */
	_Atomic uint32_t tried; /* somebody called cancel */
	_Atomic uint32_t won;   /* and was told that it will never run */
	_Atomic uint32_t told;  /* and was told that it runs now; a promise: it was fulfilled */
	uint64_t count[3];      /* NOTE_ENDED: submitted, executed, cancelled */
};

static inline bool note_is_task(const struct note *note)
{
	return note->kind <= NOTE_THEN;
}

uint64_t ticket(void);
uint64_t ticket_now(void);

/* The calling thread's next note. `site` may be NULL. */
struct note *note_begin(enum note_kind kind, struct site *site);
int note_end(struct note *note, int result);

/* Calls `visit` for every note of this round. Call it while all threads are at rest, or to report a
 * violation. */
void note_each(void (*visit)(struct note *note, void *arg), void *arg);

/* Call it while all threads are at rest. */
void note_forget_all(void);

const char *note_kind_name(enum note_kind kind);

#endif
