/* SPDX-License-Identifier: MIT */
/* What a process has used, out of /proc. */
#ifndef LOAD_PROCESS_H
#define LOAD_PROCESS_H

#include <sys/types.h>

/* Seconds of CPU time, user and system, in steps of 10 ms; negative: not to be found out. */
double process_cpu(pid_t pid);

/* Of this process, exactly. */
double process_own_cpu(void);

/* Bytes resident; 0: not to be found out. */
long process_rss(pid_t pid);

#endif
