/* SPDX-License-Identifier: MIT */
/*
 * Layer 2: of a process's threads one at a time makes or ends an object of which there is only one
 * (the default pool, the default wheel). In a fork's child a turn that a thread of the parent had
 * is nobody's.
 */
#ifndef BATON_SRC_SOLE_H
#define BATON_SRC_SOLE_H

#include <stdint.h>

/*
 * Waits until it is the calling thread's turn, and gives the turn up. `turn` is the word, at first
 * 0. The caller looks at the object after begin: a thread before it may have made it.
 */
void baton__sole_begin(uint32_t *turn);
void baton__sole_end(uint32_t *turn);

#endif
