/* SPDX-License-Identifier: MIT */
/*
 * A published pointer: a word, and a limbo for the objects that were replaced.
 *
 * Linearisation points: the store of replace, the load of read.
 */
#include <baton/published.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/platform.h"

BATON_EXPORT int baton_published_init(struct baton_published *published,
                                      struct baton_retired *object, baton_reclaim_fn reclaim)
{
	BATON__NEED(published, "the published pointer is NULL");
	BATON__NEED(reclaim, "`reclaim` is NULL: nobody would give an object back");

	struct baton_limbo *limbo;
	int error = baton_limbo_create(&limbo);

	if (!error)
		*published = (struct baton_published){object, limbo, reclaim, {NULL}};
	return error;
}

BATON_EXPORT struct baton_retired *baton_published_read(const struct baton_published *published)
{
	BATON_REQUIRE(baton_epoch_inside(),
	              "this thread is in no section: call baton_epoch_enter before");
	/* [published.object] acquire: the object; pairs with [published.object] in replace */
	return load_acquire(&published->_object);
}

BATON_EXPORT void baton_published_replace(struct baton_published *published,
                                          struct baton_retired *object)
{
	/* Relaxed: only this thread writes the word. */
	struct baton_retired *before = load_relaxed(&published->_object);

	/* [published.object] release: the object; pairs with [published.object] in read. The limbo
	 * orders the store before the look for sections (baton_limbo_retire). */
	store_release(&published->_object, object);
	if (before)
		baton_limbo_retire(published->_limbo, before, published->_reclaim);
	(void)baton_limbo_poll(published->_limbo);
}

BATON_EXPORT void baton_published_deinit(struct baton_published *published)
{
	baton_published_replace(published, NULL);
	baton_limbo_destroy(published->_limbo);
}
