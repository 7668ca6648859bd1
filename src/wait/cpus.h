/* SPDX-License-Identifier: MIT */
/*
 * How many CPUs this process may use.
 */
#ifndef BATON_SRC_CPUS_H
#define BATON_SRC_CPUS_H

#include <stddef.h>

/*
 * The number of CPUs that this process may run on, or, if smaller, baton__cpus_quota(root); at
 * least 1.
 */
size_t baton__cpus_available(const char *root);

/* baton__cpus_available(""), read once: later calls return the number of the first call, and are
 * cheap. */
size_t baton__cpus_known(void);

/* The number of CPUs that the process (its first thread) may run on; at least 1. */
size_t baton__cpus_allowed(void);

/*
 * The smallest CPU quota of this process's cgroup and the cgroups above, in CPUs, rounded up; 0:
 * none. `root` is put before the absolute path of each file that is read: "" for the real files.
 */
size_t baton__cpus_quota(const char *root);

#endif
