/* SPDX-License-Identifier: MIT */
/* A peer's parallel loop over a range of indices, in chunks; the caller takes part. */
#ifndef BATON_BENCH_PEERS_PARALLEL_H
#define BATON_BENCH_PEERS_PARALLEL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*peer_chunk_fn)(void *argument, size_t begin, size_t end);

/* oneTBB's parallel_for, in its default arena, with its default partitioner; NULL: not present. */
extern void (*const peer_tbb_parallel_for)(size_t count, peer_chunk_fn run, void *argument);

#ifdef __cplusplus
}
#endif

#endif
