/* SPDX-License-Identifier: MIT */
/*
 * What the explorer's parts share. choices.c decides, threads.c switches threads, memory.c keeps
 * old values, races.c watches plain accesses, kernel.c has sleep, time and allocation, explore.c
 * runs executions.
 */
#ifndef BATON_SIM_ENGINE_H
#define BATON_SIM_ENGINE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "backend.h"
#include "sim.h"

/* ---- Vector clocks: a thread's component counts its releases ---- */
typedef uint16_t sim_clock __attribute__((vector_size(2 * SIM_THREADS_MAX)));

static inline sim_clock sim_clock_join(sim_clock a, sim_clock b)
{
	sim_clock greater = (sim_clock)(a > b);

	return (a & greater) | (b & ~greater);
}

/* ---- Choices ---- */
/* BYTES and REPLAY must not depend on what earlier executions have learnt of the sites. */
enum sim_mode { SIM_EXHAUSTIVE, SIM_RANDOM, SIM_PCT, SIM_BYTES, SIM_REPLAY };

struct sim_deviation {
	uint32_t step;
	uint32_t chosen;
};

struct sim_choices {
	enum sim_mode mode;
	bool weak;      /* loads may return old values */
	bool ordered;   /* sim_scenario.ordered */
	bool calm;      /* nothing is chosen: sim_calm */
	uint32_t step;  /* number of decisions in this execution, with or without alternatives */
	unsigned bound; /* exhaustive: the cost that deviations may have */
	uint32_t seed;
};

extern struct sim_choices sim_choices;

/*
 * Chooses one of `count` alternatives; 0: no interference. In the exhaustive search each
 * alternative from `paid` on costs 1.
 */
unsigned sim_choose(unsigned count, unsigned paid);
void sim_note(unsigned chosen); /* notes a decision that was made elsewhere, for replay */

void sim_choices_begin(enum sim_mode mode, uint64_t seed, unsigned bound);
void sim_choices_bytes(const uint8_t *bytes, size_t size);
void sim_choices_replay(const struct sim_deviation *deviations, size_t count);
bool sim_choices_next(void); /* exhaustive: is there another execution? */
void sim_choices_restart(void);
size_t sim_choices_made(const struct sim_deviation **deviations);
uint64_t sim_random(void);

/* ---- Threads ---- */
enum sim_state { SIM_READY, SIM_ASLEEP, SIM_IDLE, SIM_JOINING, SIM_FINISHED };

#define SIM_TLS_MAX 64
#define SIM_KEYS_MAX 8
#define SIM_CALLS_MAX 200
#define SIM_HASTE 8

struct sim_thread {
	enum sim_state state;
	bool fresh;
	bool yielded;      /* other threads go first */
	unsigned in_haste; /* number of further yields that do not let other threads go first */
	bool hurried;      /* was in haste: now other threads go first */
	bool frozen;
	bool daemon;       /* no thread waits for its end */
	unsigned joins;    /* JOINING: the awaited thread */
	const void *idle;  /* IDLE: until this word changes */
	uint64_t deadline; /* ASLEEP: 0: none */
	bool timed_out;
	const uint32_t *watched[130];
	size_t watched_count;
	void *(*function)(void *argument);
	void *argument;
	uint32_t priority; /* PCT */
	uint32_t points;   /* number of its scheduling points so far */
	sim_clock clock;
	jmp_buf context;
	ucontext_t start;
	unsigned char tls[SIM_TLS_MAX];
	void *keys[SIM_KEYS_MAX];
	const void *calls[SIM_CALLS_MAX]; /* return addresses, innermost last */
	unsigned call_count;
	const struct sim_site *at; /* its last atomic operation */
};

extern struct sim_thread sim_threads[SIM_THREADS_MAX];
extern unsigned sim_thread_count;
extern unsigned sim_self;

static inline struct sim_thread *sim_me(void)
{
	return &sim_threads[sim_self];
}

unsigned sim_thread_add(void *(*function)(void *), void *argument);
void *sim_started(void *argument); /* the first function of a thread of sim_start */
/* Runs the scenario as thread 0 until all threads have ended, or the execution has failed. */
void sim_threads_run(const struct sim_scenario *scenario);
/* Decides which thread goes on. The calling thread has set its state, or is at a point. */
void sim_schedule(bool leave);
bool sim_stack_holds(const void *address);
_Noreturn void sim_execution_ends(void);
/* The word has changed (NULL: a thread has ended): threads that are idle for that go on. */
void sim_word_changed(const void *word);
void sim_operation(struct sim_site *site);
void sim_print_sites(const char *scenario); /* the sites that the scenario has reached */

/* ---- Freezing in the next execution; did it happen; calls of `frozen` in all ---- */
void sim_freeze_at(unsigned thread, uint32_t point);
bool sim_freeze_came(void);
unsigned long sim_freeze_looks(void);
bool sim_freeze_now(void); /* the calling thread, before an atomic operation */
bool sim_freeze_lasts(void);
void sim_thaw(const struct sim_scenario *scenario);

/* ---- Memory, races ---- */
enum sim_access { SIM_READ, SIM_WRITE, SIM_ATOMIC_READ, SIM_ATOMIC_WRITE, SIM_ACCESSES };

void sim_memory_begin(void);
bool sim_memory_shared_more(void); /* was a site found to be shared since the last call? */
void sim_races_begin(void);
void sim_accessed(const void *address, size_t size, enum sim_access kind, const void *where);
/* The place of an atomic access. The address, inside a site, differs from any return address. */
static inline const void *sim_where(const struct sim_site *site)
{
	return (const char *)site + 1;
}

/* ---- The order of sequentially consistent operations, in weak memory ---- */
void sim_order_begin(void);
/* May such an operation of a thread that knows `known` load the old value of this index? */
bool sim_order_allows(const void *word, uint32_t index, const sim_clock *known);
/* A sequentially consistent operation has loaded, or stored, the value of this index. */
void sim_order_add(const void *word, uint32_t index, bool store);
void sim_order_forget(const void *word);

/* ---- Kernel ---- */
void sim_kernel_begin(void);
void sim_wake(unsigned thread, bool timed_out);
void sim_time_passes(uint64_t until);
bool sim_arena_holds(const void *address, size_t size, bool *valid);

/* ---- Reports ---- */
extern bool sim_tracing;
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sim_print_calls(const struct sim_thread *thread);
void sim_print_place(const void *where);
void sim_print_race(void);

/* ---- Executions ---- */
struct sim_outcome {
	bool running;
	bool failed;
	char message[1024];
};

extern struct sim_outcome sim_outcome;

#endif
