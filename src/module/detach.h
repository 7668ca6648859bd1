/* SPDX-License-Identifier: MIT */
/*
 * What detach.c, deadline.c and window.c share: the token.
 *
 * _state: 0: never detached; OUTSTANDING -> DECIDED: by who completes it, or its deadline.
 *
 * Invariants:
 * D1 Who makes it DECIDED, and nobody else, stores the result and sees to it that finish is called
 *    once: at once, or, where there is a deadline, when the timer's side has let go of token and
 *    deadline. Others touch no more than _state.
 * D2 A token that is a window's, or COUNTED, holds a visit of the resource's from the detach to the
 *    end of finish.
 * D3 finish touches neither token nor future after it has completed the future.
 *
 * Linearisation point of complete, and of the deadline's passing: the CAS on _state.
 */
#ifndef BATON_SRC_DETACH_H
#define BATON_SRC_DETACH_H

#include <baton/detach.h>

#include "base/platform.h"

#define BATON__TOKEN_OUTSTANDING 1U
#define BATON__TOKEN_DECIDED 2U
/* For finish: what the detach has asked for. */
#define BATON__TOKEN_HOLD 4U
#define BATON__TOKEN_COUNTED 8U

/* Makes it DECIDED: 0, -EALREADY, -EINVAL. */
int baton__token_decide(struct baton_detached *token);

/* D1: who has decided, with the result stored in the token. */
void baton__token_finish(struct baton_detached *token);

/* Arms; or the timer's error. */
int baton__deadline_arm(struct baton_deadline *deadline, struct baton_detached *token,
                        uint64_t timeout_ns);

/* By the completer who has decided: has it finished when the timer's side has let go. */
void baton__deadline_end(struct baton_deadline *deadline);

/* The window's part. detached: true: the token is that of the windowed task which runs now. */
bool baton__window_detached(struct baton_window *window, struct baton_detached *token,
                            const struct baton_resource *resource);
void baton__window_undetached(struct baton_window *window, struct baton_detached *token);

/* A place has become free. The caller has a visit, or the baton. */
void baton__window_finished(struct baton_window *window);

#endif
