/* SPDX-License-Identifier: MIT */
/*
 * Published pointers. A reader looks at an object as at plain memory: an object that is published
 * without its contents is a race, and so is an object that is given back while a section reads it.
 * The fence at the beginning of a section is one word here (redirect.h); what else Concurrency Kit
 * does is one step, without old values.
 */
#include "support.h"

#include <baton/published.h>

#include "base/atomic.h"

#define PAGES 4

struct page {
	struct baton_retired retired;
	int number;
	int same; /* as number: a page is never half written */
};

static struct baton_published published;
static struct page *pages[PAGES];
static int made;
static int given_back; /* by replace and deinit, of which one runs at a time */
static uint32_t read_once;

static struct page *new_page(void)
{
	struct page *page = pages[made] = sim_alloc(sizeof(*page));

	page->number = page->same = made++;
	return page;
}

static void give_back(struct baton_retired *retired)
{
	struct page *page = baton_container_of(retired, struct page, retired);

	sim_require(page->number == page->same);
	page->number = -1;
	given_back++;
	sim_retire(page, sizeof(*page));
}

/* Looks twice at a page. Returns its number. */
static int look(int at_least)
{
	const struct baton_retired *retired;
	const struct page *page;
	int number;

	sim_require(baton_epoch_enter() == 0);
	retired = baton_published_read(&published);
	sim_require(retired != NULL);
	page = baton_container_of(retired, struct page, retired);
	number = page->number;
	store_relaxed(&read_once, 1);
	sim_point();
	sim_require(number >= at_least && page->number == number && page->same == number);
	baton_epoch_leave();
	return number;
}

static void look_twice(void *unused)
{
	const int number = look(0);

	(void)look(number);
}

static void look_once(void *unused)
{
	(void)look(0);
}

static void replace_two(void *unused)
{
	for (int i = 0; i < 2; i++)
		baton_published_replace(&published, &new_page()->retired);
}

static void begin(void)
{
	sim_require(baton_published_init(&published, &new_page()->retired, give_back) == 0);
}

static void finish(void)
{
	sim_join_started();
	baton_published_deinit(&published);
	sim_require(given_back == made);
}

SIM_SCENARIO(published_replace, "a reader sees whole pages, and none that is older", .bound = 2)
{
	begin();
	sim_start(look_twice, NULL);
	sim_start(replace_two, NULL);
	finish();
}

SIM_SCENARIO(published_two_read, "two readers, beside a page that is replaced twice", .bound = 1)
{
	begin();
	sim_start(look_once, NULL);
	sim_start(look_twice, NULL);
	sim_start(replace_two, NULL);
	finish();
}

/* A section may outlast the look at the page. */
static void look_and_stay(void *unused)
{
	sim_require(baton_epoch_enter() == 0);
	(void)look(0);
	baton_epoch_leave();
}

SIM_SCENARIO(published_deinit, "a deinit waits for the sections that have read", .bound = 2)
{
	begin();
	sim_start(look_and_stay, NULL);
	while (!or_relaxed(&read_once, 0))
		sim_idle(&read_once);
	baton_published_deinit(&published);
	sim_require(given_back == made);
}

/* Under the baton one thread at a time replaces, whichever runs the task. */
static struct sim_topic topic;
static struct baton_task tasks[2];

static int replace_in_task(struct baton_task *task)
{
	baton_published_replace(&published, &new_page()->retired);
	return 0;
}

static void submit(void *task)
{
	baton_task_init(task, replace_in_task, NULL);
	sim_require(baton_submit(&topic.resource, task) == 0);
}

SIM_SCENARIO(published_in_tasks, "two tasks replace, beside a reader", .bound = 2)
{
	begin();
	sim_topic_init(&topic, 10, 10, NULL);
	sim_start(submit, &tasks[0]);
	sim_start(submit, &tasks[1]);
	sim_start(look_once, NULL);
	finish();
	sim_topic_close(&topic);
}

SIM_UNSEEN static void check_replaced(void)
{
	sim_require(made == 3);
}

SIM_SCENARIO(published_frozen, "a reader that is stopped delays no replace", .freeze = 1,
             .frozen = check_replaced)
{
	begin();
	sim_start(look_twice, NULL);
	sim_start(replace_two, NULL);
	finish();
}
