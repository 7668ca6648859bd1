/* SPDX-License-Identifier: MIT */
/*
 * The bytes of heap and slabs that are in use. A sanitizer's heap does not tell: there each check
 * succeeds. musl's does not, either: there only slabs count.
 */
#ifndef BATON_TEST_UNIT_HEAP_H
#define BATON_TEST_UNIT_HEAP_H

#include "support.h"

#include "thread/slab.h"

#include <malloc.h>

static inline size_t heap_in_use(void)
{
	size_t heap = 0;

#ifdef __GLIBC__
	struct mallinfo2 info = mallinfo2();

	heap = info.uordblks + info.hblkhd;
#endif
	return heap + (size_t)baton__slabs_mapped() * BATON_SLAB_SIZE;
}

/* Did the heap grow by less than `bound` since `before`? */
static inline bool grown_less(size_t before, size_t bound)
{
	size_t after = heap_in_use();
	bool less = after < before + bound;

	if (!less && !BATON_TEST_SANITIZED)
		fprintf(stderr, "heap: %zu bytes before, %zu after\n", before, after);
	return less || BATON_TEST_SANITIZED;
}

#endif
