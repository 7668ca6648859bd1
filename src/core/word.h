/* SPDX-License-Identifier: MIT */
/*
 * The resource's word: its inbox and its state, in one word. Each transition of the word is a
 * function of word.h or word.c; no other file touches `_word`. The exceptions are the capture and
 * the release of the short paths, which programs compile, too (baton/inline.h).
 *
 * Bits, low to high:
 *   BUSY       1 bit. The baton is taken: a thread holds it, or the turn says where it is (turn.h).
 *              A capture sets the bit, a release clears it.
 *   mode       2 bits, with one of four values:
 *   NORMAL     Nothing is asked of the resource. The idle path looks at the word alone.
 *   SPECIAL    The resource has BATON_CAPTURE_NONE, statistics, an extension, drain hooks, enter
 *              or leave, or config->failed. Or the static initialiser has made the resource, and
 *              no thread has looked at its config yet: then the first capture sets the right mode.
 *   ATTENTION  The holder must look at the inbox and at the turn before it runs the next task: a
 *              cancel or suspend mark is in the inbox, or the baton goes to the shelf. Set by the
 *              push of a mark, and by the holder that shelves. Cleared by the holder alone. Never
 *              in an idle word.
 *   CLOSED     The resource accepts no more tasks. Set by a close, never cleared. The holder must
 *              look as in ATTENTION, which CLOSED replaces.
 *   tasks      61 bits. The newest entry of the inbox; each entry is linked to the next older one.
 *              Empty in an idle word. Or the address of baton__resting, in a BUSY word: no thread
 *              holds the baton, and the thread that puts the next entry there becomes the holder.
 *
 * Transitions, and the functions that make them (with baton__word_ before the name):
 *   idle -> BUSY                      capture, capture_for: any thread, which is then the holder
 *   BUSY, no tasks -> idle            release; baton_inline_release: the holder
 *   BUSY|tasks -> BUSY|entry|tasks    push, push_mark, push_kick: any thread
 *   BUSY|tasks -> BUSY                take: the holder
 *   BUSY|entries|tasks -> BUSY|tasks  cut: the holder
 *   BUSY, no tasks -> resting         rest: the holder
 *   resting -> BUSY|entry             rouse: any thread, which is then the holder
 *   open -> ATTENTION                 push_mark, rouse: any thread; set_attention: the holder
 *   ATTENTION -> NORMAL or SPECIAL    take, clear_attention, release, rest: the holder
 *   open -> CLOSED                    close, push_mark, rouse, capture_for: any thread
 *   NORMAL or SPECIAL, unshared       init, extend: the owner
 *
 * Linearisation points: of a submit, the CAS of capture, push or rouse; of a close, the CAS of
 * close, push_mark, rouse or capture_for. Progress: lock-free; a CAS fails only because another
 * thread has made a transition.
 * ABA: a push reads nothing of the newest entry: its CAS links to the entry that is newest then.
 * The holder alone takes entries out of the inbox: so none leaves and returns during a take or cut.
 */
#ifndef BATON_SRC_WORD_H
#define BATON_SRC_WORD_H

#include <baton/inline.h>
#include <baton/resource.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/platform.h"
#include "core/config.h"

/* The idle words of an open resource. In a BUSY word these two values are modes. */
#define BATON__NORMAL BATON_INLINE_IDLE
#define BATON__SPECIAL ((uintptr_t)2)

/* For word.h and word.c alone: other files call the predicates. */
#define BATON__WORD_BUSY BATON_INLINE_BUSY
#define BATON__WORD_LOOK ((uintptr_t)4)
#define BATON__WORD_MODE ((uintptr_t)6)
#define BATON__WORD_ATTENTION ((uintptr_t)4)
#define BATON__WORD_CLOSED ((uintptr_t)6)
#define BATON__WORD_TASKS (~(uintptr_t)7)

/* ---- What a word says ---- */

/* The word. Relaxed: a hint, or the expected value of a first CAS. */
BATON_INLINE uintptr_t baton__word(const struct baton_resource *resource)
{
	return load_relaxed(&resource->_word);
}

