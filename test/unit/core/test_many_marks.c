/* SPDX-License-Identifier: MIT */
/*
 * A call that leaves a mark in a queued resource, or withdraws a mark, touches no other marks but
 * the neighbours (L12). Each mark has a page of its own; during the call the pages of the marks
 * that it may not touch cannot be read.
 */
#include "stash.h"

#include "core/close.h"
#include "core/list.h"
#include "core/marks.h"
#include "core/word.h"
#include "module/shelf.h"

#include <baton/lane.h>
#include <baton/suspend.h>
#include <baton/window.h>

#include <sys/mman.h>
#include <unistd.h>

#include "../parts.h"

enum { COUNT = 64 };

struct many {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct baton_lane lane;
	struct baton_lanes lanes;
	struct baton_window window;
	struct windowed windowed[COUNT];
	struct baton_future futures[COUNT];
	char *pages;
	size_t page_size;
};

static int runs(struct baton_task *task)
{
	return 0;
}

static struct baton__awaiter *at(const struct many *many, int i)
{
	return (struct baton__awaiter *)(void *)(many->pages + (size_t)i * many->page_size);
}

static void protect(const struct many *many, int first, int end, int how)
{
	if (first < end)
		MUST(mprotect(at(many, first), (size_t)(end - first) * many->page_size, how) == 0);
}

static void show_all(const struct many *many)
{
	protect(many, 0, COUNT, PROT_READ | PROT_WRITE);
}

/* A queued resource with one task, which is cancelled, and a window in which tasks wait. */
static struct many *many_of(bool with_lane)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(runs, &future);
	struct many *many = calloc(1, sizeof(*many));

	MUST(many);
	stash_init(&many->stash);
	many->page_size = (size_t)sysconf(_SC_PAGESIZE);
	many->pages = mmap(NULL, COUNT * many->page_size, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(many->pages != MAP_FAILED);
	many->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	many->config.executor = &many->stash.executor;
	baton_resource_init(&many->resource, &many->config);
	baton_lanes_init(&many->lanes, &many->lane, 1, NULL);
	if (with_lane)
		baton_resource_set_lanes(&many->resource, &many->lanes);
	baton_window_init(&many->window, &many->resource, 0);
	for (int i = 0; i < COUNT; i++) {
		baton_future_init(&many->futures[i]);
		windowed_init(&many->windowed[i], &many->window, runs, &many->futures[i]);
		cr_assert_eq(baton_submit(&many->resource, &many->windowed[i].task), 0);
	}
	cr_assert_eq(baton_submit_later(&many->resource, &task), 0);
	cr_assert_eq(baton_future_cancel(&future), 0);
	return many;
}

static void many_end(struct many *many, uint32_t state)
{
	(void)baton_window_cancel(&many->window);
	stash_run(&many->stash);
	for (int i = 0; i < COUNT; i++)
		cr_assert_eq(baton_future_state(&at(many, i)->counted.future), state);
	resource_end(&many->resource);
	baton_window_deinit(&many->window);
	MUST(munmap(many->pages, COUNT * many->page_size) == 0);
	free(many);
}

/* Leaves a mark as the library does, but in a page of its own. */
static struct baton_task *mark_of(struct many *many, int i, const struct baton__kind *kind)
{
	struct baton__awaiter *awaiter = at(many, i);

	*awaiter = (struct baton__awaiter){.counted = {.future = BATON_FUTURE_INIT}};
	awaiter->counted.future._resource = &many->resource;
	baton__kind_set(&awaiter->task, kind);
	return &awaiter->task;
}

static void leave_await(struct many *many, int i)
{
	struct baton_task *mark = mark_of(many, i, &baton__await_closed_kind);
	uintptr_t word = baton__word(&many->resource);

	cr_assert(baton__word_push_mark(&many->resource, &word, mark, BATON__ASK_NOTHING));
}

/* Is this mark in the inbox, where no holder has looked at it? */
static bool not_looked_at(const struct many *many, const struct baton_task *mark)
{
	const struct baton_task *task = baton__word_newest(baton__word(&many->resource));

	while (task && task != mark && !baton__looked(task))
		task = baton__older(task);
	return task == mark && !baton__looked(mark);
}

/* Waits until the deadline, and helps meanwhile, so that mark `i` is looked at. On a loaded machine
 * the deadline may have passed before the wait begins. */
static void await_in_vain(struct many *many, int i)
{
	uint64_t deadline;

	do {
		deadline = deadline_in_ms(1);
		cr_assert_eq(baton_resource_await_until(&many->resource, deadline), -ETIMEDOUT);
	} while (not_looked_at(many, &at(many, i)->task));
}

