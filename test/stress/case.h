/* SPDX-License-Identifier: MIT */
/* A case is all that is noted about one resource. */
#ifndef BATON_TEST_STRESS_CASE_H
#define BATON_TEST_STRESS_CASE_H

#include <stddef.h>

struct note;

/* The tasks that ran come first, in the order in which they ran. */
void case_judge(struct note **notes, size_t count);

#endif
