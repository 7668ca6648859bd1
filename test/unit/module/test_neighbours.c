/* SPDX-License-Identifier: MIT */
/*
 * A cancel of one of many tasks that wait touches the task and its neighbours and no other task:
 * each task has a page of its own, and while one is cancelled all other tasks' pages but those of
 * the two neighbours cannot be read.
 */
#include "stash.h"

#include <baton/lane.h>
#include <baton/window.h>

#include <sys/mman.h>
#include <unistd.h>

#include "../parts.h"

enum { COUNT = 64, NONE = COUNT };

struct waiting {
	union {
		struct baton_task task;
		struct windowed windowed;
	};
	struct baton_future future;
};

struct row {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_window window;
	struct baton_lane lane;
	struct baton_lanes lanes;
	bool windowed; /* the tasks wait in the window; otherwise in the lane */
	char *pages;
	size_t page_size;
	int before[COUNT]; /* NONE: there is none */
	int after[COUNT];
};

static struct waiting *at(const struct row *row, int i)
{
	return (struct waiting *)(void *)(row->pages + (size_t)i * row->page_size);
}

static void protect(const struct row *row, int i, int how)
{
	if (i != NONE)
		MUST(mprotect(at(row, i), row->page_size, how) == 0);
}

static int never_runs(struct baton_task *task)
{
	return 1;
}

static struct row *row_of(bool windowed)
{
	struct row *row = calloc(1, sizeof(*row));

	MUST(row);
	stash_init(&row->stash);
	row->page_size = (size_t)sysconf(_SC_PAGESIZE);
	row->pages = mmap(NULL, COUNT * row->page_size, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(row->pages != MAP_FAILED);
	row->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	row->config.executor = &row->stash.executor;
	baton_resource_init(&row->resource, &row->config);
	row->windowed = windowed;
	baton_window_init(&row->window, &row->resource, 0);
	baton_lanes_init(&row->lanes, &row->lane, 1, NULL);
	if (!windowed)
		baton_resource_set_lanes(&row->resource, &row->lanes);
	for (int i = 0; i < COUNT; i++) {
		struct waiting *waiting = at(row, i);

		row->before[i] = i > 0 ? i - 1 : NONE;
		row->after[i] = i < COUNT - 1 ? i + 1 : NONE;
		baton_future_init(&waiting->future);
		if (windowed)
			windowed_init(&waiting->windowed, &row->window, never_runs,
			              &waiting->future);
		else
			baton_task_init(&waiting->task, never_runs, &waiting->future);
		cr_assert_eq(windowed ? baton_submit(&row->resource, &waiting->task)
		                      : baton_submit_later(&row->resource, &waiting->task),
		             0);
	}
	return row;
}

static void cancel(struct row *row, int i)
{
	int before = row->before[i];
	int after = row->after[i];

	for (int other = 0; other < COUNT; other++)
		if (other != i && other != before && other != after)
			protect(row, other, PROT_NONE);
	cr_assert_eq(row->windowed ? baton_window_cancel_task(&at(row, i)->windowed.task)
	                           : baton_future_cancel(&at(row, i)->future),
	             0);
	cr_assert_eq(baton_future_state(&at(row, i)->future), BATON_CANCELLED);
	for (int other = 0; other < COUNT; other++)
		protect(row, other, PROT_READ | PROT_WRITE);
	if (before != NONE)
		row->after[before] = after;
	if (after != NONE)
		row->before[after] = before;
}

static void cancel_all(struct row *row)
{
	cancel(row, 0);
	cancel(row, COUNT - 1);
	for (int i = 0; i < COUNT - 2; i++)
		cancel(row, 1 + i * 7 % (COUNT - 2));
	stash_run(&row->stash);
	resource_end(&row->resource);
	baton_window_deinit(&row->window);
	MUST(munmap(row->pages, COUNT * row->page_size) == 0);
	free(row);
}

Test(neighbours, a_windowed_cancel_touches_no_other_task, .timeout = 5)
{
	cancel_all(row_of(true));
}

Test(neighbours, a_cancel_in_a_lane_touches_no_other_task, .timeout = 5)
{
	struct row *row = row_of(false);
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(never_runs, &future);

	/* The first cancel takes the inbox, and writes the lanes' index. */
	cr_assert_eq(baton_submit_later(&row->resource, &task), 0);
	cr_assert_eq(baton_future_cancel(&future), 0);
	cancel_all(row);
}
