/* SPDX-License-Identifier: MIT */
/* A resource's statistics: what is counted, and that it balances when the resource is quiescent. */
#include "support.h"

enum { THREADS = 4 };

struct load {
	struct baton_resource *resource;
	int posts;
	int refused;
	pthread_t thread;
};

static void *nothing(void *arg)
{
	return arg;
}

static void *load_main(void *arg)
{
	struct load *load = arg;

	for (int i = 0; i < load->posts; i++)
		load->refused += baton_post(load->resource, nothing, NULL) != 0;
	return NULL;
}

Test(stats, they_balance_after_many_threads, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource_stats stats = {0}, copy;
	struct baton_resource resource;
	struct load loads[THREADS];
	uint64_t posts = (uint64_t)scaled(20000);

	config.executor = baton_pool_executor(pool);
	baton_resource_init(&resource, &config);
	baton_resource_set_stats(&resource, &stats);
	for (int i = 0; i < THREADS; i++) {
		loads[i] = (struct load){&resource, (int)posts, 0, pthread_self()};
		loads[i].thread = thread_start(load_main, &loads[i]);
	}
	for (int i = 0; i < 1000; i++)
		baton_resource_stats_read(&stats, &copy);
	for (int i = 0; i < THREADS; i++) {
		thread_join(loads[i].thread);
		cr_assert_eq(loads[i].refused, 0);
	}
	cr_assert_eq(baton_resource_await(&resource), 0);
	baton_resource_stats_read(&stats, &copy);
	cr_assert_eq(copy.submitted, THREADS * posts);
	cr_assert_eq(copy.executed, THREADS * posts);
	cr_assert_eq(copy.cancelled, 0);
	cr_assert_eq(copy.outstanding, 0);
	resource_end(&resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(stats, inline_runs_count_as_captures, .timeout = 10)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct journal journal = {0};
	struct step steps[3];

	baton_resource_set_stats(&resource, &stats);
	steps_init(steps, 3, &journal, 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_submit(&resource, &steps[i].task), 0);
	cr_assert_eq(resource_counts(&stats).captures, 3);
	cr_assert_eq(resource_counts(&stats).submitted, 3);
	cr_assert_eq(resource_counts(&stats).executed, 3);
	cr_assert_eq(resource_counts(&stats).outstanding, 0);
	cr_assert_eq(stats.handoffs, 0);
	resource_end(&resource);
}

struct seen {
	struct baton_task task;
	const struct baton_resource_stats *stats;
	struct baton_resource_stats copy;
};

static int see_task(struct baton_task *task)
{
	struct seen *seen = baton_container_of(task, struct seen, task);

	baton_resource_stats_read(seen->stats, &seen->copy);
	return 0;
}

static void *see_call(void *arg)
{
	(void)see_task(&((struct seen *)arg)->task);
	return NULL;
}

/* A task, then a call: each sees itself, and those before it. */
Test(stats, a_task_that_runs_at_once_is_outstanding_and_does_not_wait, .timeout = 10)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct seen seen = {.task = BATON_TASK_INIT(see_task, NULL), .stats = &stats};

	baton_resource_set_stats(&resource, &stats);
	for (uint64_t before = 0; before < 4; before++) {
		if (before % 2)
			cr_assert_eq(baton_call(&resource, see_call, &seen, NULL), 0);
		else
			cr_assert_eq(baton_submit(&resource, &seen.task), 0);
		cr_assert_eq(seen.copy.submitted, before + 1);
		cr_assert_eq(seen.copy.captures, before + 1);
		cr_assert_eq(seen.copy.executed, before);
		cr_assert_eq(seen.copy.outstanding, 1);
		cr_assert_eq(seen.copy.waiting, 0);
		cr_assert_eq(resource_counts(&stats).executed, before + 1);
		cr_assert_eq(resource_counts(&stats).outstanding, 0);
	}
	resource_end(&resource);
}

/* The time of a marked task stays behind when the tasks after it were refused. */
Test(stats, a_time_of_which_no_task_waits_ends_with_the_next_run, .timeout = 10)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	baton_resource_set_stats(&resource, &stats);
	stats._passed_ns = 5;
	stats._pushed = 1; /* a submitter is about to push */
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	cr_assert_eq(resource_counts(&stats).oldest_ns, 5);
	stats._pushed = 0;
	cr_assert_eq(baton_call(&resource, nothing, NULL, NULL), 0);
	cr_assert_eq(stats._passed_ns, 0);
	resource_end(&resource);
}

