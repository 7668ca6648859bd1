/* SPDX-License-Identifier: MIT */
/*
 * The pool's end: what was accepted runs once, what comes late is refused, workers end, and nobody
 * touches the pool after that.
 */
#include "jobs.h"
#include "support.h"

#define ITEMS 8

static struct baton_pool *pool;
static struct sim_item items[ITEMS];
static struct sim_topic topic;
static struct sim_note notes[3];
static struct baton_job *rest;
static int shut[2];

static void set_up(unsigned workers)
{
	pool = sim_pool(workers);
	for (unsigned i = 0; i < ITEMS; i++)
		sim_item_init(&items[i], NULL);
}

static void submit(void *argument)
{
	int status = sim_item_submit(argument, pool);

	sim_require(status == 0 || status == -ESHUTDOWN);
}

static void destroy(unsigned given)
{
	sim_require(baton_pool_destroy(pool) == 0);
	sim_items_settled(items, given);
}

static void end(unsigned given)
{
	sim_join_started();
	destroy(given);
}

static void cancel_rest(void)
{
	while (rest) {
		struct baton_job *job = rest;

		rest = baton_job_next(job);
		baton_job_cancel(job);
	}
}

/* ---- shutdown ---- */

static void shut_down(struct sim_item *item)
{
	(void)baton_pool_shutdown(pool); /* not the first, perhaps */
	submit(item + 1);
	sim_require(item[1].fate == SIM_TURNED_DOWN);
}

static void shut_down_outside(void *argument)
{
	int *status = argument;

	*status = baton_pool_shutdown(pool);
}

SIM_SCENARIO(shutdown_asleep, "all workers sleep when the end comes: they end")
{
	set_up(2);
	sim_require(baton_pool_shutdown(pool) == 0);
	sim_require(baton_pool_await(pool) == 0);
	end(0);
}

SIM_SCENARIO(shutdown_in_job, "from inside a job beside a submit: what is accepted runs")
{
	set_up(1);
	items[0].body = shut_down;
	submit(&items[0]);
	submit(&items[2]);
	end(3);
}

static int written; /* by a job, plainly */

static void write_it(struct sim_item *item)
{
	written++;
}

SIM_SCENARIO(shutdown_await, "who has seen the end has seen what jobs did")
{
	set_up(2);
	items[0].body = items[1].body = write_it;
	submit(&items[0]);
	sim_item_wait(&items[0]);
	submit(&items[1]);
	sim_require(baton_pool_shutdown(pool) == 0);
	sim_require(baton_pool_await(pool) == 0);
	sim_require(written == 2);
	end(2);
}

/* As a resource's hand-off. */
static void schedule_next(struct sim_item *item)
{
	sim_require(baton_executor_schedule(baton_pool_executor(pool), sim_item_give(item + 1)) ==
	            0);
}

SIM_SCENARIO(shutdown_schedule, "until all has run, jobs hand off jobs and are not refused")
{
	set_up(2);
	items[0].body = items[2].body = schedule_next;
	sim_start(submit, &items[0]);
	sim_start(submit, &items[2]);
	sim_require(baton_pool_shutdown(pool) == 0);
	end(4);
}

SIM_SCENARIO(shutdown_submit, "from outside beside a submit: what is accepted runs")
{
	set_up(1);
	sim_start(submit, &items[0]);
	sim_require(baton_pool_shutdown(pool) == 0);
	end(1);
}

SIM_SCENARIO(shutdown_submit_2, "the same with two workers", .bound = 1)
{
	set_up(2);
	sim_start(submit, &items[0]);
	sim_require(baton_pool_shutdown(pool) == 0);
	end(1);
}

static void submit_two(struct sim_item *item)
{
	submit(item + 1);
	submit(item + 2);
}

SIM_SCENARIO(shutdown_in_work, "a worker makes jobs while the end comes: all accepted run")
{
	set_up(1);
	items[0].body = submit_two;
	submit(&items[0]);
	end(3);
}

SIM_SCENARIO(shutdown_in_work_2, "the same beside a thief", .bound = 1)
{
	set_up(2);
	items[0].body = submit_two;
	submit(&items[0]);
	end(3);
}

/* Its hand-offs are accepted, as long as there is something to run. */
static void shut_down_and_hand_off(struct sim_item *item)
{
	(void)baton_pool_shutdown(pool);
	sim_require(sim_note_submit(&notes[0]) == 0);
	sim_require(sim_note_submit(&notes[1]) == 0);
}

SIM_SCENARIO(shutdown_hand_off, "a hand-off after the shutdown is run before the end", .bound = 1)
{
	set_up(2);
	sim_topic_init(&topic, 0, 1, baton_pool_executor(pool));
	sim_note_init(&notes[0], &topic, false);
	sim_note_init(&notes[1], &topic, false);
	items[0].body = shut_down_and_hand_off;
	submit(&items[0]);
	end(1);
	sim_settled(&topic);
}

static void submit_note(void *argument)
{
	sim_require(sim_note_submit(argument) == 0);
}

