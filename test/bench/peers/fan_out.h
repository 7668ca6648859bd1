/* SPDX-License-Identifier: MIT */
/*
 * The tree of jobs for peers that have no fork and join of their own: each job submits its two
 * children, the last leaf wakes the one who waits for the tree. Only leaves are counted.
 */
#ifndef BATON_BENCH_PEERS_FAN_OUT_H
#define BATON_BENCH_PEERS_FAN_OUT_H

#include "peer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*fan_out_submit)(peer_fn run, void *argument);

/* `outside` submits the root, `inside` what a job submits. depth: 1 to FAN_OUT_MAX. */
#define FAN_OUT_MAX 40
void fan_out_by(fan_out_submit outside, fan_out_submit inside, unsigned depth, peer_fn run,
                void *argument);

#ifdef __cplusplus
}
#endif

#endif
