/* SPDX-License-Identifier: MIT */
/* Grounds: how they are made, what must be so whenever one of their tasks is entered, their end. */
#include "mod.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "actor.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#define GROUNDS_MAX 16

static struct ground *grounds[GROUNDS_MAX];
static uint32_t count;
/* The watch prints the grounds while a round may be freeing them. */
static pthread_mutex_t freeing = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool stopping;
static atomic_int deeds;
static atomic_uint streams;

bool mod_stopping(void)
{
	return atomic_load_explicit(&stopping, memory_order_relaxed);
}

void mod_stop(bool now)
{
	atomic_store(&stopping, now);
	while (now && atomic_load(&deeds))
		usleep(50);
}

bool mod_deed_begin(void)
{
	atomic_fetch_add(&deeds, 1);
	if (!atomic_load(&stopping))
		return true;
	mod_deed_end();
	return false;
}

void mod_deed_end(void)
{
	atomic_fetch_sub(&deeds, 1);
}

uint32_t mod_stream(void)
{
	struct actor *self = actor_self();

	/* 0: too many threads; nobody looks at their order. */
	if (self->stream == 0)
		self->stream = 1 + atomic_fetch_add_explicit(&streams, 1, memory_order_relaxed);
	return self->stream < MOD_STREAMS ? self->stream : 0;
}

uint32_t grounds_count(void)
{
	return count;
}

struct ground *ground_at(uint32_t index)
{
	return grounds[index];
}

struct ground *ground_pick(uint64_t *random)
{
	return grounds[random_below(random, count)];
}

static void note_batch_over(struct ground *ground)
{
	atomic_store_explicit(&ground->batches_over, ground->batch, memory_order_relaxed);
	ground->in_batch = false;
}

static int batch_begin(struct baton_resource *resource)
{
	struct ground *ground = ground_of(resource);

	if (ground->in_batch)
		report(NULL, NULL, "ground %u: two batch_begins in a row", ground->number);
	if (ground->hooks_fail && random_one_in(&actor_self()->random, 32))
		return MOD_BEGIN_FAILS;
	ground->in_batch = true;
	ground->batch++;
	return 0;
}

static int batch_end(struct baton_resource *resource)
{
	struct ground *ground = ground_of(resource);
	uint32_t batch = ground->batch;

	if (!ground->in_batch)
		report(NULL, NULL, "ground %u: a batch_end without a batch", ground->number);
	if (!ground->hooks_fail || !random_one_in(&actor_self()->random, 16)) {
		note_batch_over(ground);
		return 0;
	}
	atomic_store_explicit(&ground->failed[batch % MOD_BATCHES], batch, memory_order_relaxed);
	note_batch_over(ground);
	return MOD_END_FAILS;
}

static void watermark(struct baton_resource *resource, bool high)
{
	struct ground *ground = ground_of(resource);

	if (!baton_held(resource))
		report(NULL, NULL, "ground %u: a watermark without the baton", ground->number);
	if (ground->above == high)
		report(NULL, NULL, "ground %u: %s watermark twice", ground->number,
		       high ? "high" : "low");
	ground->above = high;
}

static void above(struct baton_resource *resource, void *arg)
{
	watermark(resource, true);
}

static void below(struct baton_resource *resource, void *arg)
{
	watermark(resource, false);
}

static void give_bound(struct ground *ground, uint64_t *random)
{
	struct baton_bound_config *config = &ground->bound_config;

	*config = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	config->policy = (enum baton_bound_policy)random_below(
		random, ground->lane_count ? BATON_BOUND_DROP_LOWEST + 1 : BATON_BOUND_DROP_OLDEST);
	config->tasks_max = 2 + random_below(random, 30);
	config->tasks_hard = config->tasks_max + 1 + random_below(random, 30);
	if (random_one_in(random, 3)) {
		config->bytes_max = 200 + random_below(random, 1000);
		config->bytes_hard = config->bytes_max * 2;
	}
	config->exempt = random_one_in(random, 2) ? 1 : 0;
	if (random_one_in(random, 2)) {
		config->tasks_high = config->tasks_max / 2 + 1;
		config->tasks_low = config->tasks_high / 2;
	}
	config->high = above;
	config->low = below;
	ground->bounded = true;
	ground->drops = config->policy != BATON_BOUND_REFUSE;
	baton_bound_init(&ground->bound, config);
}

