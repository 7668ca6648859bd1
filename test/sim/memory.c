/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations. A word's last values are kept, each with what an acquiring load of it learns.
 * A load returns any of them that the C11 model leaves to it: not older than what was stored, or
 * read (coherence), by the thread itself or by what happens-before the load, or, if it is
 * sequentially consistent, than the order of such operations allows (order.c). A read-modify-write
 * reads the newest; a compare-and-swap that fails is a load. The order of execution is the
 * modification order; so executions that need another, or a load from the future (load buffering),
 * are not seen.
 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCATIONS 2048U /* a power of two */
#define HISTORY 8U
#define SITES_MAX 12U
#define WATCHERS_MAX 8U
/* Old values in a row, until the newest is due: stores become visible after finite time. */
#define STALE_MAX 3U

struct store {
	uint64_t value;
	sim_clock released; /* what an acquiring load learns */
	uint16_t stamp;     /* the storing thread's clock; 0: before everything */
	uint8_t thread;
};

/* When a thread first read a value, or stored it: as store.stamp. */
struct sight {
	uint32_t index;
	uint16_t stamp;
};

struct location {
	const void *word;
	uint32_t execution;
	uint32_t newest; /* of all stores; the last HISTORY of them are kept */
	uint32_t oldest;
	uint32_t last_seq_cst; /* store, or load */
	uint32_t seen[SIM_THREADS_MAX];
	struct sight sights[SIM_THREADS_MAX][HISTORY]; /* stamp 0: none */
	uint8_t stale[SIM_THREADS_MAX];
	uint8_t threads; /* that have been here, a bit each */
	uint8_t site_count;
	struct sim_site *sites[SITES_MAX];
	sim_watcher *watcher;
	struct store history[HISTORY];
};

static struct location locations[LOCATIONS];
static uint32_t execution;
static bool more_shared;

void sim_memory_begin(void)
{
	execution++;
	sim_order_begin();
}

bool sim_memory_shared_more(void)
{
	bool more = more_shared;

	more_shared = false;
	return more;
}

static uint64_t read_word(const void *word, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, word, size); /* little-endian */
	return value;
}

static void forget(struct location *location, uint64_t value)
{
	location->newest = location->oldest = location->last_seq_cst = 0;
	sim_order_forget(location->word);
	memset(location->seen, 0, sizeof(location->seen));
	memset(location->sights, 0, sizeof(location->sights));
	memset(location->stale, 0, sizeof(location->stale));
	memset(&location->history[0], 0, sizeof(location->history[0]));
	location->history[0].value = value;
}

static struct location *find(const void *word)
{
	size_t at = ((uintptr_t)word >> 2) * 2654435761U % LOCATIONS;

	for (size_t i = 0; i < LOCATIONS; i++) {
		struct location *location = &locations[(at + i) % LOCATIONS];

		if (location->execution != execution) {
			location->execution = execution;
			location->word = word;
			location->threads = 0;
			location->site_count = 0;
			location->watcher = NULL;
			location->newest = UINT32_MAX; /* no value yet */
			return location;
		}
		if (location->word == word)
			return location;
	}
	sim_fail("explorer: more than %u words", LOCATIONS);
}

/* The places from which two threads come to one word are scheduling points from now on. */
static void meet(struct location *location, struct sim_site *site)
{
	location->threads |= (uint8_t)(1U << sim_self);
	if ((location->threads & (location->threads - 1)) == 0) {
		for (unsigned i = 0; i < location->site_count; i++)
			if (location->sites[i] == site)
				return;
		if (location->site_count < SITES_MAX) {
			location->sites[location->site_count++] = site;
			return;
		}
	}
	for (unsigned i = 0; i < location->site_count; i++) {
		more_shared |= !location->sites[i]->shared;
		location->sites[i]->shared = 1;
	}
	location->site_count = 0;
	more_shared |= !site->shared;
	site->shared = 1;
}

static struct sim_site *reached;

void sim_print_sites(const char *scenario)
{
	while (reached) {
		struct sim_site *site = reached;
		const char *file = strrchr(site->file, '/');

		(void)printf("%s at %s:%s:%.*s\n", scenario, file ? file + 1 : site->file,
		             site->function, (int)strcspn(site->what, " "), site->what);
		reached = site->next;
		site->reached = 0;
	}
}

