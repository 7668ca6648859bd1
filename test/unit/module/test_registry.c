/* SPDX-License-Identifier: MIT */
/*
 * The registry of named resources: a name has one resource; removed resources live on until their
 * tasks have run and their last reference is given back.
 */
#include "registered.h"

Test(registry, a_name_is_made_once_and_found_by_its_bytes, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	char name[] = "news";
	struct item *first = get(registry, name, 4);
	struct item *second;
	size_t length = 0;

	memset(name, 'x', sizeof(name)); /* it was copied */
	second = get(registry, "news", 4);
	cr_assert_eq(first, second);
	cr_assert_eq(find(registry, "news", 4), first);
	cr_assert_eq(atomic_load(&shop.made), 1);
	cr_assert_eq(baton_registry_count(registry), 1);
	cr_assert_eq(memcmp(baton_registry_name(&first->entry, &length), "news", 4), 0);
	cr_assert_eq(length, 4);
	for (int i = 0; i < 3; i++)
		put(first);
	cr_assert_eq(atomic_load(&shop.ended), 1);
	cr_assert_eq(baton_registry_count(registry), 0);
	shop_close(&shop, registry);
}

Test(registry, an_object_shows_its_name, .timeout = 5)
{
	static const struct baton_resource_config config = {.name_of = baton_registry_name_of};
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct baton_registry_entry), NULL, NULL, NULL);
	struct baton_registry *registry;
	struct baton_registry_entry *entry, *empty;
	char name[] = {'n', 'e', 'w', 's', '!'};

	options.object_config = &config;
	cr_assert_eq(baton_registry_create(&options, &registry), 0);
	cr_assert_str_eq(baton_resource_name(baton_registry_resource(registry)), "registry");
	cr_assert_eq(baton_registry_acquire(registry, name, 4, &entry), 0);
	cr_assert_eq(baton_registry_acquire(registry, name, 0, &empty), 0);
	cr_assert_str_eq(baton_resource_name(&entry->resource), "news");
	cr_assert_str_eq(baton_registry_name_of(&empty->resource), "");
	cr_assert_eq(baton_registry_unref(entry), 0);
	cr_assert_eq(baton_registry_unref(empty), 0);
	cr_assert_eq(baton_registry_destroy(registry), 0);
}

Test(registry, what_is_not_there_is_not_found, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);

	cr_assert_null(find(registry, "a", 1));
	put(get(registry, "a", 1));
	cr_assert_null(find(registry, "a", 1));
	put(get(registry, "a", 1));
	cr_assert_eq(atomic_load(&shop.made), 2);
	shop_close(&shop, registry);
}

Test(registry, names_are_any_bytes, .timeout = 5)
{
	static const struct {
		const char *bytes;
		size_t length;
	} names[] = {{"", 0},        {"\0", 1},        {"\0\0", 2},     {"a", 1},
	             {"a\0", 2},     {"a\0b", 3},      {"12345678", 8}, {"123456789", 9},
	             {"1234567", 7}, {"12345678\0", 9}};
	enum { COUNT = sizeof(names) / sizeof(names[0]) };
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct item *items[COUNT];
	struct baton_registry_entry *entry;

	for (size_t i = 0; i < COUNT; i++)
		items[i] = get(registry, names[i].bytes, names[i].length);
	cr_assert_eq(atomic_load(&shop.made), COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		cr_assert_eq(find(registry, names[i].bytes, names[i].length), items[i]);
		put(items[i]);
		put(items[i]);
	}
	cr_assert_eq(baton_registry_find(registry, "", (size_t)UINT32_MAX + 1, &entry),
	             -ENAMETOOLONG);
	cr_assert_eq(baton_registry_acquire(registry, "", (size_t)UINT32_MAX + 1, &entry),
	             -ENAMETOOLONG);
	shop_close(&shop, registry);
}

