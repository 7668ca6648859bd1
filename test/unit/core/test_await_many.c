/* SPDX-License-Identifier: MIT */
/*
 * An await that times out on a closed resource, which is queued, touches no mark of the awaits that
 * have timed out there before (L12). Each of those marks has a page of its own, and those pages
 * cannot be read meanwhile.
 */
#include "stash.h"

#include "core/marks.h"
#include "core/word.h"

#include <sys/mman.h>
#include <unistd.h>

enum { COUNT = 64 };

struct many {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	char *pages;
	size_t page_size;
};

static int runs(struct baton_task *task)
{
	(void)task;
	return 0;
}

static struct baton__awaiter *at(const struct many *many, int i)
{
	return (struct baton__awaiter *)(void *)(many->pages + (size_t)i * many->page_size);
}

/* Leaves a mark as baton_resource_await does, but in a page of its own. */
static void leave_mark(struct many *many, int i)
{
	struct baton__awaiter *awaiter = at(many, i);
	uintptr_t word = baton__word(&many->resource);

	*awaiter = (struct baton__awaiter){.counted = {.future = BATON_FUTURE_INIT}};
	awaiter->counted.future._resource = &many->resource;
	baton__kind_set(&awaiter->task, &baton__await_closed_kind);
	cr_assert(
		baton__word_push_mark(&many->resource, &word, &awaiter->task, BATON__ASK_NOTHING));
}

/* The first `count` marks cannot be read from here on. */
static void hide(const struct many *many, int count)
{
	if (count > 0)
		MUST(mprotect(many->pages, (size_t)count * many->page_size, PROT_NONE) == 0);
}

static void show_all(const struct many *many)
{
	MUST(mprotect(many->pages, COUNT * many->page_size, PROT_READ | PROT_WRITE) == 0);
}

static void await_in_vain(struct many *many)
{
	struct timespec deadline = deadline_in_ms(1);

	cr_assert_eq(baton_resource_await(&many->resource, &deadline), -ETIMEDOUT);
}

/* A resource that is closed and queued, and has no tasks. */
static struct many *many_of(void)
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
	baton_resource_init(&many->resource, NULL, "many", &many->config);
	cr_assert_eq(baton_submit_later(&many->resource, &task), 0);
	cr_assert_eq(baton_future_cancel(&future), 0);
	cr_assert_eq(baton_resource_close(&many->resource), 0);
	return many;
}

static void many_end(struct many *many)
{
	stash_run(&many->stash);
	for (int i = 0; i < COUNT; i++)
		cr_assert_eq(baton_future_state(&at(many, i)->counted.future), BATON_DONE);
	resource_end(&many->resource);
	MUST(munmap(many->pages, COUNT * many->page_size) == 0);
	free(many);
}

Test(await_many, one_that_times_out_touches_no_older_one, .timeout = 10)
{
	struct many *many = many_of();

	for (int i = 0; i < COUNT; i++) {
		leave_mark(many, i);
		/* The newest of them is the first of the list. */
		hide(many, i - 1);
		await_in_vain(many);
		show_all(many);
	}
	many_end(many);
}