static void reach(struct sim_site *site)
{
	if (site->reached)
		return;
	site->reached = 1;
	site->next = reached;
	reached = site;
}

static struct store *newest(struct location *location)
{
	return &location->history[location->newest % HISTORY];
}

/* The scheduling point; then the word's location, whose newest value is the word's. */
static struct location *begin(struct sim_site *site, const void *word, size_t size,
                              enum sim_access kind)
{
	struct location *location;
	uint64_t value;

	reach(site);
	sim_operation(site);
	sim_accessed(word, size, kind, sim_where(site));
	location = find(word);
	meet(location, site);
	value = read_word(word, size);
	if (location->newest == UINT32_MAX || newest(location)->value != value)
		forget(location, value); /* initialised by plain code */
	return location;
}

static bool happens_before(const struct store *store)
{
	return store->stamp <= sim_me()->clock[store->thread];
}

/* Has a thread read this value, and does that happen-before what this thread does now? */
static bool read_before(const struct location *location, uint32_t index)
{
	for (unsigned thread = 0; thread < SIM_THREADS_MAX; thread++) {
		const struct sight *sight = &location->sights[thread][index % HISTORY];

		if (sight->stamp && sight->index == index &&
		    sight->stamp <= sim_me()->clock[thread])
			return true;
	}
	return false;
}

static uint32_t oldest_visible(const struct location *location, int order)
{
	uint32_t floor = location->seen[sim_self];

	if (floor < location->oldest)
		floor = location->oldest;
	for (uint32_t i = location->newest; i > floor; i--)
		if (happens_before(&location->history[i % HISTORY]) || read_before(location, i))
			floor = i;
	if (order != __ATOMIC_SEQ_CST)
		return floor;
	if (sim_choices.ordered)
		return floor < location->last_seq_cst ? location->last_seq_cst : floor;
	for (uint32_t i = location->newest; i > floor; i--) {
		sim_clock known = sim_clock_join(sim_me()->clock,
		                                 location->history[(i - 1) % HISTORY].released);

		if (!sim_order_allows(location->word, i - 1, &known))
			return i;
	}
	return floor;
}

static bool acquires(int order)
{
	return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static void acquire(const struct store *store)
{
	sim_me()->clock = sim_clock_join(sim_me()->clock, store->released);
}

static void has_seen(struct location *location, uint32_t index, int order, bool stored)
{
	struct sight *sight = &location->sights[sim_self][index % HISTORY];

	location->seen[sim_self] = index;
	if (!sight->stamp || sight->index != index)
		*sight = (struct sight){index, sim_me()->clock[sim_self]};
	if (order != __ATOMIC_SEQ_CST || !sim_choices.weak)
		return;
	if (location->last_seq_cst < index)
		location->last_seq_cst = index;
	sim_order_add(location->word, index, stored);
}

uint64_t sim_load(struct sim_site *site, const void *word, size_t size, int order)
{
	struct location *location = begin(site, word, size, SIM_ATOMIC_READ);
	uint32_t index = location->newest;
	const struct store *store;
	unsigned choices = 1;
	unsigned chosen;

	if (sim_choices.weak && location->stale[sim_self] < STALE_MAX)
		choices = location->newest - oldest_visible(location, order) + 1;
	chosen = sim_choose(choices, 1);
	location->stale[sim_self] = (uint8_t)(chosen ? location->stale[sim_self] + 1 : 0);
	index -= chosen;
	store = &location->history[index % HISTORY];
	if (acquires(order))
		acquire(store);
	has_seen(location, index, order, false);
	sim_trace("%s:%d %s = %#lx%s", site->file, site->line, site->what,
	          (unsigned long)store->value, chosen ? " (an old value)" : "");
	return store->value;
}

/* `old`: the value that a read-modify-write has read, NULL for a store. */
static void put(struct location *location, void *word, size_t size, uint64_t value, int order,
                const struct store *old)
{
	struct sim_thread *me = sim_me();
	struct store store = {.value = value, .thread = (uint8_t)sim_self};
	uint64_t before = newest(location)->value;

	store.stamp = me->clock[sim_self];
	if (releases(order))
		store.released = me->clock;
	if (old)
		store.released = sim_clock_join(store.released, old->released);
	location->newest++;
	if (location->newest - location->oldest >= HISTORY)
		location->oldest = location->newest - HISTORY + 1;
	*newest(location) = store;
	has_seen(location, location->newest, order, true);
	memset(location->stale, 0, sizeof(location->stale));
	memcpy(word, &value, size);
	if (releases(order))
		me->clock[sim_self]++;
	if (before == value)
		return;
	sim_word_changed(word);
	if (location->watcher)
		location->watcher(word, sim_self, before, value);
}

static uint64_t cut(uint64_t value, size_t size)
{
	return size == 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1);
}

