/* SPDX-License-Identifier: MIT */
/*
 * Admission: arrivals, ends, withdrawals, ticks and the close against one another, with a single
 * backend. An execution fails when two guests are in at once, or one does not see what the one
 * before did (`changes` is plain); when a guest enters twice, or its outcome says something else
 * than what happened; when a promise stays open (the waits never end); when the library touches a
 * guest that is gone, or the admission after its end.
 */
#include "support.h"

#include <baton/admission.h>
#include <baton/detach.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/manual.h>

#define GUESTS 3

struct guest {
	struct baton_admitted admitted;
	struct baton_future outcome;
	struct baton_future gone;
	struct baton_detached token;
	uint32_t told; /* the token is known */
	unsigned entered;
	bool detaches; /* else its function returns */
};

static struct guest guests[GUESTS];
static struct baton_admission admission;
static struct baton_timers *timers;
static struct baton_manual *manual;
static int changes;
static int results[2];

static int enter(struct baton_task *task)
{
	struct guest *guest = baton_container_of(task, struct guest, admitted.task);

	guest->entered++;
	changes++;
	if (guest->detaches) {
		sim_require(baton_detach(&guest->token, 0) == 0);
		store_release(&guest->told, 1);
	}
	return 0;
}

static void begin_on(struct baton_executor *executor)
{
	struct baton_admission_config config = {
		.executor = executor,
		.rules = {.limit = {1, 1, 1}, .grace_ns = 10, .duration_ns = {100, 200, 300}}};

	sim_require(
		baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                            &timers) == 0);
	config.timers = timers;
	sim_require(baton_admission_init(&admission, &config) == 0);
	for (int i = 0; i < GUESTS; i++) {
		struct guest *guest = &guests[i];

		baton_admitted_init(&guest->admitted, 0, enter);
		baton_promise_init(&guest->outcome);
		baton_promise_init(&guest->gone);
		baton_detached_init(&guest->token);
		guest->admitted.outcome = &guest->outcome;
		guest->admitted.gone = &guest->gone;
	}
}

static void begin(void)
{
	sim_calm(true);
	sim_require(baton_manual_create(&manual) == 0);
	begin_on(baton_manual_executor(manual));
	sim_calm(false);
}

static void arrive(void *argument)
{
	struct guest *guest = argument;

	sim_require(baton_admission_arrive(&admission, &guest->admitted) == 0);
}

/* It runs, detached, when the scenario begins. */
static void arrive_before(struct guest *guest)
{
	sim_calm(true);
	guest->detaches = true;
	arrive(guest);
	sim_require(baton_manual_run(manual, 0) > 0);
	sim_require(guest->told == 1);
	sim_calm(false);
}

/* The guest ends by itself, if it is ever entered. */
static void end(void *argument)
{
	struct guest *guest = argument;

	while (!load_acquire(&guest->told)) {
		if (baton_future_is_complete(&guest->gone) && !load_acquire(&guest->told))
			return;
		sim_yield();
	}
	changes++;
	sim_require(baton_detached_complete(&guest->token, 0, NULL) == 0);
}

static void withdraw_0(void *argument)
{
	results[0] = baton_admitted_withdraw(&guests[0].admitted);
}

static void withdraw_1(void *argument)
{
	results[1] = baton_admitted_withdraw(&guests[1].admitted);
}

/* Past the time and the grace of what runs from the beginning. */
static void tick(void *argument)
{
	sim_require(baton_timers_advance(timers, 100) >= 0);
	sim_require(baton_timers_advance(timers, 11) >= 0);
}

/* Waits until the first `count` are gone. No withdraw is under way any more. */
static void gone(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct guest *guest = &guests[i];
		int status;

		sim_require(baton_future_wait(&guest->gone) == 0);
		sim_retire(&guest->admitted, sizeof(guest->admitted));
		status = baton_future_status(&guest->outcome);
		sim_require(guest->entered <= 1);
		sim_require(status == 0 || status == -ECANCELED || status == -ETIMEDOUT);
		sim_require(status != 0 || guest->entered == 1);
	}
}

static void leave(unsigned count)
{
	sim_drive(manual);
	gone(count);
	BATON_IGNORE(baton_admission_close(&admission, BATON_ADMISSION_RUN));
	sim_require(baton_admission_await(&admission) == 0);
	baton_admission_deinit(&admission);
	sim_retire(&admission, sizeof(admission));
	sim_require(baton_timers_destroy(timers) == 0);
	baton_manual_destroy(manual);
	sim_no_leaks();
}

SIM_SCENARIO(admission_arrive, "of three that arrive each runs alone, and sees those before",
             .bound = 2)
{
	begin();
	for (int i = 0; i < GUESTS; i++)
		sim_start(arrive, &guests[i]);
	leave(3);
	sim_require(changes == 3);
}

SIM_SCENARIO(admission_arrive_withdraw, "a withdrawal beside its arrival: it runs, or never does",
             .bound = 2)
{
	begin();
	sim_start(arrive, &guests[0]);
	sim_start(withdraw_0, NULL);
	leave(1);
	sim_require(results[0] == 0 || results[0] == -EINVAL || results[0] == -EALREADY);
	sim_require(results[0] == 0 || baton_future_status(&guests[0].outcome) == 0);
}

SIM_SCENARIO(admission_finish_withdraw, "an end beside its withdrawal: the next one starts, once",
             .bound = 2)
{
	begin();
	arrive_before(&guests[0]);
	sim_start(end, &guests[0]);
	sim_start(withdraw_0, NULL);
	sim_start(arrive, &guests[1]);
	leave(2);
	sim_require(results[0] == 0 || results[0] == -EINVAL || results[0] == -EALREADY);
	sim_require(guests[1].entered == 1);
}

