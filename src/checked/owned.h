/* SPDX-License-Identifier: MIT */
/* The checks of what the library allocates: pools, executors, wheels, limbos, boards, watchdogs,
 * fan-outs. */
#ifndef BATON_SRC_CHECKED_OWNED_H
#define BATON_SRC_CHECKED_OWNED_H

/* The object, and its executor if it has one, is made, used by `call`, ended by `call`. */
void baton__check_made(const void *object, const void *executor, const char *call);
void baton__check_owned(const void *object, const char *call);
void baton__check_ended(const void *object, const void *executor, const char *call);

#endif
