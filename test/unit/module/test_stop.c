/* SPDX-License-Identifier: MIT */
/*
 * Stops: a table of what can be stopped, and what stop.h promises for all of it: what a stop meets
 * in each state, and when the memory is the caller's. A further kind is a further row.
 */
#include "stop_kinds.h"

#include "core/word.h"

#include <sys/wait.h>
#include <unistd.h>

/* ---- The stage ---- */

/* The resources on which each promise is tried. */
enum setting { PLAIN, NEVER_CAPTURED, CLOSED_MEANWHILE, SETTINGS };

static enum setting setting;

static struct subject *begin(size_t kind)
{
	struct subject *subject = calloc(1, sizeof(*subject));

	MUST(subject);
	subject->kind = &kinds[kind];
	gate_init(&subject->entered);
	gate_init(&subject->leave);
	fix.counted = true;
	fix.stats = (struct baton_resource_stats){0};
	fix.config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	if (setting == NEVER_CAPTURED)
		fix.config.capture_max = BATON_CAPTURE_NONE;
	fixture_pool(2);
	subject->kind->init(subject, &fix.resource);
	return subject;
}

/* The resource is closed once the run is queued, or has begun. */
static void meanwhile(void)
{
	if (setting == CLOSED_MEANWHILE)
		MUST(baton_resource_close(&fix.resource) == 0);
}

/* `given_back`: the memory is the test's, and nothing may have been written to it. */
static void end(struct subject *subject, bool given_back)
{
	fixture_end();
	if (subject->kind->end)
		subject->kind->end();
	cr_assert(!given_back || is_poisoned(subject), "%s", subject->kind->name);
	free(subject);
}

static void *want_main(void *arg)
{
	struct subject *subject = arg;

	subject->kind->want(subject);
	return NULL;
}

/* A run of the subject lies behind the occupant. */
static void queue(struct subject *subject)
{
	occupy_later(&fix.occupant, &fix.resource);
	subject->kind->want(subject);
	/* A task is counted before it is in the queue, and a close between the two refuses it. */
	while (resource_counts(&fix.stats).submitted < 2 ||
	       !baton__word_newest(baton__word(&fix.resource)))
		(void)sched_yield();
	meanwhile();
}

/* The function of the subject stands at its gate. */
static void enter(struct subject *subject)
{
	subject->mode = STAYS;
	subject->thread = thread_start(want_main, subject);
	gate_pass(&subject->entered);
	meanwhile();
}

#define EACH_KIND                                                                                  \
	for (setting = PLAIN; setting < SETTINGS; setting++)                                       \
		for (size_t kind = 0; kind < KINDS; kind++)

#define SAYS(met, expected)                                                                        \
	cr_assert_eq((met), (expected), "%s, resource %d: %d instead of %d", kinds[kind].name,     \
	             (int)setting, (int)(met), (int)(expected))

/* ---- What a stop meets ---- */

Test(stop, idle_it_meets_nothing_and_the_memory_is_the_callers, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_NOTHING);
		SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_NOTHING);
		SAYS(subject->kind->stop_then(&subject->x, told, subject).met, BATON_STOP_NOTHING);
		SAYS(atomic_load(&subject->told), 1);
		end(subject, true);
	}
}

Test(stop, what_is_armed_is_prevented_and_the_memory_is_the_callers, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		if (subject->kind->arm) {
			subject->kind->arm(subject);
			SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_PREVENTED);
			SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_NOTHING);
			subject->kind->arm(subject);
			SAYS(subject->kind->stop_then(&subject->x, told, subject).met,
			     BATON_STOP_PREVENTED);
			SAYS(atomic_load(&subject->told), 1);
			SAYS(atomic_load(&subject->runs), 0);
		}
		end(subject, subject->kind->arm != NULL);
	}
}

Test(stop, a_queued_run_has_no_effect_and_the_owner_is_told_behind_it, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		queue(subject);
		SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_QUEUED);
		SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_QUEUED);
		SAYS(subject->kind->stop_then(&subject->x, told, subject).met, BATON_STOP_QUEUED);
		SAYS(atomic_load(&subject->told), 0);
		gate_open(&fix.occupant.leave);
		until_at_least(&subject->told, 1);
		SAYS(atomic_load(&subject->runs), 0);
		end(subject, true);
		SAYS(resource_counts(&fix.stats).cancelled, 1);
	}
}

