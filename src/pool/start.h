/* SPDX-License-Identifier: MIT */
/*
 * What the library's threads do when they start: the signals that they block, the CPUs on which
 * they may run.
 */
#ifndef BATON_SRC_START_H
#define BATON_SRC_START_H

#include <signal.h>

/*
 * Signals are for the program's own threads. block: blocks all signals in the calling thread, and
 * so in the threads that it starts, which inherit the mask; `before`: the mask until now. open:
 * called in a thread of the library, unblocks the signals that a thread brings upon itself, since
 * the program may have a handler for these that reports a crash.
 */
void baton__signals_block(sigset_t *before);
void baton__signals_open(void);

/* Gives the calling thread the affinity of the process's first thread. Without this, the threads
 * that the library starts would inherit the affinity of their creator, which may be pinned. */
void baton__unpin(void);

#endif
