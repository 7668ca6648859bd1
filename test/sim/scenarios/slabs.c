/* SPDX-License-Identifier: MIT */
/*
 * Slabs of three pieces (redirect.h), one spare one: an owner takes pieces, others give them back.
 */
#include "support.h"

#include "thread/node.h"
#include "thread/slab.h"
#include "thread/thread.h"

#define PIECE_SIZE 128U

static struct baton__slabs slabs = {.piece_size = PIECE_SIZE};
static struct baton__piece *pieces[6];

static struct baton__piece *take_piece(void)
{
	uint32_t count = 0;
	struct baton__piece *piece = baton__slabs_take(&slabs, &count);

	sim_require(piece != NULL && count >= 1);
	for (struct baton__piece *each = piece->next; each; each = each->next) {
		sim_require(count > 1);
		count--;
	}
	sim_require(count == 1);
	return piece;
}

/* As the last user of them, whose writes the next user may not race with. */
static void give_piece(struct baton__piece *piece)
{
	memset(piece, 1, PIECE_SIZE);
	baton__slabs_give(&slabs, piece, piece);
}

static void give_two(void *argument)
{
	struct baton__piece **two = argument;

	give_piece(two[0]);
	give_piece(two[1]);
}

static void take_six(void)
{
	for (int i = 0; i < 6; i++)
		pieces[i] = take_piece();
	sim_require(sim_allocated() == 2);
}

SIM_SCENARIO(slabs_given_back, "a slab whose pieces are all back is unmapped, whoever files them")
{
	take_six();
	sim_start(give_two, &pieces[0]);
	sim_start(give_two, &pieces[2]);
	give_two(&pieces[4]);
	sim_join_all();
	sim_require(slabs.pile == 0 && !slabs.unfiled && slabs.filed == 6);
	sim_require(sim_allocated() == 1);
}

SIM_SCENARIO(slabs_taken_again, "a piece that was given is taken again by one user, once")
{
	take_six();
	sim_start(give_two, &pieces[0]);
	sim_start(give_two, &pieces[2]);
	for (int i = 0; i < 2; i++) {
		struct baton__piece *piece = take_piece();

		while (piece) {
			struct baton__piece *next = piece->next;

			sim_require(piece != pieces[4] && piece != pieces[5]);
			memset(piece, 2, PIECE_SIZE);
			piece = next;
		}
	}
	sim_join_all();
}

/* ---- Caches: nodes are from no slabs here (redirect.h), but may take them for sparse ---- */

static void *bodies[3];

static void free_body(void *argument)
{
	void **body = argument;

	sim_require(baton__thread_attach() == 0);
	memset(*body, 1, BATON__NODE_BODY_SIZE);
	baton__node_free(*body);
	baton__node_flush(baton__self);
}

static void *take_body(void)
{
	void *body = baton__node_alloc(BATON__NODE_BODY_SIZE);

	memset(body, 2, BATON__NODE_BODY_SIZE);
	return body;
}

SIM_SCENARIO(nodes_emptied, "of a sparse cache's nodes each is taken by one thread, once")
{
	struct baton__node_cache *cache;
	void *first;
	void *second;

	sim_require(baton__thread_attach() == 0);
	for (int i = 0; i < 3; i++)
		bodies[i] = baton__node_alloc(BATON__NODE_BODY_SIZE);
	cache = &baton__self->caches[1];
	cache->slabs.mapped = BATON_SLAB_FEW + 1;
	for (int i = 0; i < 3; i++)
		sim_start(free_body, &bodies[i]);
	first = take_body();
	second = take_body();
	sim_require(first != second);
	sim_join_all();
	baton__node_free(first);
	baton__node_free(second);
	sim_no_leaks();
}
