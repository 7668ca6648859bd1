/* SPDX-License-Identifier: MIT */
/*
 * A disk that fails, for stories with a store: preload/disk.c stands between the broker and its
 * files, and does what this story wants.
 */
#ifndef BROKER_TEST_DISK_H
#define BROKER_TEST_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/disk.h"

/* From the next start of a broker on. Skips the story where the broker is instrumented. */
struct disk_plan *disk_use(void);

/* The n-th call from now on does that; 0: none does. */
void disk_at(uint64_t call, enum disk_action action);

/* Has that call come? */
bool disk_struck(void);

/* Each call does that, from now on. */
void disk_always(enum disk_action action);

/*
 * Power loss. watch: the store's files as they are now are on the disk, and each later call is
 * written down. lose: makes of the files what a disk could have: of what was not synced some writes
 * are there, some are not, and some are torn, as the seed says.
 */
void disk_watch(void);
void disk_lose(uint64_t seed);

#endif
