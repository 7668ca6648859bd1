/* SPDX-License-Identifier: MIT */
/*
 * The interleaving explorer, as its scenarios see it.
 *
 * The library's own sources run here on threads that are coroutines of one thread: every access to
 * a shared word, every sleep and wake is a place where another one may go on, and what happens is
 * decided by the explorer: exhaustively within a bound, at random from a seed, or as told. Words
 * keep the values that they had, and a load may return an old one where the C11 memory model lets
 * it; plain accesses are instrumented by the compiler (-fsanitize=thread), and checked for races
 * and for memory that has been given back. Time is virtual.
 *
 * A scenario is a function, which runs as thread 0 and starts others. Its file's static variables
 * are as the program began with at the beginning of every execution. What is wrong ends the
 * execution, and is replayed, shortened, and printed.
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
	const char *claim; /* what it shows, one line */
	void (*run)(void);
	/*
	 * Freezing: thread `freeze` (by number; 0: none) is stopped at each of its scheduling
	 * points in turn. When the others can do nothing more, `frozen` looks whether they are
	 * where they should be (plain reads of the scenario's state); then the thread goes on.
	 */
	unsigned freeze;
	void (*frozen)(void);
	unsigned bound; /* of the exhaustive search; 0: the explorer's */
	bool daemons; /* threads that the library starts may sleep for ever: it ends without them */
	bool fails;   /* a self-test: the explorer must find that it fails */
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

/* Starts a thread: its number. Joining them all ends a scenario that has not done it itself. */
unsigned sim_start(void (*function)(void *argument), void *argument);
void sim_join(unsigned thread);
void sim_join_all(void);
/* Joins those that the scenario has started. */
void sim_join_started(void);
/* Has every other thread ended? */
bool sim_others_ended(void);

/* The calling thread's number, and the frozen one's: 0 if none is. */
unsigned sim_thread(void);
unsigned sim_frozen(void);

/* Ends the execution with a message. */
_Noreturn void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define sim_require(condition)                                                                     \
	((condition) ? (void)0 : sim_fail("%s:%d: not so: %s", __FILE__, __LINE__, #condition))

/* The memory is the scenario's again: whoever of the library touches it from now on is wrong. */
void sim_retire(const void *memory, size_t size);
/* It is in use again. */
void sim_reuse(const void *memory, size_t size);

/* Memory that lives for the execution; not for what is to be given back. */
void *sim_alloc(size_t size);
/* Those blocks that the library has taken and not given back. */
size_t sim_allocated(void);
void sim_each_block(void (*look)(const void *block, size_t size));

/* Decisions so far in this execution. */
uint32_t sim_step(void);

/*
 * Setting up: until it is told otherwise nobody interferes, nothing is chosen and nobody frozen.
 * And: the others go on like that until each of them has ended or sleeps.
 */
void sim_calm(bool calm);
void sim_settle(void);

/* A choice of the scenario's, 0 to count - 1: explored like the others. */
unsigned sim_pick(unsigned count);

/* A place where others may go on, and one where they have to, if they can. */
void sim_point(void);
void sim_yield(void);
/*
 * Until an atomic operation changes the word, or a thread ends. Who has found nothing to do there
 * by a read-modify-write, with no other scheduling point since, misses nothing.
 */
void sim_idle(const void *word);

/* Virtual time, CLOCK_MONOTONIC. */
struct timespec sim_in(uint64_t ns);
uint64_t sim_now(void);

/* Called at every change of the word by an atomic operation. In the changing thread; plain code. */
typedef void sim_watcher(const void *word, unsigned thread, uint64_t before, uint64_t after);
void sim_watch(const void *word, sim_watcher *watcher);

/* The n-th allocation from now on fails (1: the next); 0: none. */
void sim_fail_allocation(unsigned n);
/* The same for pthread_create. */
void sim_fail_thread(unsigned n);

#endif
