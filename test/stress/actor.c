/* SPDX-License-Identifier: MIT */
/* The table of actors, and who may wait for whom. */
#include "actor.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "site.h"

#define ACTORS_MAX 16384

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static struct actor *actors[ACTORS_MAX];
static atomic_uint count;
static struct actor *spare[ACTORS_MAX];
static uint32_t spare_count;
static _Thread_local struct actor *mine;

static void thread_ends(void *arg)
{
	struct actor *actor = arg;

	atomic_store(&actor->tid, 0);
	mine = NULL;
}

static void make_key(void)
{
	MUST(pthread_key_create(&key, thread_ends) == 0);
}

static struct actor *actor_new(void)
{
	struct actor *actor;

	pthread_mutex_lock(&lock);
	if (spare_count > 0) {
		actor = spare[--spare_count];
	} else {
		uint32_t number = atomic_load(&count);

		MUST(number < ACTORS_MAX);
		actor = calloc(1, sizeof(*actor));
		MUST(actor);
		actor->number = (uint16_t)number;
		actor->random = random_stream(options.seed, number + 1000);
		actors[number] = actor;
		atomic_store(&count, number + 1);
	}
	pthread_mutex_unlock(&lock);
	return actor;
}

static void let_signals_through(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN);
	MUST(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
}

struct actor *actor_self(void)
{
	if (mine)
		return mine;
	pthread_once(&once, make_key);
	mine = actor_new();
	pthread_setspecific(key, mine);
	mine->client = false;
	mine->drives = NULL;
	atomic_store(&mine->tid, (int)syscall(SYS_gettid));
	let_signals_through();
	return mine;
}

uint32_t actor_count(void)
{
	return atomic_load(&count);
}

struct actor *actor_at(uint32_t index)
{
	return actors[index];
}

struct actor *actor_random(uint64_t *random)
{
	for (int tries = 0; tries < 20; tries++) {
		struct actor *actor = actors[random_below(random, atomic_load(&count))];

		if (atomic_load_explicit(&actor->tid, memory_order_relaxed))
			return actor;
	}
	return NULL;
}

void actor_recycle(void)
{
	pthread_mutex_lock(&lock);
	spare_count = 0;
	for (uint32_t i = 0; i < atomic_load(&count); i++)
		if (atomic_load(&actors[i]->tid) == 0)
			spare[spare_count++] = actors[i];
	pthread_mutex_unlock(&lock);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void show(struct actor *self)
{
	uint32_t top = self->outer_count;

	if (top > 0 && top <= ACTOR_OUTER_MAX) {
		atomic_store_explicit(&self->doing, self->outer_doing[top - 1],
		                      memory_order_relaxed);
		atomic_store_explicit(&self->doing_resource, self->outer_resource[top - 1],
		                      memory_order_relaxed);
	}
	atomic_store_explicit(&self->since_ns, top ? now_ns() : 0, memory_order_relaxed);
}

void actor_busy(const char *doing, uint32_t resource)
{
	struct actor *self = actor_self();

	if (self->outer_count < ACTOR_OUTER_MAX) {
		self->outer_doing[self->outer_count] = doing;
		self->outer_resource[self->outer_count] = resource;
	}
	self->outer_count++;
	show(self);
}

void actor_idle(void)
{
	struct actor *self = actor_self();

	self->outer_count--;
	show(self);
}

uint32_t actor_highest(void)
{
	const struct actor *self = actor_self();
	uint32_t highest = 0;

	for (uint32_t i = 0; i < self->depth; i++)
		if (self->held[i] > highest)
			highest = self->held[i];
	return highest;
}

bool actor_holds(uint32_t resource)
{
	const struct actor *self = actor_self();

	for (uint32_t i = 0; i < self->depth; i++)
		if (self->held[i] == resource)
			return true;
	return false;
}

bool actor_callers_hold(uint32_t resource)
{
	for (const struct caller *caller = actor_self()->caller; caller; caller = caller->outer) {
		if (caller->hidden)
			return true;
		for (uint32_t i = 0; i < caller->depth; i++)
			if (caller->actor->held[i] == resource)
				return true;
	}
	return false;
}

/*
 * baton does not find cycles of waits, so the test must not make any. While it holds resources, a
 * thread waits only for one with a higher number, and only for such as any waiter can help with;
 * one whose tasks run on an executor's threads alone is waited for by the test's own threads, and
 * only when they hold nothing. A thread that drives an executor waits for its own and for what can
 * be helped with.
 */
static bool may_wait(uint32_t resource, bool helpable, const struct engine *engine)
{
	const struct actor *self = actor_self();

	if (self->hidden)
		return false;
	if (self->depth > 0)
		return helpable && resource > actor_highest();
	if (helpable)
		return true;
	return self->client && (!self->drives || self->drives == engine);
}

bool actor_may_wait(const struct note *note)
{
	/* What else has to happen before these is not known. */
	if (note->kind == NOTE_THEN || !note_is_task(note))
		return may_wait(0, false, NULL);
	return may_wait(note->resource, note->helpable, note->engine);
}

/*
 * The await of a closed resource ends with the release, to which a helper can bring it only if the
 * executor lets it withdraw the job: a pool does, one that a thread drives does not.
 */
bool actor_may_await(const struct site *site)
{
	bool driven = site->engine->kind == ENGINE_MANUAL || site->engine->kind == ENGINE_LOOP;

	return may_wait(site->number, site->capture_max != BATON_CAPTURE_NONE && !driven,
	                site->engine);
}

bool actor_may_call(const struct site *site)
{
	return may_wait(site->number, site->capture_max != BATON_CAPTURE_NONE, site->engine);
}