#define DEEP 12 /* more than the nesting that runs on one stack */

static struct deep {
	struct baton_resource resource;
	struct baton_resource_stats stats;
} deep[DEEP];

static void *post_deeper(void *arg)
{
	struct deep *next = (struct deep *)arg + 1;

	if (next < deep + DEEP)
		cr_assert_eq(baton_post(&next->resource, post_deeper, next), 0);
	return NULL;
}

/* Such a post comes to an idle resource with statistics, and must not run there. */
Test(stats, posts_that_are_too_deep_are_counted, .timeout = 10)
{
	for (int i = 0; i < DEEP; i++) {
		baton_resource_init(&deep[i].resource, NULL);
		baton_resource_set_stats(&deep[i].resource, &deep[i].stats);
	}
	cr_assert_eq(baton_post(&deep[0].resource, post_deeper, &deep[0]), 0);
	for (int i = 0; i < DEEP; i++) {
		struct baton_resource_stats copy;

		/* The post comes while the task before it runs. */
		cr_assert_eq(baton_resource_await(&deep[i].resource), 0);
		baton_resource_stats_read(&deep[i].stats, &copy);
		cr_assert_eq(copy.executed, 1);
		cr_assert_eq(copy.waiting, 0);
	}
}

Test(stats, the_largest_backlog_is_kept, .timeout = 10)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct occupant occupant;
	struct journal journal = {0};
	struct step steps[8];

	baton_resource_set_stats(&resource, &stats);
	steps_init(steps, 8, &journal, 0);
	occupy(&occupant, &resource);
	for (int i = 0; i < 7; i++)
		cr_assert_eq(baton_submit(&resource, &steps[i].task), 0);
	release(&occupant);
	cr_assert_eq(baton_submit(&resource, &steps[7].task), 0);
	cr_assert_eq(stats.backlog_max, 7);
	resource_end(&resource);
}

Test(stats, each_is_read_as_itself, .timeout = 5)
{
	/* left, the times of the mark and of what has passed; waiting, oldest, outstanding */
	static const uint64_t rows[][6] = {{5000, 70, 0, 1000, 70, 6251 - 1286},
	                                   {5000, 70, 60, 1000, 60, 6251 - 1286},
	                                   {5999, 70, 0, 1, 70, 6251 - 1286},
	                                   {6000, 70, 60, 0, 0, 6251 - 1286}};
	struct baton_resource_stats stats = {.submitted = 2000,
	                                     ._pushed = 4000,
	                                     ._dropped = 251,
	                                     .executed = 1000,
	                                     .failed = 2,
	                                     .cancelled = 35,
	                                     .captures = 8,
	                                     .handoffs = 16,
	                                     .helped = 32,
	                                     .refused = 64,
	                                     .backlog_max = 128};
	struct baton_resource_stats copy;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		stats._left = rows[i][0];
		stats._marked_ns = rows[i][1];
		stats._passed_ns = rows[i][2];
		copy = resource_counts(&stats);
		cr_assert_eq(copy.waiting, rows[i][3], "%zu", i);
		cr_assert_eq(copy.oldest_ns, rows[i][4], "%zu", i);
		cr_assert_eq(copy.outstanding, rows[i][5], "%zu", i);
		cr_assert_eq(copy.submitted, 6251);
		cr_assert_eq(copy.executed, 1000);
		cr_assert_eq(copy.cancelled, 286);
		cr_assert(copy.failed == 2 && copy.captures == 8 && copy.handoffs == 16 &&
		          copy.helped == 32 && copy.refused == 64);
		cr_assert_eq(copy.backlog_max, rows[i][3] > 128 ? rows[i][3] : 128);
	}
	stats.executed = 7000; /* read a moment later than the others */
	cr_assert_eq(resource_counts(&stats).outstanding, 0);
}

Test(stats, what_is_queued_is_outstanding, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource_stats stats = {0}, copy;
	struct baton_manual *manual = NULL;
	struct baton_resource resource;
	struct journal journal = {0};
	struct step step;

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor = baton_manual_executor(manual);
	baton_resource_init(&resource, &config);
	baton_resource_set_stats(&resource, &stats);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit_later(&resource, &step.task), 0);
	baton_resource_stats_read(&stats, &copy);
	cr_assert_eq(copy.outstanding, 1);
	cr_assert(baton_manual_run(manual, 1));
	baton_resource_stats_read(&stats, &copy);
	cr_assert_eq(copy.outstanding, 0);
	resource_end(&resource);
	baton_manual_destroy(manual);
}
