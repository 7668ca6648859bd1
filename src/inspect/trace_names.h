/* SPDX-License-Identifier: MIT */
/*
 * The names of a trace's resources. A line of the board may have had several owners since the trace
 * began. While a trace is on, the board keeps the name of each owner that leaves.
 *
 * Invariant trace.names: Only a thread that holds the board's `looks` reads the name of a line, and
 * only of a SHOWN line: the line's owner cannot leave meanwhile.
 */
#ifndef BATON_SRC_TRACE_NAMES_H
#define BATON_SRC_TRACE_NAMES_H

#include "inspect/board.h"

/* Keeps the name of an owner that is about to leave the line. Does nothing while no trace is on, or
 * without memory. With `looks`. */
void baton__trace_names_keep(struct baton_board *board, const struct baton__board_line *line);

/* Call before the first baton__trace_name. With `looks`. */
void baton__trace_names_sort(struct baton_board *board);

/* The name of the resource that had this gauge at this time; NULL: not known. With `looks`. */
const char *baton__trace_name(const struct baton_board *board, uint64_t gauge, uint64_t ns);

/* Frees the names. With `looks`, or when no other thread uses the board. */
void baton__trace_names_clear(struct baton_board *board);

#endif
