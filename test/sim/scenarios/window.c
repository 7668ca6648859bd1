/* SPDX-License-Identifier: MIT */
/*
 * Windows: completions against submits, other limits and the resource's end. An execution fails as
 * in windows.h.
 */
#include "windows.h"

#include <baton/bound.h>

struct sim_topic sim_window_topic;
struct baton_window sim_window;
struct parcel sim_parcels[PARCELS_MAX];
unsigned sim_in_flight_max;
unsigned sim_started_parcels;

static uint32_t completed;

static int run(struct baton_task *task)
{
	struct parcel *parcel = baton_container_of(task, struct parcel, windowed.task);
	unsigned before = sim_started_parcels++;

	sim_require(baton_held(&sim_window_topic.resource));
	/* All that have begun, this one included, less those known to be complete. */
	sim_require(before + 1 - load_relaxed(&completed) <= sim_in_flight_max);
	for (int i = 0; &sim_parcels[i] < parcel; i++)
		sim_require(load_relaxed(&sim_parcels[i].told) ||
		            baton_future_state(&sim_parcels[i].future) == BATON_CANCELLED);
	if (parcel->stays) {
		(void)add_relaxed(&completed, 1);
		store_release(&parcel->told, 2);
		return 0;
	}
	sim_require(baton_detach(&parcel->windowed.token, 0) == 0);
	store_release(&parcel->told, 1);
	return 0;
}

void sim_window_begin(uint32_t limit, unsigned futures, struct baton_executor *executor)
{
	sim_calm(true);
	sim_topic_init(&sim_window_topic, 10, 64, executor);
	baton_window_init(&sim_window, &sim_window_topic.resource, limit);
	sim_in_flight_max = limit;
	for (unsigned i = 0; i < PARCELS_MAX; i++) {
		baton_future_init(&sim_parcels[i].future);
		baton_windowed_init(&sim_parcels[i].windowed, &sim_window, run,
		                    i < futures ? &sim_parcels[i].future : NULL);
	}
	sim_calm(false);
}

int sim_parcel_submit(unsigned number)
{
	return baton_submit(&sim_window_topic.resource, &sim_parcels[number].windowed.task);
}

static void submit_2(void *argument)
{
	sim_require(sim_parcel_submit(0) == 0);
	sim_require(sim_parcel_submit(1) == 0);
}

static void submit_3(void *argument)
{
	submit_2(argument);
	sim_require(sim_parcel_submit(2) == 0);
}

/* Waits until it is in flight, completes it. False: it will not be. */
bool sim_parcel_acknowledge(unsigned number)
{
	uint32_t told;

	while (!(told = load_acquire(&sim_parcels[number].told)))
		sim_yield();
	if (told == 2)
		return false;
	/* Before: a start that the completion allows may come before it returns. */
	(void)add_relaxed(&completed, 1);
	sim_require(baton_detached_complete(&sim_parcels[number].windowed.token, 0, NULL) == 0);
	return true;
}

static void acknowledge_0(void *argument)
{
	(void)sim_parcel_acknowledge(0);
}

static void acknowledge_1(void *argument)
{
	(void)sim_parcel_acknowledge(1);
}

static void acknowledge_2(void *argument)
{
	(void)sim_parcel_acknowledge(2);
}

static void acknowledge_all(void *argument)
{
	for (unsigned i = 0; i < (uintptr_t)argument; i++)
		(void)sim_parcel_acknowledge(i);
}

void sim_window_end(unsigned count)
{
	sim_join_all();
	sim_require(sim_started_parcels == count);
	sim_require(baton_window_waiting(&sim_window) == 0);
	sim_topic_close(&sim_window_topic);
	baton_window_deinit(&sim_window);
	sim_retire(&sim_window, sizeof(sim_window));
}

SIM_SCENARIO(window_submit_complete, "a submitter beside a completer: none is left waiting")
{
	sim_window_begin(1, 1, NULL);
	sim_start(acknowledge_all, (void *)2);
	submit_2(NULL);
	sim_window_end(2);
}

SIM_SCENARIO(window_complete_2, "two completers: room for two, four tasks", .bound = 2)
{
	sim_window_begin(2, 2, NULL);
	sim_calm(true);
	submit_3(NULL);
	sim_require(sim_parcel_submit(3) == 0);
	sim_calm(false);
	sim_start(acknowledge_0, NULL);
	sim_start(acknowledge_1, NULL);
	(void)sim_parcel_acknowledge(2);
	(void)sim_parcel_acknowledge(3);
	sim_window_end(4);
}

SIM_SCENARIO(window_stays, "those that give their place back by returning make room, too",
             .bound = 2)
{
	sim_window_begin(1, 4, NULL);
	sim_parcels[1].stays = true;
	sim_parcels[2].stays = true;
	sim_start(acknowledge_0, NULL);
	submit_3(NULL);
	sim_require(baton_future_wait(&sim_parcels[2].future, NULL) == 0);
	sim_window_end(3);
}

