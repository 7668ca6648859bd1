/* SPDX-License-Identifier: MIT */
/* What the readers of a group share, wherever they run. See reader.c. */
#ifndef BATON_SRC_READER_H
#define BATON_SRC_READER_H

#include <baton/reader.h>

#include "core/resource.h"

/* Runs a reader of the group, in the frame, which is this thread's innermost. */
void baton__reader_run(struct baton__frame *frame, struct baton_task *task);

/* A thread that does not lead has run `ended` readers of the group. Last touch of the readers. */
void baton__readers_leave(struct baton_readers *readers, uint32_t ended);

#endif