SIM_SCENARIO(admission_start_withdraw, "an end lets start what is being withdrawn", .bound = 2)
{
	begin();
	arrive_before(&guests[0]);
	sim_calm(true);
	arrive(&guests[1]);
	arrive(&guests[2]);
	sim_calm(false);
	sim_start(end, &guests[0]);
	sim_start(withdraw_1, NULL);
	leave(3);
	sim_require(guests[2].entered == 1);
}

SIM_SCENARIO(admission_tick, "the time is over beside the end and a withdrawal", .bound = 2)
{
	begin();
	arrive_before(&guests[0]);
	sim_start(end, &guests[0]);
	sim_start(withdraw_0, NULL);
	sim_start(tick, NULL);
	leave(1);
}

SIM_SCENARIO(admission_tick_arrive, "time passes while others arrive and end", .bound = 2)
{
	begin();
	arrive_before(&guests[0]);
	sim_start(arrive, &guests[1]);
	sim_start(end, &guests[0]);
	sim_start(tick, NULL);
	leave(2);
}

static void close_and_drop(void *argument)
{
	results[1] = baton_admission_close(&admission, BATON_ADMISSION_DROP);
}

static void try_to_arrive(void *argument)
{
	struct guest *guest = argument;

	results[0] = baton_admission_arrive(&admission, &guest->admitted);
	if (results[0])
		sim_require(baton_future_complete(&guest->gone, 0, NULL) == 0 &&
		            baton_future_complete(&guest->outcome, -ECANCELED, NULL) == 0);
}

SIM_SCENARIO(admission_close, "a close that drops, beside an arrival and an end: nothing is lost",
             .bound = 2)
{
	begin();
	arrive_before(&guests[0]);
	sim_start(end, &guests[0]);
	sim_start(try_to_arrive, &guests[1]);
	sim_start(close_and_drop, NULL);
	leave(2);
	sim_require(results[0] == 0 || results[0] == -EPIPE);
	sim_require(results[1] == 0);
}

/* The arrival is known as soon as withdraw finds it, which may be before its message is sent. */
static void withdraw_at_once(void *argument)
{
	while ((results[1] = baton_admitted_withdraw(&guests[1].admitted)) == -EINVAL)
		sim_yield();
}

/* Guest 0 has the only backend until the others are over. */
static void end_guest_0(void)
{
	struct baton_admission_stats stats;

	sim_require(baton_future_wait(&guests[1].outcome) == 0);
	/* Counted before it is told; of a refused arrival there is nothing to count. */
	baton_admission_stats_read(&admission, &stats);
	sim_require(stats.withdrawn + 1 == stats.arrived && stats.stopped <= 1);
	end(&guests[0]);
}

/* One preemption makes the order that is wanted: so the search, which is short, comes to it. */
SIM_SCENARIO(admission_withdraw_first, "a withdrawal that comes before its arrival is run",
             .bound = 1)
{
	begin();
	arrive_before(&guests[0]);
	sim_start(arrive, &guests[1]);
	sim_start(withdraw_at_once, NULL);
	end_guest_0();
	leave(2);
	sim_require(results[1] == 0);
	sim_require(baton_future_status(&guests[1].outcome) == -ECANCELED);
	sim_require(guests[1].entered == 0);
	sim_require(baton_future_status(&guests[0].outcome) == 0);
}

SIM_SCENARIO(admission_drop_first, "a close that drops before an arrival is run", .bound = 1)
{
	begin();
	arrive_before(&guests[0]);
	sim_start(try_to_arrive, &guests[1]);
	sim_start(close_and_drop, NULL);
	end_guest_0();
	leave(2);
	sim_require(results[0] == 0 || results[0] == -EPIPE);
	sim_require(baton_future_status(&guests[1].outcome) == -ECANCELED);
	sim_require(guests[1].entered == 0);
}

static void widen(void *argument)
{
	static const uint32_t limits[] = {2, 2, 2};

	results[1] = baton_admission_set_limits(&admission, limits, 0);
}

static void close_and_run(void *argument)
{
	sim_require(baton_admission_close(&admission, BATON_ADMISSION_RUN) == 0);
}

SIM_SCENARIO(admission_limits, "a change of limits beside the close of an empty admission",
             .bound = 2)
{
	begin();
	sim_start(widen, NULL);
	sim_start(close_and_run, NULL);
	leave(0);
	sim_require(results[1] == 0 || results[1] == -EPIPE);
}

static struct sim_shelf shelf;

static void run_shelf(void *argument)
{
	(void)sim_shelf_run(&shelf);
}

/* The other thread may have the end of the guest, of which nobody is told. */
SIM_SCENARIO(edge_admission_left,
             "[admission.left] the last user ends the admission, and sees what the others did")
{
	sim_calm(true);
	sim_shelf_init(&shelf, 0, 0);
	begin_on(&shelf.executor);
	guests[0].admitted.gone = NULL;
	arrive(&guests[0]);
	sim_calm(false);
	sim_start(run_shelf, NULL);
	close_and_run(NULL);
	while (!baton_future_is_complete(&admission._ended))
		if (!sim_shelf_run(&shelf))
			sim_yield();
	sim_require(baton_admission_await(&admission) == 0);
	baton_admission_deinit(&admission);
	admission._config.gone = NULL; /* as its next user will */
	sim_retire(&admission, sizeof(admission));
}
