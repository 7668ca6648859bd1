/* SPDX-License-Identifier: MIT */
/*
 * Searches of an archive, which take long, and changes of it. Searches run side by side: two that
 * follow each other may meet. A change runs alone, after the searches that came before it, and
 * before those that came later.
 */
#include "../check.h"

#include <baton.h>
#include <baton/reader.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static struct baton_resource archive = BATON_RESOURCE_INIT(NULL);
static struct baton_readers readers = BATON_READERS_INIT(&archive);
static int pages = 10; /* written by tasks that are no readers */
static atomic_int searching;

struct search {
	struct baton_task task;
	struct baton_reader reader;
	struct baton_future *reply; /* &future */
	struct baton_future future;
	int found;
};

/* Two searches wait for each other. As ordinary tasks they would never end. */
static int search_run(struct baton_task *task)
{
	struct search *search = baton_container_of(task, struct search, task);

	CHECK(baton_reading(&archive) && !baton_held(&archive));
	atomic_fetch_add(&searching, 1);
	while (atomic_load(&searching) < 2)
		continue;
	search->found = pages;
	return 0;
}

static const struct baton_task_type search_type = {
	.run = search_run,
	.future = BATON_TASK_PLACE(struct search, task, reply),
	.reader = BATON_TASK_PLACE(struct search, task, reader),
};

static void *search_archive(void *arg)
{
	struct search *search = arg;

	baton_future_init(&search->future);
	baton_task_init_of(&search->task, &search_type);
	baton_reader_init(&search->reader, &readers);
	search->reply = &search->future;
	CHECK(baton_submit(&archive, &search->task) == 0);
	CHECK(baton_future_wait(&search->future) == 0);
	return NULL;
}

/* The same for a thread that wants the answer now. */
static int count_pages(void)
{
	struct baton_shared_hold hold = BATON_SHARED_HOLD_INIT;
	int found;

	CHECK(baton_hold_shared(&readers, &hold) == 0);
	found = pages; /* on this thread, beside other readers */
	CHECK(baton_release_shared(&hold) == 0);
	return found;
}

static void *add_pages(void *arg)
{
	(void)arg;
	CHECK(baton_readers_at_work(&readers) == 0);
	pages += 5;
	return NULL;
}

int main(void)
{
	static struct search searches[2];
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, search_archive, &searches[0]) == 0);
	while (atomic_load(&searching) < 1)
		continue;
	(void)search_archive(&searches[1]); /* finds a reader at work: runs here, beside it */
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(baton_call(&archive, add_pages, NULL, NULL) == 0);
	CHECK(count_pages() == pages);
	printf("two searches at once found %d and %d pages; now there are %d\n", searches[0].found,
	       searches[1].found, pages);
	CHECK(baton_resource_close(&archive) == 0);
	CHECK(baton_resource_await(&archive) == 0);
	baton_readers_deinit(&readers);
	return 0;
}
