/* SPDX-License-Identifier: MIT */
/*
 * Plain accesses. The compiler (-fsanitize=thread) calls us at each of them, and at the beginning
 * and end of each function; its own run-time library is not linked. Every byte has each thread's
 * clock at its last read and write: an access races if another thread's conflicting one did not
 * happen before it. Bytes that were given back are nobody's to touch.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#define GRANULES 16384U /* a power of two */

typedef uint16_t lane __attribute__((vector_size(16))); /* a number per byte of the granule */

struct granule {
	uintptr_t number;
	uint32_t execution;
	uint8_t retired; /* a bit per byte */
	lane at[SIM_ACCESSES][SIM_THREADS_MAX];
	const void *where[SIM_ACCESSES][SIM_THREADS_MAX];
};

extern unsigned char sim_globals_begin[];
extern unsigned char sim_globals_end[];

static struct granule granules[GRANULES];
static uint32_t execution;
static lane masks[256];
static const void *race_where[2]; /* of the failure: this access, and the one before */

void sim_races_begin(void)
{
	execution++;
	race_where[0] = race_where[1] = NULL;
	if (!masks[1][0])
		for (unsigned mask = 0; mask < 256; mask++)
			for (unsigned i = 0; i < 8; i++)
				masks[mask][i] = mask & 1U << i ? UINT16_MAX : 0;
}

static struct granule *find(uintptr_t number)
{
	size_t at = (size_t)(number * UINT64_C(0x9E3779B97F4A7C15) >> 40) % GRANULES;

	for (size_t i = 0; i < GRANULES; i++) {
		struct granule *granule = &granules[(at + i) % GRANULES];

		if (granule->execution != execution) {
			granule->execution = execution;
			granule->number = number;
			granule->retired = 0;
			memset(granule->at, 0, sizeof(granule->at));
			return granule;
		}
		if (granule->number == number)
			return granule;
	}
	sim_fail("explorer: more than %u words of memory", GRANULES);
}

static bool conflict(enum sim_access a, enum sim_access b)
{
	static const bool table[SIM_ACCESSES][SIM_ACCESSES] = {
		[SIM_READ] = {[SIM_WRITE] = true, [SIM_ATOMIC_WRITE] = true},
		[SIM_WRITE] = {[SIM_READ] = true,
	                       [SIM_WRITE] = true,
	                       [SIM_ATOMIC_READ] = true,
	                       [SIM_ATOMIC_WRITE] = true},
		[SIM_ATOMIC_READ] = {[SIM_WRITE] = true},
		[SIM_ATOMIC_WRITE] = {[SIM_READ] = true, [SIM_WRITE] = true},
	};

	return table[a][b];
}

static const char *name_of(enum sim_access kind)
{
	static const char *const names[] = {"read", "write", "atomic read", "atomic write"};

	return names[kind];
}

static void check_granule(struct granule *granule, lane mask, enum sim_access kind,
                          const void *where, const void *address)
{
	uint16_t own = sim_me()->clock[sim_self];

	for (unsigned other = 0; other < sim_thread_count; other++) {
		uint16_t known = sim_me()->clock[other];

		if (other == sim_self)
			continue;
		for (unsigned before = 0; before < SIM_ACCESSES; before++) {
			lane late = (lane)(granule->at[before][other] > known) & mask;
			uint64_t halves[2];

			if (!conflict(kind, before))
				continue;
			memcpy(halves, &late, sizeof(late));
			if (halves[0] | halves[1]) {
				race_where[0] = where;
				race_where[1] = granule->where[before][other];
				sim_fail("race on %p: a %s by thread %u, a %s by thread %u before",
				         address, name_of(kind), sim_self, name_of(before), other);
			}
		}
	}
	granule->at[kind][sim_self] =
		(granule->at[kind][sim_self] & ~mask) | (((lane){0} + own) & mask);
	granule->where[kind][sim_self] = where;
}

