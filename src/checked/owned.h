/* SPDX-License-Identifier: MIT */
/* The checks of what the library allocates: pools, executors, wheels of timers. */
#ifndef BATON_SRC_CHECKED_OWNED_H
#define BATON_SRC_CHECKED_OWNED_H

/* An object that the library allocates: made, used by `call`, ended by `call`. */
void baton__checked_made(const void *object, const char *call);
void baton__checked_owned(const void *object, const char *call);
void baton__checked_ended(const void *object, const char *call);

#endif
