/* SPDX-License-Identifier: MIT */
/*
 * The heap of deadlines. A link's _next is its left child, _prev the right one.
 */
#include "companion/mainloop/heap.h"

#include "base/platform.h"

#include <stdbool.h>
#include <stddef.h>

static struct baton_source *source_of(struct baton_source_link *link)
{
	return baton_container_of(link, struct baton_source, _link);
}

static bool due_before(struct baton_source_link *a, struct baton_source_link *b)
{
	const struct baton_source *first = source_of(a);
	const struct baton_source *second = source_of(b);

	return first->_due != second->_due ? first->_due < second->_due
	                                   : first->_order < second->_order;
}

static uint8_t rank(struct baton_source_link *link)
{
	return link ? source_of(link)->_rank : 0;
}

/* Restores heap.rank for a link whose children obey it. True: the rank of the link has changed. */
static bool mend(struct baton_source_link *link)
{
	struct baton_source_link *left = link->_next;
	uint8_t height;

	if (rank(left) < rank(link->_prev)) {
		link->_next = link->_prev;
		link->_prev = left;
	}
	height = (uint8_t)(rank(link->_prev) + 1);
	if (source_of(link)->_rank == height)
		return false;
	source_of(link)->_rank = height;
	return true;
}

/* Makes one heap of two, of which one or both may be empty, and returns its root. */
static struct baton_source_link *merge(struct baton_source_link *a, struct baton_source_link *b)
{
	struct baton_source_link *root = NULL;
	struct baton_source_link *last = NULL;
	struct baton_source_link **end = &root;

	/* Ends with the shorter one of two paths to the right. */
	while (a && b) {
		if (due_before(b, a)) {
			struct baton_source_link *other = a;

			a = b;
			b = other;
		}
		*end = a;
		a->_up = last;
		last = a;
		end = &a->_prev;
		a = a->_prev;
	}
	*end = a ? a : b;
	if (*end)
		(*end)->_up = last;
	/* Ends at the root: as many links as the loop above has passed. */
	for (; last; last = last->_up)
		(void)mend(last);
	return root;
}

void baton__heap_insert(struct baton_source_link **heap, struct baton_source *source)
{
	source->_link = (struct baton_source_link){NULL, NULL, NULL};
	source->_rank = 1;
	*heap = merge(*heap, &source->_link);
}

void baton__heap_remove(struct baton_source_link **heap, struct baton_source *source)
{
	struct baton_source_link *up = source->_link._up;
	struct baton_source_link *merged = merge(source->_link._next, source->_link._prev);

	if (merged)
		merged->_up = up;
	if (!up)
		*heap = merged;
	else if (up->_next == &source->_link)
		up->_next = merged;
	else
		up->_prev = merged;
	/* Ends at the root at the latest. The ranks that change lie on one path to the right. */
	while (up && mend(up))
		up = up->_up;
	source->_link = (struct baton_source_link){NULL, NULL, NULL};
}
