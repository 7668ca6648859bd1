/* SPDX-License-Identifier: MIT */
/*
 * The atomics of src/base/atomic.h, counted per thread: what BATON_ATOMIC_BACKEND names when the
 * library is built for build/bench/counts.
 *
 * A read-modify-write is what costs as much as one: exchanges, additions, compare-and-swaps
 * (those that fail, too), and sequentially consistent stores, which are an exchange on x86.
 */
#ifndef BATON_BENCH_COUNTING_ATOMIC_H
#define BATON_BENCH_COUNTING_ATOMIC_H

#include <stdint.h>

struct bench_counts {
	uint64_t rmws;
	uint64_t allocations;
	uint64_t syscalls;
};

/* The calling thread's, since it began. Defined in counts/counters.c. */
extern __thread struct bench_counts bench_counts;

#define counted_rmw(operation) (bench_counts.rmws++, (operation))

#define load_relaxed(word) __atomic_load_n((word), __ATOMIC_RELAXED)
#define load_acquire(word) __atomic_load_n((word), __ATOMIC_ACQUIRE)
#define load_seq_cst(word) __atomic_load_n((word), __ATOMIC_SEQ_CST)

#define store_relaxed(word, value) __atomic_store_n((word), (value), __ATOMIC_RELAXED)
#define store_release(word, value) __atomic_store_n((word), (value), __ATOMIC_RELEASE)
#define store_seq_cst(word, value) counted_rmw(__atomic_store_n((word), (value), __ATOMIC_SEQ_CST))

#define swap_with_order(word, value, order)                                                        \
	counted_rmw(__atomic_exchange_n((word), (value), (order)))
#define swap_acquire(word, value) swap_with_order(word, value, __ATOMIC_ACQUIRE)
#define swap_release(word, value) swap_with_order(word, value, __ATOMIC_RELEASE)
#define swap_acq_rel(word, value) swap_with_order(word, value, __ATOMIC_ACQ_REL)
#define swap_seq_cst(word, value) swap_with_order(word, value, __ATOMIC_SEQ_CST)

#define cas_with_order(word, expected, value, order)                                               \
	counted_rmw(__atomic_compare_exchange_n((word), (expected), (value), 0, (order),           \
	                                        __ATOMIC_RELAXED))
#define cas_relaxed(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_RELAXED)
#define cas_acquire(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_ACQUIRE)
#define cas_release(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_RELEASE)
#define cas_acq_rel(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_ACQ_REL)
#define cas_seq_cst(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_SEQ_CST)

#define add_with_order(word, value, order) counted_rmw(__atomic_fetch_add((word), (value), (order)))
#define add_relaxed(word, value) add_with_order(word, value, __ATOMIC_RELAXED)
#define add_acquire(word, value) add_with_order(word, value, __ATOMIC_ACQUIRE)
#define add_release(word, value) add_with_order(word, value, __ATOMIC_RELEASE)
#define add_acq_rel(word, value) add_with_order(word, value, __ATOMIC_ACQ_REL)
#define add_seq_cst(word, value) add_with_order(word, value, __ATOMIC_SEQ_CST)

#define sub_with_order(word, value, order) counted_rmw(__atomic_fetch_sub((word), (value), (order)))
#define sub_relaxed(word, value) sub_with_order(word, value, __ATOMIC_RELAXED)
#define sub_release(word, value) sub_with_order(word, value, __ATOMIC_RELEASE)
#define sub_acq_rel(word, value) sub_with_order(word, value, __ATOMIC_ACQ_REL)
#define sub_seq_cst(word, value) sub_with_order(word, value, __ATOMIC_SEQ_CST)

#define or_with_order(word, value, order) counted_rmw(__atomic_fetch_or((word), (value), (order)))
#define or_relaxed(word, value) or_with_order(word, value, __ATOMIC_RELAXED)
#define or_acquire(word, value) or_with_order(word, value, __ATOMIC_ACQUIRE)
#define or_release(word, value) or_with_order(word, value, __ATOMIC_RELEASE)
#define or_acq_rel(word, value) or_with_order(word, value, __ATOMIC_ACQ_REL)
#define or_seq_cst(word, value) or_with_order(word, value, __ATOMIC_SEQ_CST)
#define and_relaxed(word, value) counted_rmw(__atomic_fetch_and((word), (value), __ATOMIC_RELAXED))
#define and_release(word, value) counted_rmw(__atomic_fetch_and((word), (value), __ATOMIC_RELEASE))
#define and_acq_rel(word, value) counted_rmw(__atomic_fetch_and((word), (value), __ATOMIC_ACQ_REL))
#define and_seq_cst(word, value) counted_rmw(__atomic_fetch_and((word), (value), __ATOMIC_SEQ_CST))

#endif