/* What happens between two awaits. */
enum between { NOTHING, CANCEL_PENDING, KICK, BETWEEN };

static void awaits(struct many *many, enum between between)
{
	cr_assert_eq(baton_resource_close(&many->resource), 0);
	for (int i = 0; i < COUNT; i++) {
		leave_await(many, i);
		/* The oldest mark carries all others. */
		protect(many, 1, i, PROT_NONE);
		if (between == CANCEL_PENDING)
			cr_assert_eq(baton_resource_cancel_pending(&many->resource), 0);
		if (between == KICK)
			cr_assert_eq(baton_window_cancel_task(&many->windowed[i].task), 0);
		await_in_vain(many, i);
		show_all(many);
	}
	/* A runner that has no budget postpones them all, and puts them back. */
	many->config.quantum = 1;
	many_end(many, BATON_DONE);
}

Test(many_marks, an_await_that_times_out_touches_the_oldest_mark_alone, .timeout = 20)
{
	for (int between = 0; between < BETWEEN; between++) {
		awaits(many_of(false), (enum between)between);
		awaits(many_of(true), (enum between)between);
	}
}

static void leave_suspend(struct many *many, int i)
{
	struct baton_task *mark = mark_of(many, i, &baton__suspend_kind);

	cr_assert(baton__push_mark(&many->resource, mark, BATON__ASK_LOOK));
}

static void withdraw(struct many *many, int i)
{
	cr_assert_eq(baton_future_cancel(&at(many, i)->counted.future), 0);
	cr_assert_eq(baton_future_state(&at(many, i)->counted.future), BATON_CANCELLED, "at once");
}

/* The resource's oldest suspend mark, which carries all others, and the marks from `from` to `to`
 * can be read; no other mark can. */
static void show(const struct many *many, int oldest, int from, int to)
{
	protect(many, 0, COUNT, PROT_NONE);
	protect(many, oldest, oldest + 1, PROT_READ | PROT_WRITE);
	protect(many, from < 0 ? 0 : from, to, PROT_READ | PROT_WRITE);
}

/* What finds a suspension that waits. */
enum looks { SUSPEND_AND_RESUME, CANCEL_ALL, CANCEL_ALL_BEFORE, KICK_BEFORE, LOOKS };

static void look(struct many *many, int i, enum looks looks)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	if (looks == CANCEL_ALL || looks == CANCEL_ALL_BEFORE)
		cr_assert_eq(baton_resource_cancel_pending(&many->resource), 0);
	if (looks == KICK_BEFORE)
		cr_assert_eq(baton_window_cancel_task(&many->windowed[i].task), 0);
	cr_assert_eq(baton_resource_suspend(&many->resource, &suspension), 0);
	if (looks == CANCEL_ALL)
		cr_assert_eq(baton_resource_cancel_pending(&many->resource), 0);
	cr_assert_eq(baton_resource_resume(&suspension), 0);
}

static void suspensions(struct many *many, enum looks looks)
{
	for (int i = 0; i < COUNT; i++) {
		leave_suspend(many, i);
		/* The holder looks: the newer mark goes behind the older ones. */
		show(many, 0, i - 1, i + 1);
		look(many, i, looks);
		show_all(many);
	}
	/* Each is withdrawn as the oldest, as the newest, or between two others. */
	for (int i = 0; i < COUNT / 4; i++) {
		show(many, i, i + 1, i + 2);
		withdraw(many, i);
		show_all(many);
	}
	for (int i = COUNT - 1; i > COUNT / 2; i--) {
		show(many, COUNT / 4, i - 1, i + 1);
		withdraw(many, i);
		show_all(many);
	}
	for (int i = COUNT / 4 + 2; i < COUNT / 2; i++) {
		show(many, COUNT / 4, COUNT / 4 + 1, COUNT / 4 + 2);
		protect(many, i, i + 2, PROT_READ | PROT_WRITE);
		withdraw(many, i);
		show_all(many);
	}
	for (int i = COUNT / 4; i < COUNT; i++)
		if (!baton_future_is_complete(&at(many, i)->counted.future))
			withdraw(many, i);
	cr_assert_eq(baton_resource_close(&many->resource), 0);
	many_end(many, BATON_CANCELLED);
}

Test(many_marks, a_suspension_that_is_withdrawn_touches_its_neighbours_alone, .timeout = 20)
{
	for (int looks = 0; looks < LOOKS; looks++) {
		suspensions(many_of(false), (enum looks)looks);
		suspensions(many_of(true), (enum looks)looks);
	}
}
