/* SPDX-License-Identifier: MIT */
/*
 * The interleaving explorer, as its scenarios see it.
 *
 * The library's sources run here on threads that are coroutines of one thread. At each access to a
 * shared word, each sleep and each wake, another thread may go on. The explorer decides which:
 * exhaustively within a bound, at random from a seed, or as told. Words keep their old values, and
 * a load may return an old value where the C11 memory model allows that. The compiler instruments
 * plain accesses (-fsanitize=thread), which are checked for races and for memory that has been
 * given back. Time is virtual.
 *
 * A scenario is a function, which runs as thread 0 and starts other threads. At the beginning of
 * each execution the static variables of its file have their initial values. A failure ends the
 * execution, which is then replayed, shortened, and printed.
 *
 * Source: CHESS (Musuvathi et al. 2008, bounded preemptions), PCT (Burckhardt et al. 2010), Relacy
 * and C11Tester (old values by happens-before), FastTrack (races by vector clocks), QEMU's
 * coroutines (makecontext once, then _longjmp).
 */
#ifndef BATON_SIM_H
#define BATON_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SIM_THREADS_MAX 8

struct sim_scenario {
	const char *name;
	const char *claim; /* what the scenario shows, one line */
	void (*run)(void);
	/*
	 * Freezing: thread `freeze` (by number; 0: none) is stopped at each of its scheduling
	 * points in turn. When the other threads can do nothing more, `frozen` checks that they
	 * are where they should be (plain reads of the scenario's state). Then the thread goes on.
	 */
	unsigned freeze;
	void (*frozen)(void);
	unsigned bound; /* of the exhaustive search; 0: the explorer's */
	bool daemons;   /* the scenario ends although threads that the library has started sleep */
	bool fails;     /* a self-test: the explorer must find that it fails */
	bool weak_only; /* the self-test fails with old values only */
	bool walk_only; /* too large for the exhaustive search */
	/*
	 * Sequentially consistent operations take effect in the order of execution, with all that
	 * comes before them in their threads: as x86, ARMv8 and POWER have it, though not C11.
	 */
	bool ordered;
	struct sim_scenario *next;
};

void sim_register(struct sim_scenario *scenario);

/* SIM_SCENARIO(name, "claim", .bound = 2) { body } */
#define SIM_SCENARIO(id, text, ...)                                                                \
	static void sim_run_##id(void);                                                            \
	__attribute__((constructor)) static void sim_register_##id(void)                           \
	{                                                                                          \
		static struct sim_scenario scenario __attribute__((section("sim_kept"))) = {       \
			.name = #id, .claim = (text), .run = sim_run_##id, __VA_ARGS__};           \
		sim_register(&scenario);                                                           \
	}                                                                                          \
	static void sim_run_##id(void)

/* sim_start starts a thread, and returns its number. A scenario ends with sim_join_all(), which is
 * called for it if need be. */
unsigned sim_start(void (*function)(void *argument), void *argument);
void sim_join(unsigned thread);
void sim_join_all(void);
/* Joins the threads that the scenario has started. */
void sim_join_started(void);
/* Have all other threads ended? */
bool sim_others_ended(void);

/* The number of the calling thread; of the frozen thread, 0: none is frozen. */
unsigned sim_thread(void);
unsigned sim_frozen(void);

/* Ends the execution with a message. */
_Noreturn void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define sim_require(condition)                                                                     \
	((condition) ? (void)0 : sim_fail("%s:%d: not so: %s", __FILE__, __LINE__, #condition))

/* The memory is the scenario's again: a touch by the library is an error from now on. */
void sim_retire(const void *memory, size_t size);
/* The memory is in use again. */
void sim_reuse(const void *memory, size_t size);

/* Memory that lives for the execution, and is not given back. */
void *sim_alloc(size_t size);
/* The blocks that the library has allocated and not given back. */
size_t sim_allocated(void);
void sim_each_block(void (*look)(const void *block, size_t size));

/* The number of decisions so far in this execution. */
uint32_t sim_step(void);

/* How many releases of the thread the calling thread knows (its vector clock). Of itself: all, and
 * the next. */
uint32_t sim_known(unsigned thread);

/*
 * calm: for setting up. While calm, no other thread interferes, nothing is chosen, and no thread is
 * frozen. settle: calmly lets the other threads go on until each has ended or sleeps.
 */
void sim_calm(bool calm);
void sim_settle(void);

/* A choice of the scenario, 0 to count - 1, explored like the explorer's own. */
unsigned sim_pick(unsigned count);

/*
 * point: other threads may go on here. yield: other threads go on here, if they can. A loop that
 * another thread ends yields or sleeps in each round. A wait until a deadline sleeps only if the
 * deadline is later than a look at the clock, which takes 1000 ns.
 */
void sim_point(void);
void sim_yield(void);
/*
 * Waits until an atomic operation changes the word, or a thread ends. Misses no change since a
 * read-modify-write of the word by this thread, with no scheduling point in between.
 */
void sim_idle(const void *word);

/* Virtual time, CLOCK_MONOTONIC. */
uint64_t sim_in(uint64_t ns);
uint64_t sim_now(void);

/* From now on, whenever an atomic operation changes the word, the watcher is called on the thread
 * that changes it. */
typedef void sim_watcher(const void *word, unsigned thread, uint64_t before, uint64_t after);
void sim_watch(const void *word, sim_watcher *watcher);

/* The n-th allocation from now on fails (1: the next; 0: none). */
void sim_fail_allocation(unsigned n);
/* The n-th pthread_create from now on fails. */
void sim_fail_thread(unsigned n);

#endif
