/* SPDX-License-Identifier: MIT */
/*
 * A heap of sources by deadline and, within one deadline, by order of start. Intrusive: no
 * operation allocates. Insertion and removal cost O(log n), the earliest O(1).
 *
 * Invariants:
 * heap.order: No source comes before its parent.
 * heap.rank: The rank of a source is the length of its path to the right. The right child's rank
 *    is at most the left child's (leftist). So a path to the right has at most log2(n + 1) sources.
 *
 * Source: C. A. Crane, "Linear Lists and Priority Queues as Balanced Binary Trees", 1972; D. E.
 * Knuth, The Art of Computer Programming 3, 5.2.3.
 */
#ifndef BATON_SRC_HEAP_H
#define BATON_SRC_HEAP_H

#include <baton/mainloop.h>

/* `_due` and `_order` of the source are set, and do not change while it is in the heap. */
void baton__heap_insert(struct baton_source_link **heap, struct baton_source *source);

void baton__heap_remove(struct baton_source_link **heap, struct baton_source *source);

#endif
