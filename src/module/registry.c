/* SPDX-License-Identifier: MIT */
/*
 * The registry of named resources: a set (nameset.h). Any thread searches the set in an epoch
 * section; the tasks of one resource, the registry's, change it.
 *
 * The word `_references` of an entry: a count, and the bit REMOVED. A thread that holds a reference
 * may raise the count. A thread that has found the entry in the set may raise it unless it is 0 or
 * REMOVED is set. A count of 0 is final, and so is REMOVED.
 *
 * How an entry ends: the unref that brings the count to 0 kicks the registry's resource with
 * `_end`. That kick (end_object) takes the entry out of the set, and closes the entry's resource.
 * The finaliser of the entry's resource (finalise) calls deinit, and kicks again (bury). The limbo
 * frees the entry. Each step's last touch starts the next step, which uses the memory of `_end`
 * anew. Kicks are no tasks (kick.h), so nothing can cancel, refuse or drop these steps:
 * cancel_pending, the shutdown of the executor and a failing batch_begin leave kicks alone.
 * baton_registry_destroy() closes the registry's resource after the last kick has run.
 *
 * Invariants:
 * registry.linked: At most one entry of a name is linked, that is, in the set. Only the holder of
 *    the registry's baton links and unlinks. An entry is linked from its creation until its end, or
 *    until another entry of its name replaces it. An entry is replaced only if its count is 0 or
 *    REMOVED is set.
 * registry.limbo: Only the limbo frees an unlinked entry: not before the sections that may have
 *    found the entry have ended. A thread that holds the registry's baton needs no section.
 * registry.counts: `alive` counts the entries whose end_object has not run, `objects` those whose
 *    `bury` has not run.
 */
#include "module/registry.h"

#include <baton/future.h>
#include <baton/stats.h>

#include <errno.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/platform.h"
#include "base/refused.h"
#include "thread/thread.h"
#include "core/guard.h"
#include "core/place.h"
#include "module/kick.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define REMOVED ((uint64_t)1 << 63)
#define COUNT (REMOVED - 1)

_Static_assert(sizeof(struct baton_registry_entry) == 104, "as registry.h says");

struct baton_registry {
	struct baton_resource resource;
	struct baton_registry_options options;
	struct baton__nameset names;
	/* Touched by the registry's tasks. */
	struct baton__search *making; /* the searches whose `init` runs; innermost first */
	size_t alive;
	size_t objects;
	bool ending;
	struct baton_future ended; /* a promise: complete when `ending` and no object is left */
};

/* ---- References ---- */

/* Takes a reference on an entry found in the set. False: its count is 0, or it is REMOVED. */
static bool take_reference(struct baton_registry_entry *entry)
{
	uint64_t found = load_relaxed(&entry->_references);

	/* Ends: each failure is progress of another thread. */
	do {
		if (!(found & COUNT) || (found & REMOVED))
			return false;
		/* Relaxed: nameset.entry (nameset.c) has brought what init did. Linearisation
		 * point of a look-up. */
	} while (!cas_relaxed(&entry->_references, &found, found + 1));
	return true;
}

static void submit_step(struct baton_registry_entry *entry, baton_task_fn step)
{
	baton_task_init(&entry->_end, step, NULL);
	baton__kick_open(&entry->_registry->resource, &entry->_end); /* last touch */
}

/* ---- Changes, under the registry's baton ---- */

static void unlink_entry(struct baton_registry *registry, struct baton_registry_entry *entry)
{
	if (entry->_linked)
		baton__nameset_remove(&registry->names, entry);
	entry->_linked = false;
}

static void reclaim(struct baton_retired *retired)
{
	free(baton_container_of(retired, struct baton_registry_entry, _retired));
}

/* The registry is being destroyed: has every object ended? An object that is ending may hold
 * references to others until its `bury`: the ends of those that it drops run before its `bury`. */
static void end_if_empty(struct baton_registry *registry)
{
	if (registry->objects == 0)
		(void)baton_future_complete(&registry->ended, 0, NULL);
	else if (BATON_UNLIKELY(registry->objects == registry->alive))
		BATON_MISUSE("baton_registry_destroy",
		             "somebody holds a reference to an object: release it first");
}

static int bury(struct baton_task *task)
{
	struct baton_registry_entry *entry =
		baton_container_of(task, struct baton_registry_entry, _end);
	struct baton_registry *registry = entry->_registry;

	baton_limbo_retire(registry->names.limbo, &entry->_retired, reclaim);
	baton__nameset_tidy(&registry->names);
	registry->objects--;
	if (registry->ending)
		end_if_empty(registry);
	return 0;
}

static int finalise(struct baton_task *task)
{
	struct baton_registry_entry *entry =
		baton_container_of(task, struct baton_registry_entry, _end);
	const struct baton_registry_options *options = &entry->_registry->options;

	if (options->deinit)
		options->deinit(entry, options->arg);
	submit_step(entry, bury);
	return 0;
}

