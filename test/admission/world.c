/* SPDX-License-Identifier: MIT */
#include "world.h"

#include "companion/admission/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tally tally;
uint64_t world_seed;

/* ---- A failure ---- */

static struct event trail[TRAIL];

static void print_event(const struct event *event)
{
	static const char *const names[] = {"arrive",   "arrive_at", "restore", "finish",
	                                    "withdraw", "limits",    "tick"};

	printf("  %12llu %s task %u kind %u", (unsigned long long)event->now, names[event->what],
	       event->task, event->kind);
	if (event->what == LIMITS)
		printf(" limits %u %u %u reserve %u", event->limit[0], event->limit[1],
		       event->limit[2], event->reserve);
	if (event->what == ARRIVE_AT || event->what == RESTORE)
		printf(" number %llu started %llu assigned %u", (unsigned long long)event->number,
		       (unsigned long long)event->started, event->assigned);
	printf("\n");
}

static void fail(const struct world *world, const char *why, uint32_t task)
{
	const struct baton_rules_config *config = &world->model.config;

	printf("seed %llu, classes %u policy %d stuck %d reserve %u grace %llu limits",
	       (unsigned long long)world_seed, config->class_count, (int)config->policy,
	       (int)config->stuck, config->reserve, (unsigned long long)config->grace_ns);
	for (uint32_t i = 0; i < config->class_count; i++)
		printf(" %u", config->limit[i]);
	printf("\n");
	for (uint32_t i = 0; i < world->trail_count; i++)
		print_event(&trail[i]);
	for (uint32_t t = 0; t < world->model.count; t++) {
		const struct model_task *m = &world->model.task[t];
		const struct baton_rules_entry *e = &world->entry[t];

		if (m->state == MODEL_NONE && e->_phase == 0)
			continue;
		printf("  task %u kind %u: state %d/%d assigned %u/%u start %llu end %llu/%llu "
		       "plan %llu-%llu\n",
		       t, m->kind, (int)m->state, e->_phase, m->assigned, e->_assigned,
		       (unsigned long long)m->start, (unsigned long long)m->end,
		       (unsigned long long)world->told[t].end, (unsigned long long)e->_plan_start,
		       (unsigned long long)e->_plan_end);
	}
	printf("task %u at %llu: %s\n", task, (unsigned long long)world->model.now, why);
	fflush(stdout);
	abort();
}

static void need(const struct world *world, bool condition, const char *why, uint32_t task)
{
	if (!condition)
		fail(world, why, task);
}

/* ---- What the machine tells ---- */

static struct world *world_of(struct baton_rules *rules)
{
	return (struct world *)rules; /* the first member */
}

static uint32_t task_of(struct world *world, const struct baton_rules_entry *entry)
{
	need(world, world->in_call, "an event outside of a call", MODEL_TASKS);
	return (uint32_t)(entry - world->entry);
}

static uint64_t after(const struct world *world, uint64_t ns)
{
	return ns == BATON_NEVER ? ns : world->rules._now + ns;
}

static void on_start(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t ns)
{
	struct world *world = world_of(rules);
	uint32_t task = task_of(world, entry);
	struct told *told = &world->told[task];

	need(world, !told->started, "started twice", task);
	told->started = true;
	told->end = after(world, ns);
	if (told->bound == BATON_NEVER || world->late)
		return;
	need(world, rules->_now <= told->bound, "waited longer than its estimate", task);
	tally.starts++;
}

static void on_shorten(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t ns)
{
	struct world *world = world_of(rules);
	uint32_t task = task_of(world, entry);

	need(world, world->told[task].started, "shortened before its start", task);
	need(world, after(world, ns) < world->told[task].end, "shortened by nothing", task);
	world->told[task].end = after(world, ns);
}