static void configure(struct ground *ground, uint64_t *random)
{
	static const uint32_t limits[] = {BATON_CAPTURE_NONE, 1, 2, BATON_CAPTURE_MAX, 1000};
	static const uint32_t quanta[] = {1, 3, BATON_QUANTUM};
	struct baton_resource_config *config = &ground->config;

	*config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config->capture_max = limits[random_below(random, 5)];
	config->quantum = quanta[random_below(random, 3)];
	config->cancelled = item_cancelled;
	ground->hooked = random_one_in(random, 3);
	if (ground->hooked) {
		ground->hooks_fail = random_one_in(random, 2);
		config->batch_begin = batch_begin;
		config->batch_end = batch_end;
		config->batch_max = random_below(random, 2) * (1 + random_below(random, 8));
		config->delay_completions = random_one_in(random, 2);
	}
	if (random_one_in(random, 2)) {
		ground->lane_count = 1 + random_below(random, MOD_LANES);
		ground->aging.aging_turns = random_below(random, 2) * 8;
		ground->aging.aging_ns = random_one_in(random, 4) * 100000;
		baton_lanes_init(&ground->lanes, ground->lane, ground->lane_count, &ground->aging);
	}
	if (random_one_in(random, 2))
		give_bound(ground, random);
}

void grounds_start(uint64_t *random, struct baton_executor *const *executors, uint32_t kinds)
{
	count = 1 + random_below(random, GROUNDS_MAX);
	atomic_store(&streams, 0);
	for (uint32_t i = 0; i < actor_count(); i++)
		actor_at(i)->stream = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct ground *ground = calloc(1, sizeof(*ground));

		MUST(ground);
		grounds[i] = ground;
		ground->number = i;
		configure(ground, random);
		ground->config.executor = executors[random_below(random, kinds)];
		baton_resource_init(&ground->resource, &ground->config);
		baton_resource_set_stats(&ground->resource, &ground->stats);
		if (ground->bounded)
			baton_resource_set_bound(&ground->resource, &ground->bound);
		if (ground->lane_count)
			baton_resource_set_lanes(&ground->resource, &ground->lanes);
		baton_window_init(&ground->window, &ground->resource,
		                  1 + random_below(random, MOD_WINDOW_MAX));
		baton_readers_init(&ground->readers, &ground->resource);
		alarms_init(ground);
		firings_init(ground);
	}
}

void ground_look(const struct ground *ground)
{
	if (ground->owner)
		report(NULL, NULL, "L1: ground %u: thread %u enters beside thread %u",
		       ground->number, actor_self()->number, ground->owner - 1);
	if (ground->held)
		report(NULL, NULL, "ground %u: a task is entered while a token holds it",
		       ground->number);
	if (ground->suspended)
		report(NULL, NULL, "ground %u: a task is entered while it is suspended",
		       ground->number);
	if (ground->hooked && !ground->in_batch)
		report(NULL, NULL, "ground %u: a task is entered outside of a batch",
		       ground->number);
	if (ground->version != ground->version_again || ground->undone != ground->undo_kept)
		report(NULL, NULL, "L1: ground %u: half of what a task did is seen",
		       ground->number);
	if (atomic_load_explicit(&ground->finalised, memory_order_relaxed))
		report(NULL, NULL, "ground %u: a task after the finaliser", ground->number);
	if (baton_current() != &ground->resource)
		report(NULL, NULL, "ground %u: is not baton_current", ground->number);
}

void ground_enter(struct ground *ground)
{
	struct actor *self = actor_self();

	ground_look(ground);
	if (atomic_load_explicit(&ground->reading, memory_order_relaxed))
		report(NULL, NULL, "L1: ground %u: thread %u enters beside readers", ground->number,
		       self->number);
	ground->owner = self->number + 1U;
	ground->version++;
	self->hidden++;
	atomic_fetch_add_explicit(&self->deeds, 1, memory_order_relaxed);
}

void ground_leave(struct ground *ground)
{
	actor_self()->hidden--;
	items_look(ground);
	ground->version_again++;
	ground->owner = 0;
}

void mod_expect(const struct ground *ground, int error, const char *doing)
{
	bool closing = atomic_load(&ground->closing);

	if (error >= 0 || (error == -EPIPE && closing) || (error == -EAGAIN && ground->bounded))
		return;
	report(NULL, NULL, "ground %u: %s: %d", ground->number, doing, error);
}

static int finaliser_run(struct baton_task *task)
{
	struct ground *ground = baton_container_of(task, struct ground, finaliser);

	if (atomic_load(&ground->flying) || atomic_load(&ground->counted))
		report(NULL, NULL, "ground %u: the finaliser before %d in flight, %d tokens",
		       ground->number, atomic_load(&ground->flying), atomic_load(&ground->counted));
	if (ground->owner || ground->held || ground->suspended || ground->in_batch ||
	    atomic_load_explicit(&ground->reading, memory_order_relaxed))
		report(NULL, NULL, "ground %u: the finaliser amid a task", ground->number);
	if (atomic_exchange(&ground->finalised, true))
		report(NULL, NULL, "ground %u: two finalisers", ground->number);
	return 0;
}

