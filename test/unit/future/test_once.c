/* SPDX-License-Identifier: MIT */
/*
 * Exactly once (L3): while threads submit, others cancel, cancel what is pending, close, and shut
 * the pool down. Every accepted task runs once or is cancelled once, every refused one neither.
 */
#include "support.h"

enum { SUBMITTERS = 3, RESOURCES = 3, TOKENS = 200 };

struct token {
	struct baton_task task;
	struct baton_future future;
	atomic_int runs;
	atomic_int told;    /* config.cancelled was called */
	atomic_int revoked; /* baton_future_cancel said 0 */
	int answer;         /* of its submit */
};

static int token_run(struct baton_task *task)
{
	atomic_fetch_add(&baton_container_of(task, struct token, task)->runs, 1);
	return 0;
}

static void token_cancelled(struct baton_task *task)
{
	atomic_fetch_add(&baton_container_of(task, struct token, task)->told, 1);
}

/* One round: resources, a pool of two, and each submitter's tokens. */
struct round {
	struct baton_pool *pool;
	struct baton_resource_config config;
	struct baton_resource resources[RESOURCES];
	struct baton_resource_stats stats[RESOURCES];
	struct token tokens[SUBMITTERS][TOKENS];
	pthread_t threads[SUBMITTERS];
	atomic_int begun;
	bool later; /* every other submit */
	uint64_t rng;
};

struct role {
	struct round *round;
	int submitter;
};

static void *submitter_main(void *arg)
{
	struct role *role = arg;
	struct round *round = role->round;

	for (int i = 0; i < TOKENS; i++) {
		struct token *token = &round->tokens[role->submitter][i];
		struct baton_resource *resource = &round->resources[(i / 5) % RESOURCES];

		if (round->later && i % 2)
			token->answer = baton_submit_later(resource, &token->task);
		else
			token->answer = baton_submit(resource, &token->task);
		atomic_fetch_add(&round->begun, 1);
	}
	return NULL;
}

static void round_begin(struct round *round, struct role *roles, bool futures, uint64_t rng)
{
	memset(round, 0, sizeof(*round));
	round->pool = pool_of(2);
	round->rng = rng;
	round->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	round->config.capture_max = 1 + rng_below(&round->rng, 3);
	round->config.quantum = 1 + rng_below(&round->rng, 3);
	round->config.executor = baton_pool_executor(round->pool);
	round->config.cancelled = token_cancelled;
	for (int i = 0; i < RESOURCES; i++) {
		baton_resource_init(&round->resources[i], &round->config);
		baton_resource_set_stats(&round->resources[i], &round->stats[i]);
	}
	for (int i = 0; i < SUBMITTERS; i++)
		for (int j = 0; j < TOKENS; j++) {
			struct token *token = &round->tokens[i][j];

			baton_future_init(&token->future);
			baton_task_init(&token->task, token_run, futures ? &token->future : NULL);
		}
	round->later = rng_below(&round->rng, 2) != 0;
	for (int i = 0; i < SUBMITTERS; i++) {
		roles[i] = (struct role){round, i};
		round->threads[i] = thread_start(submitter_main, &roles[i]);
	}
}

/* Returns somewhere in the middle of the submitters' work. */
static void round_middle(struct round *round)
{
	until_at_least(&round->begun, (int)rng_below(&round->rng, SUBMITTERS * TOKENS));
}

static void round_join(struct round *round)
{
	for (int i = 0; i < SUBMITTERS; i++)
		thread_join(round->threads[i]);
}

static void round_end(struct round *round)
{
	for (int i = 0; i < RESOURCES; i++) {
		resource_end(&round->resources[i]);
		cr_assert_eq(resource_counts(&round->stats[i]).outstanding, 0);
		cr_assert_eq(resource_counts(&round->stats[i]).submitted,
		             resource_counts(&round->stats[i]).executed +
		                     round->stats[i].cancelled);
	}
	cr_assert_eq(baton_pool_destroy(round->pool), 0);
}

/* What each token must look like when all is over. */
static void judge(struct round *round, bool futures, int refusal)
{
	for (int i = 0; i < SUBMITTERS; i++)
		for (int j = 0; j < TOKENS; j++) {
			struct token *token = &round->tokens[i][j];
			int runs = atomic_load(&token->runs);
			int told = atomic_load(&token->told);

			if (token->answer != 0) {
				bool revoked = atomic_load(&token->revoked);

				/* A cancel that races the refused submit may come first. */
				cr_assert_eq(token->answer, revoked ? -ECANCELED : refusal, "%d",
				             token->answer);
				cr_assert_eq(runs + told, 0);
				cr_assert_eq(baton_future_state(&token->future),
				             revoked ? BATON_CANCELLED : BATON_PENDING);
			} else if (futures) {
				enum baton_future_state state = baton_future_state(&token->future);

				cr_assert_eq(told, 0);
				cr_assert(runs == 1 ? state == BATON_DONE
				                    : runs == 0 && state == BATON_CANCELLED);
				cr_assert(atomic_load(&token->revoked) <= 1 - runs);
			} else {
				cr_assert_eq(runs + told, 1, "ran %d, told %d", runs, told);
			}
		}
}

static int rounds(void)
{
	return scaled(600);
}

