/* SPDX-License-Identifier: MIT */
/*
 * Threads as coroutines, and which of them goes on. A switch saves and restores what the library
 * keeps per thread (the section sim_tls).
 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_SIZE (256 * 1024)
#define STEPS_MAX 30000U
/* So long after a thread was frozen the others are where they can come to, or spin for it. */

struct sim_thread sim_threads[SIM_THREADS_MAX];
unsigned sim_thread_count;
unsigned sim_self;

extern unsigned char __start_sim_tls[];
extern unsigned char __stop_sim_tls[];

static unsigned char first_tls[SIM_TLS_MAX];
static bool first_tls_saved;
static unsigned char *stacks;
static jmp_buf outside;
static const struct sim_scenario *running;

static void *scenario_main(void *argument);

static size_t tls_size(void)
{
	size_t size = (size_t)(__stop_sim_tls - __start_sim_tls);

	if (size > SIM_TLS_MAX)
		abort();
	return size;
}

bool sim_stack_holds(const void *address)
{
	return (uintptr_t)address - (uintptr_t)stacks < (size_t)SIM_THREADS_MAX * STACK_SIZE;
}

unsigned sim_thread(void)
{
	return sim_self;
}

_Noreturn void sim_execution_ends(void)
{
	_longjmp(outside, 1);
}

static void run_destructors(void)
{
	extern void (*sim_destructors[SIM_KEYS_MAX])(void *);
	struct sim_thread *me = sim_me();

	for (unsigned i = 0; i < SIM_KEYS_MAX; i++) {
		void *value = me->keys[i];

		me->keys[i] = NULL;
		if (value && sim_destructors[i])
			sim_destructors[i](value);
	}
}

static void thread_main(void)
{
	struct sim_thread *me = sim_me();

	(void)me->function(me->argument);
	if (sim_self == 0)
		sim_join_all();
	run_destructors();
	me->state = SIM_FINISHED;
	me->clock[sim_self]++;
	sim_trace("ends");
	for (unsigned i = 0; i < sim_thread_count; i++) {
		struct sim_thread *other = &sim_threads[i];

		if (other->state == SIM_JOINING && other->joins == sim_self)
			other->state = SIM_READY;
	}
	sim_word_changed(NULL);
	sim_schedule(true);
	abort();
}

unsigned sim_thread_add(void *(*function)(void *), void *argument)
{
	unsigned number = sim_thread_count;
	struct sim_thread *thread = &sim_threads[number];

	if (number == SIM_THREADS_MAX)
		sim_fail("explorer: more than %d threads", SIM_THREADS_MAX);
	sim_thread_count++;
	memset(thread, 0, offsetof(struct sim_thread, context));
	memset(thread->keys, 0, sizeof(thread->keys));
	thread->call_count = 0;
	thread->at = NULL;
	thread->fresh = true;
	thread->function = function;
	thread->argument = argument;
	thread->priority = (uint32_t)(sim_random() >> 33) | 0x10000U;
	thread->daemon = running->daemons && function != sim_started && function != scenario_main;
	memcpy(thread->tls, first_tls, tls_size());
	if (number) {
		/* What its creator did, it sees. */
		thread->clock = sim_me()->clock;
		sim_me()->clock[sim_self]++;
	}
	thread->clock[number] = 1;
	if (!stacks)
		stacks = malloc((size_t)SIM_THREADS_MAX * STACK_SIZE);
	(void)getcontext(&thread->start);
	thread->start.uc_stack.ss_sp = stacks + (size_t)number * STACK_SIZE;
	thread->start.uc_stack.ss_size = STACK_SIZE;
	thread->start.uc_link = NULL;
	makecontext(&thread->start, thread_main, 0);
	return number;
}

static void enter(struct sim_thread *thread)
{
	memcpy(__start_sim_tls, thread->tls, tls_size());
	sim_self = (unsigned)(thread - sim_threads);
	if (thread->fresh) {
		thread->fresh = false;
		(void)setcontext(&thread->start);
	}
	_longjmp(thread->context, 1);
}

static void switch_to(struct sim_thread *next)
{
	struct sim_thread *me = sim_me();

	if (next == me)
		return;
	memcpy(me->tls, __start_sim_tls, tls_size());
	if (_setjmp(me->context) == 0)
		enter(next);
}

bool sim_others_ended(void)
{
	for (unsigned i = 0; i < sim_thread_count; i++)
		if (i != sim_self && sim_threads[i].state != SIM_FINISHED)
			return false;
	return true;
}

/* Only daemons are left: that is the end. */
static bool over(void)
{
	for (unsigned i = 0; i < sim_thread_count; i++)
		if (!sim_threads[i].daemon && sim_threads[i].state != SIM_FINISHED)
			return false;
	return true;
}

static _Noreturn void deadlock(void)
{
	static const char *const states[] = {"ready", "asleep", "idle", "joining", "ended"};
	char text[600];
	size_t length = 0;

	for (unsigned i = 0; i < sim_thread_count; i++) {
		const struct sim_thread *thread = &sim_threads[i];
		const struct sim_site *site = thread->at;

		length += (size_t)snprintf(text + length, sizeof(text) - length,
		                           "\n  thread %u %s, last at %s:%d %s", i,
		                           states[thread->state], site ? site->file : "start",
		                           site ? site->line : 0, site ? site->what : "");
		if (length >= sizeof(text))
			break;
	}
	sim_fail("deadlock: nobody can go on%s", text);
}

static bool can_run(const struct sim_thread *thread)
{
	return thread->state == SIM_READY && !thread->frozen;
}