void sim_accessed(const void *address, size_t size, enum sim_access kind, const void *where)
{
	uintptr_t first = (uintptr_t)address;
	bool valid = true;

	if (!sim_arena_holds(address, size, &valid) && !sim_stack_holds(address) &&
	    first - (uintptr_t)sim_globals_begin >= (size_t)(sim_globals_end - sim_globals_begin))
		return; /* a thread's own variables, a fuzzer's counters */
	if (!valid) {
		race_where[0] = where;
		race_where[1] = NULL;
		sim_fail("%s of %zu bytes at %p: not allocated, or given back", name_of(kind), size,
		         address);
	}
	while (size) {
		unsigned offset = first % 8;
		size_t part = size < 8 - offset ? size : 8 - offset;
		unsigned bits = ((1U << part) - 1) << offset;
		struct granule *granule = find(first / 8);

		if (granule->retired & bits) {
			race_where[0] = where;
			race_where[1] = NULL;
			sim_fail("%s of %zu bytes at %p: its owner has it back", name_of(kind),
			         size, address);
		}
		check_granule(granule, masks[bits & 255], kind, where, address);
		first += part;
		size -= part;
	}
}

static void set_retired(const void *memory, size_t size, bool retired)
{
	uintptr_t first = (uintptr_t)memory;

	for (size_t i = 0; i < size; i++) {
		struct granule *granule = find((first + i) / 8);
		uint8_t bit = (uint8_t)(1U << (first + i) % 8);

		granule->retired =
			(uint8_t)(retired ? granule->retired | bit : granule->retired & ~bit);
	}
}

void sim_retire(const void *memory, size_t size)
{
	/* As a write: all that others have done with it must have happened before. */
	sim_accessed(memory, size, SIM_WRITE, __builtin_return_address(0));
	set_retired(memory, size, true);
}

void sim_reuse(const void *memory, size_t size)
{
	set_retired(memory, size, false);
}

void sim_print_race(void)
{
	for (int i = 0; i < 2 && race_where[i]; i++)
		sim_print_place(race_where[i]);
	race_where[0] = race_where[1] = NULL;
}

/* ---- What the compiler calls ---- */

/* Outside of executions (constructors, watchers) nobody looks. */
static bool looking(void)
{
	return sim_outcome.running;
}

#define ACCESS(kind)                                                                               \
	if (looking())                                                                             \
	sim_accessed(address, size, kind, __builtin_return_address(0))

void __tsan_init(void);
void __tsan_func_entry(const void *caller);
void __tsan_func_exit(void);
void __tsan_read_range(const void *address, size_t size);
void __tsan_write_range(const void *address, size_t size);

#define HOOKS(n)                                                                                   \
	void __tsan_read##n(const void *address);                                                  \
	void __tsan_write##n(const void *address);                                                 \
	void __tsan_unaligned_read##n(const void *address);                                        \
	void __tsan_unaligned_write##n(const void *address);                                       \
	void __tsan_read##n(const void *address)                                                   \
	{                                                                                          \
		const size_t size = n;                                                             \
		ACCESS(SIM_READ);                                                                  \
	}                                                                                          \
	void __tsan_write##n(const void *address)                                                  \
	{                                                                                          \
		const size_t size = n;                                                             \
		ACCESS(SIM_WRITE);                                                                 \
	}                                                                                          \
	void __tsan_unaligned_read##n(const void *address)                                         \
	{                                                                                          \
		const size_t size = n;                                                             \
		ACCESS(SIM_READ);                                                                  \
	}                                                                                          \
	void __tsan_unaligned_write##n(const void *address)                                        \
	{                                                                                          \
		const size_t size = n;                                                             \
		ACCESS(SIM_WRITE);                                                                 \
	}

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_read_range(const void *address, size_t size)
{
	ACCESS(SIM_READ);
}

void __tsan_write_range(const void *address, size_t size)
{
	ACCESS(SIM_WRITE);
}

void __tsan_init(void)
{
}

void __tsan_func_entry(const void *caller)
{
	struct sim_thread *me = sim_me();

	if (looking() && me->call_count < SIM_CALLS_MAX)
		me->calls[me->call_count] = caller;
	me->call_count++;
}

void __tsan_func_exit(void)
{
	struct sim_thread *me = sim_me();

	if (me->call_count)
		me->call_count--;
}
