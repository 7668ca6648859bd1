/* SPDX-License-Identifier: MIT */
/*
 * Checks of an example. Unlike assert, CHECK evaluates its condition in every build.
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
