/* SPDX-License-Identifier: MIT */
/*
 * Events that bytes decide, through the machine and the model: every call, every config.
 */
#include "random.h"

#include "companion/admission/rules.h"

#define MILLISECOND ((uint64_t)1000000)

static uint32_t below(struct source *source, uint32_t bound)
{
	uint32_t value = 0;

	if (source->random > 0) {
		source->random ^= source->random >> 12;
		source->random ^= source->random << 25;
		source->random ^= source->random >> 27;
		return (uint32_t)((source->random * 0x2545F4914F6CDD1DU) >> 32) % bound;
	}
	for (uint32_t left = bound - 1; left > 0; left >>= 8) {
		if (source->left == 0)
			return 0;
		value = value << 8 | *source->bytes++;
		source->left--;
	}
	return value % bound;
}

static void limits(struct source *source, uint32_t classes, uint32_t *limit, uint32_t *reserve)
{
	uint32_t least = 1;

	for (uint32_t i = classes; i-- > 0;) {
		least += below(source, i == 0 ? 4 : 2);
		limit[i] = least;
	}
	*reserve = below(source, 2) * below(source, limit[0]);
}

static struct baton_rules_config config(struct source *source)
{
	struct baton_rules_config config = BATON_RULES_CONFIG_INIT;
	uint64_t duration = 0;

	config.class_count = below(source, 3) > 0 ? 3 : 1 + below(source, BATON_RULES_CLASSES_MAX);
	for (uint32_t i = 0; i < config.class_count; i++) {
		duration += (below(source, 20) + (i == 0)) * 100 * MILLISECOND;
		config.duration_ns[i] = duration;
	}
	limits(source, config.class_count, config.limit, &config.reserve);
	config.policy = (enum baton_rules_policy)below(source, 3);
	config.stuck = (enum baton_rules_stuck)below(source, 2);
	config.seed = below(source, 256);
	config.grace_ns = below(source, 2) * below(source, 256) * 4 * MILLISECOND;
	return config;
}

/* A random one of those in this state; MODEL_TASKS: none is. */
static uint32_t any(struct source *source, const struct model *model, enum model_state least,
                    enum model_state most)
{
	uint32_t list[MODEL_TASKS];
	uint32_t count = 0;

	for (uint32_t t = 0; t < model->count; t++)
		if (model->task[t].state >= least && model->task[t].state <= most)
			list[count++] = t;
	return count > 0 ? list[below(source, count)] : MODEL_TASKS;
}

static uint32_t kind(struct source *source, uint32_t classes)
{
	uint32_t kind = below(source, classes + 2);

	return kind < classes ? kind : BATON_RULES_DEFAULT + kind - classes;
}

/* At a number that no task has, which has not been reached yet or was passed. */
static void arrive_at(struct source *source, struct world *world, bool running)
{
	struct event event = {.what = running ? RESTORE : ARRIVE_AT, .now = world->model.now};
	uint64_t numbers = world->model.numbers;

	event.kind = kind(source, world->model.config.class_count);
	if (!running && event.kind == BATON_RULES_INTERACTIVE)
		return;
	event.number = numbers + below(source, 3);
	for (uint64_t back = below(source, 16); back > 0 && event.number > 0; back--) {
		bool taken = false;

		for (uint32_t t = 0; t < world->model.count; t++)
			taken = taken || (world->model.task[t].state != MODEL_NONE &&
			                  world->model.task[t].number == event.number - 1);
		if (taken)
			break;
		event.number--;
	}
	event.assigned = below(source, world->model.config.class_count);
	event.started = world->model.now - below(source, 2000) * MILLISECOND;
	if (event.started > world->model.now)
		event.started = 0;
	event.task = world_new(world, event.kind);
	world_apply(world, &event);
}

static void pass(struct source *source, struct world *world, bool in_time)
{
	uint32_t task;
	uint64_t now = world->model.now;
	uint64_t end = model_next_end(&world->model, &task);

	switch (below(source, 4)) {
	case 0:
		now += below(source, 100) * MILLISECOND;
		break;
	case 1:
		now += 100 * MILLISECOND;
		break;
	case 2:
		now = end > now && end < BATON_NEVER ? end : now;
		break;
	default:
		now += below(source, 256) * 16 * MILLISECOND;
	}
	if (in_time)
		world_pass(world, now, below(source, 2) * world->model.config.grace_ns);
	else
		world_apply(world, &(struct event){.what = TICK, .now = now});
}

static bool room(const struct world *world, uint32_t waiting_max)
{
	uint32_t there = 0;

	for (uint32_t t = 0; t < world->model.count; t++)
		there += world->model.task[t].state != MODEL_NONE;
	return there < MODEL_TASKS && world->rules._waiting < waiting_max;
}

static void one_event(struct source *source, struct world *world, uint32_t waiting_max,
                      bool in_time)
{
	struct event event = {.now = world->model.now};
	uint32_t what = below(source, 64);

	if (what < 28) {
		if (!room(world, waiting_max))
			return;
		event.what = ARRIVE;
		event.kind = kind(source, world->model.config.class_count);
		event.task = world_new(world, event.kind);
	} else if (what < 38) {
		event.what = FINISH;
		event.task = any(source, &world->model, MODEL_RUNNING, MODEL_GONE);
	} else if (what < 42) {
		event.what = WITHDRAW;
		event.task = any(source, &world->model, MODEL_WAITING, MODEL_WAITING);
	} else if (what == 42) {
		event.what = LIMITS;
		limits(source, world->model.config.class_count, event.limit, &event.reserve);
	} else if (what < 45) {
		if (room(world, waiting_max))
			arrive_at(source, world, what == 43);
		return;
	} else {
		pass(source, world, in_time);
		return;
	}
	if (event.task < MODEL_TASKS)
		world_apply(world, &event);
}

void random_run(struct source *source, uint32_t events, uint32_t waiting_max)
{
	static struct world world;
	struct baton_rules_config rules = config(source);
	bool in_time = below(source, 4) > 0;

	world_init(&world, &rules);
	while (events-- > 0 && (source->random > 0 || source->left > 0))
		one_event(source, &world, waiting_max, in_time);
}
