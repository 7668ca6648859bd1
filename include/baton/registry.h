/* SPDX-License-Identifier: MIT */
/*
 * A registry maps names to objects, each of which is a resource: a broker's topics by their names,
 * the accounts of a bank by their numbers. A thread that asks for a name gets the object that has
 * the name, made if need be, and a reference. While a thread holds a reference, the object exists
 * and its resource is open, so that the thread may submit to the resource. After the last reference
 * the object ends by itself: its resource closes, accepted tasks still run, and then the object is
 * freed.
 *
 *	struct topic {
 *		struct baton_registry_entry entry;
 *		unsigned messages;
 *	};
 *
 *	status = baton_registry_acquire(topics, "news", 4, &entry);
 *	...
 *	error = baton_submit(&entry->resource, &publish->task);
 *	baton_registry_unref(entry);
 *
 *                              | may run beside          | from
 *   find, walk                 | everything but destroy  | any thread, also inside tasks
 *   acquire, acquire_async     | everything but destroy  | any thread, also inside tasks, see there
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
 * Corner cases. Memory, for each object: one allocation, with the object's struct (of which the
 * entry is 104 bytes) and a copy of its name; and 16 to 32 bytes of the set, which grows by
 * doubling and does not shrink.
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
#include <baton/future.h>
#include <baton/resource.h>
#include <baton/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_registry;

/* The first member of an object. */
struct baton_registry_entry {
	/* The object's resource. Do not call baton_resource_close_then() for it: the registry's own
	 * finaliser ends the object. */
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

/* How a registry makes its objects. */
struct baton_registry_options {
	/* The size of the struct that begins with an entry. */
	size_t object_size;
	/*
	 * Initialises a new object. The entry is set up: it has its name, and its resource is
	 * initialised with `object_config`, without statistics; init may initialise the resource
	 * again. All other memory of the object is zero. No other thread sees the object yet.
	 * Called under the baton of the registry's resource: init may look names up, and acquire
	 * other objects, but must not wait. An acquire of the object's own name, also inside the
	 * init of another object that it acquires, returns -EDEADLK. Returns 0, or a negative
	 * errno, which acquire returns; then there is no object. NULL: nothing to do.
	 */
	int (*init)(struct baton_registry_entry *entry, void *arg);
	/*
	 * Called when no reference is left, every task has run, and the resource is closed. Gives
	 * back what init and the tasks have taken, but not the memory of the object, which is the
	 * registry's. Called on any thread that gives a reference back, or that runs tasks of the
	 * object or of the registry; deinit must not wait. NULL: nothing to do.
	 */
	void (*deinit)(struct baton_registry_entry *entry, void *arg);
	void *arg;
	/* The seed of the hash of names. Use a random seed if strangers choose the names. */
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
 * Creates a registry. The options are copied.
 *
 * Ownership: end it with baton_registry_destroy().
 * Errors: -EINVAL: an object smaller than an entry; a `config` with BATON_CAPTURE_NONE (the thread
 * that gives the last reference back must be able to run the registry's steps itself). -ENOMEM.
 */
BATON_MUST_USE int baton_registry_create(const struct baton_registry_options *options,
                                         struct baton_registry **registry) BATON_NONNULL;

/*
 * Waits until every object has ended, and frees the registry. All references have been given back
 * (asserted), but for those that an ending object gives back in its tasks or in deinit. Do not call
 * it inside a task or a section. The call does not drive an executor while objects are ending: a
 * thread that drives a loop or manual executor of their resources first runs its jobs. Errors: see
 * thread.h.
 */
BATON_MUST_USE int baton_registry_destroy(struct baton_registry *registry) BATON_NONNULL;

/*
 * Returns the object of that name, and a reference on the object. A name is a string of 0 to 2^32 -
 * 1 bytes, of any values.
 *
 * Blocking: never. Progress: lock-free; find allocates only at a thread's first section.
 * Ordering: what init did is visible.
 * Errors: -ENOENT: no object has the name; an object that has been removed, or whose last reference
 * is gone, is never returned. -ENAMETOOLONG.
 */
BATON_MUST_USE int baton_registry_find(struct baton_registry *registry, const void *name,
                                       size_t length, struct baton_registry_entry **entry)
	BATON_NONNULL_AT(1, 4);

/*
 * As find, but makes the object if no object has the name. At most one object has a name at a time.
 * An object that was removed, or whose end has begun, no longer has its name.
 *
 * Ownership: `*entry` has a reference, which is the caller's: give it back with unref. After an
 * error there is none.
 * Blocking: never, if the object exists, and in a task of baton_registry_resource(). Otherwise the
 * call waits its turn as baton_call() does. A thread that must not wait, such as an event loop's,
 * calls baton_registry_acquire_async().
 * Errors: as find, without -ENOENT; and -ENOMEM, what init returns, what baton_call() does, and
 * -EDEADLK, where the init of an object of that name is under way on this thread, or calls have
 * nested BATON_CALLING_MAX deep.
 */
BATON_MUST_USE int baton_registry_acquire(struct baton_registry *registry, const void *name,
                                          size_t length, struct baton_registry_entry **entry)
	BATON_NONNULL_AT(1, 4);

/* An acquire that is under way. The caller's memory; a fresh request serves one acquire. */
struct baton_registry_request {
	struct baton_future future;
	struct baton_task _task;
	struct baton_registry *_registry;
	struct baton_registry_entry *_entry;
	const void *_name;
	uint64_t _hash;
	uint32_t _length;
};

#define BATON_REGISTRY_REQUEST_INIT                                                                \
	{                                                                                          \
		BATON_FUTURE_INIT, BATON_TASK_INIT(NULL, NULL), NULL, NULL, NULL, 0, 0             \
	}

/* Makes a fresh request, also out of a used one. Thread safety: the owner. */
void baton_registry_request_init(struct baton_registry_request *request) BATON_NONNULL;

/*
 * As acquire, but does not wait: `request->future` tells when the acquire is over, by its status
 * whether it has failed (what init returns, -ENOMEM), and baton_registry_request_entry() gives the
 * object. If the object exists, the future is complete when the call returns. Otherwise init is
 * called on this thread, within the call, if baton_registry_resource() is idle; else on the
 * runner's thread of that resource.
 *
 * Thread safety: any thread. Blocking: never; but where the registry's resource has a bound that
 * waits, as baton_submit().
 * Ownership: the request and the name's bytes are baton's until the future is complete. Do not
 * destroy the registry before that. The reference is the caller's, as in acquire.
 * Ordering: what init did is visible to a thread that has seen the future complete.
 * Errors: nothing has begun, and the request is as it was: -ENAMETOOLONG. -EINVAL: the request is
 * not fresh. Those of baton_submit().
 *
 * Corner cases. An event loop takes the outcome as a task of a resource of its own, which runs on
 * the loop's thread (baton_future_then()):
 *
 *	baton_task_init(&look_up->found, look_up_found, NULL);
 *	baton_continuation_task(&look_up->then, &session->resource, &look_up->found);
 *	status = baton_registry_acquire_async(topics, look_up->name, length, &look_up->request);
 *	if (!status)
 *		baton_future_then(&look_up->request.future, &look_up->then);
 *
 * The request is a task of baton_registry_resource(). So requests run in the order of their calls;
 * no request fails because init of its own name is under way: inside init the request runs behind
 * the object that init makes. A look-up that finds the object may overtake a request that is on its
 * way: a caller whose work is in order waits for the request before its next look-up of that name.
 *
 * Cancelling: baton_future_cancel() on the future. 0: there will be no object and no reference;
 * -EINPROGRESS, -EALREADY: the acquire takes place, or has taken place. What cancels the tasks of
 * the registry's resource (cancel_pending, the shutdown of its executor) cancels requests, too.
 *
 * The request needs no memory but the caller's.
 */
BATON_MUST_USE int baton_registry_acquire_async(struct baton_registry *registry, const void *name,
                                                size_t length,
                                                struct baton_registry_request *request)
	BATON_NONNULL_AT(1, 4);

/*
 * The object of a request whose future is complete, and with it a reference on the object, which
 * the caller gives back. NULL: there is no object, or the future is not complete. After a failing
 * batch_end of the registry's resource (hooks.h), the future has failed, and the object is there.
 *
 * Thread safety: any thread. Blocking: never.
 */
struct baton_registry_entry *baton_registry_request_entry(
	const struct baton_registry_request *request) BATON_NONNULL;

/*
 * One more reference. Returns the entry.
 *
 * Thread safety: a thread that holds a reference. Blocking: never.
 * Ownership: the reference is the caller's: give it back with unref.
 */
struct baton_registry_entry *baton_registry_ref(struct baton_registry_entry *entry) BATON_NONNULL;

/*
 * Gives a reference back. Tasks that the caller has submitted to the object run before the object
 * ends. With the last reference the object ends: it is not found any more, its resource closes, its
 * tasks run, deinit is called, and its memory is freed when no look-up can touch it any more.
 *
 * Blocking: never; but the end may run inside this call.
 * Errors: see thread.h; the reference is still held.
 */
int baton_registry_unref(struct baton_registry_entry *entry) BATON_NONNULL;

/*
 * Takes the object's name away: the object is not found any more, and the next acquire of the name
 * makes another object. The removed object lives until its last reference goes. If no thread is to
 * submit to it until then, close its resource (baton_resource_close()) as well.
 *
 * Blocking: never. Returns: 0; -EALREADY: the name was taken away before.
 */
int baton_registry_remove(struct baton_registry_entry *entry) BATON_NONNULL;

/*
 * Calls visit(entry, arg) on this thread for each object, in any order, until visit returns false.
 * During the visit the walk holds a reference; visit takes a reference of its own if it keeps the
 * entry. Each object that is there from the beginning to the end of the walk is visited exactly
 * once, an object that comes or goes meanwhile at most once. In a task of baton_registry_resource()
 * no object is made meanwhile: the walk is as if at one moment.
 *
 * Blocking: never. The walk is one epoch section: keep the visits short, and let them wait for
 * nothing. Errors: no object is visited: see thread.h; -EDEADLK: calls have nested
 * BATON_CALLING_MAX deep.
 */
typedef bool (*baton_registry_visit_fn)(struct baton_registry_entry *entry, void *arg);
BATON_MUST_USE int baton_registry_walk(struct baton_registry *registry,
                                       baton_registry_visit_fn visit, void *arg)
	BATON_NONNULL_AT(1, 2);

/* The registry's own resource, whose tasks change the registry: while a task of the user's runs
 * there, no object is made, and none ends. */
struct baton_resource *baton_registry_resource(struct baton_registry *registry) BATON_NONNULL;

/* The name of an object, which the caller keeps by a reference. A NUL follows the name. */
const void *baton_registry_name(const struct baton_registry_entry *entry,
                                size_t *length) BATON_NONNULL;

/* The name of the object that has this resource. It ends at the first NUL. Set as `name_of` in
 * `object_config`, this function makes messages, boards and debuggers show the objects' names. */
const char *baton_registry_name_of(const struct baton_resource *resource) BATON_NONNULL;

/* How many names there are, about: an object whose end has just begun may still be counted. */
size_t baton_registry_count(const struct baton_registry *registry) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
