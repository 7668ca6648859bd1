/* SPDX-License-Identifier: MIT */
/*
 * The idle set alone: model workers take work out of a word as the pool's take jobs out of queues,
 * and go to sleep and wake as these do.
 */
#include "jobs.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "pool/idle.h"

#define WORKERS_MAX 3

static struct baton__idle idle;
static struct baton__sleeper sleepers[WORKERS_MAX];
static uint32_t work;      /* pieces that are to be done */
static uint32_t taken;     /* pieces that somebody has taken */
static uint32_t done;      /* futex word: pieces that are over */
static uint32_t stop;      /* all are over */
static uint32_t total;     /* as many as there will be */
static bool first_waits;   /* who takes the first waits in it until all others are over */
static bool alone_is_told; /* as after a shutdown */
static size_t numbers[WORKERS_MAX] = {0, 1, 2};

static bool is_work(void)
{
	return load_seq_cst(&work) != 0;
}

static bool take(void)
{
	uint32_t left = load_relaxed(&work);

	while (left)
		if (cas_acq_rel(&work, &left, left - 1))
			return true;
	return false;
}

static void produce(void)
{
	(void)add_seq_cst(&work, 1);
	(void)baton__idle_notify(&idle);
}

static void end_all(void)
{
	store_seq_cst(&stop, 1);
	baton__idle_wake_all(&idle);
}

static void do_it(void)
{
	if (add_relaxed(&taken, 1) == 0 && first_waits) {
		struct baton__futex_watch watch = {&done, 0};

		while ((watch.value = load_acquire(&done)) != total - 1)
			(void)baton__futex_wait(&watch, 1, BATON_FOREVER);
	}
	if (add_seq_cst(&done, 1) + 1 == total)
		end_all();
	else
		baton__futex_wake(&done, 1);
}

/* Has found work: as got_work in worker.c. */
static void got(bool *searching)
{
	bool last = *searching && baton__idle_stop_searching(&idle);

	*searching = false;
	if (last && is_work())
		(void)baton__idle_notify(&idle);
}

/* False: the end. As baton__worker_park. */
static bool park(size_t number, bool *searching)
{
	enum baton__idle_entered entered =
		baton__idle_enter(&idle, number, *searching, alone_is_told);

	if (entered == BATON__IDLE_ALONE)
		return true;
	*searching = false;
	if (load_seq_cst(&stop))
		return false;
	if (entered == BATON__IDLE_LOOK && is_work())
		(void)baton__idle_notify(&idle);
	(void)baton__idle_wait(&idle, number, BATON_FOREVER);
	*searching = true;
	return !load_seq_cst(&stop);
}

static void worker(void *argument)
{
	size_t number = *(size_t *)argument;
	bool searching = false;

	for (;;) {
		if (take()) {
			got(&searching);
			do_it();
			continue;
		}
		if (load_seq_cst(&stop))
			return;
		if (!searching)
			searching = baton__idle_try_search(&idle);
		if (searching && is_work())
			continue;
		if (!park(number, &searching))
			return;
	}
}

static void start(unsigned workers)
{
	baton__idle_init(&idle, sleepers, workers);
	for (unsigned i = 0; i < workers; i++)
		sim_start(worker, &numbers[i]);
}

static void notifier(void *argument)
{
	produce();
}

static void end(void)
{
	sim_join_all();
	sim_require(load_relaxed(&done) == total);
}

SIM_SCENARIO(idle_park, "work comes while the only worker goes to sleep: it is done")
{
	total = 1;
	start(1);
	produce();
	end();
}

SIM_SCENARIO(idle_again, "the same twice: the second sleep is not the first one's", .bound = 3)
{
	total = 2;
	start(1);
	produce();
	produce();
	end();
}

SIM_SCENARIO(idle_two_notifiers, "two notifiers, one sleeper: it wakes once, all is done")
{
	total = 2;
	start(1);
	sim_settle();
	sim_start(notifier, NULL);
	produce();
	end();
}

SIM_SCENARIO(idle_second, "the first worker stays in its work: the second is woken for the rest")
{
	total = 2;
	first_waits = true;
	start(2);
	sim_settle();
	produce();
	produce();
	end();
}

SIM_SCENARIO(idle_second_searches, "the same while both look for work", .bound = 1)
{
	total = 2;
	first_waits = true;
	start(2);
	sim_start(notifier, NULL);
	produce();
	end();
}

SIM_SCENARIO(idle_two_wakes, "two notifiers, two sleepers, and one that enters meanwhile",
             .bound = 1)
{
	total = 2;
	start(2);
	sim_settle();
	sim_start(notifier, NULL);
	produce();
	end();
}

SIM_SCENARIO(idle_stack, "three sleepers, three pieces of work: each wait ends", .bound = 1)
{
	total = 3;
	first_waits = true;
	start(3);
	sim_settle();
	produce();
	produce();
	produce();
	end();
}

/* ---- The end ---- */

static void sleeper(void *argument)
{
	bool searching = baton__idle_try_search(&idle);

	(void)park(*(size_t *)argument, &searching);
}

SIM_SCENARIO(idle_wake_all, "two that enter beside the end leave")
{
	baton__idle_init(&idle, sleepers, 2);
	sim_start(sleeper, &numbers[0]);
	sim_start(sleeper, &numbers[1]);
	end_all();
}

SIM_SCENARIO(idle_wake_all_notify, "the same beside a notifier")
{
	baton__idle_init(&idle, sleepers, 2);
	sim_start(sleeper, &numbers[0]);
	sim_settle();
	sim_start(notifier, NULL);
	end_all();
}

static unsigned alone_count;

static void last_one(void *argument)
{
	enum baton__idle_entered entered =
		baton__idle_enter(&idle, *(size_t *)argument, false, true);

	if (entered == BATON__IDLE_ALONE) {
		alone_count++; /* at most one: this would race */
		end_all();
	} else {
		(void)baton__idle_wait(&idle, *(size_t *)argument, BATON_FOREVER);
	}
}

SIM_SCENARIO(idle_alone, "the last of three to enter is told so, and nobody else")
{
	baton__idle_init(&idle, sleepers, 3);
	for (unsigned i = 0; i < 3; i++)
		sim_start(last_one, &numbers[i]);
	sim_join_all();
	sim_require(alone_count == 1);
}

/* ---- One of them is stopped ---- */

SIM_UNSEEN static void notifier_is_frozen(void)
{
	if (!done)
		sim_fail("a stopped notifier delays the other one's work");
}

SIM_SCENARIO(idle_frozen_notifier, "a notifier is stopped half-way: the next one wakes somebody",
             .bound = 1, .freeze = 3, .frozen = notifier_is_frozen)
{
	total = 2;
	start(2);
	sim_settle();
	sim_start(notifier, NULL);
	produce();
	end();
}

/* Unless it is counted as searching: then nobody else is woken (D4). And what comes before it looks
 * at the queues, having ended its search, may wait for the next notifier. */
SIM_UNSEEN static void parking_is_frozen(void)
{
	if (work && !(idle.word >> 40 & 0xFFF))
		sim_fail("work is left, and nobody is to come for it");
}

SIM_SCENARIO(idle_frozen_worker, "a worker is stopped as it parks or wakes: another one does it",
             .bound = 1, .freeze = 1, .frozen = parking_is_frozen)
{
	total = 3;
	start(2);
	sim_start(notifier, NULL);
	produce();
	while (load_relaxed(&done) < 2 && !sim_frozen())
		sim_yield();
	sim_settle();
	produce();
	end();
}
