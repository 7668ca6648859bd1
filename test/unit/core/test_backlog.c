/* SPDX-License-Identifier: MIT */
/*
 * The backlog's interface: a module's table decides which task is next, and what is accepted. The
 * module here keeps the newest task in front, and counts what waits.
 */
#include "core/backlog.h"
#include "core/run.h"

#include "stash.h"

#include <errno.h>

#define LIMIT 4

struct newest_first {
	struct baton__extension_head head;
	struct baton_task *kept; /* newest first */
	struct baton_task *next;
	int waiting;
	int put_back;
};

static struct newest_first *of(const struct baton_resource *resource)
{
	return (struct newest_first *)(void *)baton__extension_head(resource);
}

static int reserve(struct baton_resource *resource, struct baton_task *first, uint32_t count,
                   unsigned how)
{
	if (of(resource)->waiting == LIMIT)
		return -EAGAIN;
	of(resource)->waiting++;
	return 0;
}

static void unreserve(struct baton_resource *resource, const struct baton_task *first)
{
	of(resource)->waiting--;
}

static void captured(struct baton_resource *resource, const struct baton_task *task)
{
	of(resource)->waiting++;
}

static void left(struct baton_resource *resource, const struct baton_task *task)
{
	of(resource)->waiting--;
}

static void take(struct baton_resource *resource, struct baton_task *oldest, bool cancel)
{
	struct baton_task **end = &resource->_list;

	while (oldest) {
		struct baton_task *task = oldest;

		oldest = task->_next;
		if (baton__is_mark(task)) {
			while (*end)
				end = &(*end)->_next;
			task->_next = NULL;
			*end = task;
		} else {
			task->_next = of(resource)->kept;
			of(resource)->kept = task;
		}
	}
}

static void keep(struct baton_resource *resource, struct baton_task *oldest)
{
	of(resource)->kept = NULL;
	take(resource, oldest, false);
}

static bool next(struct baton_resource *resource)
{
	struct baton_task *task = of(resource)->kept;

	of(resource)->next = task;
	if (!task)
		return false;
	of(resource)->kept = task->_next;
	task->_next = NULL;
	resource->_list = task;
	return true;
}

static void put_back(struct baton_resource *resource)
{
	struct baton_task *task = of(resource)->next;

	of(resource)->next = NULL;
	if (!task || resource->_list != task)
		return;
	of(resource)->put_back++;
	resource->_list = task->_next;
	task->_next = of(resource)->kept;
	of(resource)->kept = task;
}

static struct baton_task *unlink_one(struct baton_resource *resource, struct baton_future *future)
{
	for (struct baton_task **link = &of(resource)->kept; *link; link = &(*link)->_next) {
		struct baton_task *task = *link;

		if (task->_future != future)
			continue;
		*link = task->_next;
		return task;
	}
	return NULL;
}

static void cancel(struct baton_resource *resource)
{
	while (of(resource)->kept) {
		struct baton_task *task = of(resource)->kept;

		of(resource)->kept = task->_next;
		baton__cancel_task(resource, task);
	}
}

static enum baton__backlog_has has(const struct baton_resource *resource)
{
	return of(resource)->kept ? BATON__HAS_TASKS : BATON__HAS_NOTHING;
}

static const struct baton__backlog table = {
	.reserve = reserve,
	.unreserve = unreserve,
	.captured = captured,
	.left = left,
	.take = take,
	.keep = keep,
	.next = next,
	.put_back = put_back,
	.unlink = unlink_one,
	.cancel = cancel,
	.has = has,
};

struct set {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct newest_first backlog;
	struct journal journal;
	struct step steps[LIMIT + 1];
};

/* A resource of limit 0 with the module's backlog: what is submitted waits in the stash. */
static struct set *set_begin(void)
{
	static struct set set;

	set = (struct set){.config = {.capture_max = BATON_CAPTURE_NONE, .quantum = 2}};
	stash_init(&set.stash);
	set.config.executor = &set.stash.executor;
	baton_resource_init(&set.resource, &set.config);
	set.backlog.head._table = &table;
	baton__set_extension(&set.resource, &set.backlog.head);
	baton__set_stats(&set.resource, &set.stats);
	baton__word_extend(&set.resource);
	steps_init(set.steps, LIMIT + 1, &set.journal, 0);
	return &set;
}

static void run_all(struct set *set)
{
	/* Bounded: each job runs a quantum's tasks. */
	for (int i = 0; i < 20 && stash_run_one(&set->stash); i++)
		continue;
}

Test(backlog, a_table_decides_which_task_is_next, .timeout = 5)
{
	struct set *set = set_begin();

	for (int i = 0; i < LIMIT; i++)
		cr_assert_eq(baton_submit(&set->resource, &set->steps[i].task), 0);
	run_all(set);
	cr_assert_eq(set->journal.count, LIMIT);
	for (int i = 0; i < LIMIT; i++)
		cr_expect_eq(set->journal.number[i], LIMIT - 1 - i);
	cr_expect_eq(set->backlog.waiting, 0);
	cr_expect_gt(set->backlog.put_back, 0, "a stay ended before the turn of a task in _list");
	cr_expect_eq(resource_counts(&set->stats).executed, LIMIT,
	             "the statistics are found behind the table");
}

Test(backlog, a_chain_that_a_table_refuses_is_not_counted, .timeout = 5)
{
	struct set *set = set_begin();
	struct baton_resource_stats copy;

	for (int i = 0; i < LIMIT; i++)
		cr_assert_eq(baton_submit(&set->resource, &set->steps[i].task), 0);
	cr_assert_eq(baton_submit(&set->resource, &set->steps[LIMIT].task), -EAGAIN);
	baton_resource_stats_read(&set->stats, &copy);
	cr_assert_eq(copy.submitted, LIMIT);
	run_all(set);
	cr_assert_eq(set->journal.count, LIMIT);
}

Test(backlog, a_closed_resource_gives_the_reservation_back, .timeout = 5)
{
	struct set *set = set_begin();

	atomic_store(&set->stash.answer, -ESHUTDOWN);
	cr_assert_eq(baton_submit(&set->resource, &set->steps[0].task), -ESHUTDOWN);
	cr_assert_eq(set->backlog.waiting, 0);
	cr_assert_eq(set->backlog.kept, NULL, "nobody has seen it: it is the caller's again");
}

Test(backlog, a_cancelled_task_is_unlinked_from_the_tables_order, .timeout = 5)
{
	struct set *set = set_begin();
	struct baton_future future = BATON_FUTURE_INIT;

	set->steps[1].task._future = &future;
	for (int i = 0; i < LIMIT; i++)
		cr_assert_eq(baton_submit(&set->resource, &set->steps[i].task), 0);
	cr_assert_eq(baton_future_cancel(&future), 0);
	cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
	cr_assert_eq(set->backlog.waiting, LIMIT - 1);
	run_all(set);
	cr_assert_eq(set->journal.count, LIMIT - 1);
}

Test(backlog, a_cancelled_job_cancels_what_the_table_keeps, .timeout = 5)
{
	struct set *set = set_begin();
	struct baton_resource_stats copy;

	for (int i = 0; i < LIMIT; i++)
		cr_assert_eq(baton_submit(&set->resource, &set->steps[i].task), 0);
	baton_job_cancel(atomic_load(&set->stash.jobs[set->stash.next++]));
	baton_resource_stats_read(&set->stats, &copy);
	cr_assert_eq(copy.cancelled, LIMIT);
	cr_assert_eq(set->backlog.waiting, 0);
	cr_assert_eq(set->journal.count, 0);
}
