/* SPDX-License-Identifier: MIT */
/*
 * A registry maps names to objects, each of which is a resource: a broker's topics by their names,
 * the accounts of a bank by their numbers. A thread that asks for a name gets the object that has
 * the name, made if need be, and a reference. While a thread holds a reference, the object's
 * resource is open and its memory there, so that the thread may submit to it. After the last
 * reference the object ends by itself: its resource closes, accepted tasks still run, and then the
 * object is freed.
 *
 *	struct topic {
 *		struct baton_registry_entry entry;
 *		unsigned messages;
 *	};
 *
 *	status = baton_registry_acquire(topics, "news", 4, &entry);
 *	...
 *	baton_submit(&entry->resource, &publish->task);
 *	baton_registry_unref(entry);
 *
 *                              | may run beside          | from
 *   find, walk                 | everything but destroy  | any thread, also inside tasks
 *   acquire                    | everything but destroy  | any thread, also inside tasks, see there
 *   ref, unref, remove         | everything but destroy  | a thread that holds a reference
 *   name                       | everything              | a thread that holds a reference
 *   create, destroy            | nothing                 | the owner
 *
 * An existing object is found without a lock and without a resource, by one epoch section
 * (epoch.h), one probe of a hash set and one count. An object is made in a task of the registry's
 * own resource. The end of an object is no task: cancel_pending, the shutdown of an executor, a
 * bound and a failing batch_begin do not stop it; statistics do not count it, and no batch
 * (hooks.h) contains it.
 *
 * Memory, for each object: its struct and its name in one allocation, the name copied once; of that
 * the entry is 128 bytes. Beside it 16 to 32 bytes of the set, which grows by doubling and does not
 * shrink.
 *
 * Source: Concurrency Kit's ck_hs and ck_epoch; the count that does not rise from 0 is that of
 * kref_get_unless_zero() in Linux.
 */
#ifndef BATON_REGISTRY_H
#define BATON_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/epoch.h>
#include <baton/resource.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_registry;

/* The first member of an object. */
struct baton_registry_entry {
	/* The object's. Do not close_then() it: that is how the registry ends it. */
	struct baton_resource resource;
	uint64_t _references;
	uint64_t _hash;
	const void *_name;
	uint32_t _length;
	uint32_t _linked;
	struct baton_registry *_registry;
	union {
		struct baton_task _end;
		struct baton_retired _retired;
	};
};

struct baton_registry_options {
	/* Of the struct that begins with an entry. */
	size_t object_size;
	/*
	 * Makes the object: its memory is zeroed, but for the entry, which has its name, and its
	 * resource, which is initialised with `object_config` and without user, name and stats;
	 * init may do that again. Nobody else sees the object yet. Under the baton of the
	 * registry's resource: it may look names up, and acquire others, but must not wait. 0, or a
	 * negative errno, which acquire returns; then there is no object. NULL: nothing to do.
	 */
	int (*init)(struct baton_registry_entry *entry, void *arg);
	/*
	 * The end: no reference is left, every task has run, the resource is closed. Gives back
	 * what init and the tasks have taken; not the memory of the object, which is the
	 * registry's. On any thread that releases, or runs tasks of the object or of the registry;
	 * it must not wait. NULL: nothing to do.
	 */
	void (*deinit)(struct baton_registry_entry *entry, void *arg);
	void *arg;
	/* Goes into the hash. A random one where names come from strangers. */
	uint64_t seed;
	/* For the objects' resources, and for the registry's own: as in baton_resource_init(). */
	const struct baton_resource_config *object_config;
	const struct baton_resource_config *config;
	struct baton_resource_stats *stats;
	uint64_t _reserved[4];
};

#define BATON_REGISTRY_OPTIONS_INIT(object_size, init, deinit, arg)                                \
	{                                                                                          \
		(object_size), (init), (deinit), (arg), 0, NULL, NULL, NULL,                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/*
 * The options are copied.
 * Errors: -EINVAL: an object smaller than an entry; a `config` with capture limit 0 (a release must
 * always find somebody who runs its task). -ENOMEM.
 */
BATON_MUST_USE int baton_registry_create(const struct baton_registry_options *options,
                                         struct baton_registry **registry);

/*
 * Waits until every object has ended, frees. All references have been given back (asserted). Not
 * inside a task or a section. Errors: see thread.h.
 */
int baton_registry_destroy(struct baton_registry *registry);

/*
 * The object of that name, and a reference on it. Names are bytes, of any length up to 2^32 - 1,
 * none included.
 *
 * Blocking: never. Progress: lock-free; where the name is not there or its object is, allocates
 * only at a thread's first section.
 * Ordering: what init did is visible.
 * Errors: -ENOENT: there is none, or it has been removed, or its last reference is gone: a dead one
 * is never returned. -ENAMETOOLONG.
 */
BATON_MUST_USE int baton_registry_find(struct baton_registry *registry, const void *name,
                                       size_t length, struct baton_registry_entry **entry);

/*
 * The same, but makes the object if there is none. At most one object has a name at a time, save
 * that a removed one lives on, without it, until its last reference goes; one whose end has begun
 * counts no more.
 *
 * Blocking: not where the object is there. Else it waits its turn as baton_call() does; who must
 * not wait does it in a task of baton_registry_resource(), where it never does. Errors: as find,
 * without -ENOENT; and -ENOMEM, what init returns, and what baton_call() does.
 */
BATON_MUST_USE int baton_registry_acquire(struct baton_registry *registry, const void *name,
                                          size_t length, struct baton_registry_entry **entry);

/* One more reference. Thread safety: a thread that holds a reference. Blocking: never. */
void baton_registry_ref(struct baton_registry_entry *entry);

/*
 * Gives a reference back. Whatever its holder submitted to the object is accepted before the end,
 * and runs. With the last one: the object is found no more, its resource closes, its tasks run,
 * deinit is called, and its memory goes when no look-up can touch it any more.
 *
 * Blocking: never; but the end may run inside this call.
 * Errors: see thread.h; the reference is still held.
 */
int baton_registry_unref(struct baton_registry_entry *entry);

/*
 * Takes the object's name away: from here on it is not found, and the next acquire of its name
 * makes another one. It lives until its last reference goes; where nobody is to submit to it until
 * then, close its resource (baton_resource_close()) as well.
 *
 * Blocking: never. Returns: 0; -EALREADY: the name was taken away before.
 */
int baton_registry_remove(struct baton_registry_entry *entry);

/*
 * Calls visit(entry, arg) for each object, in no order, until it returns false. The reference is
 * the walk's: visit takes one of its own for later. Each object that is there from the beginning to
 * the end is visited exactly once, one that comes or goes meanwhile at most once. In a task of
 * baton_registry_resource() none comes: it is as if at one moment.
 *
 * Blocking: never. The walk is one epoch section: short visits. Errors: see thread.h.
 */
typedef bool (*baton_registry_visit_fn)(struct baton_registry_entry *entry, void *arg);
int baton_registry_walk(struct baton_registry *registry, baton_registry_visit_fn visit, void *arg);

/* The resource whose tasks are the changes: a task of the user's stands between two of them. */
struct baton_resource *baton_registry_resource(struct baton_registry *registry);

/* Of an object that somebody holds; not terminated. */
const void *baton_registry_name(const struct baton_registry_entry *entry, size_t *length);

/* How many names there are, about: an object whose end has just begun may still be counted. */
size_t baton_registry_count(const struct baton_registry *registry);

#ifdef __cplusplus
}
#endif

#endif
