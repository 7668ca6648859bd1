/* SPDX-License-Identifier: MIT */
/*
 * What the main loop (companion/mainloop) needs of the loop executor beside its public calls.
 */
#ifndef BATON_SRC_LOOP_H
#define BATON_SRC_LOOP_H

#include <baton/loop.h>

#include <stdbool.h>

/* Makes the descriptor readable. Any thread. */
void baton__loop_signal(struct baton_loop *loop);

/* Is the calling thread the owner? */
bool baton__loop_owned(const struct baton_loop *loop);

/* The function that tells baton_should_yield(), on the owner's thread, about other work. */
void baton__loop_set_yields(struct baton_loop *loop, bool (*yields)(void *arg), void *arg);

#endif
