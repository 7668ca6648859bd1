/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <stddef.h>
#include <string.h>

void model_copy(struct model *to, const struct model *from)
{
	memcpy(to, from, offsetof(struct model, task) + from->count * sizeof(from->task[0]));
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? BATON_NEVER : a + b;
}

/* ---- Choices ---- */

bool model_choices_next(struct model_choices *choices)
{
	while (choices->made > 0) {
		uint32_t last = choices->made - 1;

		if (choices->which[last] + 1 < choices->of[last]) {
			choices->which[last]++;
			memset(&choices->which[last + 1], 0,
			       (MODEL_CHOICES - last - 1) * sizeof(choices->which[0]));
			choices->made = 0;
			return true;
		}
		choices->made--;
	}
	return false;
}

/* One of the candidates: the one chosen, of those that the policy may mean. */
static uint32_t one(const struct model *model, const bool *candidate, struct model_choices *choices)
{
	uint32_t list[MODEL_TASKS];
	uint32_t count = 0;
	uint64_t least = UINT64_MAX;
	uint32_t which = 0;

	for (uint32_t t = 0; t < model->count; t++) {
		const struct model_task *task = &model->task[t];
		uint64_t key = 0;

		if (!candidate[t])
			continue;
		if (model->config.policy == BATON_RULES_OVERRUN)
			key = task->start;
		if (model->config.policy == BATON_RULES_OLDEST)
			key = task->number;
		if (key < least) {
			least = key;
			count = 0;
		}
		if (key == least)
			list[count++] = t;
	}
	if (choices && choices->made < MODEL_CHOICES) {
		choices->of[choices->made] = count;
		which = choices->which[choices->made++];
	}
	return list[which];
}

/* ---- What the rules ask ---- */

static bool runs_in(const struct model_task *task, uint32_t i)
{
	if (task->state != MODEL_RUNNING && task->state != MODEL_LOST)
		return false;
	return i == 0 || (task->kind != BATON_RULES_INTERACTIVE && task->assigned >= i);
}

uint32_t model_running(const struct model *model, uint32_t i)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < model->count; t++)
		count += runs_in(&model->task[t], i);
	return count;
}

static uint32_t interactive(const struct model *model)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < model->count; t++)
		count += model->task[t].state == MODEL_RUNNING &&
		         model->task[t].kind == BATON_RULES_INTERACTIVE;
	return count;
}

static bool reached(const struct model *model, uint32_t i)
{
	return model_running(model, i) >= model->config.limit[i];
}

/* The backends that are taken, and those that are kept free for interactive tasks. */
static uint32_t taken(const struct model *model)
{
	uint32_t kept_free = 0;

	if (interactive(model) < model->config.reserve)
		kept_free = model->config.reserve - interactive(model);
	return model_running(model, 0) + kept_free;
}

/* No backend is free for a task that is not interactive. */
static bool no_backend(const struct model *model)
{
	return taken(model) >= model->config.limit[0];
}

static uint32_t waits_as(const struct model_task *task)
{
	return task->kind == BATON_RULES_DEFAULT ? 0 : task->kind;
}

/* The first of those that wait and are of a class below `ignored`, or MODEL_TASKS. */
static uint32_t first(const struct model *model, uint32_t ignored)
{
	uint32_t found = MODEL_TASKS;

	for (uint32_t t = 0; t < model->count; t++) {
		const struct model_task *task = &model->task[t];

		if (task->state == MODEL_WAITING && waits_as(task) < ignored &&
		    (found == MODEL_TASKS || task->number < model->task[found].number))
			found = t;
	}
	return found;
}

/* ---- What the rules do ---- */

static void bring_down(struct model *model, uint32_t t, uint32_t assigned)
{
	struct model_task *task = &model->task[t];
	uint64_t end = sum(task->start, model->config.duration_ns[assigned]);

	task->assigned = assigned;
	if (end < model->now)
		end = model->now;
	if (end < task->end)
		task->end = end;
}

/* The defaults that are assigned exactly this class, and run. */
static uint32_t defaults(const struct model *model, uint32_t assigned, bool *candidate)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < model->count; t++) {
		const struct model_task *task = &model->task[t];

		candidate[t] = task->state == MODEL_RUNNING && task->kind == BATON_RULES_DEFAULT &&
		               task->assigned == assigned;
		count += candidate[t];
	}
	return count;
}

/* Step 1 for class i: one default of the slowest assigned class comes below i. */
static bool one_comes_down(struct model *model, uint32_t i, struct model_choices *choices)
{
	uint32_t slowest = model->config.class_count - 1;
	bool candidate[MODEL_TASKS];

	for (uint32_t from = slowest; from >= i; from--) {
		uint32_t to = 0;

		if (defaults(model, from, candidate) == 0)
			continue;
		if (i == slowest) {
			to = slowest - 1;
			while (to > 0 && reached(model, to))
				to--;
		}
		bring_down(model, one(model, candidate, choices), to);
		return true;
	}
	return false;
}

static void all_come_down(struct model *model)
{
	for (uint32_t t = 0; t < model->count; t++)
		if (model->task[t].state == MODEL_RUNNING &&
		    model->task[t].kind == BATON_RULES_DEFAULT && model->task[t].assigned > 0)
			bring_down(model, t, 0);
}

static void halt_one(struct model *model, struct model_choices *choices)
{
	bool candidate[MODEL_TASKS];
	uint32_t halted;

	for (uint32_t t = 0; t < model->count; t++)
		candidate[t] = model->task[t].state == MODEL_RUNNING &&
		               model->task[t].kind == BATON_RULES_INTERACTIVE;
	halted = one(model, candidate, choices);
	model->task[halted].state = MODEL_HALTED;
	model->task[halted].end = model->now;
}

