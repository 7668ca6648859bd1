/* SPDX-License-Identifier: MIT */
/*
 * Slabs, the memory of the library's own nodes. A slab is a mapping of SLAB_SIZE bytes, aligned to
 * its size, and holds pieces of one size. One owner at a time takes pieces; any thread gives
 * pieces back. A slab whose pieces are all back is unmapped, save for SLAB_SPARES of them.
 *
 * Invariants:
 * slab.filed   The thread that holds the file (bit HELD of `pile`) has `unfiled`, `listed`,
 *              `spares` and the headers of all slabs to itself.
 * slab.cut     `next_cut` and `cut_end` are the owner's: the rest of the newest slab, from which no
 *              piece has been taken yet. A slab with such a rest is never full of filed pieces, so
 *              it is not unmapped.
 * slab.listed  A slab is in the list `listed` while at least one of its pieces is in its own list.
 * slab.era     A piece whose slab is of an older era than the file is left where it is: a fork
 *              has interrupted the thread that held the file, and the lists may be half changed.
 */
#ifndef BATON_SRC_SLAB_H
#define BATON_SRC_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/platform.h"

#ifndef BATON_SLAB_SIZE /* the explorer makes these small */
#define BATON_SLAB_SIZE 65536U
#define BATON_SLAB_SPARES 2U
#define BATON_SLAB_FILED_MAX 1024U
#endif

/* A file with at most this many slabs is never sparse. */
#define BATON_SLAB_FEW 8U

/* A piece that nobody uses. All else of the piece belongs to its last user. */
struct baton__piece {
	struct baton__piece *next;
};

/* Lies at the beginning of the slab, in the place of the first piece. */
struct baton__slab {
	struct baton__slab *next; /* slab.listed */
	struct baton__slab *previous;
	struct baton__piece *free; /* pieces that have been filed here */
	uint32_t free_count;
	uint32_t era; /* slab.era */
};

/* The slabs of one owner. All zero but `piece_size`: there are none. */
struct baton__slabs {
	char *next_cut; /* slab.cut */
	char *cut_end;
	uint64_t taken;      /* pieces, ever; the owner's */
	uint32_t mapped;     /* slabs, ever; the owner's */
	uint32_t piece_size; /* constant: at least the header's size, divides SLAB_SIZE */
	uintptr_t pile BATON_CACHE_ALIGNED; /* pieces given and not yet taken in, and HELD */
	struct baton__piece *unfiled;       /* pieces taken from the pile that are not filed yet */
	struct baton__slab *listed;
	uint64_t filed;    /* pieces, ever; the holder's */
	uint32_t unmapped; /* slabs, ever; the holder's */
	uint32_t spares;   /* slabs in the list whose pieces are all there */
	uint32_t era;      /* slab.era */
};

/*
 * Takes pieces: a list, and how many they are. A piece that has never been used is a list of one.
 * NULL: no memory. The owner only. Progress: waits for nobody.
 */
struct baton__piece *baton__slabs_take(struct baton__slabs *slabs, uint32_t *count);

/* Gives back the list from `first` to `last`. Any thread. Progress: waits for nobody. */
void baton__slabs_give(struct baton__slabs *slabs, struct baton__piece *first,
                       struct baton__piece *last);

/*
 * Are there many slabs, and at most one piece in eight is out? Any thread; a guess while others
 * take or give.
 */
bool baton__slabs_sparse(const struct baton__slabs *slabs);

/* In a fork's child: forgets what a thread that is not here any more had begun to file. */
void baton__slabs_forked(struct baton__slabs *slabs);

/* How many slabs there are in the whole process. */
uint32_t baton__slabs_mapped(void);

#endif
