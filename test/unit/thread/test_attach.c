/* SPDX-License-Identifier: MIT */
/* A thread's record: made by a call of its own, and then there for all others. */
#include "heap.h"
#include "misuse.h"

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

/* ---- Memory for a task of the program's ---- */

struct counted_task {
	struct baton_task task;
	int *runs;
	char filling[BATON_NODE_MAX - sizeof(struct baton_task) - sizeof(int *)];
};

_Static_assert(sizeof(struct counted_task) == BATON_NODE_MAX, "the largest");

static int count_and_free(struct baton_task *task)
{
	struct counted_task *counted = baton_container_of(task, struct counted_task, task);

	++*counted->runs;
	baton_node_free(counted);
	return 0;
}

/* Freed by another thread than the one that allocates: the node comes home. */
static void *run_tasks(void *resource)
{
	MUST(baton_resource_await(resource) == 0);
	return NULL;
}

Test(nodes, serve_one_submit_after_the_other, .timeout = 10)
{
	static const struct baton_resource_config later = {.capture_max = BATON_CAPTURE_NONE};
	struct baton_resource resource = BATON_RESOURCE_INIT(&later);
	pthread_t thread;
	int runs = 0;

	for (int i = 0; i < 100; i++) {
		struct counted_task *counted;
		void *node = NULL;

		cr_assert_eq(baton_node_alloc(sizeof(*counted), &node), 0);
		cr_assert_eq((uintptr_t)node % 16, 0);
		counted = memset(node, 0, BATON_NODE_MAX);
		counted->runs = &runs;
		baton_task_init(&counted->task, count_and_free, NULL);
		cr_assert_eq(baton_submit(&resource, &counted->task), 0);
	}
	MUST(pthread_create(&thread, NULL, run_tasks, &resource) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	cr_assert_eq(runs, 100);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_await(&resource), 0);
}

static void larger_than_a_node(void)
{
	void *node;

	BATON_IGNORE(baton_node_alloc(BATON_NODE_MAX + 1, &node));
}

Test(nodes, have_a_largest_size, .timeout = 10)
{
	const struct mistake larger = {larger_than_a_node, "baton_node_alloc: a node has at most"};
	void *node = NULL;

	cr_assert_eq(baton_node_alloc(BATON_NODE_MAX, &node), 0);
	baton_node_free(node);
	mistakes_are_said(&larger, 1);
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
