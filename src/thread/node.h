/* SPDX-License-Identifier: MIT */
/*
 * Memory for the library's own tasks and futures. Nodes have two sizes; each thread has a cache of
 * each size. Any thread may free a node. The node goes home, in a batch, to the cache of the thread
 * that has allocated it: so a producer and its runner use the same memory again. Caches are
 * bounded: a node that its cache has no room for goes to the slabs of its home (slab.h), and from
 * there to the system.
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

/* The bytes of a node before its body. */
#define BATON__NODE_HEADER_SIZE 16

/* The largest body of a small node, which is one cache line (a post is small); of a large node. */
#define BATON__NODE_SMALL_SIZE 48
#define BATON__NODE_BODY_SIZE 112

#define BATON__NODE_SIZES 2

#define BATON__BUNDLE_OTHERS 6
#define BATON__WINDOW_WORDS ((BATON_SLAB_SIZE + 4095) / 4096) /* of 64 cache lines */

#ifdef __has_feature /* clang */
#define BATON__NODE_ASAN __has_feature(address_sanitizer)
#else
#define BATON__NODE_ASAN 0
#endif

/* 0: each node is an allocation of its own. Slabs hide the use of a freed node from a memory
 * checker. */
#ifndef BATON_NODE_SLABS
#if defined(__SANITIZE_ADDRESS__) || BATON__NODE_ASAN
#define BATON_NODE_SLABS 0
#else
#define BATON_NODE_SLABS 1
#endif
#endif

/* Free nodes on their way home: the node in which the bundle lies, and others, up to the first
 * NULL. */
struct baton__bundle {
	struct baton__bundle *next;
	struct baton__node_cache *home;
	struct baton__node *others[BATON__BUNDLE_OTHERS];
};

/* Bundles with one home, collected to be sent there. */
struct baton__parcel {
	struct baton__bundle *first; /* NULL: the parcel is empty */
	struct baton__bundle *last;
	uint32_t count;  /* of the nodes */
	uint32_t others; /* in the last bundle */
};

/*
 * The free nodes of one slab, as a bitmap: a node is the bit of its first cache line. They are used
 * in the order of their addresses: the runner that walks over the tasks in them finds equal steps,
 * and fetches them ahead (core/contention.h).
 */
struct baton__window {
	uintptr_t slab;
	uint64_t now; /* bits of `word` to use up first; bits[word] has newer bits */
	uint32_t word;
	uint32_t count; /* of all bits */
	uint64_t bits[BATON__WINDOW_WORDS];
};

/* A thread's free nodes of one size. Part of a thread's record, so never freed. */
struct baton__node_cache {
	struct baton__node *nodes;   /* free nodes, owner only */
	uint32_t count;              /* of `nodes`, not exact; at CACHE_MAX the list is full */
	struct baton__window window; /* other free nodes, owner only */
	struct baton__bundle *returned BATON_CACHE_ALIGNED; /* any thread pushes, or takes all */
	uint32_t returned_count;                            /* of `returned`, not exact */
	uint32_t sparse;           /* not 0: nodes go straight to the slabs, see give_back_sparse */
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
 * Returns the body of a node: at least `size` bytes (at most BODY_SIZE), aligned to 16. NULL: no
 * memory. The calling thread must be attached (thread.h).
 */
void *baton__node_alloc(size_t size);
void baton__node_free(void *body);

/*
 * For a thread that gives its record back: sends its parcel home, and empties the caches whose
 * slabs are sparse. Called by the record's thread.
 */
void baton__node_flush(struct baton__thread *thread);

/* In a fork's child: repairs the slabs of a record, which a lost thread may have been changing. */
void baton__node_forked(struct baton__thread *thread);

#endif