/* Who is refused runs the rest itself. */
static void end_with_hand_offs(unsigned workers, bool now)
{
	set_up(workers);
	sim_topic_init(&topic, 1, 1, baton_pool_executor(pool));
	for (unsigned i = 0; i < 3; i++)
		sim_note_init(&notes[i], &topic, false);
	sim_start(submit_note, &notes[0]);
	sim_start(submit_note, &notes[1]);
	if (now) {
		sim_require(baton_pool_shutdown_now(pool, &rest) == 0);
		while (rest) {
			struct baton_job *job = rest;

			rest = baton_job_next(job);
			baton_job_run(job);
		}
	} else {
		sim_require(baton_pool_shutdown(pool) == 0);
	}
	submit_note(&notes[2]);
	sim_join_started();
	sim_topic_close(&topic);
	end(0);
	sim_settled(&topic);
}

SIM_SCENARIO(shutdown_runners, "beside runners that hand off: taken and run, or refused and run",
             .bound = 1)
{
	end_with_hand_offs(1, false);
}

SIM_SCENARIO(shutdown_now_runners, "the same for shutdown_now, whose list is run", .bound = 1)
{
	end_with_hand_offs(1, true);
}

SIM_SCENARIO(shutdown_twice, "by two at once: one is the first")
{
	set_up(1);
	sim_start(shut_down_outside, &shut[0]);
	shut_down_outside(&shut[1]);
	end(0);
	sim_require(shut[0] + shut[1] == -EALREADY);
}

/* ---- shutdown_now ---- */

static void shut_down_now(void)
{
	sim_require(baton_pool_shutdown_now(pool, &rest) == 0);
	cancel_rest();
}

static void shut_down_now_in_job(struct sim_item *item)
{
	shut_down_now();
}

SIM_SCENARIO(shutdown_now_submit, "beside a submit: it runs, is in the list, or refused")
{
	set_up(1);
	sim_start(submit, &items[0]);
	shut_down_now();
	end(1);
}

SIM_SCENARIO(shutdown_now_worker, "beside a worker that makes jobs", .bound = 1)
{
	set_up(1);
	items[0].body = submit_two;
	submit(&items[0]);
	submit(&items[3]);
	shut_down_now();
	end(4);
}

SIM_SCENARIO(shutdown_now_steal, "beside two workers, one of which makes jobs", .bound = 1)
{
	set_up(2);
	items[0].body = submit_two;
	submit(&items[0]);
	shut_down_now();
	end(3);
}

SIM_SCENARIO(shutdown_now_in_job, "from inside a job, beside a submit")
{
	set_up(1);
	items[0].body = shut_down_now_in_job;
	submit(&items[0]);
	submit(&items[1]);
	end(2);
}

static void fill_up(struct sim_item *item)
{
	for (int i = 1; i < ITEMS; i++)
		submit(item + i);
}

/* The run queue is full when the injection queue is closed: the worker keeps the jobs itself. */
SIM_SCENARIO(shutdown_now_overflow, "beside a worker whose run queue overflows", .bound = 1)
{
	set_up(1);
	items[0].body = fill_up;
	submit(&items[0]);
	shut_down_now();
	end(ITEMS);
}

SIM_SCENARIO(shutdown_now_after, "after shutdown, beside the end that this brings", .bound = 1)
{
	set_up(1);
	sim_start(submit, &items[0]);
	sim_start(shut_down_outside, &shut[0]);
	shut_down_now();
	end(1);
}

/* ---- Who has seen the end of a job destroys the pool ---- */

SIM_SCENARIO(destroy_submitter, "the submitter is still in its call when the pool is destroyed")
{
	set_up(1);
	sim_start(submit, &items[0]);
	sim_item_wait(&items[0]);
	destroy(1);
}

SIM_SCENARIO(destroy_submitter_2, "the same with a worker that the submitter wakes", .bound = 1)
{
	set_up(2);
	sim_start(submit, &items[0]);
	sim_item_wait(&items[0]);
	destroy(1);
}

SIM_SCENARIO(destroy_shutdown, "who has asked for the end is still in its call")
{
	set_up(1);
	sim_start(shut_down_outside, &shut[0]);
	while (baton_pool_await(pool))
		sim_yield();
	destroy(0);
}

static void stop_outside(void *argument)
{
	sim_require(baton_pool_shutdown_now(pool, &rest) == 0);
	cancel_rest();
}

SIM_SCENARIO(destroy_shutdown_now, "the same for shutdown_now")
{
	set_up(1);
	sim_start(stop_outside, NULL);
	while (baton_pool_await(pool))
		sim_yield();
	destroy(0);
}

/* Thread 2 has captured, or pushes; what it hands off is done before it is home. */
SIM_SCENARIO(destroy_hand_off, "a runner that has handed off is still in its call")
{
	set_up(1);
	sim_topic_init(&topic, 0, 1, baton_pool_executor(pool));
	sim_note_init(&notes[0], &topic, true);
	sim_start(submit_note, &notes[0]);
	while (!sim_item_ran(&items[0]) && baton_future_state(&notes[0].future) != BATON_DONE)
		sim_yield();
	destroy(0);
}
