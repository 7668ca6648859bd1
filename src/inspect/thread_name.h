/* SPDX-License-Identifier: MIT */
/* The names of threads (pthread_setname_np), as a board shows them. */
#ifndef BATON_SRC_THREAD_NAME_H
#define BATON_SRC_THREAD_NAME_H

#include "inspect/board.h"

/* Copies the names of all threads that have a record, or have made a promise that a thread waits
 * for. Called with `looks` of the board held. */
void baton__thread_names(struct baton__board_file *file);

/* The name of a thread, given by the kernel's id. "": not known. */
const char *baton__thread_name(const struct baton__board_file *file, uint64_t thread);

#endif