static void raise_limit(void *argument)
{
	sim_in_flight_max = 2;
	sim_require(baton_window_set_limit(&sim_window, 2) == 0);
}

SIM_SCENARIO(window_limit, "raised from 0 beside a submitter: none is left waiting")
{
	sim_window_begin(0, 1, NULL);
	sim_in_flight_max = 2;
	sim_start(raise_limit, NULL);
	submit_2(NULL);
	(void)sim_parcel_acknowledge(0);
	(void)sim_parcel_acknowledge(1);
	sim_window_end(2);
}

static struct baton_bound_config one_waits = {.tasks_max = 1, .policy = BATON_BOUND_WAIT};

static void submit_1_more(void *argument)
{
	sim_require(sim_parcel_submit(2) == 0);
}

static void submit_2_more(void *argument)
{
	submit_1_more(argument);
	sim_require(sim_parcel_submit(3) == 0);
}

static void begin_full(struct baton_bound *bound)
{
	sim_window_begin(1, 0, NULL);
	baton_bound_init(bound, &one_waits);
	baton_resource_set_bound(&sim_window_topic.resource, bound);
	sim_calm(true);
	submit_2(NULL);
	sim_calm(false);
}

SIM_SCENARIO(window_bound_wait, "woken when one of those leaves that have all the room", .bound = 2)
{
	static struct baton_bound bound;

	begin_full(&bound);
	sim_start(submit_1_more, NULL);
	(void)sim_parcel_acknowledge(0);
	(void)sim_parcel_acknowledge(1);
	(void)sim_parcel_acknowledge(2);
	sim_window_end(3);
}

SIM_SCENARIO(window_bound_wait_2, "the same twice in a row, beside two completers", .bound = 1)
{
	static struct baton_bound bound;

	begin_full(&bound);
	sim_start(submit_2_more, NULL);
	sim_start(acknowledge_all, (void *)2);
	(void)sim_parcel_acknowledge(2);
	(void)sim_parcel_acknowledge(3);
	sim_window_end(4);
}

/* ---- The resource's end ---- */

void sim_window_close_then(void *argument)
{
	sim_window_topic.stays = false;
	sim_require(sim_topic_close_then(&sim_window_topic) == 0);
}

void sim_window_finalised(unsigned count)
{
	sim_join_all();
	sim_require(load_acquire(&sim_window_topic.over));
	sim_require(sim_started_parcels == count);
	baton_window_deinit(&sim_window);
	sim_retire(&sim_window, sizeof(sim_window));
}

SIM_SCENARIO(window_close_then,
             "closed beside completions: all accepted ones run, then the finaliser", .bound = 2)
{
	sim_window_begin(1, 0, NULL);
	sim_calm(true);
	submit_2(NULL);
	sim_calm(false);
	sim_start(sim_window_close_then, NULL);
	sim_start(acknowledge_1, NULL);
	(void)sim_parcel_acknowledge(0);
	sim_window_finalised(2);
}

SIM_SCENARIO(window_close_then_2, "closed beside two completions, with room for two", .bound = 1)
{
	sim_window_begin(2, 0, NULL);
	sim_calm(true);
	submit_3(NULL);
	sim_require(sim_parcel_submit(3) == 0);
	sim_calm(false);
	sim_start(sim_window_close_then, NULL);
	sim_start(acknowledge_0, NULL);
	sim_start(acknowledge_1, NULL);
	sim_start(acknowledge_2, NULL);
	(void)sim_parcel_acknowledge(3);
	sim_window_finalised(4);
}

SIM_SCENARIO(window_close_await, "await on the closed resource comes after all of them", .bound = 2)
{
	sim_window_begin(1, 1, NULL);
	sim_calm(true);
	submit_2(NULL);
	sim_calm(false);
	sim_start(acknowledge_all, (void *)2);
	sim_topic_close(&sim_window_topic);
	sim_require(sim_started_parcels == 2);
	baton_window_deinit(&sim_window);
	sim_join_all();
}

/* ---- With an executor: hand-offs, helpers ---- */

static void submit_3_and_wait(void *argument)
{
	submit_3(argument);
	sim_require(baton_future_wait(&sim_parcels[2].future, NULL) == 0);
}

SIM_SCENARIO(window_help, "queued behind a limit of 1 task per stay, with a helper", .bound = 1)
{
	struct baton_manual *manual;

	sim_require(baton_manual_create(&manual) == 0);
	sim_window_begin(1, 3, baton_manual_executor(manual));
	sim_window_topic.config.quantum = 1;
	sim_window_topic.config.capture_limit = 1;
	sim_start(submit_3_and_wait, NULL);
	sim_start(acknowledge_all, (void *)3);
	sim_drive(manual);
	sim_window_end(3);
	baton_manual_destroy(manual);
}