/* The word, for a thread that touches the resource if the word is idle. */
BATON_INLINE uintptr_t baton__word_settled(const struct baton_resource *resource)
{
	/* [word.baton] acquire: what the last runner did; pairs with [word.baton] in release */
	return load_acquire(&resource->_word);
}

/* The word, for the holder, which then walks over the inbox. */
BATON_INLINE uintptr_t baton__word_inbox(const struct baton_resource *resource)
{
	/* [word.publish] acquire: the entries; pairs with [word.publish] in push */
	return load_acquire(&resource->_word);
}

BATON_INLINE bool baton__word_is_busy(uintptr_t word)
{
	return word & BATON__WORD_BUSY;
}

BATON_INLINE bool baton__word_is_closed(uintptr_t word)
{
	return (word & BATON__WORD_MODE) == BATON__WORD_CLOSED;
}

/* Is the resource open and idle? Only its owner can know that it has never been used. */
BATON_INLINE bool baton__word_is_fresh(uintptr_t word)
{
	return word == BATON__NORMAL || word == BATON__SPECIAL;
}

/* Must the holder look at inbox and turn before it runs the next task? */
BATON_INLINE bool baton__word_must_look(uintptr_t word)
{
	return word & BATON__WORD_LOOK;
}

/* Is the word ATTENTION, which clear_attention or take clears? False for a CLOSED word. */
BATON_INLINE bool baton__word_has_attention(uintptr_t word)
{
	return (word & BATON__WORD_MODE) == BATON__WORD_ATTENTION;
}

/* Is the resource busy, and is nothing else asked of the resource? */
BATON_INLINE bool baton__word_is_plainly_busy(uintptr_t word)
{
	return (word & (BATON__WORD_BUSY | BATON__WORD_MODE)) == (BATON__WORD_BUSY | BATON__NORMAL);
}

/* The newest entry of the inbox; NULL: the inbox is empty. */
BATON_INLINE struct baton_task *baton__word_newest(uintptr_t word)
{
	return (struct baton_task *)(word & BATON__WORD_TASKS);
}

/* No entry: only its address is used. */
extern struct baton_task baton__resting;

/* Does the BUSY resource rest: does no thread hold the baton until an entry comes? */
BATON_INLINE bool baton__word_is_resting(uintptr_t word)
{
	return baton__word_newest(word) == &baton__resting;
}

/* The mode of an open resource whose holder has nothing to look at. */
BATON_INLINE uintptr_t baton__mode(const struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	return baton__has_extras(resource) || (config && baton__config_is_special(config))
	               ? BATON__SPECIAL
	               : BATON__NORMAL;
}

/* The mode that the holder leaves behind when it has looked. */
BATON_INLINE uintptr_t baton__word_mode_after(const struct baton_resource *resource, uintptr_t word)
{
	if (BATON_LIKELY(!baton__word_has_attention(word)))
		return word & BATON__WORD_MODE;
	return baton__mode(resource);
}

/* ---- Transitions ---- */

/*
 * capture: from the idle word `idle` to BUSY in `mode`. False: the word has changed. enter, hold,
 * capture_plain: as baton/inline.h has them. Only word.h and word.c capture: so the checks know
 * each resource from its first capture on.
 */
BATON_INLINE bool baton__word_capture(struct baton_resource *resource, uintptr_t idle,
                                      uintptr_t mode)
{
	BATON__CHECKED(use(resource));
	return baton_inline_capture(resource, idle, mode);
}

BATON_INLINE enum baton_inline_way baton__word_enter(struct baton__thread_head *self,
                                                     struct baton_resource *resource, bool carries)
{
	BATON__CHECKED(use(resource));
	return baton_inline_enter(self, resource, carries);
}

BATON_INLINE bool baton__word_hold(struct baton__thread_head *self, struct baton_resource *resource,
                                   struct baton_hold *hold)
{
	BATON__CHECKED(use(resource));
	return baton_inline_hold(self, resource, hold);
}

BATON_INLINE bool baton__word_capture_plain(struct baton__thread_head *self,
                                            struct baton_resource *resource)
{
	BATON__CHECKED(use(resource));
	return baton_inline_capture_plain(self, resource);
}

/*
 * From the BUSY word `word`, which has no tasks, to idle. False: the word has changed. True: this
 * was the last touch of the resource (L10).
 */
