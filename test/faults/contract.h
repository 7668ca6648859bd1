/* SPDX-License-Identifier: MIT */
/*
 * The errors that the public headers document, held against what calls return; and which functions
 * have been called under faults.
 *
 *	TRY(call)		a function that returns an int: its value, which is documented
 *	COUNT(call)		one that returns an int64_t, a count or an error: the same
 *	USE(call)		any other function: its value
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

/* On any thread; ends the process. */
#define EXPECT(condition) ((condition) ? (void)0 : contract_broken(__FILE__, __LINE__, #condition))

_Noreturn void contract_broken(const char *file, int line, const char *what);

void contract_enter(const char *call);
int contract_leave(const char *call, int status);
int64_t contract_count(const char *call, int64_t count);

/* Before the first fork: the children's notes are for their parent. */
void contract_init(void);

/* Complains about functions of src/baton.map that the table lacks, or that no scenario called. */
unsigned contract_uncovered(void);

/* Where the last call that was entered, on any thread, is noted: where it hangs. Shared memory. */
extern const char *_Atomic *contract_last;

#endif
