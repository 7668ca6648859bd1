/* SPDX-License-Identifier: MIT */
/* What the readers of a group share, wherever they run. See reader.c. */
#ifndef BATON_SRC_READER_H
#define BATON_SRC_READER_H

#include <baton/reader.h>

#include "core/resource.h"

/* The thread has captured the resource of the readers, and leads, if readers run side by side. */
void baton__readers_begin(struct baton_readers *readers);

/*
 * A thread that leads has run `ended` readers, its own among them. If other readers are at work,
 * asks for the shelf: the thread leaves the resource when its task or hold is over, and the last
 * reader goes on. Called while the thread holds the resource.
 */
void baton__readers_end_lead(struct baton_readers *readers, uint32_t ended);

/*
 * Count the thread of a shared hold as a reader. join_held: the calling thread; false: the readers
 * at work cannot be joined. count_held: called in the grant of that hold; false: there is no group.
 */
bool baton__readers_join_held(struct baton_readers *readers);
bool baton__readers_count_held(struct baton_readers *readers);

/* Runs a reader of the group, in the frame, which is this thread's innermost. */
void baton__reader_run(struct baton__frame *frame, struct baton_task *task);

/* A thread that does not lead has run `ended` readers of the group. Last touch of the readers. */
void baton__readers_leave(struct baton_readers *readers, uint32_t ended);

#endif