static void on_halt(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	struct world *world = world_of(rules);
	uint32_t task = task_of(world, entry);

	need(world, world->told[task].started, "halted before its start", task);
	need(world, world->told[task].end == BATON_NEVER, "halted twice, or not interactive", task);
	world->told[task].end = rules->_now;
}

static void on_estimate(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t ns)
{
	struct world *world = world_of(rules);
	uint32_t task = task_of(world, entry);
	struct told *told = &world->told[task];
	uint64_t bound = after(world, ns);

	tally.told++;
	need(world, !told->started, "an estimate after the start", task);
	need(world, told->at == BATON_NEVER || rules->_now - told->at >= 100000000,
	     "told again within 100 ms", task);
	if (told->bound != BATON_NEVER) {
		uint64_t wait = told->bound > rules->_now ? told->bound - rules->_now : 0;

		need(world, bound <= told->bound, "told a larger estimate", task);
		need(world, told->bound - bound > wait / 20, "told what moved by less than 5 %",
		     task);
	}
	told->at = rules->_now;
	told->bound = bound;
	if (world->worse_pass == rules->_pass)
		told->bound = BATON_NEVER;
}

static void on_overrun(struct baton_rules *rules, struct baton_rules_entry *entry)
{
	struct world *world = world_of(rules);
	uint32_t task = task_of(world, entry);

	need(world, world->told[task].started, "overran before its start", task);
	need(world, rules->_now > world->told[task].end + world->model.config.grace_ns,
	     "overran too early", task);
}

static const struct baton_rules_events events = {
	.start = on_start,
	.shorten = on_shorten,
	.halt = on_halt,
	.estimate = on_estimate,
	.overrun = on_overrun,
};

/* ---- Beginning ---- */

void world_init(struct world *world, const struct baton_rules_config *config)
{
	memset(world, 0, sizeof(*world));
	if (baton_rules_init(&world->rules, config, &events))
		abort();
	world->model.config = world->rules._config;
	world->worse_pass = UINT32_MAX;
}

void world_copy(struct world *to, const struct world *from)
{
	uint32_t count = from->model.count;

	memcpy(&to->rules, &from->rules, sizeof(from->rules));
	model_copy(&to->model, &from->model);
	memcpy(to->entry, from->entry, count * sizeof(from->entry[0]));
	memcpy(to->told, from->told, count * sizeof(from->told[0]));
	to->worse_pass = from->worse_pass;
	to->late = from->late;
	to->shrunk = from->shrunk;
	to->trail_count = from->trail_count;
}

uint32_t world_new(struct world *world, uint32_t kind)
{
	uint32_t task = 0;

	while (task < world->model.count &&
	       (world->model.task[task].state != MODEL_NONE || world->entry[task]._phase != 0))
		task++;
	need(world, task < MODEL_TASKS, "too many tasks for the test", task);
	if (task == world->model.count)
		world->model.count++;
	world->model.task[task] = (struct model_task){.kind = kind};
	baton_rules_entry_init(&world->entry[task], kind);
	world->told[task] = (struct told){0, BATON_NEVER, BATON_NEVER, false};
	return task;
}

/* ---- One event, on both ---- */

static int call(struct world *world, const struct event *event)
{
	struct baton_rules_entry *entry = &world->entry[event->task];
	struct baton_rules_run run = {event->number, event->started, event->assigned};

	switch (event->what) {
	case ARRIVE:
		return baton_rules_arrive(&world->rules, entry, event->now);
	case ARRIVE_AT:
		return baton_rules_arrive_at(&world->rules, entry, event->number, event->now);
	case RESTORE:
		world->told[event->task].started = true;
		world->told[event->task].end = BATON_NEVER;
		return baton_rules_restore(&world->rules, entry, &run, event->now);
	case FINISH:
		return baton_rules_finish(&world->rules, entry, event->now);
	case WITHDRAW:
		return baton_rules_withdraw(&world->rules, entry, event->now);
	case LIMITS:
		return baton_rules_set_limits(&world->rules, event->limit, event->reserve,
		                              event->now);
	case TICK:
		(void)baton_rules_tick(&world->rules, event->now);
		return 0;
	}
	return 0;
}

