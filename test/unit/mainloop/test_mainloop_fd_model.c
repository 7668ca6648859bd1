/* SPDX-License-Identifier: MIT */
/*
 * Random programs of descriptors and idles, and beside the loop a reference that says which sources
 * may run next: the order of descriptors that one look has found ready is the kernel's.
 */
#include "mainloop_fd_support.h"

enum { SOURCES = 8, PIPES = 3, CALLS = 60 };

static struct baton_source_config configs[SOURCES];
static struct watched sources[SOURCES];
static int pipes[PIPES][2];
static int bytes_in[PIPES];
static struct {
	int pipe; /* -1: an idle */
	bool active, ready;
	uint32_t priority;
	uint64_t since; /* ready: the number of the look that has found it */
} model[SOURCES];
static uint64_t looks;
static int model_runs;
static uint64_t run_seed;

static void model_ready(int number)
{
	model[number].ready = true;
	model[number].since = looks;
}

/* What the kernel tells at the begin of a round. */
static void model_look(void)
{
	looks++;
	for (int i = 0; i < SOURCES; i++)
		if (model[i].pipe >= 0 && model[i].active && !model[i].ready &&
		    bytes_in[model[i].pipe])
			model_ready(i);
}

/* Of the most important sources that are ready, no other has been ready since an earlier look. */
static bool model_may_run(int number)
{
	if (!model[number].ready)
		return false;
	for (int i = 0; i < SOURCES; i++)
		if (model[i].ready && (model[i].priority < model[number].priority ||
		                       (model[i].priority == model[number].priority &&
		                        model[i].since < model[number].since)))
			return false;
	return true;
}

static int model_act(struct watched *watched)
{
	const int number = (int)(watched - sources);
	const int from = model[number].pipe;

	cr_assert(model_may_run(number), "source %d, BATON_TEST_SEED=%llu", number,
	          (unsigned long long)run_seed);
	model_runs++;
	model[number].ready = false;
	model[number].active = configs[number].again;
	if (from >= 0)
		bytes_in[from] -= watched->reads < bytes_in[from] ? watched->reads : bytes_in[from];
	looks++;
	if (from < 0 && configs[number].again)
		model_ready(number);
	return 0;
}

static void model_begin(uint64_t *rng)
{
	real_loop();
	looks = 0;
	memset(bytes_in, 0, sizeof(bytes_in));
	for (int i = 0; i < PIPES; i++)
		make_pipe(pipes[i]);
	for (int i = 0; i < SOURCES; i++) {
		const int from = (int)rng_below(rng, PIPES + 1) - 1;

		configs[i] = (struct baton_source_config){.fn = watched_run,
		                                          .kind = from < 0 ? BATON_SOURCE_IDLE
		                                                           : BATON_SOURCE_READABLE,
		                                          .again = rng_below(rng, 2),
		                                          .level = 1 + rng_below(rng, 3)};
		sources[i] = (struct watched)WATCHED(configs[i], x, from < 0 ? -1 : pipes[from][0]);
		sources[i].reads = from < 0 ? 0 : (int)rng_below(rng, 3);
		sources[i].act = model_act;
		model[i].pipe = from;
		model[i].active = model[i].ready = false;
		model[i].priority = configs[i].level;
	}
}

static void model_call(uint64_t *rng)
{
	const int number = (int)rng_below(rng, SOURCES);
	const int to = (int)rng_below(rng, PIPES);
	struct baton_source *source = &sources[number].watch.source;
	size_t left = 1 + rng_below(rng, 4);
	int64_t ran;

	switch (rng_below(rng, 6)) {
	case 0:
	case 1:
		looks++;
		cr_assert_eq(baton_source_start(source), 0);
		model[number].active = true;
		if (model[number].pipe < 0 && !model[number].ready)
			model_ready(number);
		break;
	case 2:
		cr_assert_eq(baton_source_stop(source).met,
		             model[number].active ? BATON_STOP_PREVENTED : BATON_STOP_NOTHING);
		model[number].active = model[number].ready = false;
		break;
	case 3:
		looks++;
		cr_assert_eq(baton_source_set_level(source, (uint32_t)left + 1), 0);
		if (model[number].ready && model[number].priority != left + 1)
			model_ready(number);
		model[number].priority = (uint32_t)left + 1;
		break;
	case 4:
		put_bytes(pipes[to][1], 1);
		bytes_in[to]++;
		break;
	default:
		model_look();
		model_runs = 0;
		ran = baton_mainloop_run(&loop, left);
		cr_assert_eq(ran, model_runs);
		for (int i = 0; i < SOURCES && (size_t)ran < left; i++)
			cr_assert(!model[i].ready, "source %d did not run, BATON_TEST_SEED=%llu", i,
			          (unsigned long long)run_seed);
		break;
	}
}

Test(mainloop_fd_model, random_programs_run_as_the_reference_allows, .timeout = 30)
{
	uint64_t seed = test_seed();

	for (int program = 0; program < scaled(3000); program++, seed++) {
		uint64_t rng = rng_fork(seed, 0);
		int64_t active = 0;

		run_seed = seed;
		model_begin(&rng);
		for (int i = 0; i < CALLS; i++) {
			model_call(&rng);
			log_length = 0;
			for (int n = 0; n < SOURCES; n++)
				cr_assert_eq(baton_source_is_active(&sources[n].watch.source),
				             model[n].active);
		}
		for (int i = 0; i < SOURCES; i++)
			active += model[i].active;
		loop_end(active);
		for (int i = 0; i < PIPES; i++) {
			(void)close(pipes[i][0]);
			(void)close(pipes[i][1]);
		}
	}
}
