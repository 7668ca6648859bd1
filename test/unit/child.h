/* SPDX-License-Identifier: MIT */
#ifndef BATON_TEST_UNIT_CHILD_H
#define BATON_TEST_UNIT_CHILD_H

#include <unistd.h>

/* A forked child that has not ended after so many seconds hangs, and is ended by SIGALRM. */
static inline void child_begins(void)
{
	(void)alarm(40);
}

#endif