Test(registry, options_that_cannot_be_are_refused, .timeout = 5)
{
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), NULL, NULL, NULL);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_registry *registry = NULL;

	options.object_size = sizeof(struct baton_registry_entry) - 1;
	cr_assert_eq(baton_registry_create(&options, &registry), -EINVAL);
	options.object_size++;
	config.capture_max = BATON_CAPTURE_NONE;
	options.config = &config;
	cr_assert_eq(baton_registry_create(&options, &registry), -EINVAL);
	cr_assert_null(registry);
}

Test(registry, objects_need_no_callbacks, .timeout = 5)
{
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct baton_registry_entry), NULL, NULL, NULL);
	struct baton_registry *registry = NULL;
	struct baton_registry_entry *entry = NULL;
	struct baton_resource_stats stats = {0};

	options.stats = &stats;
	cr_assert_eq(baton_registry_create(&options, &registry), 0);
	cr_assert_eq(baton_registry_acquire(registry, "a", 1, &entry), 0);
	cr_assert_gt(resource_counts(&stats).submitted, 0);
	cr_assert_eq(baton_registry_unref(entry), 0);
	cr_assert_eq(baton_registry_destroy(registry), 0);
}

Test(registry, an_object_ends_after_its_tasks, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct item *item = get(registry, "a", 1);
	struct journal journal = {0};
	struct occupant occupant;
	struct step step;

	occupy(&occupant, &item->entry.resource);
	step_init(&step, &journal, 1, NULL);
	cr_assert_eq(baton_submit(&item->entry.resource, &step.task), 0);
	put(item);
	/* Dead from now on, but not at its end. */
	cr_assert_null(find(registry, "a", 1));
	cr_assert_eq(atomic_load(&shop.ended), 0);
	put(get(registry, "a", 1));
	cr_assert_eq(atomic_load(&shop.ended), 1);
	release(&occupant);
	shop_close(&shop, registry);
	cr_assert(journal_counts_up(&journal, 1, 1));
}

Test(registry, a_removed_one_lives_on_without_its_name, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct item *old = get(registry, "a", 1);
	struct item *new;
	struct journal journal = {0};
	struct step step;

	cr_assert_eq(baton_registry_remove(&old->entry), 0);
	cr_assert_eq(baton_registry_remove(&old->entry), -EALREADY);
	cr_assert_null(find(registry, "a", 1));
	new = get(registry, "a", 1);
	cr_assert_neq(new, old);
	step_init(&step, &journal, 1, NULL);
	cr_assert_eq(baton_submit(&old->entry.resource, &step.task), 0);
	cr_assert(journal_counts_up(&journal, 1, 1));
	baton_registry_ref(&old->entry);
	put(old);
	cr_assert_eq(atomic_load(&shop.ended), 0);
	put(old);
	cr_assert_eq(atomic_load(&shop.ended), 1);
	cr_assert_eq(find(registry, "a", 1), new);
	/* One that is removed and closed by its holder, and that nobody replaces. */
	cr_assert_eq(baton_registry_remove(&new->entry), 0);
	cr_assert_eq(baton_resource_close(&new->entry.resource), 0);
	cr_assert_eq(baton_submit(&new->entry.resource, &step.task), -EPIPE);
	put(new);
	put(new);
	shop_close(&shop, registry);
}

Test(registry, what_init_says_is_passed_on, .timeout = 5)
{
	struct shop shop = {.init_error = -EACCES};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct baton_registry_entry *entry = NULL;

	cr_assert_eq(baton_registry_acquire(registry, "a", 1, &entry), -EACCES);
	cr_assert_null(entry);
	cr_assert_null(find(registry, "a", 1));
	shop.init_error = 0;
	put(get(registry, "a", 1));
	shop_close(&shop, registry);
}

struct chain {
	struct baton_registry *registry;
	struct item *made;
	int asked;
};

static void *acquire_here(void *arg)
{
	struct chain *chain = arg;

	chain->made = get(chain->registry, "in a task of its own", 20);
	return NULL;
}

Test(registry, a_task_between_two_changes_may_make_one, .timeout = 5)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct chain chain = {.registry = registry};

	cr_assert_eq(baton_call(baton_registry_resource(registry), acquire_here, &chain, NULL), 0);
	cr_assert_not_null(chain.made);
	put(chain.made);
	shop_close(&shop, registry);
}