BATON_INLINE bool baton__word_release(struct baton_resource *resource, uintptr_t word)
{
	/* [word.baton] release: all that the tasks did; pairs with [word.baton] in capture */
	return cas_release(&resource->_word, &word, baton__word_mode_after(resource, word));
}

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
 * Pushes a chain, linked newest first, onto the inbox of a busy resource if the word is still
 * `*word`. False: the word has changed, and `*word` is its value now.
 */
BATON_INLINE bool baton__word_push(struct baton_resource *resource, uintptr_t *word,
                                   struct baton_task *newest, struct baton_task *oldest)
{
	oldest->_next = baton__word_newest(*word);
	/* [word.publish] release: publishes the tasks; pairs with [word.publish] in take.
	 * Linearisation point. A caller that is not the holder touches neither tasks nor resource
	 * afterwards (L10). */
	return cas_release(&resource->_word, word,
	                   (uintptr_t)newest | (*word & ~BATON__WORD_TASKS));
}

/* Takes the whole inbox, and clears ATTENTION. Returns the word as it was before. */
BATON_INLINE uintptr_t baton__word_take(struct baton_resource *resource)
{
	uintptr_t word = load_relaxed(&resource->_word);

	/* Ends: each failure is another thread's push or close.
	 * [word.publish] acquire: the tasks; pairs with [word.publish] in push */
	while (!cas_acquire(&resource->_word, &word,
	                    BATON__WORD_BUSY | baton__word_mode_after(resource, word)))
		;
	return word;
}

/* What a mark asks of the resource besides a place in the inbox. */
enum baton__ask {
	BATON__ASK_NOTHING,
	BATON__ASK_LOOK,  /* the holder must look before it runs the next task */
	BATON__ASK_CLOSE, /* the resource accepts no more tasks */
};

/*
 * push_mark: pushes a mark onto the inbox of a busy resource. push_kick: the same for a kick,
 * ordered before the caller's look at LEAVING (turn.h). capture_for: captures an idle resource for
 * a mark. False: the word has changed, and `*word` is its value now.
 */
bool baton__word_push_mark(struct baton_resource *resource, uintptr_t *word,
                           struct baton_task *mark, enum baton__ask ask);
bool baton__word_push_kick(struct baton_resource *resource, uintptr_t *word,
                           struct baton_task *mark);
bool baton__word_capture_for(struct baton_resource *resource, uintptr_t *word, enum baton__ask ask);

/*
 * rest: from the BUSY word `word`, which has no tasks, to resting. False: the word has changed.
 * True: this was the last touch of the resource (L10). rouse: puts a chain, linked newest first,
 * into the inbox of a resting resource; the caller is then the holder. False: the word has changed,
 * and `*word` is its value now.
 */
bool baton__word_rest(struct baton_resource *resource, uintptr_t word);
bool baton__word_rouse(struct baton_resource *resource, uintptr_t *word, struct baton_task *newest,
                       struct baton_task *oldest, enum baton__ask ask);

/* Has an entry been pushed that the runner may not have seen before it left the resource to the
 * visitors? */
bool baton__word_left_with_tasks(const struct baton_resource *resource);

/* Sets ATTENTION, so that the release at the end of a short path fails. Called by the holder. */
void baton__word_set_attention(struct baton_resource *resource);

/* Clears ATTENTION, and leaves the inbox as it is. False: the word was not ATTENTION. */
bool baton__word_clear_attention(struct baton_resource *resource);

/*
 * Takes the newest entries off the inbox, so that `older` becomes the newest entry; NULL: takes all
 * entries. `word`: the word as the caller has seen it. False: an entry has been pushed, or the mode
 * has changed.
 */
bool baton__word_cut(struct baton_resource *resource, uintptr_t word, struct baton_task *older);

/* Closes the resource. False: it is closed already. */
bool baton__word_close(struct baton_resource *resource);

/*
 * Called by the owner, before the first submit. init: sets the mode. extend: makes the resource
 * SPECIAL.
 */
void baton__word_init(struct baton_resource *resource);
void baton__word_extend(struct baton_resource *resource);

#endif
