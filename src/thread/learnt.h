/* SPDX-License-Identifier: MIT */
/* What a thread has learnt of contention: a member of its record. See core/contention.h. */
#ifndef BATON_SRC_LEARNT_H
#define BATON_SRC_LEARNT_H

#include <stdint.h>

struct baton_resource;

/* Pushes to queued resources before a new thread's first loan (core/contention.h). */
#ifdef BATON_LOAN_SKIP_MIN /* tests make it small */
#define BATON__LOAN_SKIP_FIRST BATON_LOAN_SKIP_MIN
#else
#define BATON__LOAN_SKIP_FIRST 16U
#endif

/* Events of one kind, and where they happened. */
struct baton__streak {
	const struct baton_resource *at; /* the last one; only compared */
	uint32_t times;                  /* events in a row there, at most BATON__STREAK_LONG */
};

/* Only the thread itself touches it. */
struct baton__contention {
	struct baton__streak failed; /* pushes that failed */
	struct baton__streak met;    /* busy resources from which it has stood back */
	uint16_t stand_back_skip;    /* tasks that are pushed before the next look */
	uint16_t stand_back_next;    /* the skip after the last failure; 0: none since a success */
	uint16_t call_skip;          /* calls that push before a call stands back */
	uint16_t call_next;          /* call_skip after the last failure; 0: none since a capture */
	uint16_t loan_skip;          /* pushes to queued resources before the next loan */
	uint16_t loan_next;          /* the value of loan_skip after the last loan */
	uint16_t loan_eager;         /* empty loans that do not put off the next loan */
	uint32_t cpu_given;          /* how often a wait has given the CPU away (wait.c, yield.c) */
	uint64_t yields_from_ns;     /* no sched_yield before this moment (yield.c) */
};

#endif