Test(stop, a_run_goes_on_and_the_owner_is_told_behind_it, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		enter(subject);
		SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_RUNNING);
		SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_RUNNING);
		SAYS(subject->kind->stop_then(&subject->x, told, subject).met, BATON_STOP_RUNNING);
		SAYS(atomic_load(&subject->told), 0);
		gate_open(&subject->leave);
		thread_join(subject->thread);
		until_at_least(&subject->told, 1);
		SAYS(atomic_load(&subject->runs), 1);
		end(subject, true);
	}
}

Test(stop, after_a_run_it_meets_nothing, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		enter(subject);
		gate_open(&subject->leave);
		thread_join(subject->thread);
		cr_assert_eq(baton_resource_await(&fix.resource), 0);
		SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_NOTHING);
		poison(subject);
		end(subject, true);
	}
}

static void *stop_main(void *arg)
{
	struct subject *subject = arg;

	subject->met = subject->kind->stop_then(&subject->x, told, subject).met;
	return NULL;
}

Test(stop, any_thread_may_stop, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		queue(subject);
		thread_join(thread_start(stop_main, subject));
		SAYS(subject->met, BATON_STOP_QUEUED);
		gate_open(&fix.occupant.leave);
		until_at_least(&subject->told, 1);
		end(subject, true);
	}
}

/* ---- Inside the own function ---- */

Test(stop, its_own_function_is_told_when_it_has_returned, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		subject->mode = TELLS;
		subject->kind->want(subject);
		until_at_least(&subject->told, 1);
		SAYS(subject->met, BATON_STOP_RUNNING);
		end(subject, true);
	}
}

Test(stop, its_own_function_may_suspend_its_resource, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		subject->mode = SUSPENDS;
		subject->kind->want(subject);
		until_at_least(&subject->told, 1);
		SAYS(subject->met, BATON_STOP_RUNNING);
		cr_assert_eq(baton_resource_resume(&suspension), 0);
		end(subject, true);
	}
}

Test(stop, its_own_function_may_free_it_and_say_so, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		subject->mode = FREES;
		subject->kind->want(subject);
		until_at_least(&subject->runs, 1);
		SAYS(subject->met, BATON_STOP_RUNNING);
		end(subject, true);
	}
}

Test(stop, its_own_function_may_not_wait_for_itself, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		subject->mode = WAITS;
		subject->kind->want(subject);
		until_at_least(&subject->runs, 1);
		SAYS(subject->waited, -EDEADLK);
		SAYS(subject->kind->stop_wait(&subject->x), 0);
		poison(subject);
		end(subject, true);
	}
}

/* ---- Waits ---- */

static void *wait_main(void *arg)
{
	struct subject *subject = arg;

	subject->waited = subject->kind->stop_wait(&subject->x);
	poison(subject);
	return NULL;
}

Test(stop, a_wait_for_what_does_not_run_is_over_at_once, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		SAYS(subject->kind->stop_wait(&subject->x), 0);
		if (subject->kind->arm)
			subject->kind->arm(subject);
		SAYS(subject->kind->stop_wait_until(&subject->x, 0), 0);
		subject->waited = -1;
		cr_assert_eq(baton_call(&fix.resource, wait_main, subject, NULL), 0);
		SAYS(subject->waited, 0);
		end(subject, true);
	}
}

Test(stop, a_wait_ends_behind_the_queued_run_or_at_its_deadline, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		queue(subject);
		SAYS(subject->kind->stop_wait_until(&subject->x, 0), -ETIMEDOUT);
		SAYS(subject->kind->stop_wait_until(&subject->x, baton_after(BATON_MILLISECOND)),
		     -ETIMEDOUT);
		SAYS(subject->kind->stop(&subject->x).met, BATON_STOP_QUEUED);
		subject->thread = thread_start(wait_main, subject);
		gate_open(&fix.occupant.leave);
		thread_join(subject->thread);
		SAYS(subject->waited, 0);
		SAYS(atomic_load(&subject->runs), 0);
		end(subject, true);
	}
}

