/* SPDX-License-Identifier: MIT */
/*
 * How far apart the two first usable CPUs are now. A hypervisor moves its guests' CPUs: the same
 * two CPUs share a cache in one minute, and lie in different sockets in the next. Figures of
 * several threads from the two states must not be mixed.
 */
#ifndef BATON_BENCH_DISTANCE_H
#define BATON_BENCH_DISTANCE_H

/* The states. Between them is what separates one socket from two on x86-64. */
#define DISTANCE_FAR_NS 220.0

/*
 * Nanoseconds in which a cache line goes to the other CPU and back: the median of some rounds,
 * within a millisecond or two. NAN with one CPU.
 */
double distance_ns(void);

#endif
