/* SPDX-License-Identifier: MIT */
/*
 * Correct programs, each in a process of its own: the first use of statically initialised objects
 * is a call of one public function. What runs then in the resource uses it by checked calls. Each
 * public function that is given such an object has a program here (entries.awk).
 */
#ifndef BATON_TEST_CHECKED_FIRSTS_H
#define BATON_TEST_CHECKED_FIRSTS_H

#include <baton/all.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program of `function`. */
#define FIRST(function)                                                                            \
	static void first_##function(void);                                                        \
	__attribute__((constructor)) static void enlist_##function(void)                           \
	{                                                                                          \
		firsts_add(#function, first_##function);                                           \
	}                                                                                          \
	static void first_##function(void)

#define MUST(condition)                                                                            \
	((condition) ? (void)0                                                                     \
	             : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(3)))

void firsts_add(const char *function, void (*program)(void));

/* In firsts.c: the resource, and another one that is idle; a wheel with a virtual clock. */
extern struct baton_resource r;
extern struct baton_resource other;
struct baton_timers *wheel(void);

/* Uses r as a program may, inside a task of r and elsewhere. Lets ran() return. */
void used(void);
/* Waits until used() has been called once more. */
void ran(void);

/* Functions of tasks, calls: used(). */
int run_task(struct baton_task *task);
void *run_call(void *arg);

extern struct baton_task t; /* run_task */
extern struct baton_future f;
extern struct baton_future promise;
extern struct baton_continuation c;

/* Of a hold: the resource with BATON_CAPTURE_NONE is the executor's threads' alone. */
static inline bool refused(int error)
{
	MUST(!error || error == -EPERM);
	return error;
}

#endif
