/* SPDX-License-Identifier: MIT */
/*
 * The list of refusals. A line names the function that has refused, its resource, the error, and
 * the place of the call, and says how often that was. The list has a fixed size. A refusal that
 * finds no room in the list is only counted.
 */
#ifndef BATON_SRC_CHECKED_REFUSALS_H
#define BATON_SRC_CHECKED_REFUSALS_H

#include <baton/resource.h>

/* Notes an error that `function`, which was called from `caller`, returns. */
void baton__check_refused(const struct baton_resource *resource, int error, const char *function,
                          const void *caller);

#endif