Test(stop, a_wait_ends_behind_the_run_or_at_its_deadline, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);
		pthread_t waiter;

		enter(subject);
		SAYS(subject->kind->stop_wait_until(&subject->x, baton_after(BATON_MILLISECOND)),
		     -ETIMEDOUT);
		waiter = thread_start(wait_main, subject);
		gate_open(&subject->leave);
		thread_join(waiter);
		SAYS(subject->waited, 0);
		SAYS(atomic_load(&subject->runs), 1);
		thread_join(subject->thread);
		end(subject, true);
	}
}

/* ---- Told ---- */

Test(stop, what_was_given_back_may_be_used_anew, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		SAYS(subject->kind->stop_then(&subject->x, told, subject).met, BATON_STOP_NOTHING);
		subject->kind->init(subject, &fix.resource);
		subject->kind->want(subject);
		until_at_least(&subject->runs, 1);
		cr_assert_eq(baton_resource_await(&fix.resource), 0);
		(void)subject->kind->stop_then(&subject->x, told, subject);
		SAYS(atomic_load(&subject->told), 2);
		end(subject, true);
	}
}

Test(stop, a_promise_can_be_told, .timeout = 10)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);
		struct baton_future promise = BATON_PROMISE_INIT;

		queue(subject);
		(void)subject->kind->stop_then(&subject->x, baton_stopped_complete, &promise);
		gate_open(&fix.occupant.leave);
		cr_assert_eq(baton_future_wait(&promise), 0);
		cr_assert_eq(baton_future_status(&promise), 0);
		poison(subject);
		end(subject, true);
	}
}

/* Each function that is told stops the next subject. */
#define CHAIN 1000

static struct subject *chain;
static unsigned nested;
static unsigned deepest;

static void tell_next(void *arg)
{
	struct subject *next = arg;

	nested++;
	deepest = nested > deepest ? nested : deepest;
	if (++next < chain + CHAIN)
		(void)next->kind->stop_then(&next->x, tell_next, next);
	else
		(void)atomic_fetch_add(&chain->told, 1);
	nested--;
}

Test(stop, who_is_told_may_stop_the_next_however_many_there_are, .timeout = 10)
{
	setting = PLAIN;
	for (size_t kind = 0; kind < KINDS; kind++) {
		struct subject *first = begin(kind);

		chain = calloc(CHAIN, sizeof(*chain));
		MUST(chain);
		for (int i = 0; i < CHAIN; i++) {
			chain[i].kind = &kinds[kind];
			kinds[kind].init(&chain[i], &fix.resource);
		}
		(void)chain->kind->stop_then(&chain->x, tell_next, chain);
		SAYS(atomic_load(&chain->told), 1);
		cr_assert_leq(deepest, BATON_NESTING_MAX, "%u", deepest);
		free(chain);
		end(first, false);
	}
}

/* ---- A fork's child ---- */

static int child(struct subject *subject)
{
	if (subject->kind->stop(&subject->x).met != BATON_STOP_CHILD)
		return 1;
	if (subject->kind->stop_then(&subject->x, told, subject).met != BATON_STOP_CHILD)
		return 2;
	if (subject->kind->stop_wait(&subject->x) != -ECHILD ||
	    subject->kind->stop_wait_until(&subject->x, 0) != -ECHILD)
		return 3;
	return atomic_load(&subject->told) ? 4 : 0;
}

static void forked(struct subject *subject)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(child(subject));
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "%s: %x", subject->kind->name,
	          (unsigned)status);
}

Test(stop, a_forks_child_stops_nothing_and_is_told_so, .timeout = 20)
{
	EACH_KIND
	{
		struct subject *subject = begin(kind);

		forked(subject);
		if (subject->kind->arm)
			subject->kind->arm(subject);
		forked(subject);
		(void)subject->kind->stop(&subject->x);
		end(subject, false);
		subject = begin(kind);
		queue(subject);
		forked(subject);
		gate_open(&fix.occupant.leave);
		end(subject, false);
	}
}
