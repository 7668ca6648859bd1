/* SPDX-License-Identifier: MIT */
/* A published pointer: read in sections, replaced by one thread, given back when none reads. */
#include "misuse.h"

#include <baton/published.h>

struct page {
	struct baton_retired retired;
	int number;
	int same; /* as number: never half written */
	bool freed;
};

static struct baton_published published;
static atomic_int freed;

static void free_page(struct baton_retired *retired)
{
	struct page *page = baton_container_of(retired, struct page, retired);

	MUST(!page->freed);
	page->freed = true;
	atomic_fetch_add(&freed, 1);
}

static struct page *read_page(void)
{
	struct baton_retired *retired = baton_published_read(&published);

	return retired ? baton_container_of(retired, struct page, retired) : NULL;
}

static void page_init(struct page *page, int number)
{
	*page = (struct page){.number = number, .same = number};
}

Test(published, shows_the_object_that_was_published_last, .timeout = 10)
{
	struct page pages[2];

	page_init(&pages[0], 0);
	page_init(&pages[1], 1);
	cr_assert_eq(baton_published_init(&published, NULL, free_page), 0);
	cr_assert_eq(baton_epoch_enter(), 0);
	cr_assert_null(read_page());
	baton_epoch_leave();
	for (int i = 0; i < 2; i++) {
		baton_published_replace(&published, &pages[i].retired);
		cr_assert_eq(baton_epoch_enter(), 0);
		cr_assert_eq(read_page(), &pages[i]);
		baton_epoch_leave();
	}
	baton_published_deinit(&published);
	cr_assert_eq(atomic_load(&freed), 2);
}

Test(published, gives_an_object_back_when_no_section_can_read_it, .timeout = 10)
{
	struct page pages[3];
	struct page *read;

	for (int i = 0; i < 3; i++)
		page_init(&pages[i], i);
	cr_assert_eq(baton_published_init(&published, &pages[0].retired, free_page), 0);
	cr_assert_eq(baton_epoch_enter(), 0);
	read = read_page();
	baton_published_replace(&published, &pages[1].retired);
	baton_published_replace(&published, &pages[2].retired);
	cr_assert_not(read->freed, "this section has read it");
	cr_assert_eq(read, &pages[0]);
	baton_epoch_leave();
	baton_published_deinit(&published);
	cr_assert(pages[0].freed && pages[1].freed && pages[2].freed);
	cr_assert_eq(atomic_load(&freed), 3);
}

#define ROUNDS 2000
static atomic_bool over;

static void *reads(void *arg)
{
	int last = 0;

	(void)arg;
	while (!atomic_load(&over)) {
		const struct page *page;

		MUST(baton_epoch_enter() == 0);
		page = read_page();
		MUST(!page->freed && page->number == page->same && page->number >= last);
		last = page->number;
		baton_epoch_leave();
	}
	return NULL;
}

Test(published, readers_never_see_an_older_or_half_written_object, .timeout = 20)
{
	static struct page pages[ROUNDS];
	pthread_t threads[2];
	const int rounds = scaled(ROUNDS);

	page_init(&pages[0], 0);
	cr_assert_eq(baton_published_init(&published, &pages[0].retired, free_page), 0);
	for (int i = 0; i < 2; i++)
		threads[i] = thread_start(reads, NULL);
	for (int i = 1; i < rounds; i++) {
		page_init(&pages[i], i);
		baton_published_replace(&published, &pages[i].retired);
	}
	atomic_store(&over, true);
	for (int i = 0; i < 2; i++)
		(void)thread_join(threads[i]);
	baton_published_deinit(&published);
	cr_assert_eq(atomic_load(&freed), rounds);
}

static void read_outside(void)
{
	(void)baton_published_read(&published);
}

Test(published, a_read_outside_a_section_is_named, .timeout = 10)
{
	static const struct mistake mistakes[] = {
		{read_outside, "baton_published_read: this thread is in no section"},
	};

	mistakes_are_said(mistakes, 1);
}
