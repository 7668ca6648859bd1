/* SPDX-License-Identifier: MIT */
/*
 * The one door to shared memory: every access to a shared word goes through this file. The
 * operations are the compiler's __atomic builtins on plain words, with the memory order in the
 * name. The file does not use <stdatomic.h>, since the public structs carry no _Atomic (they must
 * compile as C++), nor ck_pr, whose inline assembly ThreadSanitizer does not see. A controlled
 * scheduler replaces this file, to make each access a scheduling point.
 *
 * cas_*: true: the word had the value in `*expected`, and has the new one. False: `*expected` is
 * the value found, read relaxed. swap, add, sub and or return the value before.
 */
#ifndef BATON_SRC_ATOMIC_H
#define BATON_SRC_ATOMIC_H

/*
 * An instrumented build (counting, a controlled scheduler) names a header of its own, which defines
 * cas_with_order and all the names below.
 */
#ifdef BATON_ATOMIC_BACKEND
#include BATON_ATOMIC_BACKEND
#else

#define load_relaxed(word) __atomic_load_n((word), __ATOMIC_RELAXED)
#define load_acquire(word) __atomic_load_n((word), __ATOMIC_ACQUIRE)
#define load_seq_cst(word) __atomic_load_n((word), __ATOMIC_SEQ_CST)

#define store_relaxed(word, value) __atomic_store_n((word), (value), __ATOMIC_RELAXED)
#define store_release(word, value) __atomic_store_n((word), (value), __ATOMIC_RELEASE)
#define store_seq_cst(word, value) __atomic_store_n((word), (value), __ATOMIC_SEQ_CST)

#define swap_acquire(word, value) __atomic_exchange_n((word), (value), __ATOMIC_ACQUIRE)
#define swap_acq_rel(word, value) __atomic_exchange_n((word), (value), __ATOMIC_ACQ_REL)
#define swap_seq_cst(word, value) __atomic_exchange_n((word), (value), __ATOMIC_SEQ_CST)

#define cas_with_order(word, expected, value, order)                                               \
	__atomic_compare_exchange_n((word), (expected), (value), 0, (order), __ATOMIC_RELAXED)
#define cas_relaxed(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_RELAXED)
#define cas_acquire(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_ACQUIRE)
#define cas_release(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_RELEASE)
#define cas_acq_rel(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_ACQ_REL)
#define cas_seq_cst(word, expected, value) cas_with_order(word, expected, value, __ATOMIC_SEQ_CST)

#define add_relaxed(word, value) __atomic_fetch_add((word), (value), __ATOMIC_RELAXED)
#define add_seq_cst(word, value) __atomic_fetch_add((word), (value), __ATOMIC_SEQ_CST)
#define sub_relaxed(word, value) __atomic_fetch_sub((word), (value), __ATOMIC_RELAXED)
#define sub_acq_rel(word, value) __atomic_fetch_sub((word), (value), __ATOMIC_ACQ_REL)
#define sub_seq_cst(word, value) __atomic_fetch_sub((word), (value), __ATOMIC_SEQ_CST)
#define or_acq_rel(word, value) __atomic_fetch_or((word), (value), __ATOMIC_ACQ_REL)
#define or_seq_cst(word, value) __atomic_fetch_or((word), (value), __ATOMIC_SEQ_CST)

#endif

#endif
