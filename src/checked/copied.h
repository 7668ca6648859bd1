/* SPDX-License-Identifier: MIT */
/* A busy resource that no call has seen before: a copy, or memory that was never initialised. */
#ifndef BATON_SRC_CHECKED_COPIED_H
#define BATON_SRC_CHECKED_COPIED_H

#include "checked/records.h"

/* Notes which of the two it is. Takes locks of records: the caller must hold none. */
void baton__mistake_copied(struct baton__mistake *mistake, const struct baton_resource *resource);

#endif
