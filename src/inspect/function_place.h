/* SPDX-License-Identifier: MIT */
/* Where a function of the program is: in which file that is loaded, and where there. */
#ifndef BATON_SRC_FUNCTION_PLACE_H
#define BATON_SRC_FUNCTION_PLACE_H

#include <stdint.h>

#define BATON__PLACE_TEXT 128

/*
 * The place of a function, as "broker+0x13c0", in `text`, which is returned. `addr2line -f -e
 * broker 0x13c0` tells the function's name, also after the program's end. In no file: the address.
 * `program`: the name of the program, or its path.
 */
const char *baton__place_text(char text[BATON__PLACE_TEXT], const char *program,
                              uintptr_t function);

#endif
