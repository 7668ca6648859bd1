/* SPDX-License-Identifier: MIT */
/*
 * W1: one thread. What its parts share: the resource, and the way to time.
 *
 * Timed in chunks of W1_CHUNK operations, of which the median counts: what else the machine does
 * for a while then does not.
 */
#ifndef BATON_BENCH_W1_H
#define BATON_BENCH_W1_H

#include "harness.h"
#include "instructions.h"
#include "watch.h"

#include <baton.h>

#define W1_CHUNK 4096U

struct w1_subject {
	uint64_t counter;
	struct baton_resource resource;
};

/* Cleared by w1_begin; its counter is what baton's bodies count. */
extern struct w1_subject w1_subject;
void w1_begin(const struct baton_resource_config *config);
int w1_count_task(struct baton_task *task);

/* Ends the program unless that many tasks have run. */
void w1_check(uint64_t counter, uint64_t expected);

unsigned w1_chunks(void);

/*
 * Times `chunks` chunks of `operation`, which costs `tasks` of them; puts ns per task into
 * values[0], and instructions per task into values[1].
 */
#define W1_TIMED(values, chunks, tasks, operation)                                                 \
	do {                                                                                       \
		static struct watch watch;                                                         \
		struct instructions counter = instructions_begin();                                \
                                                                                                   \
		for (unsigned chunk = 0; chunk < (chunks); chunk++) {                              \
			uint64_t began = machine_ticks();                                          \
                                                                                                   \
			for (unsigned i = 0; i < W1_CHUNK / (tasks); i++) {                        \
				operation;                                                         \
			}                                                                          \
			watch_add(&watch, began);                                                  \
		}                                                                                  \
		(values)[1] = instructions_end(&counter, (double)(chunks)*W1_CHUNK);               \
		(values)[0] = watch_end(&watch, W1_CHUNK);                                         \
	} while (0)

/* The cases of w1_busy.c: values[0]: ns per push; [2]: for running it. */
extern const size_t w1_burst_one;
extern const size_t w1_burst_batch;
void w1_burst_run(const void *setup, double *values);
void w1_held_run(const void *setup, double *values);

/* The cases of w1_peers.c. `setup`: a struct peer. */
void w1_peer_post_run(const void *setup, double *values);
void w1_peer_dispatch_run(const void *setup, double *values);
void w1_peer_stream_run(const void *setup, double *values);

#endif
