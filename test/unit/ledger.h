/* SPDX-License-Identifier: MIT */
/*
 * A resource with drain hooks that notes its batches and their sizes. The baton protects all fields
 * but `committed`.
 */
#ifndef BATON_TEST_UNIT_LEDGER_H
#define BATON_TEST_UNIT_LEDGER_H

#include <baton/hooks.h>

#include "support.h"

#define LEDGER_MAX 64

struct ledger {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_resource_stats stats;
	size_t begun;
	size_t refused;
	size_t ended;
	size_t sizes[LEDGER_MAX]; /* of the batches, in order, as far as there is room */
	bool open;
	bool wrong; /* a task outside of a batch, a batch in a batch */
	int begin_status;
	int end_status;
	int entered;          /* entries */
	int cancelled;        /* tasks given to config->cancelled */
	atomic_int committed; /* entries whose batch has ended well */
	void (*on_end)(void *arg);
	void *arg;
};

/* A task that notes itself in the ledger. */
struct entry {
	struct baton_task task;
	struct baton_future future;
	struct ledger *ledger;
	int status;
	int number; /* its place in the order of entering, from 1 */
	void (*body)(void *arg);
	void *arg;
};

static inline int ledger_begin(struct baton_resource *resource)
{
	struct ledger *ledger = baton_container_of(resource, struct ledger, resource);

	ledger->wrong |= ledger->open || !baton_held(resource);
	if (ledger->begin_status) {
		ledger->refused++;
		return ledger->begin_status;
	}
	ledger->open = true;
	if (ledger->begun < LEDGER_MAX)
		ledger->sizes[ledger->begun] = 0;
	ledger->begun++;
	return 0;
}

static inline int ledger_end(struct baton_resource *resource)
{
	struct ledger *ledger = baton_container_of(resource, struct ledger, resource);

	ledger->wrong |= !ledger->open || !baton_held(resource);
	ledger->ended++;
	if (ledger->on_end)
		ledger->on_end(ledger->arg);
	ledger->open = false;
	if (!ledger->end_status)
		atomic_store(&ledger->committed, ledger->entered);
	return ledger->end_status;
}

static inline void ledger_note(struct ledger *ledger)
{
	ledger->wrong |= !ledger->open;
	ledger->entered++;
	if (ledger->begun && ledger->begun <= LEDGER_MAX)
		ledger->sizes[ledger->begun - 1]++;
}

static inline void ledger_cancelled(struct baton_task *task)
{
	baton_container_of(task, struct entry, task)->ledger->cancelled++;
}

static inline void ledger_init(struct ledger *ledger, struct baton_executor *executor)
{
	memset(ledger, 0, sizeof(*ledger));
	ledger->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	ledger->config.capture_max = 1000;
	ledger->config.executor = executor;
	ledger->config.cancelled = ledger_cancelled;
	ledger->config.batch_begin = ledger_begin;
	ledger->config.batch_end = ledger_end;
	ledger->config.delay_completions = true;
	baton_resource_init(&ledger->resource, &ledger->config);
	baton_resource_set_stats(&ledger->resource, &ledger->stats);
}

/* Were the batches well formed, and has each ended? */
static inline bool ledger_balanced(const struct ledger *ledger)
{
	return !ledger->wrong && !ledger->open && ledger->begun == ledger->ended;
}

static inline int entry_run(struct baton_task *task)
{
	struct entry *entry = baton_container_of(task, struct entry, task);

	ledger_note(entry->ledger);
	entry->number = entry->ledger->entered;
	if (task->_future)
		baton_set_result(entry);
	if (entry->body)
		entry->body(entry->arg);
	return entry->status;
}

static inline void entry_init(struct entry *entry, struct ledger *ledger, bool with_future)
{
	memset(entry, 0, sizeof(*entry));
	baton_future_init(&entry->future);
	baton_task_init(&entry->task, entry_run, with_future ? &entry->future : NULL);
	entry->ledger = ledger;
}

static inline void entries_init(struct entry *entries, size_t count, struct ledger *ledger)
{
	for (size_t i = 0; i < count; i++)
		entry_init(&entries[i], ledger, true);
}

/* For a body: submits a number of entries, behind the running task. */
struct heap {
	struct entry *entries;
	size_t count;
};

static inline void heap_submit(void *arg)
{
	const struct heap *heap = arg;

	for (size_t i = 0; i < heap->count; i++)
		MUST(baton_submit(&heap->entries[i].ledger->resource, &heap->entries[i].task) == 0);
}

/*
 * Submits all entries at once, to a resource that may run on this thread. The first entry submits
 * the others: its body is replaced.
 */
static inline void entries_submit(struct entry *entries, size_t count)
{
	struct heap heap = {entries + 1, count - 1};

	entries[0].body = heap_submit;
	entries[0].arg = &heap;
	MUST(baton_submit(&entries[0].ledger->resource, &entries[0].task) == 0);
}

#endif