static int end_object(struct baton_task *task)
{
	struct baton_registry_entry *entry =
		baton_container_of(task, struct baton_registry_entry, _end);
	int error;

	entry->_registry->alive--;
	unlink_entry(entry->_registry, entry);
	baton_task_init(&entry->_end, finalise, NULL);
	error = baton_resource_close_then(&entry->resource, &entry->_end); /* last touch */
	if (BATON_UNLIKELY(error))
		BATON_MISUSE_OF("baton_resource_close_then", baton__name(&entry->resource),
		                "is a registry's object, whose finaliser is the registry's");
	return 0;
}

static struct baton_registry_entry *allocate(const struct baton__search *request)
{
	struct baton_registry *registry = request->registry;
	const struct baton_registry_options *options = &registry->options;
	const size_t length = request->key._length;
	struct baton_registry_entry *entry = calloc(1, options->object_size + length + 1);
	char *name;

	if (!entry)
		return NULL;
	name = (char *)entry + options->object_size;
	memcpy(name, request->key._name, length);
	entry->_name = name;
	entry->_length = (uint32_t)length;
	entry->_references = 1; /* unshared: nobody can find it yet */
	entry->_linked = true;
	entry->_registry = registry;
	baton_resource_init(&entry->resource, options->object_config);
	return entry;
}

/* Does the `init` of an object of that name run already? */
static bool is_being_made(const struct baton__search *request)
{
	const struct baton_registry_entry *key = &request->key;
	const struct baton__search *outer = request->registry->making;

	while (outer && (outer->key._hash != key->_hash || outer->key._length != key->_length ||
	                 memcmp(outer->key._name, key->_name, key->_length) != 0))
		outer = outer->outer;
	return outer != NULL;
}

static int init_object(struct baton__search *request, struct baton_registry_entry *entry)
{
	struct baton_registry *registry = request->registry;
	const uint32_t calling_max = baton__weigh(baton__self, 1);
	int error;

	request->outer = registry->making;
	registry->making = request;
	error = registry->options.init(entry, registry->options.arg);
	registry->making = request->outer;
	baton__self->calling_max = calling_max;
	return error;
}

static int make(struct baton__search *request)
{
	struct baton_registry *registry = request->registry;
	const struct baton_registry_options *options = &registry->options;
	struct baton_registry_entry *entry;
	int error = 0;

	if (is_being_made(request) || baton__too_deep_to_call(baton__self))
		return -EDEADLK;
	entry = allocate(request);
	if (!entry)
		return -ENOMEM;
	if (options->init)
		error = init_object(request, entry);
	if (!error && !baton__nameset_add(&registry->names, entry, &request->key)) {
		error = -ENOMEM;
		if (options->deinit)
			options->deinit(entry, options->arg);
	}
	if (error) {
		free(entry);
		return error;
	}
	registry->alive++;
	registry->objects++;
	baton__nameset_tidy(&registry->names);
	request->entry = entry;
	return 0;
}

void *baton__registry_get_or_make(void *arg)
{
	struct baton__search *request = arg;
	struct baton_registry_entry *entry =
		baton__nameset_find(&request->registry->names, &request->key);

	if (entry && take_reference(entry)) {
		request->entry = entry;
		return NULL;
	}
	if (entry)
		unlink_entry(request->registry, entry);
	request->error = make(request);
	return NULL;
}

/* ---- API ---- */

int baton__registry_find(struct baton__search *request, struct baton_registry *registry,
                         const void *name, size_t length)
{
	struct baton_registry_entry *entry;
	int error;

	*request = (struct baton__search){.registry = registry};
	if (!baton__nameset_key(&registry->names, &request->key, name, length))
		return -ENAMETOOLONG;
	error = baton_epoch_enter();
	if (error)
		return error;
	entry = baton__nameset_find(&registry->names, &request->key);
	if (entry && take_reference(entry))
		request->entry = entry;
	else
		error = -ENOENT;
	baton_epoch_leave();
	return error;
}

BATON_EXPORT int baton_registry_find(struct baton_registry *registry, const void *name,
                                     size_t length, struct baton_registry_entry **entry)
{
	struct baton__search request;
	int error = baton__registry_find(&request, registry, name, length);

	if (!error)
		*entry = request.entry;
	return error;
}

BATON_EXPORT int baton_registry_acquire(struct baton_registry *registry, const void *name,
                                        size_t length, struct baton_registry_entry **entry)
{
	struct baton__search request;
	int error = baton__registry_find(&request, registry, name, length);

	if (error == -ENOENT) {
		error = 0;
		if (baton_held(&registry->resource))
			(void)baton__registry_get_or_make(&request);
		else
			error = baton_call(&registry->resource, baton__registry_get_or_make,
			                   &request, NULL);
		/* batch_end has failed: the caller gets no object, and so no reference. */
		if (error && request.entry)
			(void)baton_registry_unref(request.entry);
		if (!error)
			error = request.error;
	}
	if (!error)
		*entry = request.entry;
	return error;
}

BATON_EXPORT struct baton_registry_entry *baton_registry_ref(struct baton_registry_entry *entry)
{
	/* Relaxed: the caller holds a reference, so the entry does not end. */
	uint64_t found = add_relaxed(&entry->_references, 1);

	BATON_REQUIRE_OF(found & COUNT, baton__name(&entry->resource),
	                 "has no reference left: only its holder adds one");
	return entry;
}

