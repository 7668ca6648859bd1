/* SPDX-License-Identifier: MIT */
/*
 * Layer 5: the submitters' end of the inbox: a chain of tasks, and its publication.
 */
#ifndef BATON_SRC_INBOX_H
#define BATON_SRC_INBOX_H

#include "core/resource.h"

/* Turns a chain around: oldest first, or newest first. */
BATON_INLINE struct baton_task *baton__reversed(struct baton_task *chain)
{
	struct baton_task *result = NULL;

	while (chain) {
		struct baton_task *next = chain->_next;

		chain->_next = result;
		result = chain;
		chain = next;
	}
	return result;
}

/*
 * Publishes a chain, newest first, onto the inbox if the word is still `*word`, that of a busy
 * resource. False: `*word` is what the word is now.
 */
BATON_INLINE bool baton__push(struct baton_resource *resource, uintptr_t *word,
                              struct baton_task *newest, struct baton_task *oldest)
{
	oldest->_next = (struct baton_task *)(*word & BATON__TASKS);
	/* [R1] release: publishes the tasks; pairs with [R1] in take. Linearisation point, and the
	 * last touch of tasks and resource (L10), save for the holder. */
	return cas_release(&resource->_word, word, (uintptr_t)newest | (*word & ~BATON__TASKS));
}

#endif
