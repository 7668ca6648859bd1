/* SPDX-License-Identifier: MIT */
/*
 * Which machine and which source the figures belong to; its clock.
 */
#ifndef BATON_BENCH_MACHINE_H
#define BATON_BENCH_MACHINE_H

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

struct machine {
	char cpu[128];
	char kernel[128];
	char compiler[64];
	char commit[64];
	char date[32]; /* when the run began, in UTC */
	unsigned cpus; /* usable */
	double memory_mib;
};

void machine_describe(struct machine *machine);

/*
 * How much of the machine's CPU time went to others than this process and its children since the
 * first call, in per cent; steal (another guest had the CPU) included. NAN if it cannot be told.
 */
double machine_others_percent(void);

/* CLOCK_MONOTONIC. */
uint64_t machine_now_ns(void);

/* Sleeps; the system adds its timer slack, 50 us. */
void machine_sleep_ns(uint64_t ns);

/* Anonymous memory that is present, exact; NAN if the system does not tell. */
double machine_memory_bytes(void);

/* A cheap clock, for latencies: ticks, and how many make a nanosecond (measured once). */
static inline uint64_t machine_ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return machine_now_ns();
#endif
}

double machine_ticks_per_ns(void);

/* A task's body of about `ns` nanoseconds of computing (time away from the CPU does not count). */
struct machine_work {
	uint64_t rounds;
};

struct machine_work machine_work_of(double ns);

static inline void machine_work(struct machine_work work)
{
	uint64_t value = 1;

	for (uint64_t i = 0; i < work.rounds; i++) {
		value = value * 6364136223846793005U + 1;
		__asm__ volatile("" : "+r"(value)); /* the compiler may neither skip nor fold it */
	}
}

#endif
