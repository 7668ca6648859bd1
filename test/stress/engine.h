/* SPDX-License-Identifier: MIT */
/*
 * The executors of a round: the default pool, own pools (some come and go within the round), manual
 * and loop executors, each of these two with a thread that drives it.
 */
#ifndef BATON_TEST_STRESS_ENGINE_H
#define BATON_TEST_STRESS_ENGINE_H

#include <baton.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ENGINES_MAX 8
#define ENGINE_CONFIGS 12

enum engine_kind { ENGINE_DEFAULT, ENGINE_POOL, ENGINE_ROTATING, ENGINE_MANUAL, ENGINE_LOOP };

struct engine {
	enum engine_kind kind;
	struct baton_executor *executor; /* NULL: the default pool, by the resource's default */
	struct baton_pool *pool;
	struct baton_manual *manual;
	struct baton_loop *loop;
	_Atomic uint64_t users; /* resources and jobs; with ENGINE_OPEN while there may be more */
	atomic_bool leave;      /* asks its thread to end it */
	atomic_bool ending;     /* may refuse */
	atomic_bool cancelling; /* may have cancelled what was queued */
	uint32_t workers;
	uint64_t random; /* its thread's */
	struct baton_resource_config configs[ENGINE_CONFIGS];
};

/* Starts those of a round; some may appear a little later. */
void engines_start(uint64_t *random, uint32_t count);

/* When nothing uses them any more; returns when they are gone. */
void engines_end(void);

/* Pins an engine that still takes resources. There is always one. */
struct engine *engine_pick(uint64_t *random);
void engine_unpin(struct engine *engine);

/* Where a plain job can go: like baton_pool_submit, or schedule. */
int engine_submit(struct engine *engine, struct baton_plain_job *job);

/* The executor for continuations. */
struct baton_executor *engine_executor(struct engine *engine);

void engines_print(void);

#endif
