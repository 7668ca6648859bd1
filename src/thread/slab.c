/* SPDX-License-Identifier: MIT */
/*
 * Slabs. Pieces that are given back are filed: each goes to its slab's own list, and the slab's
 * header counts the pieces there (the file, slab.filed). One thread at a time holds the file, but
 * no thread waits for the file: a thread that finds the file held leaves its pieces on the pile,
 * and the holder looks at the pile before it lets go. (A submitter does the same with a busy
 * resource.)
 *
 * The word `pile`: the address of the newest piece on the pile, or NULL; bit HELD: a thread holds
 * the file.
 *	0 -> HELD, p -> p|HELD	hold_file: the owner looks for pieces; or let_go goes on
 *	p -> q|HELD		give: q before p; a giver that finds HELD clear files
 *	p|HELD -> q|HELD	give: q before p; the holder will find q
 *	p|HELD -> HELD		file: the holder takes the pile
 *	HELD -> 0		release_hold
 *	p|HELD -> p		release_hold, after FILED_MAX pieces: let_go says who goes on
 * ABA: no thread takes single pieces off the pile; the holder takes all.
 *
 * Source: mimalloc's free lists per page. The pile works as a resource's inbox does.
 */
#include "thread/slab.h"

#include "base/atomic.h"

#include <sys/mman.h>

#define HELD ((uintptr_t)1)

_Static_assert((BATON_SLAB_SIZE & (BATON_SLAB_SIZE - 1)) == 0, "a piece finds its slab by masking");
_Static_assert(sizeof(struct baton__slab) <= 64, "the header fits in the smallest piece");

static uint32_t mapped;

uint32_t baton__slabs_mapped(void)
{
	return load_relaxed(&mapped);
}

static struct baton__slab *slab_of(struct baton__piece *piece)
{
	return (struct baton__slab *)((uintptr_t)piece & ~(uintptr_t)(BATON_SLAB_SIZE - 1));
}

static void *map_pages(size_t size, int flags)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
	                    -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/*
 * `flags`: MAP_POPULATE for a slab that will be used whole soon: one fault, not one for each page.
 * The kernel puts mappings of one size one below the other, so mostly the first attempt is aligned.
 */
static struct baton__slab *map_slab(int flags)
{
	char *memory = map_pages(BATON_SLAB_SIZE, flags);
	size_t before;

	if (memory && (uintptr_t)memory % BATON_SLAB_SIZE) {
		(void)munmap(memory, BATON_SLAB_SIZE);
		memory = map_pages(2 * BATON_SLAB_SIZE, 0);
		if (!memory)
			return NULL;
		before = -(uintptr_t)memory % BATON_SLAB_SIZE;
		/* If a part cannot be unmapped, it stays, untouched: it costs addresses, no
		 * memory. */
		if (before)
			(void)munmap(memory, before);
		memory += before;
		(void)munmap(memory + BATON_SLAB_SIZE, BATON_SLAB_SIZE - before);
	}
	if (memory)
		(void)add_relaxed(&mapped, 1); /* a counter */
	return (struct baton__slab *)(void *)memory;
}

static bool unmap_slab(struct baton__slab *slab)
{
	/* munmap fails if the process has too many mappings: a hole makes two mappings of one. */
	if (munmap(slab, BATON_SLAB_SIZE))
		return false;
	(void)sub_relaxed(&mapped, 1);
	return true;
}

/* ---- Called by the holder of the file ---- */

static void list_slab(struct baton__slabs *slabs, struct baton__slab *slab)
{
	slab->previous = NULL;
	slab->next = slabs->listed;
	if (slabs->listed)
		slabs->listed->previous = slab;
	slabs->listed = slab;
}

static void unlist_slab(struct baton__slabs *slabs, struct baton__slab *slab)
{
	if (slab->previous)
		slab->previous->next = slab->next;
	else
		slabs->listed = slab->next;
	if (slab->next)
		slab->next->previous = slab->previous;
}

/* Are all pieces of the slab filed? The header lies in the place of the first piece. */
static bool is_full(const struct baton__slabs *slabs, const struct baton__slab *slab)
{
	return slab->free_count == BATON_SLAB_SIZE / slabs->piece_size - 1;
}

static void file_piece(struct baton__slabs *slabs, struct baton__piece *piece)
{
	struct baton__slab *slab = slab_of(piece);

	if (slab->era != slabs->era)
		return;
	piece->next = slab->free;
	slab->free = piece;
	if (slab->free_count++ == 0)
		list_slab(slabs, slab);
	if (!is_full(slabs, slab))
		return;
	if (slabs->spares >= BATON_SLAB_SPARES) {
		unlist_slab(slabs, slab);
		if (unmap_slab(slab)) {
			store_relaxed(&slabs->unmapped, slabs->unmapped + 1);
			return;
		}
		list_slab(slabs, slab);
	}
	slabs->spares++;
}

/* Files at most `*room` pieces, and subtracts their number from `*room`. */
static void file(struct baton__slabs *slabs, uint32_t *room)
{
	struct baton__piece *piece = slabs->unfiled;
	uint32_t before = *room;

	/* [slab.give] acquire: the pieces as their last users left them; pairs with [slab.give] in
	 * baton__slabs_give */
	if (!piece)
		piece = (void *)(swap_acquire(&slabs->pile, HELD) & ~HELD);
	while (piece && *room) {
		struct baton__piece *next = piece->next;

		file_piece(slabs, piece);
		piece = next;
		(*room)--;
	}
	slabs->unfiled = piece;
	store_relaxed(&slabs->filed, slabs->filed + before - *room);
}