static void restore(struct model *model, const struct event *event)
{
	struct model_task *task = &model->task[event->task];

	task->number = event->number;
	task->start = event->started;
	task->state = MODEL_RUNNING;
	task->end = BATON_NEVER;
	task->assigned = 0;
	if (task->kind == BATON_RULES_INTERACTIVE)
		return;
	task->assigned = task->kind == BATON_RULES_DEFAULT ? event->assigned : task->kind;
	task->end = task->start + model->config.duration_ns[task->assigned];
}

static void step(struct model *model, const struct event *event, struct model_choices *choices)
{
	model->now = event->now;
	switch (event->what) {
	case ARRIVE:
		model->task[event->task].number = model->numbers++;
		model_arrive(model, event->task, choices);
		break;
	case ARRIVE_AT:
	case RESTORE:
		if (event->number >= model->numbers)
			model->numbers = event->number + 1;
		model->task[event->task].number = event->number;
		if (event->what == ARRIVE_AT) {
			model_arrive(model, event->task, choices);
			break;
		}
		restore(model, event);
		model_restored(model, choices);
		break;
	case FINISH:
		model_finish(model, event->task, choices);
		break;
	case WITHDRAW:
		model_withdraw(model, event->task);
		break;
	case LIMITS:
		model_set_limits(model, event->limit, event->reserve, choices);
		break;
	case TICK:
		model_tick(model, choices);
		break;
	}
}

/* Is the machine's state this one? */
static bool same(const struct world *world, const struct model *model, const struct event *event)
{
	for (uint32_t t = 0; t < model->count; t++) {
		const struct model_task *task = &model->task[t];
		const struct baton_rules_entry *entry = &world->entry[t];
		bool runs = task->state == MODEL_RUNNING;

		if ((int)entry->_phase != (int)task->state)
			return false;
		if ((runs || task->state == MODEL_LOST) && entry->_assigned != task->assigned)
			return false;
		if (runs && (entry->_started != task->start || entry->_end != task->end))
			return false;
		if (runs && world->told[t].end != task->end &&
		    (event->what != RESTORE || t != event->task))
			return false;
	}
	return true;
}

/* ---- Promises ---- */

/* Has a default been stopped late? With a grace the plan may then be larger than exact. */
static bool stopped_late(const struct model *model)
{
	for (uint32_t t = 0; t < model->count; t++) {
		const struct model_task *task = &model->task[t];

		if (task->state == MODEL_RUNNING && task->kind == BATON_RULES_DEFAULT &&
		    task->assigned == 0 && model->config.grace_ns > 0 &&
		    task->end > task->start + model->config.duration_ns[0])
			return true;
	}
	return false;
}

static void check_waits(const struct world *world)
{
	const struct baton_rules *rules = &world->rules;
	bool exact = !rules->_stale && rules->_plan == BATON__PLAN_DONE && !world->late &&
	             !stopped_late(&world->model);

	/* All of a few; of many some, others each time. */
	uint32_t by = world->model.count > 64 ? 61 : 1;

	for (uint32_t t = (uint32_t)(tally.events % by); t < world->model.count; t += by) {
		uint64_t wait;
		uint64_t estimate = baton_rules_estimate(rules, &world->entry[t]);

		if (world->model.task[t].state != MODEL_WAITING)
			continue;
		if (rules->_plan == BATON__PLAN_DONE)
			need(world, world->told[t].at != BATON_NEVER, "was told nothing", t);
		wait = model_wait(&world->model, t);
		tally.waits++;
		if (exact) {
			tally.exact++;
			need(world, estimate == wait, "a plan up to date is not exact", t);
		}
		if (world->worse_pass != rules->_pass)
			need(world, estimate >= wait, "an estimate below the wait", t);
	}
}

