/* SPDX-License-Identifier: MIT */
/*
 * W13: something is to be done because of many events, as often as is needed and not once for each:
 * a flush that takes a while, asked for again and again. Baton's trigger; what one writes by hand,
 * a mutex with two flags; and a task for each event, which does not coalesce.
 */
#include "harness.h"
#include "machine.h"
#include "team.h"
#include "watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/all.h>

#define CHUNK 1024U

struct subject {
	struct baton_resource resource;
	struct baton_trigger trigger;
	pthread_mutex_t mutex;
	bool dirty;
	bool flushing;
	uint64_t body_ticks;
	uint64_t runs; /* under the baton, or by the one that is flushing */
};

static struct subject subject __attribute__((aligned(64)));

static void flush(void)
{
	uint64_t end = machine_ticks() + subject.body_ticks;

	subject.runs++;
	while (subject.body_ticks && machine_ticks() < end)
		;
}

static int flush_trigger(struct baton_trigger *trigger, uint64_t fires)
{
	flush();
	return 0;
}

static void *flush_call(void *arg)
{
	flush();
	return NULL;
}

static void fire_trigger(void)
{
	if (baton_trigger_fire(&subject.trigger))
		abort();
}

static void fire_post(void)
{
	if (baton_post(&subject.resource, flush_call, NULL))
		abort();
}

static void fire_mutex(void)
{
	(void)pthread_mutex_lock(&subject.mutex);
	subject.dirty = true;
	if (!subject.flushing) {
		subject.flushing = true;
		while (subject.dirty) {
			subject.dirty = false;
			(void)pthread_mutex_unlock(&subject.mutex);
			flush();
			(void)pthread_mutex_lock(&subject.mutex);
		}
		subject.flushing = false;
	}
	(void)pthread_mutex_unlock(&subject.mutex);
}

struct contender {
	const char *name;
	void (*fire)(void);
};

static const struct contender contenders[] = {
	{"mutex and two flags", fire_mutex},
	{"baton trigger", fire_trigger},
	{"baton post for each", fire_post},
};

#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static void begin(double body_ns)
{
	baton_resource_init(&subject.resource, NULL);
	baton_trigger_init(&subject.trigger, &subject.resource, flush_trigger);
	(void)pthread_mutex_init(&subject.mutex, NULL);
	subject.body_ticks = (uint64_t)(body_ns * machine_ticks_per_ns());
	subject.runs = 0;
}

/* What was fired has been answered. */
static void end(void)
{
	if (baton_resource_close(&subject.resource) || baton_resource_await(&subject.resource) ||
	    baton_trigger_is_pending(&subject.trigger) || subject.dirty || !subject.runs) {
		fprintf(stderr, "W13: a fire was lost\n");
		abort();
	}
}

static void run_idle(const void *setup, double *values)
{
	static struct watch watch;
	const struct contender *mine = setup;
	unsigned chunks = bench_options.quick ? 100 : 400;

	begin(0);
	for (unsigned chunk = 0; chunk < chunks; chunk++) {
		uint64_t began = machine_ticks();

		for (unsigned i = 0; i < CHUNK; i++)
			mine->fire();
		watch_add(&watch, began);
	}
	values[0] = watch_end(&watch, CHUNK);
	end();
}

static void fire_often(struct team_member *member)
{
	const struct contender *mine = member->context;

	while (!team_stopped(member)) {
		mine->fire();
		team_count(member, 1);
	}
}

static void run_busy(const void *setup, double *values)
{
	struct contender mine = *(const struct contender *)setup;
	struct team_result result;

	begin(2000);
	result = team_run(4, fire_often, &mine, bench_sample_ms(60), false);
	end();
	values[0] = result.per_second / 1e6;
	values[1] = (double)result.done / (double)subject.runs;
	values[2] = result.cpu_ns;
}

void bench_w13_trigger(void)
{
	static const char *const idle_metrics[] = {"ns per fire", NULL};
	static const char *const busy_metrics[] = {"M fires/s", "fires per run", "CPU ns per fire",
	                                           NULL};
	struct bench_case idle[CONTENDERS];
	struct bench_case busy[CONTENDERS];
	const struct bench_group groups[] = {
		{"W13: trigger, one thread, nothing to do in a run", idle_metrics, idle, CONTENDERS,
	         0, NULL},
		{"W13: trigger, 4 threads fire, a run takes 2 us", busy_metrics, busy, CONTENDERS,
	         0, "a post for each event runs for each: fires per run is 1"},
	};

	for (size_t i = 0; i < CONTENDERS; i++) {
		idle[i] = (struct bench_case){contenders[i].name, run_idle, &contenders[i]};
		busy[i] = (struct bench_case){contenders[i].name, run_busy, &contenders[i]};
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		bench_group(&groups[i]);
}