/* Tries to hold the file. False: another thread holds it, or has just held it. */
static bool hold_file(struct baton__slabs *slabs)
{
	uintptr_t seen = load_relaxed(&slabs->pile);

	/* [slab.hold] acquire: the file as the last holder left it; pairs with [slab.hold] in
	 * release_hold. A CAS that fails has met another thread that has taken the file. */
	return !(seen & HELD) && cas_acquire(&slabs->pile, &seen, seen | HELD);
}

/*
 * Lets go of the file. Before that, files at most `*room` pieces that have come meanwhile. True:
 * unfiled pieces are left.
 */
static bool release_hold(struct baton__slabs *slabs, uint32_t *room)
{
	uintptr_t seen = load_relaxed(&slabs->pile);

	/* Ends: a round files pieces while there is room, or fails because another thread has given
	 * pieces. */
	for (;;) {
		bool rest = slabs->unfiled || seen != HELD;

		if (*room && rest) {
			file(slabs, room);
			seen = load_relaxed(&slabs->pile);
			continue;
		}
		/* [slab.hold] release: the file as this thread leaves it; pairs with [slab.hold]
		 * in baton__slabs_give and hold_file */
		if (cas_release(&slabs->pile, &seen, seen & ~HELD))
			return rest;
	}
}

/*
 * Lets go of the file for good. A holder that leaves unfiled pieces pauses, so that another thread
 * can hold the file. If none does, the holder goes on: otherwise the pieces would keep their slabs
 * mapped until a thread gives again.
 */
static void let_go(struct baton__slabs *slabs, uint32_t room)
{
	/* Ends: each round files FILED_MAX pieces, and each thread that gives a piece between two
	 * rounds holds the file, and ends this loop. */
	while (release_hold(slabs, &room)) {
		for (uint32_t i = 0; i < BATON_SLAB_PAUSES; i++)
			baton__pause();
		if (!hold_file(slabs))
			return;
		room = BATON_SLAB_FILED_MAX;
	}
}

/* ---- API ---- */

void baton__slabs_give(struct baton__slabs *slabs, struct baton__piece *first,
                       struct baton__piece *last)
{
	uintptr_t seen = load_relaxed(&slabs->pile);

	/* Ends: each failure is another thread that has given pieces, or the holder that has taken
	 * all or lets go.
	 * [slab.give] release: our use of the pieces; pairs with [slab.give] in file.
	 * [slab.hold] acquire: the file as the last holder left it; pairs with [slab.hold] in
	 * release_hold. If the file is held, the last touch of the pieces. */
	do {
		last->next = (struct baton__piece *)(seen & ~HELD);
	} while (!cas_acq_rel(&slabs->pile, &seen, (uintptr_t)first | HELD));
	if (!(seen & HELD))
		let_go(slabs, BATON_SLAB_FILED_MAX);
}

/* Takes the filed pieces of one slab. NULL: there are none, or another thread holds the file. */
static struct baton__piece *take_filed(struct baton__slabs *slabs, uint32_t *count)
{
	struct baton__piece *pieces = NULL;
	uint32_t room = BATON_SLAB_FILED_MAX;
	struct baton__slab *slab;

	if (!hold_file(slabs))
		return NULL;
	if (slabs->unfiled || load_relaxed(&slabs->pile) != HELD)
		file(slabs, &room);
	slab = slabs->listed;
	if (slab) {
		pieces = slab->free;
		*count = slab->free_count;
		store_relaxed(&slabs->taken, slabs->taken + *count);
		if (is_full(slabs, slab))
			slabs->spares--;
		slab->free = NULL;
		slab->free_count = 0;
		unlist_slab(slabs, slab);
	}
	let_go(slabs, room);
	return pieces;
}

static bool map_newest(struct baton__slabs *slabs)
{
	struct baton__slab *slab = map_slab(slabs->next_cut ? MAP_POPULATE : 0);

	if (!slab)
		return false;
	/* The era changes only in a fork's child, before its thread comes here. */
	*slab = (struct baton__slab){.era = slabs->era};
	slabs->next_cut = (char *)slab + slabs->piece_size;
	slabs->cut_end = (char *)slab + BATON_SLAB_SIZE;
	store_relaxed(&slabs->mapped, slabs->mapped + 1);
	return true;
}

struct baton__piece *baton__slabs_take(struct baton__slabs *slabs, uint32_t *count)
{
	struct baton__piece *piece;

	if (slabs->next_cut == slabs->cut_end) {
		piece = take_filed(slabs, count);
		if (piece)
			return piece;
		if (!map_newest(slabs))
			return NULL;
	}
	piece = (struct baton__piece *)(void *)slabs->next_cut;
	slabs->next_cut += slabs->piece_size;
	piece->next = NULL;
	*count = 1;
	store_relaxed(&slabs->taken, slabs->taken + 1);
	return piece;
}

bool baton__slabs_sparse(const struct baton__slabs *slabs)
{
	/* Relaxed: counters, for a guess. */
	uint32_t count = load_relaxed(&slabs->mapped) - load_relaxed(&slabs->unmapped);
	uint64_t out = load_relaxed(&slabs->taken) - load_relaxed(&slabs->filed);

	return count > BATON_SLAB_FEW &&
	       out * slabs->piece_size < (uint64_t)count * (BATON_SLAB_SIZE / 8);
}

void baton__slabs_forked(struct baton__slabs *slabs)
{
	if (!(load_relaxed(&slabs->pile) & HELD))
		return;
	slabs->era++;
	slabs->next_cut = NULL;
	slabs->cut_end = NULL;
	slabs->unfiled = NULL;
	slabs->listed = NULL;
	slabs->spares = 0;
	store_relaxed(&slabs->unmapped, slabs->mapped);
	store_relaxed(&slabs->pile, 0);
}
