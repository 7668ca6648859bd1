/* SPDX-License-Identifier: MIT */
/*
 * A turn to make or end an object of which a process has only one (the default pool, the default
 * wheel). One thread at a time has the turn. If a thread has the turn during a fork, the turn is
 * free in the child.
 */
#ifndef BATON_SRC_SOLE_H
#define BATON_SRC_SOLE_H

#include <stdint.h>

/*
 * begin: waits until the calling thread has the turn. end: gives the turn up. `turn`: the word, 0
 * at first. The caller looks at the object after begin: another thread may have made it before.
 */
void baton__sole_begin(uint32_t *turn);
void baton__sole_end(uint32_t *turn);

#endif
