/* SPDX-License-Identifier: MIT */
/*
 * Random programs of 40 calls on a virtual clock, and beside the loop a reference: an array of
 * sources that is searched from end to end for whatever comes next, without lists, masks, heap and
 * counts of parents. After each call both have run the same sources in the same order, and agree on
 * the time and on what is active.
 */
#include "mainloop_support.h"

enum { SOURCES = 7, CALLS = 40, EDGES_MAX = 64 };
enum place { NOWHERE, WAITING, TIMED, ASKED, READY };
enum deed { NOTHING, STARTS_ITSELF, STARTS_NEXT, STOPS_NEXT, STOPS_ITSELF, PASSES, DEEDS };

struct model_source {
	struct baton_source_config config;
	enum deed deed;
	uint32_t priority;
	bool active, running, fresh, busy;
	uint64_t due;
	enum place place;
	uint32_t level;
	uint64_t at;    /* TIMED */
	uint64_t order; /* of coming to its place */
	int runs;
};

struct edge {
	int parent, child;
};

static struct model_source model[SOURCES];
static struct lettered sources[SOURCES];
static struct edge edges[EDGES_MAX]; /* oldest first */
static int edge_count;
static uint64_t time_now, order, turns;
static uint64_t looked; /* the time when it was last looked for deadlines that have passed */
static uint32_t aging;
static bool soon; /* a source is ASKED that has not been asked */
static char expected[1024];
static size_t expected_length;

/* ---- The reference ---- */

static bool held(int child)
{
	for (int i = 0; i < edge_count; i++)
		if (edges[i].child == child && model[edges[i].parent].busy)
			return true;
	return false;
}

static void move(struct model_source *source, enum place place)
{
	source->place = place;
	source->order = order++;
}

static void become_ready(struct model_source *source)
{
	if (source->place == READY && source->level == source->priority)
		return;
	source->level = source->priority;
	move(source, READY);
}

static void become_due(struct model_source *source)
{
	if (source->config.kind != BATON_SOURCE_CUSTOM || source->place == READY) {
		become_ready(source);
	} else {
		move(source, ASKED);
		soon = true;
	}
}

static void become_timed(struct model_source *source, uint64_t at)
{
	if (source->place == TIMED && source->at == at)
		return;
	source->at = at;
	move(source, TIMED);
}

static void place(int number)
{
	struct model_source *source = &model[number];

	if (!source->active || source->running)
		source->place = NOWHERE;
	else if (held(number) || source->due == BATON_NEVER)
		source->place = WAITING;
	else if (source->due > looked)
		become_timed(source, source->due);
	else
		become_due(source);
}

/* The source's wishes have changed: its children stop, or go on, and it comes to its place. */
static void settle(int number)
{
	const bool busy = model[number].active || model[number].running;

	for (int i = edge_count; i-- > 0 && busy != model[number].busy;) {
		bool before, after;

		if (edges[i].parent != number)
			continue;
		before = held(edges[i].child);
		model[number].busy = busy;
		after = held(edges[i].child);
		if (before != after)
			place(edges[i].child);
		model[number].busy = !busy;
	}
	model[number].busy = busy;
	place(number);
}

static void start(int number, uint64_t delay)
{
	struct model_source *source = &model[number];

	source->active = source->fresh = true;
	source->due = delay == BATON_NEVER ? BATON_NEVER : delay ? time_now + delay : 0;
	settle(number);
}

static uint64_t period(int number)
{
	return model[number].config.kind == BATON_SOURCE_TIMER ? model[number].config.period_ns : 0;
}

static void stop(int number)
{
	model[number].active = model[number].fresh = false;
	settle(number);
}

/* The one of a place that comes first: by time (TIMED), level (READY, if `by_level`), order. */
static struct model_source *first(enum place where, bool by_level)
{
	struct model_source *found = NULL;

	for (int i = 0; i < SOURCES; i++) {
		struct model_source *one = &model[i];

		if (one->place != where)
			continue;
		if (!found ||
		    (where == TIMED && one->at != found->at   ? one->at < found->at
		     : by_level && one->level != found->level ? one->level < found->level
		                                              : one->order < found->order))
			found = one;
	}
	return found;
}

static void expire(void)
{
	struct model_source *source;

	looked = time_now;
	while ((source = first(TIMED, false)) && source->at <= looked)
		become_due(source);
}

