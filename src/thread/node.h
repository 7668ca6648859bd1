/* SPDX-License-Identifier: MIT */
/*
 * Memory for the library's own tasks and futures: two sizes, a cache of each per thread. Any thread
 * may free a node; it goes home, in batches, to the cache of the thread that allocated it, so that
 * a producer and its runner do not wander through ever new memory. Caches are bounded: what exceeds
 * them goes back to the slabs of the cache that the node is from (slab.h), and from there to the
 * system.
 */
#ifndef BATON_SRC_NODE_H
#define BATON_SRC_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/platform.h"
#include "thread/slab.h"

struct baton__thread;
struct baton__node;

/* Bytes of a node that are not its body's. */
#define BATON__NODE_HEADER_SIZE 16

/* The largest bodies: of a node of one cache line (a post's), and of any node. */
#define BATON__NODE_SMALL_SIZE 48
#define BATON__NODE_BODY_SIZE 112

#define BATON__NODE_SIZES 2

#ifdef __has_feature /* clang */
#define BATON__NODE_ASAN __has_feature(address_sanitizer)
#else
#define BATON__NODE_ASAN 0
#endif

/*
 * 0: each node is an allocation of its own. Slabs would hide the use of a freed node from a memory
 * checker.
 */
#ifndef BATON_NODE_SLABS
#if defined(__SANITIZE_ADDRESS__) || BATON__NODE_ASAN
#define BATON_NODE_SLABS 0
#else
#define BATON_NODE_SLABS 1
#endif
#endif

/* A thread's free nodes of one size. Part of a record, so never freed. */
struct baton__node_cache {
	struct baton__node *nodes; /* free nodes, owner only */
	uint32_t count;            /* of these, about; CACHE_MAX: it takes no more */
	struct baton__node *returned BATON_CACHE_ALIGNED; /* any thread pushes, or takes all */
	uint32_t returned_count;                          /* of these, about */
	uint32_t sparse;           /* nodes go straight to the slabs: see give_back */
	struct baton__slabs slabs; /* where the nodes are from */
};

/* The initial value of a record's caches. */
#define BATON__NODE_CACHES_INIT                                                                    \
	{                                                                                          \
		{.slabs = {.piece_size = BATON__NODE_HEADER_SIZE + BATON__NODE_SMALL_SIZE}},       \
		{                                                                                  \
			.slabs = {.piece_size = BATON__NODE_HEADER_SIZE + BATON__NODE_BODY_SIZE }  \
		}                                                                                  \
	}

/*
 * A node's body of at least `size` bytes, at most BODY_SIZE, aligned to 16 bytes. NULL: no memory.
 * The calling thread must be attached (thread.h).
 */
void *baton__node_alloc(size_t size);
void baton__node_free(void *body);

/*
 * The thread gives its record back: sends home what it has collected, and gives back what keeps
 * many slabs from being unmapped. The record's own thread only.
 */
void baton__node_flush(struct baton__thread *thread);

/* In a fork's child: the caches of a record; the threads that gave nodes back are not here. */
void baton__node_forked(struct baton__thread *thread);

#endif
