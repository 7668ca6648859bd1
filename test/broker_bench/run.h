/* SPDX-License-Identifier: MIT */
/* A run from its first connection to its last delivery, phase by phase. */
#ifndef LOAD_RUN_H
#define LOAD_RUN_H

struct load;

/* What came of it is in `load`. */
void run(struct load *load);

#endif
