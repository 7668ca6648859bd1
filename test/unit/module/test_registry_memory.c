/* SPDX-License-Identifier: MIT */
/* The registry, when there is no memory for one more name in its set. The set's own memory does not
 * run out at once: it grows while there are free slots. */
#include "module/nameset.h"

static bool none_left;

static bool add_if_any(struct baton__nameset *set, struct baton_registry_entry *entry,
                       const struct baton_registry_entry *key)
{
	return !none_left && baton__nameset_add(set, entry, key);
}

#define baton__nameset_add add_if_any
#define find find_entry /* registered.h has a find, too */
#include "module/registry.c"
#undef find

#include "registered.h"

Test(registry_memory, an_object_without_a_name_is_ended_and_refused, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct baton_registry_entry *entry = NULL;

	none_left = true;
	cr_assert_eq(baton_registry_acquire(registry, "a", 1, &entry), -ENOMEM);
	cr_assert_null(entry);
	cr_assert_eq(atomic_load(&shop.made), 1);
	cr_assert_eq(atomic_load(&shop.ended), 1);
	cr_assert_eq(baton_registry_count(registry), 0);
	none_left = false;
	cr_assert_eq(baton_registry_acquire(registry, "a", 1, &entry), 0);
	cr_assert_eq(baton_registry_unref(entry), 0);
	shop_close(&shop, registry);
	cr_assert_eq(atomic_load(&shop.ended), 2);
}
