/* SPDX-License-Identifier: MIT */
/*
 * Text that a client has chosen, made fit for a terminal and for programs that read the log line by
 * line. Pure.
 */
#ifndef BROKER_PRINTABLE_H
#define BROKER_PRINTABLE_H

#include <stddef.h>

/*
 * Replaces by '?' each byte of a control character (C0, DEL and C1), of a line or paragraph
 * separator, of a character that changes the direction of writing, and each byte that is not part
 * of well-formed UTF-8.
 */
void printable(char *text, size_t size);

#endif