BATON_EXPORT int baton_registry_unref(struct baton_registry_entry *entry)
{
	int error = baton__thread_attach();
	uint64_t found;

	if (error)
		return error;
	/* [registry.reference] release: this thread's use; pairs with [registry.reference] below,
	 * in the last unref */
	found = sub_acq_rel(&entry->_references, 1);
	BATON_REQUIRE_OF(found & COUNT, baton__name(&entry->resource),
	                 "has no reference left: it was released once too often");
	/* [registry.reference] acquire, by the same operation: the use by other threads; pairs
	 * with [registry.reference] above, in their unref */
	if ((found & COUNT) == 1)
		submit_step(entry, end_object);
	return 0;
}

BATON_EXPORT int baton_registry_remove(struct baton_registry_entry *entry)
{
	/* Linearisation point. Relaxed is enough: only the thread that sets the bit gets 0, and
	 * nobody reads anything else because of this bit. */
	return or_acq_rel(&entry->_references, REMOVED) & REMOVED ? -EALREADY : 0;
}

BATON_EXPORT int baton_registry_walk(struct baton_registry *registry, baton_registry_visit_fn visit,
                                     void *arg)
{
	ck_hs_iterator_t iterator = CK_HS_ITERATOR_INITIALIZER;
	struct baton_registry_entry *entry;
	uintptr_t top;
	bool more = true;
	uint32_t calling_max;
	int error = baton_epoch_enter();

	if (error)
		return error;
	if (baton__too_deep_to_call(baton__self)) {
		baton_epoch_leave();
		return -EDEADLK;
	}
	calling_max = baton__weigh(baton__self, 1);
	top = baton__self->top;
	/* Ends: the iterator stays in the map in which it began. */
	while (more && (entry = baton__nameset_next(&registry->names, &iterator))) {
		if (!take_reference(entry))
			continue;
		more = visit(entry, arg);
		baton__guard_returned(top);
		error = baton_registry_unref(entry);
		BATON_ASSERT(!error); /* the thread has its record */
	}
	baton__self->calling_max = calling_max;
	baton_epoch_leave();
	return 0;
}

BATON_EXPORT struct baton_resource *baton_registry_resource(struct baton_registry *registry)
{
	return &registry->resource;
}

BATON_EXPORT const void *baton_registry_name(const struct baton_registry_entry *entry,
                                             size_t *length)
{
	*length = entry->_length;
	return entry->_name;
}

BATON_EXPORT const char *baton_registry_name_of(const struct baton_resource *resource)
{
	return baton_container_of(resource, const struct baton_registry_entry, resource)->_name;
}

BATON_EXPORT size_t baton_registry_count(const struct baton_registry *registry)
{
	return load_relaxed(&registry->names.count); /* about */
}

static int registry_refused(const struct baton_registry_options *options)
{
	if (options->object_size < sizeof(struct baton_registry_entry))
		return baton__refused("baton_registry_create: object_size is less than an entry's");
	if (options->config && !baton__config_capture_max(options->config))
		return baton__refused("baton_registry_create: config has BATON_CAPTURE_NONE");
	if (BATON__UNKNOWN(options))
		return baton__refused("baton_registry_create: a word of _reserved is not zero");
	return 0;
}

BATON_EXPORT int baton_registry_create(const struct baton_registry_options *options,
                                       struct baton_registry **registry)
{
	static const struct baton_resource_config named = BATON_RESOURCE_CONFIG_NAMED("registry");
	struct baton_registry *created;
	int error = registry_refused(options);

	if (error)
		return BATON__ANSWER(NULL, error);
	created = calloc(1, sizeof(*created));
	if (!created)
		return -ENOMEM;
	created->options = *options;
	baton_resource_init(&created->resource, options->config ? options->config : &named);
	if (options->stats)
		baton_resource_set_stats(&created->resource, options->stats);
	baton_promise_init(&created->ended);
	error = baton__nameset_init(&created->names, options->seed);
	if (error) {
		free(created);
		return error;
	}
	*registry = created;
	return 0;
}

/* Lies on the stack of the thread that destroys. */
struct ending {
	struct baton_registry *registry;
	bool begun;
};

static void *begin_end(void *arg)
{
	struct ending *ending = arg;

	ending->begun = true;
	ending->registry->ending = true;
	end_if_empty(ending->registry);
	return NULL;
}

BATON_EXPORT int baton_registry_destroy(struct baton_registry *registry)
{
	struct ending ending = {registry, false};
	int error = baton_call(&registry->resource, begin_end, &ending, NULL);

	/* The end has begun even if batch_end has failed afterwards. */
	if (!ending.begun)
		return error;
	error = baton_future_wait(&registry->ended);
	if (!error)
		error = baton_resource_close(&registry->resource);
	if (!error)
		error = baton_resource_await(&registry->resource);
	BATON_ASSERT(!error);
	baton_resource_deinit(&registry->resource);
	baton__nameset_deinit(&registry->names);
	free(registry);
	return 0;
}
