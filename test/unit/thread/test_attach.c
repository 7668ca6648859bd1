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
