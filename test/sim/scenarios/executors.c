/* SPDX-License-Identifier: MIT */
/*
 * Executors for scenarios, and what is left in the end.
 */
#include "support.h"

#include "base/atomic.h"
#include "executor/driven.h"
#include "thread/node.h"
#include "thread/thread.h"

#define NODES_KEPT_UNSEEN SIM_UNSEEN
#define NODES_KEPT_LOAD(word) (*(word))
#include "../../faults/nodes_kept.h"

/* ---- The manual one ---- */

void sim_drive(struct baton_manual *manual)
{
	struct baton__driven *driven =
		baton_container_of(baton_manual_executor(manual), struct baton__driven, executor);

	for (;;) {
		bool last = sim_others_ended();

		if (baton_manual_run(manual, 1))
			continue;
		if (last)
			break;
		if (!sim_others_ended())
			sim_idle(&driven->inbox);
	}
	sim_join_all();
}

/* ---- A shelf ---- */

static int schedule(struct baton_executor *executor, struct baton_job *job)
{
	struct sim_shelf *shelf = baton_container_of(executor, struct sim_shelf, executor);
	uintptr_t newest = load_relaxed(&shelf->jobs);

	if (shelf->refuse && add_relaxed(&shelf->calls, 1) + 1 >= shelf->refuse)
		return -ESHUTDOWN;
	do
		job->_next = (struct baton_job *)newest;
	while (!cas_seq_cst(&shelf->jobs, &newest, (uintptr_t)job));
	return shelf->status;
}

/* With status 1 only helpers are to come. */
static bool alone(struct baton_executor *executor)
{
	return baton_container_of(executor, struct sim_shelf, executor)->status == 1;
}

void sim_shelf_init(struct sim_shelf *shelf, int status, uint32_t refuse)
{
	static const struct baton_executor_ops ops = {.schedule = schedule, .alone = alone};

	*shelf = (struct sim_shelf){
		.executor = BATON_EXECUTOR_INIT(&ops), .status = status, .refuse = refuse};
}

unsigned sim_shelf_run(struct sim_shelf *shelf)
{
	struct baton_job *job = (struct baton_job *)swap_acquire(&shelf->jobs, 0);
	unsigned count = 0;

	while (job) {
		struct baton_job *next = job->_next;

		baton_job_run(job);
		job = next;
		count++;
	}
	return count;
}

void sim_shelf_drive(struct sim_shelf *shelf)
{
	for (;;) {
		bool last = sim_others_ended();

		if (sim_shelf_run(shelf))
			continue;
		if (last)
			break;
		if (!sim_others_ended())
			sim_idle(&shelf->jobs);
	}
	sim_join_all();
}

/* ---- What is left ---- */

static unsigned nodes;
static unsigned cached;
static unsigned others;

SIM_UNSEEN static void look(const void *block, size_t size)
{
	const struct baton__thread *thread = block;

	if (size == sizeof(*thread)) {
		cached += (unsigned)nodes_kept(thread);
	} else if (size == BATON__NODE_HEADER_SIZE + BATON__NODE_BODY_SIZE ||
	           size == BATON__NODE_HEADER_SIZE + BATON__NODE_SMALL_SIZE) {
		nodes++;
	} else {
		others++;
	}
}

SIM_UNSEEN void sim_no_leaks(void)
{
	nodes = cached = others = 0;
	sim_each_block(look);
	if (nodes != cached)
		sim_fail("%u nodes are left, %u of them cached", nodes, cached);
	if (others)
		sim_fail("%u other blocks are left", others);
}
