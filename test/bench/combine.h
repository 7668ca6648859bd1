/* SPDX-License-Identifier: MIT */
/*
 * Combining locks: whoever gets the lock runs the operations of those who wait for it, too, so the
 * data stays in one cache. Three of them, written after their papers:
 *
 * CC-Synch: P. Fatourou, N. D. Kallimanis, "Revisiting the combining synchronization technique",
 * PPoPP 2012. Requests form a queue by one exchange; its first one serves up to COMBINE_MAX.
 *
 * Flat combining: D. Hendler, I. Incze, N. Shavit, M. Tzafrir, "Flat combining and the
 * synchronization-parallelism tradeoff", SPAA 2010. Each thread has a record in a list; whoever
 * gets the test-and-set lock looks through all of them. Records stay in the list (the paper takes
 * out those that have not been used for long): the threads here use it all the time.
 *
 * Oyama's lock: Y. Oyama, K. Taura, A. Yonezawa, "Executing parallel programs with synchronization
 * bottlenecks efficiently", PDSIA 1999. One word: free, held, or held and a list of requests, which
 * lie on their callers' stacks; the holder takes the whole list until there is none.
 *
 * In the papers a waiter spins for ever, which ends when there are more threads than CPUs. Here it
 * spins for a while and then yields, each time.
 */
#ifndef BATON_BENCH_COMBINE_H
#define BATON_BENCH_COMBINE_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include <ck_pr.h>

#define COMBINE_MAX 1024
#define COMBINE_PASSES 8 /* over the list of records, while others' requests are found */
#define COMBINE_PAUSES 100

typedef void (*combine_fn)(void *argument);

static inline void combine_wait(unsigned *turns)
{
	if ((*turns)++ < COMBINE_PAUSES)
		ck_pr_stall();
	else
		(void)sched_yield();
}

struct cc_node {
	combine_fn run;
	void *argument;
	struct cc_node *next;
	bool waiting;
	bool completed;
} __attribute__((aligned(64)));

struct cc_synch {
	struct cc_node *tail;
};

/* `node`: any; it belongs to the lock, as one of each thread will. */
static inline void cc_init(struct cc_synch *lock, struct cc_node *node)
{
	*node = (struct cc_node){.next = NULL};
	lock->tail = node;
}

/* `*mine`: the thread's node, which changes with each call. */
static inline void cc_call(struct cc_synch *lock, struct cc_node **mine, combine_fn run,
                           void *argument)
{
	struct cc_node *next = *mine;
	struct cc_node *node;
	unsigned turns = 0;

	next->next = NULL;
	next->waiting = true;
	next->completed = false;
	node = __atomic_exchange_n(&lock->tail, next, __ATOMIC_ACQ_REL);
	node->run = run;
	node->argument = argument;
	__atomic_store_n(&node->next, next, __ATOMIC_RELEASE);
	*mine = node;
	while (__atomic_load_n(&node->waiting, __ATOMIC_ACQUIRE))
		combine_wait(&turns);
	if (node->completed)
		return;
	for (unsigned served = 0; served < COMBINE_MAX; served++) {
		next = __atomic_load_n(&node->next, __ATOMIC_ACQUIRE);
		if (!next)
			break;
		node->run(node->argument);
		node->completed = true;
		__atomic_store_n(&node->waiting, false, __ATOMIC_RELEASE);
		node = next;
	}
	__atomic_store_n(&node->waiting, false, __ATOMIC_RELEASE); /* the lock is this one's now */
}

struct flat_record {
	combine_fn run; /* NULL: nothing is asked for */
	void *argument;
	struct flat_record *next;
} __attribute__((aligned(64)));

struct flat {
	bool locked;
	struct flat_record *records;
};

static inline void flat_init(struct flat *lock)
{
	*lock = (struct flat){.records = NULL};
}

/* Once for each thread, before its first call. */
static inline void flat_join(struct flat *lock, struct flat_record *record)
{
	*record = (struct flat_record){.next = __atomic_load_n(&lock->records, __ATOMIC_RELAXED)};
	while (!__atomic_compare_exchange_n(&lock->records, &record->next, record, false,
	                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* How many requests it found. */
static inline unsigned flat_pass(struct flat *lock)
{
	struct flat_record *record = __atomic_load_n(&lock->records, __ATOMIC_ACQUIRE);
	unsigned found = 0;

	for (; record; record = record->next) {
		combine_fn run = __atomic_load_n(&record->run, __ATOMIC_ACQUIRE);

		if (!run)
			continue;
		run(record->argument);
		__atomic_store_n(&record->run, NULL, __ATOMIC_RELEASE);
		found++;
	}
	return found;
}

static inline void flat_call(struct flat *lock, struct flat_record *mine, combine_fn run,
                             void *argument)
{
	unsigned turns = 0;

	mine->argument = argument;
	__atomic_store_n(&mine->run, run, __ATOMIC_RELEASE);
	while (__atomic_load_n(&mine->run, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&lock->locked, __ATOMIC_RELAXED) ||
		    __atomic_exchange_n(&lock->locked, true, __ATOMIC_ACQUIRE)) {
			combine_wait(&turns);
			continue;
		}
		for (unsigned pass = 0; pass < COMBINE_PASSES && flat_pass(lock) > 1; pass++)
			;
		__atomic_store_n(&lock->locked, false, __ATOMIC_RELEASE);
	}
}

struct oyama_request {
	combine_fn run;
	void *argument;
	struct oyama_request *next; /* older */
	bool done;
};

struct oyama {
	struct oyama_request *newest; /* NULL: free; OYAMA_HELD: held, no requests */
};

#define OYAMA_HELD ((struct oyama_request *)1)

static inline void oyama_init(struct oyama *lock)
{
	lock->newest = NULL;
}

/* Takes all requests and serves them, the oldest first. */
static inline void oyama_serve(struct oyama *lock)
{
	struct oyama_request *newest =
		__atomic_exchange_n(&lock->newest, OYAMA_HELD, __ATOMIC_ACQUIRE);
	struct oyama_request *oldest = NULL;

	while (newest != OYAMA_HELD) {
		struct oyama_request *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	while (oldest) {
		struct oyama_request *next = oldest->next;

		oldest->run(oldest->argument);
		__atomic_store_n(&oldest->done, true, __ATOMIC_RELEASE); /* its memory is gone */
		oldest = next;
	}
}

static inline void oyama_call(struct oyama *lock, combine_fn run, void *argument)
{
	struct oyama_request mine = {.run = run, .argument = argument};
	struct oyama_request *seen = __atomic_load_n(&lock->newest, __ATOMIC_RELAXED);
	unsigned turns = 0;

	do {
		mine.next = seen;
	} while (!__atomic_compare_exchange_n(&lock->newest, &seen, seen ? &mine : OYAMA_HELD,
	                                      false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	if (seen) {
		while (!__atomic_load_n(&mine.done, __ATOMIC_ACQUIRE))
			combine_wait(&turns);
		return;
	}
	run(argument);
	for (;;) {
		seen = OYAMA_HELD;
		if (__atomic_compare_exchange_n(&lock->newest, &seen, NULL, false, __ATOMIC_RELEASE,
		                                __ATOMIC_RELAXED))
			return;
		oyama_serve(lock);
	}
}

#endif
