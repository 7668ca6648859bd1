/* SPDX-License-Identifier: MIT */
/*
 * The transitions of the word that are not on the hot paths.
 */
#include "core/word.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/probe.h"

struct baton_task baton__resting;

/* The mode of the word after the push of a mark that asks `ask`. */
static uintptr_t mode_with(uintptr_t word, enum baton__ask ask)
{
	if (baton__word_is_closed(word) || ask == BATON__ASK_NOTHING)
		return word & BATON__WORD_MODE;
	return ask == BATON__ASK_CLOSE ? BATON__WORD_CLOSED : BATON__WORD_ATTENTION;
}

bool baton__word_push_mark(struct baton_resource *resource, uintptr_t *word,
                           struct baton_task *mark, enum baton__ask ask)
{
	uintptr_t flags = mode_with(*word, ask) | BATON__WORD_BUSY;

	mark->_next = baton__word_newest(*word);
	/* [word.publish] release: the mark; pairs with [word.publish] in take. Linearisation point
	 * of the mark, and of a close by this mark. */
	return cas_release(&resource->_word, word, (uintptr_t)mark | flags);
}

bool baton__word_push_kick(struct baton_resource *resource, uintptr_t *word,
                           struct baton_task *mark)
{
	mark->_next = baton__word_newest(*word);
	/* [word.publish] release: the mark; pairs with [word.publish] in take.
	 * [turn.kick] seq_cst: before the look at LEAVING; pairs with [turn.kick] in
	 * baton__word_left_with_tasks */
	return cas_seq_cst(&resource->_word, word, (uintptr_t)mark | (*word & ~BATON__WORD_TASKS));
}

bool baton__word_capture_for(struct baton_resource *resource, uintptr_t *word, enum baton__ask ask)
{
	uintptr_t flags = mode_with(*word, ask) | BATON__WORD_BUSY;

	BATON__CHECKED(use(resource));
	/* [word.baton] acquire: what the last runner did; pairs with [word.baton] in release */
	return cas_acquire(&resource->_word, word, flags);
}

bool baton__word_rest(struct baton_resource *resource, uintptr_t word)
{
	uintptr_t resting = (uintptr_t)&baton__resting | BATON__WORD_BUSY;

	/* [word.rest] release: _list, all that the tasks did; pairs with [word.rest] in rouse.
	 * Last touch. */
	return cas_release(&resource->_word, &word,
	                   resting | baton__word_mode_after(resource, word));
}

bool baton__word_rouse(struct baton_resource *resource, uintptr_t *word, struct baton_task *newest,
                       struct baton_task *oldest, enum baton__ask ask)
{
	uintptr_t flags = mode_with(*word, ask) | BATON__WORD_BUSY;

	oldest->_next = NULL;
	/* [word.rest] acquire: what the last holder did; pairs with [word.rest] in rest. The caller
	 * is the holder now, and takes the chain itself. */
	return cas_acquire(&resource->_word, word, (uintptr_t)newest | flags);
}

bool baton__word_left_with_tasks(const struct baton_resource *resource)
{
	/* [turn.kick] seq_cst: after LEAVING was set; pairs with [turn.kick] in
	 * baton__word_push_kick: a kick that missed LEAVING. Relaxed is seldom noticed: rare. */
	return baton__word_newest(load_seq_cst(&resource->_word));
}

void baton__word_set_attention(struct baton_resource *resource)
{
	uintptr_t word = load_relaxed(&resource->_word);

	/* Relaxed: nothing is published. Ends: each failure is another thread's push or close. */
	while (!baton__word_must_look(word) &&
	       !cas_relaxed(&resource->_word, &word,
	                    (word & ~BATON__WORD_MODE) | BATON__WORD_ATTENTION))
		;
}

bool baton__word_clear_attention(struct baton_resource *resource)
{
	uintptr_t word = load_relaxed(&resource->_word);

	/* Ends: each failure is another thread's push or close. Relaxed: the look loads the word
	 * again. */
	while (baton__word_has_attention(word))
		if (cas_relaxed(&resource->_word, &word,
		                (word & ~BATON__WORD_MODE) | baton__mode(resource)))
			return true;
	return false;
}

bool baton__word_cut(struct baton_resource *resource, uintptr_t word, struct baton_task *older)
{
	/* Relaxed: nothing is published. */
	return cas_relaxed(&resource->_word, &word, (word & ~BATON__WORD_TASKS) | (uintptr_t)older);
}

bool baton__word_close(struct baton_resource *resource)
{
	uintptr_t word = load_relaxed(&resource->_word);

	/* Ends: each failure is another thread's transition. */
	do {
		if (baton__word_is_closed(word))
			return false;
		/* Relaxed: the word orders tasks, not closers. Linearisation point. */
	} while (!cas_relaxed(&resource->_word, &word, word | BATON__WORD_CLOSED));
	BATON_PROBE(close, resource, baton__word_is_busy(word));
	return true;
}

void baton__word_init(struct baton_resource *resource)
{
	resource->_word = baton__mode(resource); /* unshared: no other thread has seen it yet */
}

void baton__word_extend(struct baton_resource *resource)
{
	/* Relaxed: no other thread has seen the resource yet. */
	store_relaxed(&resource->_word, BATON__SPECIAL);
}