Test(once, closing_refuses_or_runs, .timeout = 20)
{
	struct round *round = malloc(sizeof(*round));
	struct role roles[SUBMITTERS];
	uint64_t rng = rng_fork(test_seed(), 1);

	for (int n = 0; n < rounds(); n++) {
		round_begin(round, roles, n % 2 == 0, rng + (uint64_t)n);
		round_middle(round);
		for (int i = 0; i < RESOURCES; i++)
			cr_assert_eq(baton_resource_close(&round->resources[i]), 0);
		round_join(round);
		round_end(round);
		judge(round, n % 2 == 0, -EPIPE);
		for (int i = 0; i < RESOURCES; i++)
			cr_assert_eq(round->stats[i].cancelled, 0);
	}
	free(round);
}

/* Two threads that cancel each token in the order of submission, and say what they were told. */
static void *canceller_main(void *arg)
{
	struct round *round = arg;
	intptr_t errors = 0;

	for (int j = 0; j < TOKENS; j++)
		for (int i = 0; i < SUBMITTERS; i++) {
			struct token *token = &round->tokens[i][j];
			int answer = baton_future_cancel(&token->future);

			if (answer == 0)
				atomic_fetch_add(&token->revoked, 1);
			else
				errors += answer != -EINVAL && answer != -EINPROGRESS &&
				          answer != -EALREADY;
		}
	return (void *)errors;
}

Test(once, a_cancelled_task_never_runs_and_others_do, .timeout = 20)
{
	struct round *round = malloc(sizeof(*round));
	struct role roles[SUBMITTERS];
	uint64_t rng = rng_fork(test_seed(), 2);

	for (int n = 0; n < rounds(); n++) {
		pthread_t cancellers[2];

		round_begin(round, roles, true, rng + (uint64_t)n);
		cancellers[0] = thread_start(canceller_main, round);
		cancellers[1] = thread_start(canceller_main, round);
		cr_assert_null(thread_join(cancellers[0]));
		cr_assert_null(thread_join(cancellers[1]));
		round_join(round);
		round_end(round);
		judge(round, true, 0);
		for (int i = 0; i < SUBMITTERS; i++)
			for (int j = 0; j < TOKENS; j++) {
				struct token *token = &round->tokens[i][j];

				cr_assert_eq(atomic_load(&token->runs) +
				                     atomic_load(&token->revoked),
				             1);
			}
	}
	free(round);
}

Test(once, cancel_pending_cancels_or_lets_run, .timeout = 20)
{
	struct round *round = malloc(sizeof(*round));
	struct role roles[SUBMITTERS];
	uint64_t rng = rng_fork(test_seed(), 3);

	for (int n = 0; n < rounds(); n++) {
		round_begin(round, roles, n % 2 == 0, rng + (uint64_t)n);
		for (int again = 0; again < 3; again++)
			for (int i = 0; i < RESOURCES; i++)
				cr_assert_eq(baton_resource_cancel_pending(&round->resources[i]),
				             0);
		round_middle(round);
		for (int i = 0; i < RESOURCES; i++)
			cr_assert_eq(baton_resource_cancel_pending(&round->resources[i]), 0);
		round_join(round);
		round_end(round);
		judge(round, n % 2 == 0, 0);
	}
	free(round);
}

Test(once, a_pool_that_shuts_down_loses_nothing, .timeout = 20)
{
	struct round *round = malloc(sizeof(*round));
	struct role roles[SUBMITTERS];
	uint64_t rng = rng_fork(test_seed(), 4);

	for (int n = 0; n < rounds(); n++) {
		round_begin(round, roles, n % 2 == 0, rng + (uint64_t)n);
		round_middle(round);
		cr_assert_eq(baton_pool_shutdown(round->pool), 0);
		round_join(round);
		round_end(round);
		judge(round, n % 2 == 0, -ESHUTDOWN);
		for (int i = 0; i < RESOURCES; i++)
			cr_assert_eq(round->stats[i].cancelled, 0);
	}
	free(round);
}

Test(once, shutdown_now_gives_back_what_nobody_took, .timeout = 20)
{
	struct round *round = malloc(sizeof(*round));
	struct role roles[SUBMITTERS];
	uint64_t rng = rng_fork(test_seed(), 5);

	for (int n = 0; n < rounds(); n++) {
		struct baton_job *job = NULL;

		round_begin(round, roles, n % 2 == 0, rng + (uint64_t)n);
		round_middle(round);
		cr_assert_eq(baton_pool_shutdown_now(round->pool, &job), 0);
		while (job) {
			struct baton_job *next = baton_job_next(job);

			if (rng_below(&round->rng, 2))
				baton_job_run(job);
			else
				baton_job_cancel(job);
			job = next;
		}
		round_join(round);
		round_end(round);
		judge(round, n % 2 == 0, -ESHUTDOWN);
	}
	free(round);
}

static void *closer_main(void *arg)
{
	struct round *round = arg;

	for (int i = 0; i < RESOURCES; i++)
		(void)baton_resource_close(&round->resources[i]);
	return NULL;
}

Test(once, everything_at_once_still_completes_each_future_once, .timeout = 20)
{
	struct round *round = malloc(sizeof(*round));
	struct role roles[SUBMITTERS];
	uint64_t rng = rng_fork(test_seed(), 6);

	for (int n = 0; n < rounds(); n++) {
		pthread_t canceller, closer;

		round_begin(round, roles, true, rng + (uint64_t)n);
		canceller = thread_start(canceller_main, round);
		round_middle(round);
		for (int i = 0; i < RESOURCES; i++)
			cr_assert_eq(baton_resource_cancel_pending(&round->resources[i]), 0);
		round_middle(round);
		closer = thread_start(closer_main, round);
		cr_assert_null(thread_join(canceller));
		thread_join(closer);
		round_join(round);
		round_end(round);
		judge(round, true, -EPIPE);
	}
	free(round);
}
