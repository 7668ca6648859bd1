/* SPDX-License-Identifier: MIT */
#include "sequences.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX 8

/* ---- The states that were met ---- */

static uint64_t *states;
static size_t states_size;
static size_t states_count;

static void states_put(uint64_t hash)
{
	size_t at = hash & (states_size - 1);

	while (states[at] != 0 && states[at] != hash)
		at = (at + 1) & (states_size - 1);
	states_count += states[at] == 0;
	states[at] = hash;
}

static void states_grow(void)
{
	uint64_t *old = states;
	size_t size = states_size;

	states_size = size > 0 ? 2 * size : 1 << 16;
	states = calloc(states_size, sizeof(*states));
	if (!states)
		abort();
	states_count = 0;
	for (size_t i = 0; i < size; i++)
		if (old[i] != 0)
			states_put(old[i]);
	free(old);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
	return hash ^ hash >> 29;
}

/* Two states are the same if their tasks are, in the order of arrival, with times from now on. */
static void note_state(const struct model *model)
{
	uint64_t hash = 1;
	uint64_t number = 0;

	for (uint32_t i = 0; i < model->config.class_count; i++)
		hash = mix(hash, model->config.limit[i]);
	for (;;) {
		const struct model_task *next = NULL;

		for (uint32_t t = 0; t < model->count; t++)
			if (model->task[t].state != MODEL_NONE && model->task[t].number >= number &&
			    (!next || model->task[t].number < next->number))
				next = &model->task[t];
		if (!next)
			break;
		number = next->number + 1;
		hash = mix(hash, next->kind << 8 | next->assigned << 4 | (uint32_t)next->state);
		if (next->state == MODEL_WAITING)
			continue;
		hash = mix(hash, model->now - next->start);
		hash = mix(hash, next->end - model->now);
	}
	if (2 * states_count >= states_size)
		states_grow();
	states_put(hash ? hash : 1);
}

/* ---- The search ---- */

static void explore(struct sequences *search, struct world *world, uint32_t left)
{
	static const uint32_t kinds[] = {0, 1, 2, BATON_RULES_DEFAULT, BATON_RULES_INTERACTIVE};
	static struct world saved[LENGTH_MAX + 1];
	struct event event = {.now = world->model.now};

	note_state(&world->model);
	if (left == 0) {
		search->count++;
		return;
	}
	world_copy(&saved[left], world);
	for (uint32_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		event.what = ARRIVE;
		event.kind = kinds[k];
		event.task = world_new(world, kinds[k]);
		world_apply(world, &event);
		explore(search, world, left - 1);
		world_copy(world, &saved[left]);
	}
	for (uint32_t t = 0; t < world->model.count; t++) {
		event.what = FINISH;
		event.task = t;
		event.kind = world->model.task[t].kind;
		if (world->model.task[t].state < MODEL_RUNNING)
			continue;
		world_apply(world, &event);
		explore(search, world, left - 1);
		world_copy(world, &saved[left]);
	}
	event.now += BATON_SECOND;
	if (search->overrun)
		world_apply(world, &(struct event){.what = TICK, .now = event.now});
	else
		world_pass(world, event.now, 0);
	explore(search, world, left - 1);
	world_copy(world, &saved[left]);
}

void sequences_all(struct sequences *search, uint32_t length)
{
	static struct world world;

	search->config.duration_ns[0] = BATON_SECOND;
	search->config.duration_ns[1] = 2 * BATON_SECOND;
	search->config.duration_ns[2] = 4 * BATON_SECOND;
	states_grow();
	memset(states, 0, states_size * sizeof(*states));
	states_count = 0;
	for (uint32_t fast = 1; fast <= 3; fast++)
		for (uint32_t medium = 1; medium <= fast; medium++)
			for (uint32_t slow = 1; slow <= medium; slow++) {
				uint32_t limit[3] = {fast, medium, slow};

				if (search->config.reserve >= fast)
					continue;
				memcpy(search->config.limit, limit, sizeof(limit));
				world_init(&world, &search->config);
				explore(search, &world, length);
			}
	search->states = states_count;
	free(states);
	states = NULL;
	states_size = 0;
}
