/* SPDX-License-Identifier: MIT */
/*
 * A lock for objects of which a process has only one (the default pool, the default wheel, the
 * watches of descriptors). One thread at a time has the lock. If a thread has the lock during a
 * fork, the lock is free in the child.
 */
#ifndef BATON_SRC_SOLE_H
#define BATON_SRC_SOLE_H

#include <stdint.h>

/*
 * begin: waits until the calling thread has the lock. end: releases the lock. `lock`: the word, 0
 * at first. The caller looks at the object after begin: another thread may have made it before.
 */
void baton__sole_begin(uint32_t *lock);
void baton__sole_end(uint32_t *lock);

#endif
