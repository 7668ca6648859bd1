/* SPDX-License-Identifier: MIT */
/* W20: liburcu's lock-free resizable hash table, read in RCU sections of the membarrier kind. */
#include "w20.h"

#if __has_include(<urcu/rculfhash.h>) && !defined(BENCH_NO_URCU) && !defined(BENCH_NO_URCU_MEMB)

#define _LGPL_SOURCE

#include <stdlib.h>

#include <urcu/urcu-memb.h>

#include <urcu/rculfhash.h>

struct entry {
	struct cds_lfht_node node;
	uint64_t references;
	const char *name;
};

static struct cds_lfht *table;
static struct entry *entries;

static int match(struct cds_lfht_node *node, const void *name)
{
	const struct entry *entry = caa_container_of(node, struct entry, node);

	return memcmp(entry->name, name, W20_NAME_SIZE) == 0;
}

bool w20_lfht_begin(void)
{
	urcu_memb_register_thread();
	table = cds_lfht_new_flavor(1024, 1024, 0, CDS_LFHT_AUTO_RESIZE, &urcu_memb_flavor, NULL);
	entries = calloc(W20_NAMES, sizeof(*entries));
	if (!table || !entries)
		abort();
	for (unsigned i = 0; i < W20_NAMES; i++) {
		entries[i].references = 1;
		entries[i].name = w20_names[i].bytes;
		urcu_memb_read_lock();
		cds_lfht_add(table, w20_hash(entries[i].name, W20_NAME_SIZE), &entries[i].node);
		urcu_memb_read_unlock();
	}
	return true;
}

void w20_lfht_end(void)
{
	for (unsigned i = 0; i < W20_NAMES; i++) {
		urcu_memb_read_lock();
		(void)cds_lfht_del(table, &entries[i].node);
		urcu_memb_read_unlock();
	}
	urcu_memb_synchronize_rcu();
	(void)cds_lfht_destroy(table, NULL);
	free(entries);
	urcu_memb_unregister_thread();
}

static bool take(struct entry *entry)
{
	uint64_t found = __atomic_load_n(&entry->references, __ATOMIC_RELAXED);

	do {
		if (found == 0)
			return false;
	} while (!__atomic_compare_exchange_n(&entry->references, &found, found + 1, false,
	                                      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return true;
}

static void look_up(const char *name)
{
	const uint64_t hash = w20_hash(name, W20_NAME_SIZE);
	struct cds_lfht_iter iterator;
	struct cds_lfht_node *node;
	struct entry *entry;

	urcu_memb_read_lock();
	cds_lfht_lookup(table, hash, match, name, &iterator);
	node = cds_lfht_iter_get_node(&iterator);
	entry = node ? caa_container_of(node, struct entry, node) : NULL;
	if (!entry || !take(entry))
		abort();
	urcu_memb_read_unlock();
	(void)__atomic_sub_fetch(&entry->references, 1, __ATOMIC_ACQ_REL);
}

void w20_lfht_loop(struct team_member *member)
{
	uint64_t state = member->index;

	urcu_memb_register_thread();
	while (!team_stopped(member)) {
		for (int i = 0; i < 16; i++)
			look_up(w20_pick(&state));
		team_count(member, 16);
	}
	urcu_memb_unregister_thread();
}

#else

bool w20_lfht_begin(void)
{
	return false;
}

void w20_lfht_end(void)
{
}

void w20_lfht_loop(struct team_member *member)
{
}

#endif