/* Used by both: what a CUSTOM answers. */
static uint64_t answer(int number, uint64_t now)
{
	return (now + (uint64_t)number) % 7 < 3 ? 0 : number % 2 ? BATON_NEVER : 5;
}

static void ask(void)
{
	const uint64_t end = order;
	struct model_source *source;

	soon = false;
	while ((source = first(ASKED, false)) && source->order < end) {
		const uint64_t wait = answer((int)(source - model), time_now);

		move(source, ASKED);
		if (!wait)
			become_ready(source);
		else if (wait != BATON_NEVER)
			become_timed(source, time_now + wait);
	}
}

static void act(int number)
{
	struct model_source *source = &model[number];
	const int next = (number + 1) % SOURCES;

	switch (source->deed) {
	case STARTS_ITSELF:
		if (source->runs % 3)
			start(number, (uint64_t)source->runs % 4);
		break;
	case STARTS_NEXT:
		start(next, period(next));
		break;
	case STOPS_NEXT:
		stop(next);
		break;
	case STOPS_ITSELF:
		if (source->runs % 2)
			stop(number);
		break;
	case PASSES:
		time_now += 3;
		break;
	default:
		break;
	}
}

static void model_run(struct model_source *source)
{
	const int number = (int)(source - model);

	source->place = NOWHERE;
	source->fresh = false;
	source->running = true;
	source->active = source->config.again;
	source->runs++;
	MUST(expected_length < sizeof(expected) - 1);
	expected[expected_length++] = (char)('a' + number);
	act(number);
	source->running = false;
	if (source->active && !source->fresh)
		source->due = source->config.kind == BATON_SOURCE_TIMER
		                      ? time_now + source->config.period_ns
		                      : 0;
	settle(number);
}

/* Runs at most `*left` sources. */
static void model_round(size_t *left)
{
	expire();
	ask();
	while (*left) {
		const struct model_source *foremost = first(READY, true);
		struct model_source *source;

		if (!foremost)
			return;
		source = first(READY, !aging || turns + 1 < aging);
		turns = source->level == foremost->level ? turns + 1 : 0;
		--*left;
		model_run(source);
		expire();
	}
}

static bool model_move_clock(uint64_t end)
{
	const struct model_source *source = first(TIMED, false);
	const uint64_t next = source && source->at < end ? source->at : end;

	if (next <= time_now)
		return false;
	time_now = next;
	expire();
	return true;
}

static void model_advance(uint64_t end, size_t left)
{
	do
		model_round(&left);
	while (left && (soon || model_move_clock(end)));
}

/* ---- The loop ---- */

static uint64_t custom_ready(struct baton_source *source, uint64_t now)
{
	return answer((int)(baton_container_of(source, struct lettered, source) - sources), now);
}

static int loop_act(struct lettered *lettered)
{
	const int number = (int)(lettered - sources);
	struct lettered *next = &sources[(number + 1) % SOURCES];
	int error = 0;

	switch (model[number].deed) {
	case STARTS_ITSELF:
		if (lettered->runs % 3)
			error = baton_source_start_after(&lettered->source,
			                                 (uint64_t)lettered->runs % 4);
		break;
	case STARTS_NEXT:
		error = baton_source_start(&next->source);
		break;
	case STOPS_NEXT:
		error = baton_source_stop(&next->source).met < 0;
		break;
	case STOPS_ITSELF:
		if (lettered->runs % 2)
			error = baton_source_stop(&lettered->source).met != BATON_STOP_RUNNING;
		break;
	case PASSES:
		error = baton_mainloop_pass(&loop, 3);
		break;
	default:
		break;
	}
	cr_assert_eq(error, 0);
	return 0;
}

static void begin(uint64_t *rng)
{
	memset(model, 0, sizeof(model));
	edge_count = 0;
	time_now = looked = order = turns = 0;
	soon = false;
	aging = rng_below(rng, 5);
	virtual_loop(aging);
	for (int i = 0; i < SOURCES; i++) {
		struct baton_source_config *config = &model[i].config;

		config->fn = lettered_run;
		config->kind = (enum baton_source_kind)rng_below(rng, 3);
		config->again = rng_below(rng, 3) == 0;
		config->level = model[i].priority = 1 + rng_below(rng, 4);
		config->period_ns = 1 + rng_below(rng, 12);
		config->ready = custom_ready;
		model[i].deed = (enum deed)rng_below(rng, 2 * DEEDS);
		sources[i] = (struct lettered){.letter = (char)('a' + i), .act = loop_act};
		baton_source_init(&sources[i].source, &loop, config, NULL);
	}
}

