/* SPDX-License-Identifier: MIT */
/* What the registry's tests share: a registry of items that counts the items it makes and ends. */
#ifndef BATON_TEST_UNIT_REGISTERED_H
#define BATON_TEST_UNIT_REGISTERED_H

#include "support.h"

#include <baton/registry.h>

#define ITEM_ALIVE 0x600dU

struct item {
	struct baton_registry_entry entry;
	unsigned state; /* under its baton */
	unsigned tasks;
	int visits;
};

struct shop {
	atomic_int made, ended;
	atomic_uint tasks; /* of items that have ended */
	int init_error;
};

static inline int item_init(struct baton_registry_entry *entry, void *arg)
{
	struct item *item = (struct item *)entry;
	struct shop *shop = arg;

	MUST(item->state == 0);
	if (shop->init_error)
		return shop->init_error;
	item->state = ITEM_ALIVE;
	atomic_fetch_add(&shop->made, 1);
	return 0;
}

static inline void item_deinit(struct baton_registry_entry *entry, void *arg)
{
	struct item *item = (struct item *)entry;
	struct shop *shop = arg;

	MUST(item->state == ITEM_ALIVE);
	item->state = 0xdeadU;
	atomic_fetch_add(&shop->tasks, item->tasks);
	atomic_fetch_add(&shop->ended, 1);
}

static inline struct baton_registry *shop_open(struct shop *shop,
                                               const struct baton_resource_config *config)
{
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), item_init, item_deinit, shop);
	struct baton_registry *registry = NULL;

	options.object_config = config;
	MUST(baton_registry_create(&options, &registry) == 0);
	return registry;
}

/* Everything has ended. */
static inline void shop_close(const struct shop *shop, struct baton_registry *registry)
{
	cr_assert_eq(baton_registry_destroy(registry), 0);
	cr_assert_eq(atomic_load(&shop->made), atomic_load(&shop->ended));
}

/* get acquires an item. find returns NULL if there is none. put releases. On any thread. */
static inline struct item *get(struct baton_registry *registry, const void *name, size_t length)
{
	struct baton_registry_entry *entry = NULL;

	MUST(baton_registry_acquire(registry, name, length, &entry) == 0);
	return (struct item *)entry;
}

static inline struct item *find(struct baton_registry *registry, const void *name, size_t length)
{
	struct baton_registry_entry *entry = NULL;
	int error = baton_registry_find(registry, name, length, &entry);

	MUST(error == 0 || (error == -ENOENT && !entry));
	return (struct item *)entry;
}

static inline void put(struct item *item)
{
	MUST(baton_registry_unref(&item->entry) == 0);
}

#endif
