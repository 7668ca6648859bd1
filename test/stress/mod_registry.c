/* SPDX-License-Identifier: MIT */
/* The registry: few names, objects that come and go all the time, and walks beside it. */
#include "mod.h"

#include <errno.h>
#include <string.h>

#include "actor.h"
#include "random.h"
#include "report.h"

#define NAMES 12
#define MAGIC 0x0b1ec700U

struct object {
	struct baton_registry_entry entry;
	uint32_t magic;
	uint32_t runs; /* plain: under the object's baton, then deinit's */
	_Atomic uint32_t accepted;
	char name;
};

static struct baton_registry *registry;
static _Atomic uint64_t made;
static _Atomic uint64_t ended;

static int object_init(struct baton_registry_entry *entry, void *arg)
{
	struct object *object = baton_container_of(entry, struct object, entry);
	size_t length;
	const char *name = baton_registry_name(entry, &length);

	if (random_one_in(&actor_self()->random, 16))
		return -EIO;
	if (object->magic || object->runs || length != 1)
		report(NULL, NULL, "an object begins with rubbish in it");
	object->magic = MAGIC;
	object->name = *name;
	atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	return 0;
}

static void object_deinit(struct baton_registry_entry *entry, void *arg)
{
	struct object *object = baton_container_of(entry, struct object, entry);

	if (object->magic != MAGIC || object->runs != atomic_load(&object->accepted))
		report(NULL, NULL, "L3: object %c ends after %u of %u tasks", object->name,
		       object->runs, atomic_load(&object->accepted));
	object->magic = 0;
	atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
}

static void *touch(void *arg)
{
	struct object *object = arg;

	if (object->magic != MAGIC)
		report(NULL, NULL, "a task of an object that has ended");
	object->runs++;
	return NULL;
}

void names_start(void)
{
	struct baton_registry_options options = BATON_REGISTRY_OPTIONS_INIT(
		sizeof(struct object), object_init, object_deinit, NULL);

	MUST(baton_registry_create(&options, &registry) == 0);
	atomic_store(&made, 0);
	atomic_store(&ended, 0);
}

void names_end(void)
{
	actor_busy("the registry's end", 0);
	MUST(baton_registry_destroy(registry) == 0);
	actor_idle();
	if (atomic_load(&made) != atomic_load(&ended))
		report(NULL, NULL, "of %llu objects %llu have ended",
		       (unsigned long long)atomic_load(&made),
		       (unsigned long long)atomic_load(&ended));
}

static void use(struct baton_registry_entry *entry, char name, uint64_t *random)
{
	struct object *object = baton_container_of(entry, struct object, entry);

	if (object->magic != MAGIC || object->name != name)
		report(NULL, NULL, "asked for object %c, got %c", name, object->name);
	for (uint32_t left = random_below(random, 3); left > 0; left--) {
		atomic_fetch_add_explicit(&object->accepted, 1, memory_order_relaxed);
		MUST(baton_post(&entry->resource, touch, object) == 0);
	}
	if (random_one_in(random, 4)) {
		baton_registry_ref(entry);
		MUST(baton_registry_unref(entry) == 0);
	}
	if (random_one_in(random, 16)) {
		int error = baton_registry_remove(entry);

		if (error && error != -EALREADY)
			report(NULL, NULL, "registry_remove: %d", error);
	}
	MUST(baton_registry_unref(entry) == 0);
}

void names_use(bool may_wait)
{
	uint64_t *random = &actor_self()->random;
	struct baton_registry_entry *entry;
	char name = (char)('a' + random_below(random, NAMES));
	int error;

	if (may_wait) {
		actor_busy("registry_acquire", 0);
		error = baton_registry_acquire(registry, &name, 1, &entry);
		actor_idle();
		if (error == -EIO)
			return;
	} else {
		error = baton_registry_find(registry, &name, 1, &entry);
		if (error == -ENOENT)
			return;
	}
	if (error)
		report(NULL, NULL, "registry: %d", error);
	use(entry, name, random);
}

struct walk {
	struct baton_registry_entry *held; /* there from the beginning to the end */
	uint32_t met;
	uint32_t count;
	struct object *seen[256];
};

static bool visit(struct baton_registry_entry *entry, void *arg)
{
	struct object *object = baton_container_of(entry, struct object, entry);
	struct walk *walk = arg;

	walk->met += entry == walk->held;
	/* The section keeps all of them where they are. */
	for (uint32_t i = 0; i < walk->count; i++)
		if (walk->seen[i] == object)
			report(NULL, NULL, "a walk visits object %c twice", object->name);
	if (walk->count < 256)
		walk->seen[walk->count++] = object;
	return true;
}

void names_walk(void)
{
	uint64_t *random = &actor_self()->random;
	char name = (char)('A' + random_below(random, NAMES));
	struct walk walk = {0};
	bool kept;

	/* Nobody removes these. */
	kept = baton_registry_acquire(registry, &name, 1, &walk.held) == 0;
	MUST(baton_registry_walk(registry, visit, &walk) == 0);
	if (kept && walk.met != 1)
		report(NULL, NULL, "a walk meets a held object %u times", walk.met);
	if (kept)
		MUST(baton_registry_unref(walk.held) == 0);
}