static void start(struct model *model, uint32_t t)
{
	struct model_task *task = &model->task[t];

	task->assigned = 0;
	if (task->kind == BATON_RULES_DEFAULT)
		while (task->assigned + 1 < model->config.class_count &&
		       !reached(model, task->assigned + 1))
			task->assigned++;
	else if (task->kind != BATON_RULES_INTERACTIVE)
		task->assigned = task->kind;
	task->state = MODEL_RUNNING;
	task->start = model->now;
	task->end = BATON_NEVER;
	if (task->kind != BATON_RULES_INTERACTIVE)
		task->end = sum(model->now, model->config.duration_ns[task->assigned]);
}

static void model_cycle(struct model *model, struct model_choices *choices)
{
	for (;;) {
		uint32_t ignored = model->config.class_count;
		uint32_t next;

		for (uint32_t i = ignored - 1; i > 0; i--) {
			next = first(model, ignored);
			if (next == MODEL_TASKS || waits_as(&model->task[next]) < i ||
			    !reached(model, i))
				continue;
			one_comes_down(model, i, choices);
			if (reached(model, i))
				ignored = i;
		}
		next = first(model, ignored);
		if (next == MODEL_TASKS)
			return;
		if (no_backend(model)) {
			all_come_down(model);
			/* A reserved backend is not freed by a halt. */
			if (interactive(model) <= model->config.reserve)
				return;
			halt_one(model, choices);
		}
		if (no_backend(model))
			return;
		start(model, next);
	}
}

/* ---- Events ---- */

void model_arrive(struct model *model, uint32_t t, struct model_choices *choices)
{
	struct model_task *task = &model->task[t];
	bool candidate[MODEL_TASKS];

	if (task->kind != BATON_RULES_INTERACTIVE) {
		task->state = MODEL_WAITING;
	} else if (!reached(model, 0)) {
		start(model, t);
	} else {
		for (uint32_t i = model->config.class_count - 1; i > 0; i--)
			if (defaults(model, i, candidate) > 0) {
				bring_down(model, one(model, candidate, choices), i - 1);
				break;
			}
	}
	model_cycle(model, choices);
}

void model_finish(struct model *model, uint32_t task, struct model_choices *choices)
{
	model->task[task].state = MODEL_NONE;
	model_cycle(model, choices);
}

void model_withdraw(struct model *model, uint32_t task)
{
	model->task[task].state = MODEL_NONE;
}

/* More may run than the limits allow: brought down and halted as far as that helps. */
static void shrink(struct model *model, struct model_choices *choices)
{
	const uint32_t *limit = model->config.limit;

	for (uint32_t i = model->config.class_count - 1; i > 0; i--)
		while (model_running(model, i) > limit[i] && one_comes_down(model, i, choices))
			;
	if (taken(model) <= limit[0])
		return;
	all_come_down(model);
	while (model_running(model, 0) > limit[0] && interactive(model) > 0)
		halt_one(model, choices);
}

void model_tick(struct model *model, struct model_choices *choices)
{
	for (uint32_t t = 0; t < model->count; t++) {
		struct model_task *task = &model->task[t];

		if ((task->state != MODEL_RUNNING && task->state != MODEL_HALTED) ||
		    sum(task->end, model->config.grace_ns) >= model->now)
			continue;
		task->state = model->config.stuck == BATON_RULES_KEEP ? MODEL_LOST : MODEL_GONE;
		if (task->kind == BATON_RULES_DEFAULT)
			task->assigned = 0;
	}
	shrink(model, choices);
	model_cycle(model, choices);
}

void model_set_limits(struct model *model, const uint32_t *limits, uint32_t reserve,
                      struct model_choices *choices)
{
	uint32_t classes = model->config.class_count;

	memcpy(model->config.limit, limits, classes * sizeof(*limits));
	model->config.reserve = reserve;
	shrink(model, choices);
	model_cycle(model, choices);
}

void model_restored(struct model *model, struct model_choices *choices)
{
	shrink(model, choices);
	model_cycle(model, choices);
}

/* ---- Promises ---- */

bool model_could_start(const struct model *model, uint32_t task)
{
	for (uint32_t i = waits_as(&model->task[task]); i > 0; i--)
		if (reached(model, i))
			return false;
	return !no_backend(model) || (interactive(model) > model->config.reserve &&
	                              model_running(model, 0) <= model->config.limit[0]);
}

uint64_t model_next_end(const struct model *model, uint32_t *task)
{
	uint64_t next = BATON_NEVER;

	for (uint32_t t = 0; t < model->count; t++) {
		uint64_t end = sum(model->task[t].end, model->config.grace_ns);

		if (model->task[t].state == MODEL_RUNNING && end < next) {
			next = end;
			*task = t;
		}
	}
	return next;
}

uint64_t model_wait(const struct model *model, uint32_t task)
{
	struct model copy;

	model_copy(&copy, model);
	for (uint32_t t = 0; t < copy.count; t++)
		if (copy.task[t].state == MODEL_WAITING &&
		    copy.task[t].number > copy.task[task].number)
			copy.task[t].state = MODEL_NONE;
	while (copy.task[task].state == MODEL_WAITING) {
		uint32_t next;
		uint64_t end = model_next_end(&copy, &next);

		if (end == BATON_NEVER)
			return BATON_NEVER;
		if (end > copy.now)
			copy.now = end;
		model_finish(&copy, next, NULL);
	}
	return copy.now - model->now;
}
