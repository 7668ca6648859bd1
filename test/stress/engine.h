/* SPDX-License-Identifier: MIT */
/*
 * The executors of a round: the default pool, own pools (some come and go within the round), manual
 * and loop executors. Each manual or loop executor has a thread that drives it.
 */
#ifndef BATON_TEST_STRESS_ENGINE_H
#define BATON_TEST_STRESS_ENGINE_H

#include <baton/all.h>

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
	/* number of resources and jobs; ENGINE_OPEN is set while more may come */
	_Atomic uint64_t users;
	atomic_bool leave;      /* asks the engine's thread to destroy the executor */
	atomic_bool ending;     /* the executor may refuse jobs */
	atomic_bool cancelling; /* the executor may have cancelled queued jobs */
	uint32_t workers;
	uint64_t random; /* its thread's */
	struct baton_resource_config configs[ENGINE_CONFIGS];
};

/* Starts the engines of a round. Some engines may start a little later. */
void engines_start(uint64_t *random, uint32_t count);

/* Ends the engines, and returns when they are gone. No resource and no job uses them any more. */
void engines_end(void);

/* Pins an engine that still takes resources. There is always one. */
struct engine *engine_pick(uint64_t *random);
void engine_unpin(struct engine *engine);

/* Submits a plain job to the engine: by baton_pool_submit(), or by the executor's schedule(). */
int engine_submit(struct engine *engine, struct baton_plain_job *job);

/* The executor for continuations. */
struct baton_executor *engine_executor(struct engine *engine);

void engines_print(void);

#endif