void sim_store(struct sim_site *site, void *word, size_t size, uint64_t value, int order)
{
	struct location *location = begin(site, word, size, SIM_ATOMIC_WRITE);

	value = cut(value, size);
	put(location, word, size, value, order, NULL);
	sim_trace("%s:%d %s <- %#lx", site->file, site->line, site->what, (unsigned long)value);
}

static uint64_t result(enum sim_rmw operation, uint64_t a, uint64_t b)
{
	switch (operation) {
	case SIM_ADD:
		return a + b;
	case SIM_SUB:
		return a - b;
	case SIM_OR:
		return a | b;
	case SIM_AND:
		return a & b;
	default:
		return b;
	}
}

uint64_t sim_rmw(struct sim_site *site, void *word, size_t size, enum sim_rmw operation,
                 uint64_t value, int order)
{
	struct location *location = begin(site, word, size, SIM_ATOMIC_WRITE);
	struct store old = *newest(location);
	uint64_t next = cut(result(operation, old.value, value), size);

	if (acquires(order))
		acquire(&old);
	put(location, word, size, next, order, &old);
	sim_trace("%s:%d %s: %#lx -> %#lx", site->file, site->line, site->what,
	          (unsigned long)old.value, (unsigned long)next);
	return old.value;
}

/*
 * A value other than the expected one that a failing compare-and-swap may have read: the newest,
 * or, like any load, an old one; it fails on that even if the newest is as expected. UINT32_MAX:
 * none.
 */
static uint32_t unexpected(struct location *location, uint64_t expected)
{
	uint32_t floor = location->newest;
	uint32_t found[HISTORY];
	unsigned count = 0;
	unsigned chosen;

	if (newest(location)->value == expected)
		found[count++] = UINT32_MAX;
	if (sim_choices.weak && location->stale[sim_self] < STALE_MAX)
		floor = oldest_visible(location, __ATOMIC_RELAXED);
	for (uint32_t i = location->newest + 1; i-- > floor;)
		if (location->history[i % HISTORY].value != expected)
			found[count++] = i;
	chosen = sim_choose(count, 1);
	location->stale[sim_self] = (uint8_t)(chosen ? location->stale[sim_self] + 1 : 0);
	return found[chosen];
}

bool sim_cas(struct sim_site *site, void *word, size_t size, uint64_t *expected, uint64_t value,
             int order)
{
	struct location *location;
	struct store old;
	uint32_t index;

	/* If it fails it only reads: a race with a plain read is none then. */
	location = begin(site, word, size, SIM_ATOMIC_READ);
	value = cut(value, size);
	*expected = cut(*expected, size);
	index = unexpected(location, *expected);
	if (index != UINT32_MAX) {
		old = location->history[index % HISTORY];
		sim_trace("%s:%d %s: %#lx%s, not %#lx", site->file, site->line, site->what,
		          (unsigned long)old.value, index == location->newest ? "" : " (old)",
		          (unsigned long)*expected);
		has_seen(location, index, __ATOMIC_RELAXED, false);
		*expected = old.value;
		return false;
	}
	old = *newest(location);
	sim_accessed(word, size, SIM_ATOMIC_WRITE, sim_where(site));
	if (acquires(order))
		acquire(&old);
	put(location, word, size, value, order, &old);
	sim_trace("%s:%d %s: %#lx -> %#lx", site->file, site->line, site->what,
	          (unsigned long)old.value, (unsigned long)value);
	return true;
}

void sim_watch(const void *word, sim_watcher *watcher)
{
	struct location *location = find(word);

	location->watcher = watcher;
}