static void check(struct world *world, const struct model *before, const struct event *event)
{
	const struct model *model = &world->model;
	uint64_t waiting = 0;

	for (uint32_t i = 0; i < model->config.class_count; i++) {
		uint32_t was = model_running(before, i);
		uint32_t is = model_running(model, i);

		need(world, is == baton_rules_running(&world->rules, i), "counted wrongly", i);
		need(world,
		     is <= model->config.limit[i] || is <= was || event->what == RESTORE ||
		             model->config.stuck == BATON_RULES_KEEP,
		     "a limit exceeded", i);
	}
	for (uint32_t t = 0; t < model->count; t++) {
		const struct model_task *task = &model->task[t];

		if (task->state != MODEL_WAITING)
			continue;
		waiting++;
		need(world, !model_could_start(model, t), "waits, and could start", t);
		for (uint32_t o = 0; o < model->count; o++)
			need(world,
			     before->task[o].state != MODEL_WAITING ||
			             model->task[o].state != MODEL_RUNNING ||
			             model->task[o].number < task->number ||
			             baton__rules_class(&world->entry[o]) !=
			                     baton__rules_class(&world->entry[t]),
			     "one that came later has started", t);
	}
	need(world, waiting == baton_rules_waiting(&world->rules), "waiting: counted wrongly", 0);
	check_waits(world);
}

/* A task that should have ended runs on, or waits got longer: earlier estimates say nothing. */
static void look_for_worse(struct world *world, const struct event *event)
{
	bool worse = event->what == ARRIVE_AT || event->what == RESTORE || event->what == LIMITS;
	uint32_t task;

	world->late = model_next_end(&world->model, &task) < event->now;
	for (uint32_t t = 0; t < world->model.count; t++)
		if (world->model.task[t].state == MODEL_HALTED &&
		    world->model.task[t].end + world->model.config.grace_ns < event->now)
			worse = true;
	if (world->late)
		world->worse_pass = world->rules._pass;
	if (world->late || worse)
		for (uint32_t t = 0; t < world->model.count; t++)
			world->told[t].bound = BATON_NEVER;
}

void world_apply(struct world *world, const struct event *event)
{
	static struct model before;
	static struct model next;
	struct model_choices choices = {0};
	int expected = 0;
	int result;

	if (world->trail_count < TRAIL)
		trail[world->trail_count++] = *event;
	tally.events++;
	model_copy(&before, &world->model);
	before.now = event->now;
	look_for_worse(world, event);
	world->in_call = true;
	result = call(world, event);
	world->in_call = false;
	if (world->late)
		world->worse_pass = world->rules._pass;
	for (;;) {
		choices.made = 0;
		model_copy(&next, &before);
		step(&next, event, &choices);
		for (uint32_t i = 0; i < choices.made; i++)
			tally.choices += choices.of[i] > 1;
		if (same(world, &next, event))
			break;
		if (!model_choices_next(&choices)) {
			model_copy(&world->model, &next);
			fail(world, "no such state in the model", event->task);
		}
	}
	model_copy(&world->model, &next);
	if (event->what == RESTORE)
		world->told[event->task].end = next.task[event->task].end;
	if (event->what == ARRIVE && world->model.task[event->task].state == MODEL_NONE)
		expected = -EAGAIN;
	need(world, result == expected, "a wrong return value", event->task);
	check(world, &before, event);
}

void world_pass(struct world *world, uint64_t now, uint64_t early)
{
	uint32_t task;
	uint64_t end;

	while ((end = model_next_end(&world->model, &task)) < BATON_NEVER) {
		struct event finish = {.what = FINISH, .task = task, .now = world->model.now};

		if (end - early > now)
			break;
		if (end - early > finish.now)
			finish.now = end - early;
		finish.kind = world->model.task[task].kind;
		world_apply(world, &finish);
	}
	world_apply(world, &(struct event){.what = TICK, .now = now});
}
