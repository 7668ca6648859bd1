/* SPDX-License-Identifier: MIT */
/* The heap of deadlines: no child before its parent, and short paths to the right. */
#include "support.h"

#include "companion/mainloop/heap.h"
#include "companion/mainloop/mainloop.h"

enum { SOURCES = 257 };

static const struct baton_source *source_at(const struct baton_source_link *link)
{
	return baton_container_of(link, struct baton_source, _link);
}

/* The rank of a heap that obeys heap.order and heap.rank; -1: it does not. */
static int rank_of(const struct baton_source_link *root)
{
	const struct baton_source_link *children[] = {root->_next, root->_prev};
	int ranks[] = {0, 0};

	for (int i = 0; i < 2; i++) {
		if (!children[i])
			continue;
		ranks[i] = rank_of(children[i]);
		if (ranks[i] < 0 || children[i]->_up != root ||
		    source_at(children[i])->_due < source_at(root)->_due)
			return -1;
	}
	if (ranks[0] < ranks[1] || source_at(root)->_rank != ranks[1] + 1)
		return -1;
	return ranks[1] + 1;
}

Test(heap, keeps_its_order_and_its_ranks_while_sources_come_and_go, .timeout = 10)
{
	static struct baton_source sources[SOURCES];
	struct baton_source_link *heap = NULL;

	for (uint32_t i = 0; i < SOURCES; i++) {
		sources[i]._due = i * 101 % SOURCES;
		sources[i]._place = BATON__HEAP;
		baton__heap_insert(&heap, &sources[i]);
		cr_assert_gt(rank_of(heap), 0, "insert %u", i);
	}
	for (uint32_t i = 0; i + 1 < SOURCES; i++) {
		baton__heap_remove(&heap, &sources[i * 89 % SOURCES]);
		cr_assert_gt(rank_of(heap), 0, "remove %u", i);
	}
	cr_assert_eq(heap, &sources[(SOURCES - 1) * 89 % SOURCES]._link);
}
