/* SPDX-License-Identifier: MIT */
/*
 * Dependencies between sources. A source that has one has a record, with its edges to parents and
 * children. The owner only.
 *
 * Invariants:
 * depend.busy: `busy` of a record says what the owner has last settled of the source: it is active,
 *    or runs. `blockers` is the number of edges to parents that are busy.
 * depend.acyclic: No path of edges leads from a source back to it.
 */
#ifndef BATON_SRC_DEPEND_H
#define BATON_SRC_DEPEND_H

#include "mainloop/mainloop.h"

struct baton__edge;

struct baton__dependent {
	struct baton_source *source;
	struct baton__edge *parents;  /* edges to these */
	struct baton__edge *children; /* edges from this */
	size_t blockers;
	bool busy;
	uint64_t searched;              /* the search that has met this record */
	struct baton__dependent *found; /* the parent's record, from which the search came here */
	struct baton__dependent *queue; /* the next one to be searched */
	struct baton__dependent *next;  /* of the loop's records */
	struct baton__dependent **prev;
};

/* Notes whether the source is busy. If that has changed, its children are held back, or go on. */
void baton__dependent_tell(struct baton__mainloop *loop, struct baton__dependent *dependent,
                           bool busy);

/* Is the source held back by a parent? */
BATON_INLINE bool baton__dependent_held(const struct baton__dependent *dependent)
{
	return dependent && dependent->blockers;
}

/* Ends all dependencies of a source, whose memory may be gone, and frees the record. */
void baton__dependent_end(struct baton__mainloop *loop, struct baton__dependent *dependent);

/* Ends all dependencies of all sources. */
void baton__dependents_end(struct baton__mainloop *loop);

#endif
