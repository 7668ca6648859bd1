/* SPDX-License-Identifier: MIT */
/* A violation: says what, how to see it again, and the history of what it is about; exits. */
#ifndef BATON_TEST_STRESS_REPORT_H
#define BATON_TEST_STRESS_REPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct note;

/* Of the test's surroundings, which cannot fail. */
#define MUST(condition)                                                                            \
	((condition) ? (void)0                                                                     \
	             : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* The notes may be NULL. The first thread to call it has the word. */
_Noreturn void report(const struct note *note, const struct note *other, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same without an exit: what is known about a resource. */
void report_history(uint32_t resource, uint64_t around);

/* Says which round a crash was in. */
void report_on_crash(void);
void report_round(uint64_t round);

#endif