/* Is there a path of edges from `from` to `to`? */
static bool reaches(int from, int to)
{
	if (from == to)
		return true;
	for (int i = 0; i < edge_count; i++)
		if (edges[i].parent == from && reaches(edges[i].child, to))
			return true;
	return false;
}

static int edge_find(int parent, int child)
{
	for (int i = 0; i < edge_count; i++)
		if (edges[i].parent == parent && edges[i].child == child)
			return i;
	return -1;
}

static void call_depend(int parent, int child)
{
	const int found = edge_find(parent, child);
	const bool before = held(child);
	const int result = baton_source_depend(&sources[parent].source, &sources[child].source);

	if (found >= 0) {
		cr_assert_eq(result, -EEXIST);
	} else if (reaches(child, parent)) {
		cr_assert_eq(result, -ELOOP);
	} else {
		cr_assert_eq(result, 0);
		MUST(edge_count < EDGES_MAX);
		edges[edge_count++] = (struct edge){parent, child};
		if (held(child) != before)
			place(child);
	}
}

static void call_undepend(int parent, int child)
{
	const int found = edge_find(parent, child);
	const bool before = held(child);
	const int result = baton_source_undepend(&sources[parent].source, &sources[child].source);

	cr_assert_eq(result, found < 0 ? -ENOENT : 0);
	if (found < 0)
		return;
	edge_count--;
	memmove(&edges[found], &edges[found + 1], (size_t)(edge_count - found) * sizeof(*edges));
	if (held(child) != before)
		place(child);
}

static void call(uint64_t *rng)
{
	const int number = (int)rng_below(rng, SOURCES);
	struct baton_source *source = &sources[number].source;
	uint64_t delay = rng_below(rng, 30);
	size_t left = 1 + rng_below(rng, 12);
	int64_t ran;

	switch (rng_below(rng, 12)) {
	case 0:
	case 1:
	case 2:
		cr_assert_eq(baton_source_start(source), 0);
		start(number, period(number));
		break;
	case 3:
	case 4:
		delay = delay == 29 ? BATON_NEVER : delay;
		cr_assert_eq(baton_source_start_after(source, delay), 0);
		start(number, delay);
		break;
	case 5:
		cr_assert_eq(baton_source_stop(source).met,
		             model[number].active ? BATON_STOP_PREVENTED : BATON_STOP_NOTHING);
		stop(number);
		break;
	case 6:
		model[number].priority = 1 + rng_below(rng, BATON_PRIORITIES);
		cr_assert_eq(baton_source_set_level(source, model[number].priority), 0);
		place(number);
		break;
	case 7:
		call_depend(number, (int)rng_below(rng, SOURCES));
		break;
	case 8:
		call_undepend(number, (int)rng_below(rng, SOURCES));
		break;
	case 9:
		ran = baton_mainloop_run(&loop, left);
		model_round(&left);
		cr_assert_eq(ran, expected_length);
		break;
	default:
		delay += time_now;
		ran = baton_mainloop_advance_to(&loop, delay, left);
		model_advance(delay, left);
		cr_assert_eq(ran, expected_length);
		break;
	}
}

static void compare(uint64_t seed, int step)
{
	expected[expected_length] = '\0';
	expected_length = 0;
	cr_assert_str_eq(log_take(), expected, "BATON_TEST_SEED=%llu, call %d",
	                 (unsigned long long)seed, step);
	cr_assert_eq(baton_mainloop_now(&loop), time_now);
	for (int i = 0; i < SOURCES; i++)
		cr_assert_eq(baton_source_is_active(&sources[i].source), model[i].active,
		             "BATON_TEST_SEED=%llu, call %d, source %d", (unsigned long long)seed,
		             step, i);
}

Test(mainloop_model, random_programs_run_as_the_reference_does, .timeout = 30)
{
	uint64_t seed = test_seed();

	for (int program = 0; program < scaled(20000); program++, seed++) {
		uint64_t rng = rng_fork(seed, 0);
		int64_t active = 0;

		begin(&rng);
		for (int i = 0; i < CALLS; i++) {
			call(&rng);
			compare(seed, i);
		}
		for (int i = 0; i < SOURCES; i++)
			active += model[i].active;
		loop_end(active);
	}
}
