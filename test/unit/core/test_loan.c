/* SPDX-License-Identifier: MIT */
/* Loans (L12): a submitter that finds the resource waiting in a queue runs tasks of it. */
#include "loans.h"

#include <baton/bound.h>

Test(loan, a_queue_that_nobody_serves_is_worked_off_by_its_submitters, .timeout = 10)
{
	struct queue queue;
	int before;

	queue_begin(&queue, 1000);
	put_many(&queue, FIRST);
	cr_assert_eq(waiting(&queue), 1000 + FIRST, "a thread learns first how often it is queued");
	before = waiting(&queue);
	/* Each adds one task and runs as many as the capture limit says. */
	while (waiting(&queue) > LIMIT) {
		put_many(&queue, 1);
		cr_assert_eq(waiting(&queue), before - LIMIT + 1);
		before = waiting(&queue);
	}
	put_many(&queue, 1);
	cr_assert_eq(atomic_load(&queue.stash.count), 1, "it is still queued");
	queue_end(&queue);
}

Test(loan, who_resumes_a_long_queue_hands_it_off_untouched, .timeout = 10)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	static const struct {
		int count;
		int left;
	} cases[] = {{1, 0},
	             {LIMIT, 0},
	             {BATON_QUANTUM, BATON_QUANTUM - LIMIT},
	             {BATON_QUANTUM + 1, BATON_QUANTUM + 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct queue queue;

		queue_begin(&queue, 1);
		stash_run(&queue.stash);
		cr_assert_eq(baton_resource_suspend(&queue.resource, &suspension), 0);
		put_many(&queue, cases[i].count);
		cr_assert_eq(baton_resource_resume(&suspension), 0);
		cr_assert_eq(waiting(&queue), cases[i].left, "of %d", cases[i].count);
		queue_end(&queue);
	}
}

struct producer {
	struct queue *queues;
	int count;
	uint64_t random;
	atomic_int *waiting_max;
	atomic_int *sum;
};

#define QUEUES 100

struct loose {
	struct baton_task task;
	atomic_int *sum;
};

static int loose_run(struct baton_task *task)
{
	struct loose *loose = baton_container_of(task, struct loose, task);
	atomic_int *sum = loose->sum;

	free(loose);
	(void)atomic_fetch_sub(sum, 1);
	return 0;
}

static void *produce(void *arg)
{
	struct producer *producer = arg;

	for (int i = 0; i < producer->count; i++) {
		struct loose *loose = malloc(sizeof(*loose));
		struct queue *queue = &producer->queues[rng_below(&producer->random, QUEUES)];
		int now;
		int max;

		if (!loose)
			abort();
		loose->sum = producer->sum;
		baton_task_init(&loose->task, loose_run, NULL);
		now = atomic_fetch_add(producer->sum, 1) + 1;
		max = atomic_load(producer->waiting_max);
		while (now > max && !atomic_compare_exchange_weak(producer->waiting_max, &max, now))
			;
		if (baton_submit(&queue->resource, &loose->task))
			abort();
	}
	return NULL;
}

