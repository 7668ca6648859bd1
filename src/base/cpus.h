/* SPDX-License-Identifier: MIT */
/*
 * How many CPUs this process may use.
 */
#ifndef BATON_SRC_CPUS_H
#define BATON_SRC_CPUS_H

#include <stddef.h>

/*
 * The number of CPUs that this process may run on, or its quota below `root`, whichever is smaller;
 * at least 1.
 */
size_t baton__cpus_available(const char *root);

/* The same for root "", as it was at the first call: cheap from the second on. */
size_t baton__cpus_known(void);

/* The CPUs that the calling thread may run on; at least 1. */
size_t baton__cpus_allowed(void);

/*
 * The quota of the cgroup of this process and of those above it, in CPUs, rounded up; 0: none.
 * `root` comes before the absolute path of every file that is read: "" for the real ones.
 */
size_t baton__cpus_quota(const char *root);

#endif
