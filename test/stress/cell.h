/* SPDX-License-Identifier: MIT */
/*
 * The test's memory: cells of one size, taken and given back by any thread, reused at once and last
 * in, first out. A cell that is given back is filled with a pattern, which must still be there when
 * the cell is taken again. So a write to memory that was given back is found by the pattern, by
 * ThreadSanitizer (the filling is a plain write) or by AddressSanitizer (the cell is poisoned).
 */
#ifndef BATON_TEST_STRESS_CELL_H
#define BATON_TEST_STRESS_CELL_H

#include <stdint.h>

#define CELL_SIZE 448
#define CELL_CACHE_MAX 64

/* One thread's free cells. */
struct cell_cache {
	void *cells[CELL_CACHE_MAX];
	uint32_t count;
	int64_t taken; /* number of cells taken, minus those given back */
};

void *cell_take(void);
void cell_give(void *cell);

/* Checks the pattern of every free cell. Call it while all threads are at rest. */
void cell_check_all(void);

#endif
