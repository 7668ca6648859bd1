/* SPDX-License-Identifier: MIT */
/*
 * Slabs, the memory of the library's own nodes. A slab is a mapping of SLAB_SIZE bytes, aligned to
 * its size, and holds pieces of one size. One owner at a time takes pieces; any thread gives pieces
 * back. A slab whose pieces are all back is unmapped, but SLAB_SPARES such slabs stay mapped.
 *
 * Invariants:
 * slab.filed: The file is `unfiled`, `listed`, `spares` and the headers of the slabs. Only the
 *    thread that holds the file (bit HELD of `pile`) touches these.
 * slab.cut: `next_cut` and `cut_end` are the owner's. They bound the rest of the newest slab, from
 *    which no piece has been taken yet. A slab with such a rest is never full of filed pieces, so
 *    it is not unmapped.
 * slab.listed: A slab is in `listed` while its own list holds at least one piece.
 * slab.era: A piece whose slab has an older era than the file is not filed: a fork has interrupted
 *    the thread that held the file, and the lists of the older era may be half changed.
 * slab.rest: When no thread gives or takes pieces any more, all given pieces are filed. A holder
 *    files FILED_MAX pieces at a time, lets the file go, and goes on unless another thread has
 *    taken the file within PAUSES pauses.
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
#define BATON_SLAB_PAUSES 16U
#endif

/* A file with at most this many slabs is never sparse. */
#define BATON_SLAB_FEW 8U

/* A free piece. The bytes behind `next` are as the last user left them. */
struct baton__piece {
	struct baton__piece *next;
};

/* Lies at the beginning of the slab, in the place of the first piece. */
struct baton__slab {
	struct baton__slab *next; /* slab.listed */
	struct baton__slab *previous;
	struct baton__piece *free; /* the slab's own list: filed pieces */
	uint32_t free_count;
	uint32_t era; /* slab.era */
};

/* The slabs of one owner. Initial value: all zero but `piece_size`. */
struct baton__slabs {
	char *next_cut; /* slab.cut */
	char *cut_end;
	uint64_t taken;      /* number of pieces, ever; the owner's */
	uint32_t mapped;     /* number of slabs, ever; the owner's */
	uint32_t piece_size; /* constant: at least the header's size, divides SLAB_SIZE */
	/* the newest piece given and not yet taken off; bit HELD */
	uintptr_t pile BATON_CACHE_ALIGNED;
	struct baton__piece *unfiled; /* pieces taken from the pile that are not filed yet */
	struct baton__slab *listed;
	uint64_t filed;    /* number of pieces, ever; the holder's */
	uint32_t unmapped; /* number of slabs, ever; the holder's */
	uint32_t spares;   /* slabs in `listed` whose pieces are all filed */
	uint32_t era;      /* slab.era */
};

/*
 * Takes a list of `*count` pieces: one piece that was never used, or the filed pieces of a slab.
 * NULL: no memory. Called by the owner. Progress: waits for no thread.
 */
struct baton__piece *baton__slabs_take(struct baton__slabs *slabs, uint32_t *count);

/*
 * Gives back the list from `first` to `last`. Any thread. Progress: waits for no thread. The thread
 * that gives last may have to file all pieces that have come onto the pile while another thread was
 * stopped.
 */
void baton__slabs_give(struct baton__slabs *slabs, struct baton__piece *first,
                       struct baton__piece *last);

/*
 * Are there more than SLAB_FEW slabs, and less than one piece in eight in use? Any thread; a guess
 * while another thread takes or gives.
 */
bool baton__slabs_sparse(const struct baton__slabs *slabs);

/* In a fork's child: forgets the slabs of a file that a thread held in the parent (slab.era). */
void baton__slabs_forked(struct baton__slabs *slabs);

/* The number of slabs that are mapped in the process. */
uint32_t baton__slabs_mapped(void);

#endif
