/* SPDX-License-Identifier: MIT */
/*
 * Compares what calls return with the errors that the public headers document, and notes which
 * functions were called under faults.
 *
 *	TRY(call)		for a function that returns an int: checks and returns its value
 *	COUNT(call)		the same for an int64_t, which is a count or an error
 *	USE(call)		for any other function: returns its value
 *	INSIST(call, untouched)	tries; if that fails, `untouched` must hold, and without the fault a
 *				second try must succeed
 */
#ifndef BATON_TEST_FAULTS_CONTRACT_H
#define BATON_TEST_FAULTS_CONTRACT_H

#include "fault.h"

#include <stdbool.h>
#include <stdint.h>

#define TRY(call) (contract_enter(#call), contract_leave(#call, (call)))
#define COUNT(call) (contract_enter(#call), contract_count(#call, (call)))
#define USE(call) (contract_enter(#call), (call))

#define INSIST(call, untouched)                                                                    \
	do {                                                                                       \
		if (TRY(call)) {                                                                   \
			EXPECT(fault_planned());                                                   \
			EXPECT(untouched);                                                         \
			fault_end();                                                               \
			EXPECT(TRY(call) == 0);                                                    \
		}                                                                                  \
	} while (0)

/* If the condition does not hold, ends the process. On any thread. */
#define EXPECT(condition) ((condition) ? (void)0 : contract_broken(__FILE__, __LINE__, #condition))

_Noreturn void contract_broken(const char *file, int line, const char *what);

void contract_enter(const char *call);
int contract_leave(const char *call, int status);
int64_t contract_count(const char *call, int64_t count);

/* Called before the first fork: the parent reads the notes of its children. */
void contract_init(void);

/* Complains about functions of the libraries that the table lacks, or that no scenario called. */
unsigned contract_uncovered(void);

/* The last call that any thread has entered: where a run hangs. In shared memory. */
extern const char *_Atomic *contract_last;

#endif
