/* SPDX-License-Identifier: MIT */
/* A thread's record: made by a call of its own, and then there for all others. */
#include "heap.h"

#include <baton/thread.h>

static void *attach(void *arg)
{
	int *first = arg;
	size_t before;

	*first = baton_thread_attach();
	before = heap_in_use();
	MUST(baton_thread_attach() == 0);
	MUST(heap_in_use() == before);
	return NULL;
}

Test(attach, a_second_call_finds_the_record, .timeout = 10)
{
	pthread_t thread;
	int first = -1;

	MUST(pthread_create(&thread, NULL, attach, &first) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	cr_assert_eq(first, 0);
}

/* ---- Destructors of the program's that use baton, until the thread has none left ---- */

static pthread_key_t key;

static void uses_baton(void *rounds)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct journal journal = {0};
	struct step step;

	step_init(&step, &journal, 0, NULL);
	MUST(baton_submit(&resource, &step.task) == 0 && journal.count == 1);
	MUST(pthread_setspecific(key, rounds) == 0);
}

static void *ends_late(void *arg)
{
	MUST(baton_thread_attach() == 0);
	MUST(pthread_setspecific(key, arg) == 0);
	return NULL;
}

static int records(void)
{
	int count = 0;

	for (const struct baton__thread *record = baton__thread_first(); record;
	     record = record->next)
		count++;
	return count;
}

/* The key is made after the library's: its destructor is the last to run in each round. */
Test(attach, a_record_that_is_taken_in_the_last_round_of_destructors_is_not_lost, .timeout = 10)
{
	const int threads = scaled(200);
	int before;

	cr_assert_eq(baton_thread_attach(), 0);
	cr_assert_eq(pthread_key_create(&key, uses_baton), 0);
	before = records();
	for (int i = 0; i < threads; i++)
		thread_join(thread_start(ends_late, &key));
	/* A few: a thread that has been joined may be in the kernel for another moment. Under
	 * ThreadSanitizer none is taken over. */
	cr_assert_leq(records() - before, BATON_TEST_TSAN ? threads : threads / 4 + 1);
}
