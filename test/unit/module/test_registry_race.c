/* SPDX-License-Identifier: MIT */
/* The registry under many threads: nobody gets a dead object, no task is lost, all of it ends. */
#include "registered.h"

#define THREADS 4
#define NAMES 5

static atomic_uint sent;

struct note {
	struct baton_task task;
	struct item *item;
};

static int note_run(struct baton_task *task)
{
	struct note *note = baton_container_of(task, struct note, task);

	MUST(note->item->state == ITEM_ALIVE);
	note->item->tasks++;
	free(note);
	return 0;
}

static void note_send(struct item *item)
{
	struct note *note = malloc(sizeof(*note));

	MUST(note != NULL);
	note->item = item;
	baton_task_init(&note->task, note_run, NULL);
	MUST(baton_submit(&item->entry.resource, &note->task) == 0);
	atomic_fetch_add(&sent, 1);
}

struct customer {
	struct baton_registry *registry;
	pthread_t thread;
	uint64_t seed;
};

/* In a walk: somebody else's object, with the walk's reference. */
static bool visit(struct baton_registry_entry *entry, void *arg)
{
	note_send((struct item *)entry);
	return true;
}

static void deal(struct customer *customer)
{
	int name = (int)rng_below(&customer->seed, NAMES);
	struct item *item;

	switch (rng_below(&customer->seed, 16)) {
	case 0:
		MUST(baton_registry_walk(customer->registry, visit, NULL) == 0);
		return;
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
		item = find(customer->registry, &name, sizeof(name));
		if (!item)
			return;
		break;
	default:
		item = get(customer->registry, &name, sizeof(name));
	}
	note_send(item);
	if (rng_below(&customer->seed, 8) == 0)
		(void)baton_registry_remove(&item->entry);
	if (rng_below(&customer->seed, 4) == 0)
		sched_yield();
	put(item);
}

static void *customer_main(void *arg)
{
	for (int i = 0; i < scaled(100000); i++)
		deal(arg);
	return NULL;
}

static void market(const struct baton_resource_config *config)
{
	const uint64_t seed = test_seed();
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, config);
	struct customer customers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		customers[i] = (struct customer){.registry = registry, .seed = rng_fork(seed, i)};
		customers[i].thread = thread_start(customer_main, &customers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		thread_join(customers[i].thread);
	shop_close(&shop, registry);
	cr_assert_eq(atomic_load(&shop.tasks), atomic_load(&sent));
}

Test(registry_race, nobody_gets_a_dead_one, .timeout = 60)
{
	market(NULL);
}

Test(registry_race, nor_where_the_objects_run_on_a_pool, .timeout = 60)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_pool *pool = pool_of(2);

	config.executor = baton_pool_executor(pool);
	config.capture_max = BATON_CAPTURE_NONE;
	market(&config);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

#define KEPT 300

struct finder {
	struct baton_registry *registry;
	struct item **kept;
	atomic_bool *stop;
	unsigned missed;
};

static bool count_kept(struct baton_registry_entry *entry, void *arg)
{
	size_t length;
	unsigned *count = arg;

	(void)baton_registry_name(entry, &length);
	*count += length == sizeof(int);
	return true;
}

static void *find_kept(void *arg)
{
	struct finder *finder = arg;

	while (!atomic_load(finder->stop)) {
		unsigned count = 0;

		for (int i = 0; i < KEPT; i++) {
			struct item *item = find(finder->registry, &i, sizeof(i));

			if (item != finder->kept[i])
				finder->missed++;
			if (item)
				put(item);
		}
		MUST(baton_registry_walk(finder->registry, count_kept, &count) == 0);
		finder->missed += count != KEPT;
	}
	return NULL;
}

Test(registry_race, what_is_there_is_found_while_the_set_grows_and_is_rebuilt, .timeout = 60)
{
	enum { MORE = 2000 };
	struct shop shop = {0};
	struct baton_registry *registry = shop_open(&shop, NULL);
	struct item *kept[KEPT];
	static struct item *more[MORE];
	atomic_bool stop = false;
	struct finder finders[2];
	pthread_t threads[2];

	for (int i = 0; i < KEPT; i++)
		kept[i] = get(registry, &i, sizeof(i));
	for (int i = 0; i < 2; i++) {
		finders[i] = (struct finder){registry, kept, &stop, 0};
		threads[i] = thread_start(find_kept, &finders[i]);
	}
	for (int round = 0; round < 10; round++) {
		for (int64_t i = 0; i < scaled(MORE); i++)
			more[i] = get(registry, &i, sizeof(i));
		for (int64_t i = 0; i < scaled(MORE); i++)
			put(more[i]);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		thread_join(threads[i]);
	for (int i = 0; i < KEPT; i++)
		put(kept[i]);
	shop_close(&shop, registry);
	cr_assert_eq(finders[0].missed + finders[1].missed, 0);
}
