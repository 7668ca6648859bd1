/* SPDX-License-Identifier: MIT */
/*
 * Watches of descriptors: what the watches (io.c) and the thread that sleeps in the kernel for all
 * of them (io_poller.c) have in common.
 *
 * A lock, baton__io_lock (sole.h), protects all of this: the states of all watches, the table of
 * owners, the poller. A thread with the lock calls no function of the user, and submits nothing.
 *
 * A watch's state:
 *   ACTIVE   The table names the watch as the owner of a side of its descriptor.
 *   ARMED    The kernel's entry is armed. Only beside ACTIVE.
 *   AGAIN    The entry is armed again after each run.
 *   DUE      A run is wanted. Set by an event; cleared by the run, by stop and by a drop.
 *   QUEUED   The task is with the resource, or about to be submitted (io.handed). Set beside DUE;
 *            cleared by the run, which has no effect unless the watch is DUE, by a drop, and by a
 *            stop on the thread that was about to submit the task.
 *   RUNNING  The function runs.
 *   TOLD     stop_then has been called, and its function has not; start is refused. Cleared by the
 *            thread that then calls the function: the thread whose step leaves TOLD without QUEUED
 *            and RUNNING.
 *   WRITE    The side.
 */
#ifndef BATON_SRC_IO_H
#define BATON_SRC_IO_H

#include <baton/io.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "timer/handing.h"

#include <stdbool.h>
#include <stdint.h>

#define BATON__IO_ACTIVE 1U
#define BATON__IO_ARMED 2U
#define BATON__IO_AGAIN 4U
#define BATON__IO_DUE 8U
#define BATON__IO_QUEUED 16U
#define BATON__IO_RUNNING 32U
#define BATON__IO_WRITE 64U
#define BATON__IO_TOLD 128U

/* Only a thread with the lock writes the state, and the lock orders it; is_active reads it at any
 * time. */
BATON_INLINE uint32_t baton__io_state(const struct baton_io *io)
{
	return load_relaxed(&io->_state);
}

BATON_INLINE void baton__io_set_state(struct baton_io *io, uint32_t state)
{
	store_relaxed(&io->_state, state);
}

extern uint32_t baton__io_lock;
extern struct baton__handings baton__io_handings; /* io.handed */

/* Submits the task of a watch for which the caller has set QUEUED. */
void baton__io_submit(struct baton_io *io);

/* ---- The kernel's side. With the lock ---- */

/*
 * activate: has the kernel watch the descriptor; the watch was not active. deactivate: makes the
 * watch inactive, if it is active, and removes the kernel's entry. arm_again: arms the kernel's
 * entry of an active watch; if the descriptor is closed, the watch is active no more.
 */
int baton__io_activate(struct baton_io *io, int fd, unsigned how);
void baton__io_deactivate(struct baton_io *io);
void baton__io_arm_again(struct baton_io *io);

#endif
