/* SPDX-License-Identifier: MIT */
/*
 * What was refused: which function, for which resource, with which error, called from where, and
 * how often. The list has a fixed size; what finds no room in it is only counted.
 */
#ifndef BATON_SRC_CHECKED_REFUSALS_H
#define BATON_SRC_CHECKED_REFUSALS_H

#include <baton/resource.h>

/* Notes an error that `function`, which was called from `caller`, returns. */
void baton__check_refused(const struct baton_resource *resource, int error, const char *function,
                          const void *caller);

#endif
