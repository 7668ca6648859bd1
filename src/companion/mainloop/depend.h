/* SPDX-License-Identifier: MIT */
/*
 * Dependencies between sources. A source that has dependencies has a record, with its edges to
 * parents and children. Only the owner uses records.
 *
 * Invariants:
 * depend.busy: `busy` of a record says that the source was ACTIVE or RUNNING when the owner last
 *    settled it. `blockers` is the number of edges to parents that are busy.
 * depend.acyclic: No path of edges leads from a source back to it.
 */
#ifndef BATON_SRC_DEPEND_H
#define BATON_SRC_DEPEND_H

#include "companion/mainloop/mainloop.h"

/*
 * Brings the source's place into line with `word`, as baton__source_place does (places.h). Tells
 * the source's children whether the source is busy: a busy source holds its children back.
 */
void baton__source_settle(struct baton__mainloop *loop, struct baton_source *source, uint64_t word);

/* Ends all dependencies of a source, whose memory may be gone, and frees the record. */
void baton__dependent_end(struct baton__mainloop *loop, struct baton__dependent *dependent);

/* Ends the dependencies of a source that is still there, if it has any. The owner. */
void baton__source_undepend(struct baton__mainloop *loop, struct baton_source *source);

/* Ends all dependencies of all sources. */
void baton__dependents_end(struct baton__mainloop *loop);

#endif