bool ground_pin(struct ground *ground)
{
	atomic_fetch_add(&ground->pins, 1);
	if (!atomic_load(&ground->closing))
		return true;
	ground_unpin(ground);
	return false;
}

void ground_unpin(struct ground *ground)
{
	atomic_fetch_sub(&ground->pins, 1);
}

void ground_close(struct ground *ground)
{
	if (atomic_exchange(&ground->closing, true))
		return;
	while (atomic_load(&ground->pins))
		usleep(50);
	/* What waits must be able to start, or nothing would end. */
	MUST(baton_window_set_limit(&ground->window, MOD_WINDOW_MAX) == 0);
	baton_task_init(&ground->finaliser, finaliser_run, NULL);
	MUST(baton_resource_close_then(&ground->resource, &ground->finaliser) == 0);
}

static void judge(struct ground *ground)
{
	struct baton_resource_stats stats;
	struct baton_bound_stats counts;
	uint64_t accepted = atomic_load(&ground->accepted);
	uint64_t over = atomic_load(&ground->over) + sabotage_now(BREAK_MOD_LOSE);

	if (accepted != over)
		report(NULL, NULL, "L3: ground %u: %llu tasks were accepted, %llu are over",
		       ground->number, (unsigned long long)accepted, (unsigned long long)over);
	baton_resource_stats_read(&ground->stats, &stats);
	if (stats.outstanding || stats.submitted != stats.executed + stats.cancelled)
		report(NULL, NULL, "ground %u: statistics do not balance", ground->number);
	if (!ground->bounded)
		return;
	baton_bound_stats_read(&ground->bound, &counts);
	if (counts.tasks || counts.bytes || counts.refused < atomic_load(&ground->refused))
		report(NULL, NULL, "ground %u: %llu tasks, %llu bytes left; %llu refused",
		       ground->number, (unsigned long long)counts.tasks,
		       (unsigned long long)counts.bytes, (unsigned long long)counts.refused);
}

/* The clients have left, and nothing is outstanding but what the resource does not wait for. */
void grounds_end(void)
{
	for (uint32_t i = 0; i < count; i++) {
		struct ground *ground = grounds[i];

		actor_busy("a ground's end", ground->number);
		alarms_stop(ground);
		ground_close(ground);
		while (!atomic_load(&ground->finalised) || atomic_load(&ground->alarms_out))
			usleep(100);
		(void)stash_complete(ground, true);
		while (atomic_load(&ground->over) < atomic_load(&ground->accepted))
			usleep(100);
		actor_idle();
		firings_check(ground);
		judge(ground);
		baton_window_deinit(&ground->window);
		baton_readers_deinit(&ground->readers);
		baton_resource_deinit(&ground->resource);
	}
}

void grounds_free(void)
{
	pthread_mutex_lock(&freeing);
	for (uint32_t i = 0; i < count; i++) {
		free(grounds[i]);
		grounds[i] = NULL;
	}
	count = 0;
	pthread_mutex_unlock(&freeing);
}

void mod_print(void)
{
	pthread_mutex_lock(&freeing);
	for (uint32_t i = 0; i < count; i++) {
		struct ground *ground = grounds[i];
		int stashed = 0;

		if (!ground)
			continue;
		for (int n = 0; n < MOD_STASH; n++)
			stashed += atomic_load(&ground->stash[n]) != NULL;
		fprintf(stderr,
		        "ground %u: limit %u, %u lanes,%s%s%s %llu accepted, %llu over, %d alarms, "
		        "%d in flight, %u in the window, %d tokens; %s%s%s%s%s\n",
		        i, ground->config.capture_max, ground->lane_count,
		        ground->bounded ? " bound," : "", ground->hooked ? " hooks," : "",
		        ground->config.executor ? "" : " default pool,",
		        (unsigned long long)atomic_load(&ground->accepted),
		        (unsigned long long)atomic_load(&ground->over),
		        atomic_load(&ground->alarms_out), atomic_load(&ground->flying),
		        baton_window_waiting(&ground->window), stashed,
		        ground->owner ? "in a task " : "", ground->held ? "held " : "",
		        ground->suspended ? "suspended " : "",
		        atomic_load(&ground->closing) ? "closed " : "",
		        atomic_load(&ground->finalised) ? "finalised" : "");
	}
}
