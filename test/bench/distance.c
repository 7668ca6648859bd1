/* SPDX-License-Identifier: MIT */
/*
 * Two pinned threads pass a word to and fro. See distance.h.
 */
#include "distance.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "machine.h"
#include "summary.h"
#include "team.h"

#define ROUNDS 21U
#define PASSES 100U
/* The other thread has no CPU: after so many looks the probe gives up. */
#define LOOKS_MAX 2000000U

struct ball {
	uint32_t word __attribute__((aligned(64)));
	bool lost __attribute__((aligned(64))); /* a thread has waited for too long */
	double rounds[ROUNDS];
};

/* Waits until the word is `value`. False: the other thread does not run. */
static bool await(struct ball *ball, uint32_t value)
{
	for (unsigned looks = 0; looks < LOOKS_MAX; looks++) {
		if (__atomic_load_n(&ball->word, __ATOMIC_ACQUIRE) == value)
			return true;
		if (__atomic_load_n(&ball->lost, __ATOMIC_RELAXED))
			return false;
	}
	__atomic_store_n(&ball->lost, true, __ATOMIC_RELAXED);
	return false;
}

static void *answer(void *argument)
{
	struct ball *ball = argument;

	team_pin(1);
	for (uint32_t pass = 0; pass <= ROUNDS * PASSES && await(ball, 2 * pass + 1); pass++)
		__atomic_store_n(&ball->word, 2 * pass + 2, __ATOMIC_RELEASE);
	return NULL;
}

/* One pass there and back. The first one waits for the other thread to start. */
static void pass_on(struct ball *ball, uint32_t pass)
{
	__atomic_store_n(&ball->word, 2 * pass + 1, __ATOMIC_RELEASE);
	(void)await(ball, 2 * pass + 2);
}

static void *serve(void *argument)
{
	struct ball *ball = argument;
	uint32_t pass = 0;

	team_pin(0);
	pass_on(ball, pass++);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t begin = machine_now_ns();

		for (unsigned left = PASSES; left > 0; left--)
			pass_on(ball, pass++);
		ball->rounds[round] = (double)(machine_now_ns() - begin) / PASSES;
	}
	return NULL;
}

double distance_ns(void)
{
	struct ball ball = {.word = 0};
	pthread_t threads[2];

	if (team_cpus() < 2)
		return NAN;
	/* Threads of their own: the caller may be pinned. */
	if (pthread_create(&threads[0], NULL, answer, &ball) ||
	    pthread_create(&threads[1], NULL, serve, &ball))
		abort();
	for (unsigned i = 0; i < 2; i++)
		(void)pthread_join(threads[i], NULL);
	return ball.lost ? NAN : summary_of(ball.rounds, ROUNDS).median;
}
