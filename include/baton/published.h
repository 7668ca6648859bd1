/* SPDX-License-Identifier: MIT */
/*
 * A published pointer: what most look-ups want. Many threads read an object without a lock, a task
 * or a wait; one thread at a time replaces the object by a new one. The old object is given back
 * when no thread can read it any more.
 *
 *	struct routes {
 *		struct baton_retired retired;
 *		...
 *	};
 *
 *	error = baton_published_init(&table->routes, &first->retired, free_routes);
 *
 *	// any thread, also inside tasks
 *	error = baton_epoch_enter();
 *	if (error)
 *		return error;
 *	routes = baton_container_of(baton_published_read(&table->routes), struct routes, retired);
 *	... // look, and copy what is needed longer
 *	baton_epoch_leave();
 *
 *	// in a task of the table's resource: makes a copy, changes it
 *	baton_published_replace(&table->routes, &next->retired);
 *
 *                | may run beside         | from
 *   read         | read, replace          | any thread, in a section (epoch.h)
 *   replace      | read                   | one at a time: a task of the resource
 *   init, deinit | nothing                | the owner
 *
 * `reclaim` runs on this thread, in replace() or deinit().
 *
 * A published object does not change. Where a look must be in order with the changes use readers
 * (reader.h) or ordinary tasks.
 *
 * Source: read-copy-update (McKenney, Slingwine 1998), on epochs.
 */
#ifndef BATON_PUBLISHED_H
#define BATON_PUBLISHED_H

#include <baton/attributes.h>
#include <baton/epoch.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A pointer to the object that readers see, and to those that it has replaced. Its members are
 * private. It is the caller's memory until baton_published_deinit() has returned.
 */
struct baton_published {
	struct baton_retired *_object;
	struct baton_limbo *_limbo;
	baton_reclaim_fn _reclaim;
	void *_reserved[4];
};

/*
 * Publishes the first object, which may be NULL. `reclaim` gives an object back that was replaced.
 * It runs on this thread, in replace() and deinit().
 * Errors: -ENOMEM, -ECHILD: see thread.h; the object is the caller's.
 */
BATON_MUST_USE int baton_published_init(struct baton_published *published,
                                        struct baton_retired *object, baton_reclaim_fn reclaim)
	BATON_NONNULL_AT(1, 3);

/* Gives the object back, and those that were replaced. Waits until the sections that could read
 * them have ended. Thread safety: the owner, outside sections. */
void baton_published_deinit(struct baton_published *published) BATON_NONNULL;

/*
 * The object, which stays until the end of this thread's section. NULL: none is published.
 *
 * Thread safety: any thread, in a section (asserted). Blocking: never. Progress: wait-free, one
 * load.
 * Ordering: what the caller of replace() did before happens-before the return.
 */
struct baton_retired *baton_published_read(const struct baton_published *published) BATON_NONNULL;

/*
 * Publishes the object, which may be NULL, in place of the one before. Gives back what no thread
 * can read any more, as baton_limbo_poll() does.
 *
 * Thread safety: one thread at a time: under a baton. Blocking: never.
 */
void baton_published_replace(struct baton_published *published, struct baton_retired *object)
	BATON_NONNULL_AT(1);

#ifdef __cplusplus
}
#endif

#endif
