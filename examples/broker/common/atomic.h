/* SPDX-License-Identifier: MIT */
/*
 * The broker's door to memory that several threads touch: the compiler's __atomic builtins on plain
 * words, with the memory order in the name. The broker has few such words, since almost all of its
 * state belongs to a resource or to one loop thread.
 *
 * add, sub and swap return the value before. cas compares `*expected`; on failure it puts the value
 * found there.
 */
#ifndef BROKER_ATOMIC_H
#define BROKER_ATOMIC_H

#define load_relaxed(word) __atomic_load_n((word), __ATOMIC_RELAXED)
#define load_acquire(word) __atomic_load_n((word), __ATOMIC_ACQUIRE)

#define store_relaxed(word, value) __atomic_store_n((word), (value), __ATOMIC_RELAXED)
#define store_release(word, value) __atomic_store_n((word), (value), __ATOMIC_RELEASE)
#define store_seq_cst(word, value) __atomic_store_n((word), (value), __ATOMIC_SEQ_CST)

#define swap_relaxed(word, value) __atomic_exchange_n((word), (value), __ATOMIC_RELAXED)
#define swap_acq_rel(word, value) __atomic_exchange_n((word), (value), __ATOMIC_ACQ_REL)
#define swap_seq_cst(word, value) __atomic_exchange_n((word), (value), __ATOMIC_SEQ_CST)

#define add_relaxed(word, value) __atomic_fetch_add((word), (value), __ATOMIC_RELAXED)
#define add_release(word, value) __atomic_fetch_add((word), (value), __ATOMIC_RELEASE)
#define sub_relaxed(word, value) __atomic_fetch_sub((word), (value), __ATOMIC_RELAXED)
#define sub_acq_rel(word, value) __atomic_fetch_sub((word), (value), __ATOMIC_ACQ_REL)

#define cas_relaxed(word, expected, value)                                                         \
	__atomic_compare_exchange_n((word), (expected), (value), 0, __ATOMIC_RELAXED,              \
	                            __ATOMIC_RELAXED)
#define cas_acq_rel(word, expected, value)                                                         \
	__atomic_compare_exchange_n((word), (expected), (value), 0, __ATOMIC_ACQ_REL,              \
	                            __ATOMIC_RELAXED)

#endif
