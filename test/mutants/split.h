/* SPDX-License-Identifier: MIT */
/*
 * For mutants in which an atomic step is made of two: between them others may come.
 */
#ifndef BATON_MUTANTS_SPLIT_H
#define BATON_MUTANTS_SPLIT_H

#define split_cas(word, expected, value)                                                           \
	({                                                                                         \
		__typeof__(expected) where_ = (expected);                                          \
		__typeof__(*where_) was_ = load_acquire(word);                                     \
		bool same_ = was_ == *where_;                                                      \
		if (same_)                                                                         \
			store_release(word, value);                                                \
		else                                                                               \
			*where_ = was_;                                                            \
		same_;                                                                             \
	})

#define split_swap(word, value)                                                                    \
	({                                                                                         \
		__typeof__(*(word)) was_ = load_acquire(word);                                     \
		store_release(word, value);                                                        \
		was_;                                                                              \
	})

#define split_or(word, value)                                                                      \
	({                                                                                         \
		__typeof__(*(word)) was_ = load_acquire(word);                                     \
		store_release(word, was_ | (value));                                               \
		was_;                                                                              \
	})

#endif
