/* SPDX-License-Identifier: MIT */
/*
 * The atomic operations of src/base/atomic.h under the explorer. BATON_ATOMIC_BACKEND names this
 * file.
 */
#ifndef BATON_SIM_BACKEND_H
#define BATON_SIM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place in the source that touches a shared word. */
struct sim_site {
	const char *file;
	int line;
	const char *function;
	const char *what;
	unsigned char shared;  /* has touched a word that two threads touch */
	unsigned char reached; /* since the sites were last printed */
	struct sim_site *next; /* of the reached sites */
};

enum sim_rmw { SIM_SWAP, SIM_ADD, SIM_SUB, SIM_OR, SIM_AND };

uint64_t sim_load(struct sim_site *site, const void *word, size_t size, int order);
void sim_store(struct sim_site *site, void *word, size_t size, uint64_t value, int order);
uint64_t sim_rmw(struct sim_site *site, void *word, size_t size, enum sim_rmw operation,
                 uint64_t value, int order);
bool sim_cas(struct sim_site *site, void *word, size_t size, uint64_t *expected, uint64_t value,
             int order);

#define SIM_SITE(text)                                                                             \
	({                                                                                         \
		static struct sim_site site_ __attribute__((section("sim_kept"))) = {              \
			__FILE__, __LINE__, __func__, text, 0, 0, NULL};                           \
		&site_;                                                                            \
	})
#define SIM_TYPE(word) __typeof__(*(word))

#define sim_load_(word, order, name)                                                               \
	((SIM_TYPE(word))sim_load(SIM_SITE(name " " #word), (word), sizeof(*(word)), (order)))
#define load_relaxed(word) sim_load_(word, __ATOMIC_RELAXED, "load_relaxed")
#define load_acquire(word) sim_load_(word, __ATOMIC_ACQUIRE, "load_acquire")
#define load_seq_cst(word) sim_load_(word, __ATOMIC_SEQ_CST, "load_seq_cst")

#define sim_store_(word, value, order, name)                                                       \
	sim_store(SIM_SITE(name " " #word), (word), sizeof(*(word)),                               \
	          (uint64_t)(SIM_TYPE(word))(value), (order))
#define store_relaxed(word, value) sim_store_(word, value, __ATOMIC_RELAXED, "store_relaxed")
#define store_release(word, value) sim_store_(word, value, __ATOMIC_RELEASE, "store_release")
#define store_seq_cst(word, value) sim_store_(word, value, __ATOMIC_SEQ_CST, "store_seq_cst")

#define sim_rmw_(word, value, order, operation, name)                                              \
	((SIM_TYPE(word))sim_rmw(SIM_SITE(name " " #word), (word), sizeof(*(word)), (operation),   \
	                         (uint64_t)(SIM_TYPE(word))(value), (order)))
#define swap_relaxed(word, value) sim_rmw_(word, value, __ATOMIC_RELAXED, SIM_SWAP, "swap_relaxed")
#define swap_acquire(word, value) sim_rmw_(word, value, __ATOMIC_ACQUIRE, SIM_SWAP, "swap_acquire")
#define swap_acq_rel(word, value) sim_rmw_(word, value, __ATOMIC_ACQ_REL, SIM_SWAP, "swap_acq_rel")
#define swap_seq_cst(word, value) sim_rmw_(word, value, __ATOMIC_SEQ_CST, SIM_SWAP, "swap_seq_cst")
#define add_relaxed(word, value) sim_rmw_(word, value, __ATOMIC_RELAXED, SIM_ADD, "add_relaxed")
#define add_seq_cst(word, value) sim_rmw_(word, value, __ATOMIC_SEQ_CST, SIM_ADD, "add_seq_cst")
#define sub_relaxed(word, value) sim_rmw_(word, value, __ATOMIC_RELAXED, SIM_SUB, "sub_relaxed")
#define sub_acq_rel(word, value) sim_rmw_(word, value, __ATOMIC_ACQ_REL, SIM_SUB, "sub_acq_rel")
#define sub_seq_cst(word, value) sim_rmw_(word, value, __ATOMIC_SEQ_CST, SIM_SUB, "sub_seq_cst")
#define or_relaxed(word, value) sim_rmw_(word, value, __ATOMIC_RELAXED, SIM_OR, "or_relaxed")
#define or_acq_rel(word, value) sim_rmw_(word, value, __ATOMIC_ACQ_REL, SIM_OR, "or_acq_rel")
#define or_seq_cst(word, value) sim_rmw_(word, value, __ATOMIC_SEQ_CST, SIM_OR, "or_seq_cst")

/* Used by mutants alone. */
#define swap_release(word, value) sim_rmw_(word, value, __ATOMIC_RELEASE, SIM_SWAP, "swap_release")
#define add_acquire(word, value) sim_rmw_(word, value, __ATOMIC_ACQUIRE, SIM_ADD, "add_acquire")
#define add_release(word, value) sim_rmw_(word, value, __ATOMIC_RELEASE, SIM_ADD, "add_release")
#define add_acq_rel(word, value) sim_rmw_(word, value, __ATOMIC_ACQ_REL, SIM_ADD, "add_acq_rel")
#define sub_acquire(word, value) sim_rmw_(word, value, __ATOMIC_ACQUIRE, SIM_SUB, "sub_acquire")
#define sub_release(word, value) sim_rmw_(word, value, __ATOMIC_RELEASE, SIM_SUB, "sub_release")
#define or_acquire(word, value) sim_rmw_(word, value, __ATOMIC_ACQUIRE, SIM_OR, "or_acquire")
#define or_release(word, value) sim_rmw_(word, value, __ATOMIC_RELEASE, SIM_OR, "or_release")

#define sim_cas_(word, expected, value, order, name)                                               \
	({                                                                                         \
		__typeof__(expected) expected_ = (expected);                                       \
		uint64_t found_ = (uint64_t)*expected_;                                            \
		bool done_ = sim_cas(SIM_SITE(name " " #word), (word), sizeof(*(word)), &found_,   \
		                     (uint64_t)(SIM_TYPE(word))(value), (order));                  \
		if (!done_)                                                                        \
			*expected_ = (__typeof__(*expected_))found_;                               \
		done_;                                                                             \
	})
#define cas_with_order(word, expected, value, order) sim_cas_(word, expected, value, order, "cas")
#define cas_relaxed(word, expected, value)                                                         \
	sim_cas_(word, expected, value, __ATOMIC_RELAXED, "cas_relaxed")
#define cas_acquire(word, expected, value)                                                         \
	sim_cas_(word, expected, value, __ATOMIC_ACQUIRE, "cas_acquire")
#define cas_release(word, expected, value)                                                         \
	sim_cas_(word, expected, value, __ATOMIC_RELEASE, "cas_release")
#define cas_acq_rel(word, expected, value)                                                         \
	sim_cas_(word, expected, value, __ATOMIC_ACQ_REL, "cas_acq_rel")
#define cas_seq_cst(word, expected, value)                                                         \
	sim_cas_(word, expected, value, __ATOMIC_SEQ_CST, "cas_seq_cst")

#endif
