/* SPDX-License-Identifier: MIT */
/*
 * Visits: the thread of one loop takes the turn of another loop that sleeps, and writes there what
 * it has for that loop's connections. To wake the other thread would cost more than the message:
 * with idle CPUs a wake takes tens of microseconds, and where few messages come each needs one.
 *
 * What touches a loop (its tasks, libuv, its connections) does so in the loop's turn. The turn is
 * the loop's own thread's but while that thread sleeps: then a visitor takes it, by one
 * compare-and-swap of `turn`. A loop that is awake, or has a visitor, is woken as ever. So a loop's
 * thread waits for a visitor only if it wakes beside one, who runs what has come and writes it, and
 * waits for nothing.
 *
 * libuv can be looked after by several threads in turn, if a thread sleeps in poll() on libuv's
 * descriptor, not in uv_run(): see uv_backend_fd().
 */
#ifndef BROKER_VISIT_H
#define BROKER_VISIT_H

#include <stdbool.h>
#include <stdint.h>

#include <baton/future.h>

struct loop;

enum visit_turn {
	VISIT_AWAKE,   /* the turn is the loop's own thread's */
	VISIT_ASLEEP,  /* nobody's */
	VISIT_VISITED, /* a visitor's */
	VISIT_WANTED,  /* a visitor's, and the thread waits for `left` */
};

struct visit {
	uint32_t turn;             /* atomic: visit_turn */
	struct baton_future left;  /* a promise: the visitor has left */
	uint64_t due;      /* when the thread wakes by itself, in the loop's milliseconds */
	uint64_t others;   /* bit i: this thread has the first task for loop i */
	uint64_t messages; /* that had come at the beginning of the turn */
	bool busy;         /* in the last turn many messages came: others are woken at once */
};

/* init: before the loop's thread. begin: by that thread. */
void visit_init(struct loop *loop);
void visit_begin(struct loop *loop);

/*
 * At the end of a turn, in which this loop has submitted tasks to other loops: runs the tasks of
 * those that sleep, and wakes those that do not.
 */
void visit_others(struct loop *loop);

/* Sleeps until there is something to do, if there is nothing now. Others may visit meanwhile. */
void visit_sleep(struct loop *loop);

#endif
