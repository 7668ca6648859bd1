/* SPDX-License-Identifier: MIT */
/*
 * What detach.c, deadline.c and window.c share: the token.
 *
 * The word `_state`, in bits; 0: never detached:
 *   OUTSTANDING     The token stands for a task.
 *   DECIDED         The result is decided. Only beside OUTSTANDING.
 *   HOLD, COUNTED   What the detach asked for.
 *
 *   0 or DECIDED -> OUTSTANDING      detach, with HOLD and COUNTED
 *   OUTSTANDING -> 0                 detach_within, if the deadline cannot be armed
 *   OUTSTANDING -> DECIDED           a completer, or the deadline
 *
 * Invariants:
 * detach.decided: The thread that makes the token DECIDED, and no other, stores the result. finish
 *    is called once: by that thread immediately, or, if there is a deadline, when the timer touches
 *    token and deadline no more. Other threads touch only `_state`; and
 *    baton_detached_cancel_requested() reads `_future`.
 * detach.visit: The resource of a token that is COUNTED has a visit counted for it from the detach
 *    to the end of finish. A window's token is always COUNTED.
 * detach.finish: finish touches neither token nor future after it has completed the future.
 *
 * Linearisation point of complete, and of the passing of the deadline: the CAS on `_state`.
 */
#ifndef BATON_SRC_DETACH_H
#define BATON_SRC_DETACH_H

#include <baton/detach.h>

#include "base/platform.h"

#define BATON__TOKEN_OUTSTANDING 1U
#define BATON__TOKEN_DECIDED 2U
/* Read by finish. */
#define BATON__TOKEN_HOLD 4U
#define BATON__TOKEN_COUNTED 8U

/* Makes the token DECIDED: 0, -EALREADY or -EINVAL. */
int baton__token_decide(struct baton_detached *token);

/* Completes the token's future with the result that is stored in the token (detach.decided). */
void baton__token_finish(struct baton_detached *token);

/* Arms the deadline. Errors: the timer's. */
int baton__deadline_arm(struct baton_deadline *deadline, struct baton_detached *token,
                        uint64_t timeout_ns);

/* Called by the completer that has decided: when the timer is gone, baton__token_finish is
 * called. */
void baton__deadline_end(struct baton_deadline *deadline);

/* The window's part. detached: is the token that of the window's task that runs now? undetached:
 * undoes it. */
bool baton__window_detached(struct baton_window *window, struct baton_detached *token,
                            const struct baton_resource *resource);
void baton__window_undetached(struct baton_window *window, struct baton_detached *token);

/* Frees a place. The caller holds the baton, or has a visit. */
void baton__window_finished(struct baton_window *window);

#endif
