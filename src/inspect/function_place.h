/* SPDX-License-Identifier: MIT */
/* Where a function of the program is: in which file that is loaded, and where there. */
#ifndef BATON_SRC_FUNCTION_PLACE_H
#define BATON_SRC_FUNCTION_PLACE_H

#include "inspect/board.h"

#define BATON__PLACE_TEXT 128

/*
 * "broker+0x13c0": `addr2line -f -e broker 0x13c0` makes the function's name of it, also when the
 * program has ended. Of a function in no file: its address. In `text`, which is returned.
 */
const char *baton__place_text(char text[BATON__PLACE_TEXT], const struct baton__board_file *file,
                              uintptr_t function);

#endif