/* Those that could go on, the calling one first, unless it is to leave. */
static unsigned list_ready(unsigned *list, bool leave, bool yielded_too)
{
	unsigned count = 0;

	if (!leave && can_run(sim_me()))
		list[count++] = sim_self;
	for (unsigned i = 1; i <= sim_thread_count; i++) {
		unsigned other = (sim_self + i) % sim_thread_count;
		const struct sim_thread *thread = &sim_threads[other];

		if ((other != sim_self || yielded_too) && can_run(thread) &&
		    (yielded_too || !thread->yielded) && !(count && list[0] == other))
			list[count++] = other;
	}
	return count;
}

/* Those that let the others go first. */
static unsigned list_yielded(unsigned *list, unsigned count)
{
	for (unsigned i = 1; i < sim_thread_count; i++) {
		unsigned other = (sim_self + i) % sim_thread_count;

		if (can_run(&sim_threads[other]) && sim_threads[other].yielded)
			list[count++] = other;
	}
	return count;
}

/* Those whose deadline may pass; if nobody else can do anything, the earliest. */
static unsigned list_sleepers(unsigned *list, unsigned count)
{
	bool only = count == 0;
	unsigned earliest = 0;

	for (unsigned i = 0; i < sim_thread_count; i++) {
		const struct sim_thread *thread = &sim_threads[i];

		if (thread->state != SIM_ASLEEP || !thread->deadline || thread->frozen)
			continue;
		if (!only)
			list[count++] = i;
		else if (!count || thread->deadline < sim_threads[earliest].deadline) {
			list[0] = earliest = i;
			count = 1;
		}
	}
	return count;
}

/* PCT: the highest priority; at random points the calling thread becomes the lowest. */
static unsigned choose_by_priority(const unsigned *list, unsigned ready, unsigned count)
{
	unsigned best = 0;

	sim_choices.step++;
	if (sim_random() % 64 == 0)
		sim_me()->priority = (uint32_t)(sim_random() % 0x10000U);
	if (ready < count && sim_random() % 32 == 0)
		best = ready + (unsigned)(sim_random() % (count - ready));
	else
		for (unsigned i = 1; i < ready; i++)
			if (sim_threads[list[i]].priority > sim_threads[list[best]].priority)
				best = i;
	sim_note(best);
	return best;
}

void sim_schedule(bool leave)
{
	unsigned list[3 * SIM_THREADS_MAX];
	unsigned ready;
	unsigned free;
	unsigned count;
	unsigned chosen;

	if (sim_choices.step > STEPS_MAX)
		sim_fail("no end after %u steps: a livelock", STEPS_MAX);
	if (sim_frozen() && !sim_freeze_lasts())
		sim_thaw(running);
	for (;;) {
		ready = list_ready(list, leave, false);
		if (!ready) {
			for (unsigned i = 0; i < sim_thread_count; i++)
				sim_threads[i].yielded = false;
			ready = list_ready(list, leave, true);
		}
		free = ready;
		if (ready && sim_me()->in_haste > SIM_HASTE)
			list[free++] = sim_self;
		count = list_sleepers(list, ready ? list_yielded(list, free) : 0);
		if (count)
			break;
		if (over())
			sim_execution_ends();
		if (!sim_frozen())
			deadlock();
		sim_thaw(running); /* nobody but the frozen one can go on */
	}
	if (sim_choices.mode == SIM_PCT && !sim_choices.calm)
		chosen = choose_by_priority(list, free, count);
	else
		chosen = sim_choose(count, list[0] == sim_self && ready ? 1 : free ? free : 1);
	if (sim_me()->in_haste > SIM_HASTE)
		sim_me()->in_haste = chosen == ready && free > ready ? SIM_HASTE : 0;
	if (sim_threads[list[chosen]].state == SIM_ASLEEP) {
		sim_time_passes(sim_threads[list[chosen]].deadline);
		sim_wake(list[chosen], true);
	}
	switch_to(&sim_threads[list[chosen]]);
}

/* Every atomic operation comes by here. */
void sim_operation(struct sim_site *site)
{
	struct sim_thread *me = sim_me();

	me->at = site;
	me->yielded = false;
	if (sim_freeze_now()) {
		sim_trace("-- is frozen before %s:%d %s", site->file, site->line, site->what);
		sim_schedule(true);
	} else if (site->shared || sim_choices.mode >= SIM_BYTES) {
		sim_schedule(false);
	} else {
		sim_choices.step++; /* nobody else has ever been seen there */
		if (sim_choices.step > STEPS_MAX)
			sim_fail("no end after %u steps: a livelock", STEPS_MAX);
	}
}

static void *scenario_main(void *argument)
{
	running->run();
	return NULL;
}

void sim_threads_run(const struct sim_scenario *scenario)
{
	if (!first_tls_saved) {
		memcpy(first_tls, __start_sim_tls, tls_size());
		first_tls_saved = true;
	}
	running = scenario;
	sim_thread_count = 0;
	sim_self = 0;
	(void)sim_thread_add(scenario_main, NULL);
	if (_setjmp(outside) == 0)
		enter(&sim_threads[0]);
	memcpy(__start_sim_tls, first_tls, tls_size());
}

void sim_settle(void)
{
	bool before = sim_choices.calm;
	unsigned others;

	sim_choices.calm = true;
	do {
		others = 0;
		for (unsigned i = 0; i < sim_thread_count; i++)
			others += i != sim_self && can_run(&sim_threads[i]);
		if (others)
			sim_yield();
	} while (others);
	sim_choices.calm = before;
}

void sim_join_started(void)
{
	for (unsigned i = 0; i < sim_thread_count; i++)
		if (i != sim_self && sim_threads[i].function == sim_started)
			sim_join(i);
}
