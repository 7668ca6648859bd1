/* SPDX-License-Identifier: MIT */
/*
 * As edges.c, for the main loop. Thread 0 is the owner.
 */
#include "support.h"

#include <baton/mainloop.h>

#include "base/atomic.h"
#include "companion/mainloop/mainloop.h"

static struct baton_mainloop loop;
static int data; /* what an edge publishes */
static int told; /* atomic */
static int seen;
static unsigned runs;

static int run(struct baton_source *one)
{
	runs++;
	return 0;
}

static int run_writes(struct baton_source *one)
{
	data = 1;
	return 0;
}

static int run_looks(struct baton_source *one)
{
	seen = load_relaxed(&told);
	return 0;
}

/* Asked before the first run, and after the other thread's start. */
static uint64_t is_ready(struct baton_source *one, uint64_t now_ns)
{
	if (runs)
		sim_require(data == 1);
	return 0;
}

static uint64_t is_told(struct baton_source *one, uint64_t now_ns)
{
	sim_require(data == 1);
	return 0;
}

static const struct baton_source_config running = {.fn = run};
static const struct baton_source_config writing = {.fn = run_writes};
static const struct baton_source_config looking = {.fn = run_looks};
static const struct baton_source_config asked = {
	.fn = run, .kind = BATON_SOURCE_CUSTOM, .ready = is_ready};
static const struct baton_source_config telling = {
	.fn = run, .kind = BATON_SOURCE_CUSTOM, .ready = is_told};
static struct baton_source source = BATON_SOURCE_INIT(&loop, &running, "source");
static struct baton_source writer = BATON_SOURCE_INIT(&loop, &writing, "writer");
static struct baton_source looker = BATON_SOURCE_INIT(&loop, &looking, "looker");
static struct baton_source custom = BATON_SOURCE_INIT(&loop, &asked, "custom");
static struct baton_source teller = BATON_SOURCE_INIT(&loop, &telling, "teller");

static void start(struct baton_source *one)
{
	sim_require(baton_source_start(one) == 0);
}

/* `ready`: a source that is to run next. */
static void begin(struct baton_source *ready)
{
	sim_calm(true);
	sim_require(baton_mainloop_init(&loop, NULL) == 0);
	if (ready)
		start(ready);
	sim_calm(false);
}

/* Runs the loop beside the other thread, and once more when that one has ended. */
static void end(void)
{
	for (int i = 0; i < 2; i++)
		sim_require(baton_mainloop_run(&loop, 2) >= 0);
	sim_join_all();
	sim_require(baton_mainloop_drain_until(&loop, BATON_NEVER) >= 0);
	sim_require(baton_mainloop_deinit(&loop) == 0);
}

static void ask_now(void *unused)
{
	(void)unused;
	(void)baton_mainloop_now(&loop); /* reads the loop's options */
}

SIM_SCENARIO(edge_mainloop_made, "[mainloop.made] who finds the loop finds it made")
{
	const struct baton_mainloop_options options = {.deterministic = true};

	(void)sim_start(ask_now, NULL);
	sim_require(baton_mainloop_init(&loop, &options) == 0);
	sim_join_all();
	sim_require(baton_mainloop_deinit(&loop) == 0);
}

static void tell_start(void *unused)
{
	(void)unused;
	store_relaxed(&told, 1);
	start(&looker);
}

SIM_SCENARIO(edge_source_claimed, "[source.word] a run sees what was done before its last start")
{
	begin(&looker);
	(void)sim_start(tell_start, NULL);
	end();
	sim_require(seen == 1);
}

static void write_start(void *one)
{
	data = 1;
	start(one);
}

SIM_SCENARIO(edge_source_finished, "[source.word] after a run, a start beside it is seen")
{
	begin(&custom);
	(void)sim_start(write_start, &custom);
	end();
	sim_require(runs == 1 || runs == 2);
}

static void start_twice(void *unused)
{
	(void)unused;
	sim_require(baton_source_start_after(&teller, BATON_NEVER) == 0);
	write_start(&teller);
}

SIM_SCENARIO(edge_source_settled, "[source.word] a start of a source that is posted is seen")
{
	begin(NULL);
	(void)sim_start(start_twice, NULL);
	end();
	sim_require(runs == 1);
}

static void stop_inactive(void *unused)
{
	(void)unused;
	/* The answer does not tell another thread: the word does. */
	if (!(baton__source_stop(loop._loop, &writer) &
	      (BATON__SOURCE_ACTIVE | BATON__SOURCE_RUNNING)))
		sim_require(data == 1);
}

SIM_SCENARIO(edge_source_ran, "[source.word] who finds the source inactive sees what it has done")
{
	begin(&writer);
	(void)sim_start(stop_inactive, NULL);
	end();
}

static void stop_waiting(void *unused)
{
	(void)unused;
	if (baton__source_stop(loop._loop, &source) & BATON__SOURCE_ACTIVE)
		sim_require(data == 1);
}

SIM_SCENARIO(edge_source_started, "[source.word] who stops a source sees what its starter did")
{
	begin(NULL);
	(void)sim_start(stop_waiting, NULL);
	write_start(&source);
	end();
}

SIM_SCENARIO(edge_source_stopped, "[source.word] the same, where the owner stops")
{
	begin(NULL);
	(void)sim_start(write_start, &source);
	stop_waiting(NULL);
	end();
}
