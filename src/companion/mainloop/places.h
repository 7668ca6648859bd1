/* SPDX-License-Identifier: MIT */
/*
 * Where the owner keeps a loop's active sources: a list for each priority, the heap of deadlines,
 * and two lists for sources that wait. The owner only.
 */
#ifndef BATON_SRC_PLACES_H
#define BATON_SRC_PLACES_H

#include "companion/mainloop/mainloop.h"

/* Makes the lists empty. */
void baton__places_init(struct baton__mainloop *loop);

/*
 * Brings the source's place into line with `word`, the word that the owner has read
 * (mainloop.place). A source that is in its place already keeps it.
 */
void baton__source_place(struct baton__mainloop *loop, struct baton_source *source, uint64_t word);

/* ready: makes the source READY, since its descriptor is ready. retry: puts the source to its
 * descriptor again after a while. */
void baton__places_ready(struct baton__mainloop *loop, struct baton_source *source);
void baton__places_retry(struct baton__mainloop *loop, struct baton_source *source);

/* Takes the source out of its place. */
void baton__source_unlink(struct baton__mainloop *loop, struct baton_source *source);

/* Brings the time forward to `now`: sources whose deadlines have come become ready. */
void baton__places_expire(struct baton__mainloop *loop, uint64_t now);

/* The earliest deadline in the heap; BATON_NEVER: none. */
uint64_t baton__places_next(const struct baton__mainloop *loop);

/* The next source to run, of these priorities; it stays in its place. NULL: none is ready. */
struct baton_source *baton__places_pick(struct baton__mainloop *loop, uint32_t levels);

/* Asks each CUSTOM that waits to be asked. */
void baton__places_ask(struct baton__mainloop *loop);

/* Some source in one of the places; NULL: none is active. For the loop's end. */
struct baton_source *baton__places_any(struct baton__mainloop *loop);

BATON_INLINE bool baton__links_empty(const struct baton_source_link *list)
{
	return list->_next == list;
}

#endif
