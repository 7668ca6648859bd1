/* SPDX-License-Identifier: MIT */
/*
 * W26: a main loop's picks: with so many idle sources that are all ready, and with one that is
 * ready beside so many timers that wait. Baton's main loop, GLib's main context, libuv's idles. And
 * the wakes for a thousand starts by another thread, which come together.
 */
#include "harness.h"
#include "machine.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/all.h>
#include <baton/mainloop.h>

#ifndef BENCH_NO_GLIB
#include <glib.h>
#endif
#ifndef BENCH_NO_UV
#include <uv.h>
#endif

#define STARTS 1000

static uint64_t picks;

static double ns_per_pick(uint64_t began)
{
	const double ns = (double)(machine_ticks() - began) / machine_ticks_per_ns();

	return ns / (double)picks;
}

static uint64_t picks_wanted(void)
{
	return bench_options.quick ? 200000 : 1000000;
}

static void check(int error)
{
	if (error) {
		fprintf(stderr, "W26: %d\n", error);
		abort();
	}
}

static void *zeroed(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	check(!memory);
	return memory;
}

/* ---- Baton ---- */

static int pick(struct baton_source *source)
{
	picks++;
	return 0;
}

static const struct baton_source_config idle_config = {.fn = pick, .again = true};
static const struct baton_source_config timer_config = {
	.fn = pick, .kind = BATON_SOURCE_TIMER, .period_ns = 3600 * BATON_SECOND};

static void run_baton(const void *setup, double x, double *values)
{
	const bool waiting = setup;
	const size_t count = (size_t)x;
	struct baton_mainloop loop = BATON_MAINLOOP_INIT;
	struct baton_source *sources = zeroed(count + 1, sizeof(*sources));
	uint64_t began;

	check(baton_mainloop_init(&loop, NULL));
	for (size_t i = 0; i < count; i++) {
		baton_source_init(&sources[i], &loop, waiting && i ? &timer_config : &idle_config,
		                  NULL);
		check(baton_source_start(&sources[i]));
	}
	picks = 0;
	began = machine_ticks();
	while (picks < picks_wanted())
		check(baton_mainloop_run(&loop, 1000) != 1000);
	values[0] = ns_per_pick(began);
	check(baton_mainloop_deinit(&loop) != (int64_t)count);
	free(sources);
}

/* ---- GLib ---- */

#ifndef BENCH_NO_GLIB
static gboolean pick_glib(gpointer arg)
{
	picks++;
	return G_SOURCE_CONTINUE;
}
#endif

static void run_glib(const void *setup, double x, double *values)
{
#ifdef BENCH_NO_GLIB
	values[0] = NAN;
#else
	const bool waiting = setup;
	const size_t count = (size_t)x;
	GMainContext *context = g_main_context_new();
	GSource **sources = zeroed(count, sizeof(GSource *));
	uint64_t began;

	for (size_t i = 0; i < count; i++) {
		sources[i] = waiting && i ? g_timeout_source_new(3600 * 1000) : g_idle_source_new();
		g_source_set_callback(sources[i], pick_glib, NULL, NULL);
		(void)g_source_attach(sources[i], context);
	}
	picks = 0;
	began = machine_ticks();
	/* Beside many timers a pick takes long. */
	while (picks < (waiting ? picks_wanted() / count + 10 : picks_wanted()))
		(void)g_main_context_iteration(context, FALSE);
	values[0] = ns_per_pick(began);
	for (size_t i = 0; i < count; i++) {
		g_source_destroy(sources[i]);
		g_source_unref(sources[i]);
	}
	g_main_context_unref(context);
	free(sources);
#endif
}

/* ---- libuv ---- */

#ifndef BENCH_NO_UV
static void pick_uv(uv_idle_t *idle)
{
	picks++;
}

static void due_uv(uv_timer_t *timer)
{
}
#endif

static void run_uv(const void *setup, double x, double *values)
{
#ifdef BENCH_NO_UV
	values[0] = NAN;
#else
	const bool waiting = setup;
	const size_t count = (size_t)x;
	uv_loop_t loop;
	uv_idle_t *idles = zeroed(count, sizeof(*idles));
	uv_timer_t *timers = zeroed(count, sizeof(*timers));
	uint64_t began;

	check(uv_loop_init(&loop));
	for (size_t i = 0; i < count; i++) {
		if (waiting && i) {
			check(uv_timer_init(&loop, &timers[i]));
			check(uv_timer_start(&timers[i], due_uv, 3600 * 1000, 0));
		} else {
			check(uv_idle_init(&loop, &idles[i]));
			check(uv_idle_start(&idles[i], pick_uv));
		}
	}
	picks = 0;
	began = machine_ticks();
	while (picks < picks_wanted())
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	values[0] = ns_per_pick(began);
	for (size_t i = 0; i < count; i++)
		uv_close(waiting && i ? (uv_handle_t *)&timers[i] : (uv_handle_t *)&idles[i], NULL);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	check(uv_loop_close(&loop));
	free(idles);
	free(timers);
#endif
}

/* ---- Wakes ---- */

static struct baton_source started[STARTS];

static void *start_all(void *arg)
{
	for (size_t i = 0; i < STARTS; i++)
		check(baton_source_start(&started[i]));
	return arg;
}

static void wakes(void)
{
	static const struct baton_source_config once = {.fn = pick};
	struct baton_mainloop loop = BATON_MAINLOOP_INIT;
	struct baton_mainloop_stats stats;
	pthread_t thread;

	check(baton_mainloop_init(&loop, NULL));
	for (size_t i = 0; i < STARTS; i++)
		baton_source_init(&started[i], &loop, &once, NULL);
	check(pthread_create(&thread, NULL, start_all, NULL));
	check(pthread_join(thread, NULL));
	check(baton_mainloop_run(&loop, STARTS) != STARTS);
	baton_mainloop_stats_read(&loop, &stats);
	bench_figure("W26: 1,000 starts from another thread, together", "wakes",
	             (double)stats.wakes);
	check(baton_mainloop_deinit(&loop) != 0);
}

void bench_w26_mainloop(void)
{
	static const double counts[] = {10, 1000, 100000};
	static const char *const metrics[] = {"ns per pick", NULL};
	static const struct bench_series ready[] = {{"baton main loop", run_baton, NULL},
	                                            {"GLib main context", run_glib, NULL},
	                                            {"libuv idles", run_uv, NULL}};
	static const char yes = 1;
	static const struct bench_series waiting[] = {{"baton main loop", run_baton, &yes},
	                                              {"GLib main context", run_glib, &yes},
	                                              {"libuv idle", run_uv, &yes}};
	static const struct bench_sweep sweeps[] = {
		{"W26: main loop, all sources are ready", "sources", counts, 3, metrics, ready, 3,
	         0, "libuv has no priorities: it calls all idles in turn"},
		{"W26: main loop, one source is ready, the others wait for an hour", "sources",
	         counts, 3, metrics, waiting, 3, 0, NULL},
	};

	if (!bench_wanted("W26"))
		return;
	(void)bench_sweep(&sweeps[0]);
	(void)bench_sweep(&sweeps[1]);
	wakes();
}
