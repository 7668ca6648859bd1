/* SPDX-License-Identifier: MIT */
/* The tables of records, and how a mistake is said. */
#include "checked/records.h"

#include "base/atomic.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHARDS 64U
#define CHAINS 4096U /* of a shard */

/* Two tables, each with locks of its own (records.order). */
enum { TASKS, OTHERS, TABLES };

struct shard {
	pthread_mutex_t lock; /* lock allowed: the checked library gives up the progress laws */
	struct baton__record *chains[CHAINS];
};

static struct shard tables[TABLES][SHARDS];
static uint64_t serials;
static bool lost;

static uint64_t hash_of(const void *object)
{
	return ((uintptr_t)object >> 3) * UINT64_C(0x9E3779B97F4A7C15);
}

static struct shard *shard_of(const void *object, enum baton__record_kind kind)
{
	return &tables[kind == BATON__RECORD_TASK ? TASKS : OTHERS][hash_of(object) >> 58];
}

static struct baton__record **chain_of(const void *object, enum baton__record_kind kind)
{
	return &shard_of(object, kind)->chains[hash_of(object) >> 46 & (CHAINS - 1)];
}

static void lock_shard(struct shard *shard)
{
	/* lock allowed: the checked library gives up the progress laws */
	(void)pthread_mutex_lock(&shard->lock);
}

static void unlock_shard(struct shard *shard)
{
	/* lock allowed: the checked library gives up the progress laws */
	(void)pthread_mutex_unlock(&shard->lock);
}

void baton__records_lock(const void *object, enum baton__record_kind kind)
{
	lock_shard(shard_of(object, kind));
}

void baton__records_unlock(const void *object, enum baton__record_kind kind)
{
	unlock_shard(shard_of(object, kind));
}

/* In the order of the tables: tasks first (records.order). */
static void lock_all(void)
{
	for (unsigned i = 0; i < TABLES * SHARDS; i++)
		lock_shard(&tables[i / SHARDS][i % SHARDS]);
}

static void unlock_all(void)
{
	for (unsigned i = 0; i < TABLES * SHARDS; i++)
		unlock_shard(&tables[i / SHARDS][i % SHARDS]);
}

/* Runs before the program's constructors. In a fork's child the tables are whole, and unlocked. */
__attribute__((constructor(101))) static void init_shards(void)
{
	for (unsigned i = 0; i < TABLES * SHARDS; i++)
		/* lock allowed: the checked library gives up the progress laws */
		(void)pthread_mutex_init(&tables[i / SHARDS][i % SHARDS].lock, NULL);
	(void)pthread_atfork(lock_all, unlock_all, unlock_all);
}

struct baton__record *baton__records_find(const void *object, enum baton__record_kind kind)
{
	struct baton__record *record = *chain_of(object, kind);

	while (record && (record->object != object || record->kind != kind))
		record = record->next;
	return record;
}

struct baton__record *baton__records_get(const void *object, enum baton__record_kind kind)
{
	struct baton__record *record = baton__records_find(object, kind);
	struct baton__record **chain = chain_of(object, kind);

	if (record)
		return record;
	record = calloc(1, sizeof(*record));
	if (!record) {
		store_relaxed(&lost, true); /* Relaxed: only a flag. */
		return NULL;
	}
	record->object = object;
	record->kind = kind;
	record->next = *chain;
	*chain = record;
	return record;
}

bool baton__records_lost(void)
{
	return load_relaxed(&lost); /* Relaxed: only a flag. */
}

void baton__records_forget(struct baton__record *record)
{
	struct baton__record **at = chain_of(record->object, record->kind);

	while (*at != record)
		at = &(*at)->next;
	*at = record->next;
	free(record);
}

void baton__records_note(struct baton__record *record, const char *call)
{
	record->call = call;
	record->thread = (pid_t)syscall(SYS_gettid);
	/* Relaxed: only a number. */
	record->serial = add_relaxed(&serials, 1) + 1;
}

void baton__records_each(enum baton__record_kind kind,
                         void (*visit)(struct baton__record *record, void *arg), void *arg)
{
	const unsigned table = kind == BATON__RECORD_TASK ? TASKS : OTHERS;

	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *shard = &tables[table][i];

		lock_shard(shard);
		for (unsigned k = 0; k < CHAINS; k++)
			for (struct baton__record *record = shard->chains[k]; record;
			     record = record->next)
				if (record->kind == kind)
					visit(record, arg);
		unlock_shard(shard);
	}
}

void baton__mistake(struct baton__mistake *mistake, const char *name, const char *format, ...)
{
	va_list args;

	(void)snprintf(mistake->name, sizeof(mistake->name), "%s",
	               name && *name ? name : "(no name)");
	va_start(args, format);
	(void)vsnprintf(mistake->text, sizeof(mistake->text), format, args);
	va_end(args);
}

void baton__mistake_end(const struct baton__mistake *mistake, const char *call)
{
	if (mistake->text[0])
		BATON_MISUSE_OF(call, mistake->name, mistake->text);
}
