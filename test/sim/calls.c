/* SPDX-License-Identifier: MIT */
/*
 * What scenarios and the library ask of threads: to begin, to end, to let others go on.
 */
#include "backend.h"
#include "engine.h"

#include <pthread.h>

unsigned sim_pick(unsigned count)
{
	return sim_choose(count, count);
}

void sim_point(void)
{
	sim_schedule(false);
}

void sim_yield(void)
{
	sim_me()->yielded = true;
	sim_schedule(true);
}

/*
 * The library's: between two looks, until it sleeps. Whether it comes to its sleep before the
 * others have done another step is one choice, not one at every yield.
 */
int sim_sched_yield(void);
int sim_sched_yield(void)
{
	struct sim_thread *me = sim_me();

	if (me->in_haste) {
		me->hurried = --me->in_haste == 0;
		sim_schedule(false);
		return 0;
	}
	if (!me->hurried)
		me->in_haste = SIM_HASTE + 1; /* may begin now */
	me->hurried = false;
	me->yielded = true;
	sim_schedule(true);
	if (me->in_haste)
		me->yielded = false;
	return 0;
}

pthread_t sim_pthread_self(void);
pthread_t sim_pthread_self(void)
{
	return sim_self;
}

void sim_spin(void);
void sim_spin(void)
{
	(void)sim_sched_yield();
}

/* Concurrency Kit's full fence. Of two such fences the later one knows what was done before the
 * other, as if both were read-modify-writes of one word. */
void sim_fence(void);
void sim_fence(void)
{
	static uint32_t fences;

	(void)add_seq_cst(&fences, 1);
}

void sim_word_changed(const void *word)
{
	for (unsigned i = 0; i < sim_thread_count; i++)
		if (sim_threads[i].state == SIM_IDLE && (!word || sim_threads[i].idle == word))
			sim_threads[i].state = SIM_READY;
}

void sim_idle(const void *word)
{
	sim_me()->idle = word;
	sim_me()->state = SIM_IDLE;
	sim_schedule(true);
}

void sim_join(unsigned number)
{
	struct sim_thread *thread = &sim_threads[number];

	while (thread->state != SIM_FINISHED) {
		sim_me()->state = SIM_JOINING;
		sim_me()->joins = number;
		sim_schedule(true);
	}
	sim_me()->clock = sim_clock_join(sim_me()->clock, thread->clock);
}

void sim_join_all(void)
{
	for (unsigned i = 0; i < sim_thread_count; i++)
		if (i != sim_self && !sim_threads[i].daemon)
			sim_join(i);
}

/* A word of the mutex is the lock. It is never read old: who has slept looks again. */
int sim_pthread_mutex_lock(pthread_mutex_t *mutex);
int sim_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	while (sim_rmw(SIM_SITE("lock"), mutex, sizeof(int), SIM_SWAP, 1, __ATOMIC_ACQUIRE))
		sim_idle(mutex);
	return 0;
}

int sim_pthread_mutex_unlock(pthread_mutex_t *mutex);
int sim_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	sim_store(SIM_SITE("unlock"), mutex, sizeof(int), 0, __ATOMIC_RELEASE);
	return 0;
}

struct start {
	void (*function)(void *argument);
	void *argument;
};

void *sim_started(void *argument)
{
	const struct start *start = argument;

	start->function(start->argument);
	return NULL;
}

unsigned sim_start(void (*function)(void *argument), void *argument)
{
	struct start *start = sim_alloc(sizeof(*start));

	*start = (struct start){function, argument};
	return sim_thread_add(sim_started, start);
}

void *sim_calloc(size_t count, size_t size);
void sim_free(void *memory);

/* Aligned to the size, a power of two: what a slab needs, and what mmap gives it mostly. */
void *sim_mmap(size_t size);
void *sim_mmap(size_t size)
{
	/* Blocks lie one behind the other, with a cache line between them. */
	uintptr_t next = (uintptr_t)sim_alloc(0) + 64;
	void *memory;

	if (next % size)
		(void)sim_alloc(size - next % size - 64);
	memory = sim_calloc(1, size);
	return memory ? memory : (void *)-1;
}

int sim_munmap(void *memory, size_t size);
int sim_munmap(void *memory, size_t size)
{
	sim_free(memory);
	return 0;
}