Test(loan, what_waits_does_not_grow_though_no_worker_ever_comes, .timeout = 60)
{
	enum { THREADS = 4, COUNT = 50000, BACKLOG = 200 };
	struct queue *queues = calloc(QUEUES, sizeof(*queues));
	struct producer producers[THREADS];
	pthread_t threads[THREADS];
	atomic_int sum = 0;
	atomic_int most = 0;

	cr_assert_not_null(queues);
	for (int i = 0; i < QUEUES; i++)
		queue_begin(&queues[i], BACKLOG);
	for (int i = 0; i < THREADS; i++) {
		producers[i] = (struct producer){queues, scaled(COUNT),
		                                 rng_fork(test_seed(), (uint64_t)i), &most, &sum};
		threads[i] = thread_start(produce, &producers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		(void)thread_join(threads[i]);
	/* At worst all tasks of the backlog are run before the first of theirs; and a thread with
	 * a queue that empties puts its next loan off. */
	cr_assert_lt(atomic_load(&most),
	             QUEUES * BACKLOG + THREADS * 2 * (int)LAST + QUEUES * LIMIT);
	for (int i = 0; i < QUEUES; i++)
		queue_end(&queues[i]);
	cr_assert_eq(atomic_load(&sum), 0);
	free(queues);
}

Test(loan, a_loan_that_leaves_nothing_puts_the_next_one_off, .timeout = 10)
{
	struct queue queue;

	queue_begin_limited(&queue, 1, 2 * LAST);
	for (unsigned expected = FIRST; expected <= LAST; expected *= 2) {
		int ran = atomic_load(&queue.ran);

		put_many(&queue, (int)expected);
		cr_assert_eq(atomic_load(&queue.ran), ran, "none among the first %u", expected);
		put_many(&queue, 1);
		cr_assert_eq(waiting(&queue), 0, "but the next runs all");
	}
	put_many(&queue, (int)LAST);
	cr_assert_eq(waiting(&queue), LAST, "not more than doubled %u", LAST);
	put_many(&queue, 1);
	cr_assert_eq(waiting(&queue), 0);
	queue_end(&queue);
}

Test(loan, a_long_queue_among_empty_ones_is_worked_off, .timeout = 10)
{
	enum { WAITING = 1000, ROUNDS = 200, OTHERS = 9 };
	struct queue empty;
	struct queue queue;

	queue_begin(&queue, WAITING);
	queue_begin(&empty, 1);
	put_many(&empty, FIRST + 1);
	cr_assert_eq(waiting(&empty), 1 + (int)FIRST + 1 - LIMIT, "a loan has left some");
	for (int i = 0; i < ROUNDS; i++) {
		put_many(&queue, 1);
		put_many(&empty, OTHERS);
	}
	cr_assert_lt(waiting(&queue), WAITING / 2);
	queue_end(&empty);
	queue_end(&queue);
}

Test(loan, only_so_many_after_one_that_has_left_tasks_put_nothing_off, .timeout = 10)
{
	struct queue longer;
	struct queue queue;

	queue_begin(&longer, 1000);
	queue_begin_limited(&queue, 1, 2 * LAST);
	put_many(&longer, FIRST + 1);
	cr_assert_eq(waiting(&longer), 1000 + (int)FIRST + 1 - LIMIT, "a loan has left some");
	for (unsigned i = 0; i <= BATON_LOAN_EAGER; i++) {
		put_many(&queue, 1);
		cr_assert_eq(waiting(&queue), 0, "time %u", i);
	}
	put_many(&queue, FIRST);
	cr_assert_eq(waiting(&queue), FIRST, "the next one is put off");
	put_many(&queue, 1);
	cr_assert_eq(waiting(&queue), 0);
	queue_end(&longer);
	queue_end(&queue);
}

/* And for some of those that waited before. */
Test(loan, a_batch_pays_for_all_its_tasks, .timeout = 10)
{
	enum { BATCH = 64 };
	struct baton_task *tasks[BATCH];
	struct queue queue;

	queue_begin(&queue, 1000);
	put_many(&queue, FIRST);
	for (int i = 0; i < BATCH; i++)
		tasks[i] = &entry_new(&queue, NULL)->stamped.task;
	cr_assert_eq(baton_submit_batch(&queue.resource, tasks, BATCH), 0);
	cr_assert_eq(waiting(&queue), 1000 + FIRST - (LIMIT - 1));
	queue_end(&queue);
}

Test(loan, futures_complete_as_ever, .timeout = 10)
{
	enum { COUNT = 200 };
	struct baton_future futures[COUNT];
	struct queue queue;

	queue_begin(&queue, 100);
	put_many(&queue, FIRST);
	for (int i = 0; i < COUNT; i++) {
		baton_future_init(&futures[i]);
		cr_assert_eq(baton_submit(&queue.resource,
		                          &entry_new(&queue, &futures[i])->stamped.task),
		             0);
	}
	for (int i = 0; i + LIMIT < COUNT; i++)
		cr_assert_eq(baton_future_state(&futures[i]), BATON_DONE);
	queue_end(&queue);
}

Test(loan, a_closed_resource_refuses_and_touches_nothing, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct entry *entry;
	struct queue queue;

	queue_begin(&queue, 100);
	put_many(&queue, FIRST);
	cr_assert_eq(baton_resource_close(&queue.resource), 0);
	entry = entry_new(&queue, &future);
	cr_assert_eq(baton_submit(&queue.resource, &entry->stamped.task), -EPIPE);
	cr_assert_eq(baton_future_state(&future), BATON_PENDING);
	free(entry);
	queue.submitted--;
	cr_assert_eq(waiting(&queue), 100 + FIRST);
	queue_end(&queue);
}

Test(loan, never_where_the_limit_is_0_nor_by_submit_later, .timeout = 10)
{
	struct queue queue;

	queue_begin(&queue, 100);
	for (unsigned i = 0; i < FIRST + 2; i++)
		cr_assert_eq(
			baton_submit_later(&queue.resource, &entry_new(&queue, NULL)->stamped.task),
			0);
	cr_assert_eq(waiting(&queue), 100 + (int)FIRST + 2);
	queue_end(&queue);

	queue_begin_limited(&queue, 100, BATON_CAPTURE_NONE);
	put_many(&queue, 2 * FIRST);
	cr_assert_eq(waiting(&queue), 100 + 2 * (int)FIRST);
	queue_end(&queue);
}

Test(loan, a_bound_counts_what_a_loan_runs, .timeout = 10)
{
	struct baton_bound_config bound_config = {.tasks_max = 50};
	struct baton_bound_stats counts;
	struct baton_bound bound;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct queue queue = {.submitted = 0};
	int refused = 0;

	thread_forgets();
	stash_init(&queue.stash);
	config.executor = &queue.stash.executor;
	baton_bound_init(&bound, &bound_config);
	baton_resource_init(&queue.resource, &config);
	baton_resource_set_bound(&queue.resource, &bound);
	cr_assert_eq(baton_submit_later(&queue.resource, &entry_new(&queue, NULL)->stamped.task),
	             0);
	for (int i = 0; i < 500; i++) {
		struct entry *entry = entry_new(&queue, NULL);
		int error = baton_submit(&queue.resource, &entry->stamped.task);

		if (!error)
			continue;
		cr_assert_eq(error, -EAGAIN);
		free(entry);
		queue.submitted--;
		refused++;
	}
	baton_bound_stats_read(&bound, &counts);
	cr_assert_eq((int)counts.tasks, waiting(&queue));
	cr_assert_eq(refused, 0, "a submitter makes the room that it needs");
	queue_end(&queue);
}

static int suspend_run(struct baton_task *task)
{
	struct entry *entry = (struct entry *)(void *)task;
	static struct baton_suspension suspension;

	if (entry->number >= 0)
		cr_assert_eq(baton_resource_suspend(&entry->queue->resource, &suspension), 0);
	else
		cr_assert_eq(baton_resource_resume(&suspension), 0);
	return 0;
}

Test(loan, a_task_may_suspend_its_resource_in_a_loan, .timeout = 10)
{
	struct entry suspender;
	struct queue queue;
	int before;

	queue_begin(&queue, 5);
	put_many(&queue, FIRST - 1);
	suspender.queue = &queue;
	suspender.number = 0;
	baton_task_init(&suspender.stamped.task, suspend_run, NULL);
	cr_assert_eq(baton_submit(&queue.resource, &suspender.stamped.task), 0);
	/* Three loans come to the suspender, and no further. */
	put_many(&queue, 3);
	before = waiting(&queue);
	put_many(&queue, 10);
	cr_assert_eq(waiting(&queue), before + 10);
	suspender.number = -1;
	(void)suspend_run(&suspender.stamped.task);
	queue_end(&queue);
}
