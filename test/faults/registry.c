/* SPDX-License-Identifier: MIT */
/*
 * Sections, limbos, and the registry: names that are made, found, removed, walked and given back.
 */
#include "scenario.h"

#include <baton/epoch.h>
#include <baton/published.h>
#include <baton/registry.h>

#include <string.h>

#define NAMES 80 /* so many that the set grows */

static atomic_int reclaimed;

static void reclaim(struct baton_retired *retired)
{
	atomic_fetch_add(&reclaimed, 1);
}

static void *section(void *arg)
{
	INSIST(baton_epoch_enter(), !USE(baton_epoch_inside()));
	EXPECT(USE(baton_epoch_inside()));
	USE(baton_epoch_leave());
	return NULL;
}

SCENARIO(epoch, sections)
{
	struct baton_limbo *limbo = NULL;
	struct baton_retired retired;

	atomic_store(&reclaimed, 0);
	INSIST(baton_limbo_create(&limbo), limbo == NULL);
	elsewhere(section, NULL);
	section(NULL);
	USE(baton_limbo_retire(limbo, &retired, reclaim));
	(void)USE(baton_limbo_poll(limbo));
	USE(baton_limbo_destroy(limbo));
	EXPECT(atomic_load(&reclaimed) == 1);
}

SCENARIO(published, replaced)
{
	struct baton_retired objects[3];
	struct baton_published published;

	atomic_store(&reclaimed, 0);
	INSIST(baton_published_init(&published, &objects[0], reclaim), true);
	for (int i = 1; i < 3; i++)
		USE(baton_published_replace(&published, &objects[i]));
	INSIST(baton_epoch_enter(), !USE(baton_epoch_inside()));
	EXPECT(USE(baton_published_read(&published)) == &objects[2]);
	USE(baton_epoch_leave());
	USE(baton_published_deinit(&published));
	EXPECT(atomic_load(&reclaimed) == 3);
}

struct item {
	struct baton_registry_entry entry;
	int number;
};

static atomic_int made, ended;

static int item_init(struct baton_registry_entry *entry, void *arg)
{
	atomic_fetch_add(&made, 1);
	return 0;
}

static void item_deinit(struct baton_registry_entry *entry, void *arg)
{
	atomic_fetch_add(&ended, 1);
}

static bool visit(struct baton_registry_entry *entry, void *arg)
{
	++*(int *)arg;
	return true;
}

static struct baton_registry *registry;

static void *use_names(void *arg)
{
	struct baton_registry_entry *entries[NAMES] = {NULL};
	struct baton_registry_entry *found = NULL;
	size_t length = 0;
	int visits = 0;

	for (int i = 0; i < NAMES; i++)
		INSIST(baton_registry_acquire(registry, &i, sizeof(i), &entries[i]),
		       entries[i] == NULL);
	INSIST(baton_registry_find(registry, &(int){3}, sizeof(int), &found), found == NULL);
	EXPECT(found == entries[3]);
	EXPECT(memcmp(USE(baton_registry_name(found, &length)), &(int){3}, sizeof(int)) == 0);
	EXPECT(*USE(baton_registry_name_of(&found->resource)) == 3);
	USE(baton_registry_ref(found));
	INSIST(baton_registry_unref(found), true);
	EXPECT(TRY(baton_registry_remove(found)) == 0);
	EXPECT(TRY(baton_registry_remove(found)) == -EALREADY);
	INSIST(baton_registry_unref(found), true);
	INSIST(baton_registry_walk(registry, visit, &visits), visits == 0);
	EXPECT(visits == NAMES - 1);
	EXPECT(USE(baton_registry_count(registry)) == NAMES);
	for (int i = 0; i < NAMES; i++)
		INSIST(baton_registry_unref(entries[i]), true);
	return NULL;
}

/* NULL: the request was accepted, and has failed. */
static struct baton_registry_entry *ask(int name)
{
	struct baton_registry_request request;

	USE(baton_registry_request_init(&request));
	INSIST(baton_registry_acquire_async(registry, &name, sizeof(name), &request),
	       baton_future_state(&request.future) == BATON_PENDING);
	INSIST(baton_future_wait(&request.future), true);
	return USE(baton_registry_request_entry(&request));
}

static void *ask_for_names(void *arg)
{
	struct baton_registry_entry *entries[NAMES] = {NULL};

	for (int i = 0; i < NAMES; i++) {
		entries[i] = ask(i);
		if (entries[i])
			continue;
		EXPECT(fault_planned()); /* accepted, and there was no memory for the object */
		fault_end();
		entries[i] = ask(i);
		EXPECT(entries[i]);
	}
	for (int i = 0; i < NAMES; i++)
		INSIST(baton_registry_unref(entries[i]), true);
	return NULL;
}

SCENARIO(registry, requests)
{
	const struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), item_init, item_deinit, NULL);

	atomic_store(&made, 0);
	atomic_store(&ended, 0);
	registry = NULL;
	INSIST(baton_registry_create(&options, &registry), registry == NULL);
	elsewhere(ask_for_names, NULL);
	ask_for_names(NULL);
	INSIST(baton_registry_destroy(registry), true);
	EXPECT(atomic_load(&made) == atomic_load(&ended));
}

SCENARIO(registry, names)
{
	const struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), item_init, item_deinit, NULL);

	atomic_store(&made, 0);
	atomic_store(&ended, 0);
	registry = NULL;
	INSIST(baton_registry_create(&options, &registry), registry == NULL);
	EXPECT(USE(baton_registry_resource(registry)) != NULL);
	elsewhere(use_names, NULL);
	use_names(NULL);
	INSIST(baton_registry_destroy(registry), true);
	EXPECT(atomic_load(&made) == atomic_load(&ended));
}
