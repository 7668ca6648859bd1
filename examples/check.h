/* SPDX-License-Identifier: MIT */
/*
 * Checks of an example: condition and call are evaluated in every build (with assert they are not).
 */
#ifndef BATON_EXAMPLES_CHECK_H
#define BATON_EXAMPLES_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
	((condition) ? (void)0                                                                     \
	             : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition),    \
	                exit(EXIT_FAILURE)))

#endif