static int acquire_another(struct baton_registry_entry *entry, void *arg)
{
	struct chain *chain = arg;
	size_t length;

	if (*(const char *)baton_registry_name(entry, &length) == 'a')
		chain->made = get(chain->registry, "b", 1);
	return 0;
}

Test(registry, init_may_acquire_another, .timeout = 5)
{
	struct chain chain = {0};
	struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct item), acquire_another, NULL, &chain);

	cr_assert_eq(baton_registry_create(&options, &chain.registry), 0);
	put(get(chain.registry, "a", 1));
	cr_assert_eq(find(chain.registry, "b", 1), chain.made);
	put(chain.made);
	put(chain.made);
	cr_assert_eq(baton_registry_destroy(chain.registry), 0);
}

/* "own" asks for itself; "there" for "back", and "back" for "there". */
static int acquire_what_is_being_made(struct baton_registry_entry *entry, void *arg)
{
	struct chain *chain = arg;
	struct baton_registry_entry *other = NULL;
	size_t length;
	const char *name = baton_registry_name(entry, &length);

	if (++chain->asked > 2)
		return -ELOOP;
	if (*name == 'o')
		return baton_registry_acquire(chain->registry, "own", 3, &other);
	return baton_registry_acquire(chain->registry, *name == 't' ? "back" : "there",
	                              *name == 't' ? 4 : 5, &other);
}

Test(registry, init_gets_an_error_for_a_name_whose_object_is_being_made, .timeout = 5)
{
	struct chain chain = {0};
	struct baton_registry_options options = BATON_REGISTRY_OPTIONS_INIT(
		sizeof(struct item), acquire_what_is_being_made, NULL, &chain);
	struct baton_registry_entry *entry = NULL;

	cr_assert_eq(baton_registry_create(&options, &chain.registry), 0);
	cr_assert_eq(baton_registry_acquire(chain.registry, "own", 3, &entry), -EDEADLK);
	chain.asked = 0;
	cr_assert_eq(baton_registry_acquire(chain.registry, "there", 5, &entry), -EDEADLK);
	cr_assert_null(entry);
	cr_assert_eq(baton_registry_count(chain.registry), 0, "no object was left");
	cr_assert_eq(baton_registry_destroy(chain.registry), 0);
}

static bool visit(struct baton_registry_entry *entry, void *arg)
{
	int *left = arg;

	((struct item *)entry)->visits++;
	return --*left > 0;
}

Test(registry, a_walk_visits_each_once, .timeout = 5)
{
	enum { COUNT = 500 };
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct item *items[COUNT];
	int left = 1000;

	cr_assert_eq(baton_registry_walk(registry, visit, &left), 0);
	cr_assert_eq(left, 1000);
	for (int i = 0; i < COUNT; i++)
		items[i] = get(registry, &i, sizeof(i));
	cr_assert_eq(baton_registry_walk(registry, visit, &left), 0);
	cr_assert_eq(left, 1000 - COUNT);
	for (int i = 0; i < COUNT; i++)
		cr_assert_eq(items[i]->visits, 1);
	left = 7;
	cr_assert_eq(baton_registry_walk(registry, visit, &left), 0);
	cr_assert_eq(left, 0);
	cr_assert_eq(baton_registry_remove(&items[0]->entry), 0);
	left = 1000;
	cr_assert_eq(baton_registry_walk(registry, visit, &left), 0);
	cr_assert_eq(left, 1000 - COUNT + 1);
	for (int i = 0; i < COUNT; i++)
		put(items[i]);
	shop_close(&shop, registry);
}

Test(registry, what_comes_and_goes_leaves_look_ups_short, .timeout = 20)
{
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);

	for (int i = 0; i < scaled(20000); i++)
		put(get(registry, &i, sizeof(i)));
	cr_assert_eq(baton_registry_count(registry), 0);
	shop_close(&shop, registry);
}
