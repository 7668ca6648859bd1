/* SPDX-License-Identifier: MIT */
/*
 * The reference model of the rules of admission (baton/rules.h): arrays and loops, as slow and
 * plain as the rules are written. Where the rules say "one", every choice that the policy leaves is
 * possible: model_choices() goes through them.
 */
#ifndef BATON_TEST_ADMISSION_MODEL_H
#define BATON_TEST_ADMISSION_MODEL_H

#include <baton/rules.h>

#define MODEL_TASKS 512
#define MODEL_CHOICES 32

enum model_state {
	MODEL_NONE, /* not arrived, or over */
	MODEL_WAITING,
	MODEL_RUNNING,
	MODEL_HALTED,
	MODEL_LOST, /* overran, and counts */
	MODEL_GONE, /* overran, and does not count */
};

struct model_task {
	uint64_t number;
	uint64_t start;
	uint64_t end; /* when it has to end */
	uint32_t kind;
	uint32_t assigned;
	enum model_state state;
};

struct model {
	struct baton_rules_config config;
	uint64_t now;
	uint64_t numbers;
	uint32_t count; /* tasks, over or not */
	struct model_task task[MODEL_TASKS];
};

/* The choices of one event: which, of how many, at each "one". */
struct model_choices {
	uint32_t made;
	uint32_t which[MODEL_CHOICES];
	uint32_t of[MODEL_CHOICES];
};

/* Copies what is used of a model. */
void model_copy(struct model *to, const struct model *from);

/* The events. Each calls the cycle where the rules do. */
void model_arrive(struct model *model, uint32_t task, struct model_choices *choices);
void model_finish(struct model *model, uint32_t task, struct model_choices *choices);
void model_withdraw(struct model *model, uint32_t task);
void model_tick(struct model *model, struct model_choices *choices);
void model_set_limits(struct model *model, const uint32_t *limits, uint32_t reserve,
                      struct model_choices *choices);
void model_restored(struct model *model, struct model_choices *choices);

/* The next way through the choices. False: there was none left. Begin with zeroed choices. */
bool model_choices_next(struct model_choices *choices);

/* How many run and are of class i or slower, or assigned such a class; all for class 0. */
uint32_t model_running(const struct model *model, uint32_t i);

/* Could the waiting task start now, without halting more than the rules allow? */
bool model_could_start(const struct model *model, uint32_t task);

/* How long the task waits if each task before it uses all its time; BATON_NEVER: for ever. */
uint64_t model_wait(const struct model *model, uint32_t task);

/* When the first task has to end (and its grace is over); BATON_NEVER: none. */
uint64_t model_next_end(const struct model *model, uint32_t *task);

#endif
