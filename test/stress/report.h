/* SPDX-License-Identifier: MIT */
/* Reports a violation: what was violated, how to run the round again, and the history of the
 * resource concerned. Then exits. */
#ifndef BATON_TEST_STRESS_REPORT_H
#define BATON_TEST_STRESS_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct note;

/* For calls outside of the library that cannot fail. */
#define MUST(condition)                                                                            \
	((condition) ? (void)0                                                                     \
	             : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* The notes may be NULL. If several threads call it, only the first reports. */
_Noreturn void report(const struct note *note, const struct note *other, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same without an exit: what is known about a resource. */
void report_history(uint32_t resource, uint64_t around);

/* And the continuations that have neither run nor been cancelled. */
void report_open(void);

/* Says which round a crash was in. */
void report_on_crash(void);
void report_round(uint64_t round);

#endif
