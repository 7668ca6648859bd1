/* SPDX-License-Identifier: MIT */
/* Recall: who has run all tasks of a queued resource takes the job out of the queue again. */
#include "loans.h"
#include "pool_support.h"

/* ---- A pool whose only worker has no time ---- */

#define OTHERS_MAX 32

struct scene {
	struct baton_pool *pool;
	struct plug plug;
	struct queue queue;
	struct work others[OTHERS_MAX];
	int count;
	atomic_int done;
};

static void others_submit(struct scene *scene, int count)
{
	for (int i = 0; i < count; i++) {
		struct work *other = &scene->others[scene->count++];

		work_init(other, work_run, scene->pool, &scene->done);
		cr_assert_eq(baton_pool_submit(scene->pool, &other->job), 0);
	}
}

/* A task waits, and its resource lies in the pool's queue among other jobs. */
static void scene_begin(struct scene *scene, int before, int behind, struct baton_future *future)
{
	struct baton_pool_options options = {.workers = 1};
	struct queue *queue = &scene->queue;

	memset(scene, 0, sizeof(*scene));
	thread_forgets();
	cr_assert_eq(baton_pool_create(&options, &scene->pool), 0);
	plug_in(&scene->plug, scene->pool);
	others_submit(scene, before);
	queue->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	queue->config.executor = baton_pool_executor(scene->pool);
	baton_resource_init(&queue->resource, &queue->config);
	cr_assert_eq(baton_submit_later(&queue->resource, &entry_new(queue, future)->stamped.task),
	             0);
	others_submit(scene, behind);
	cr_assert_eq(atomic_load(&queue->ran), 0);
}

static bool is_idle(const struct queue *queue)
{
	return !baton__word_is_busy(baton__word(&queue->resource));
}

/* All jobs and tasks have run, once and in order. */
static void scene_end(struct scene *scene)
{
	put_many(&scene->queue, 1);
	gate_open(&scene->plug.leave);
	cr_assert_eq(baton_pool_destroy(scene->pool), 0);
	cr_assert_eq(atomic_load(&scene->done), scene->count);
	cr_assert_eq(waiting(&scene->queue), 0);
	cr_assert_eq(atomic_load(&scene->queue.disorder), 0);
	cr_assert(is_idle(&scene->queue));
	resource_end(&scene->queue.resource);
}

static void by_submitter(int before, int behind, bool recalled)
{
	struct scene scene;

	scene_begin(&scene, before, behind, NULL);
	baton__self->learnt.loan_skip = 0;
	put_many(&scene.queue, 1);
	cr_assert_eq(waiting(&scene.queue), 0);
	cr_assert_eq(is_idle(&scene.queue), recalled);
	cr_assert_eq(baton__self->learnt.loan_skip == 0, recalled, "the next loan is due at once");
	scene_end(&scene);
}

Test(recall, by_a_submitter_makes_the_resource_idle, .timeout = 10)
{
	by_submitter(0, 0, true);
}

Test(recall, from_among_a_few_other_jobs, .timeout = 10)
{
	by_submitter(2, 3, true);
}

Test(recall, looks_at_few_jobs_only, .timeout = 10)
{
	by_submitter(0, 16, false);
}

Test(recall, by_a_waiter_makes_the_resource_idle, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct scene scene;

	scene_begin(&scene, 1, 1, &future);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert(is_idle(&scene.queue));
	scene_end(&scene);
}

/* ---- When is the executor asked? ---- */

static atomic_int asked;

static bool asked_recall(struct baton_executor *executor, struct baton_job *job)
{
	(void)executor;
	(void)job;
	atomic_fetch_add(&asked, 1);
	return false;
}

static void asks(struct queue *queue)
{
	static const struct baton_executor_ops ops = {
		.schedule = stash_schedule,
		.returned = stash_returned,
		.recall = asked_recall,
	};

	queue->stash.executor._ops = &ops;
	baton__self->learnt.loan_skip = 0;
	atomic_store(&asked, 0);
}

Test(recall, is_asked_for_when_no_task_is_left, .timeout = 10)
{
	struct queue queue;

	queue_begin(&queue, 2 * LIMIT);
	asks(&queue);
	put_many(&queue, 1);
	cr_assert_eq(waiting(&queue), LIMIT + 1);
	cr_assert_eq(atomic_load(&asked), 0, "the job keeps its place in the queue");
	put_many(&queue, 2);
	cr_assert_eq(waiting(&queue), 0);
	cr_assert_eq(atomic_load(&asked), 1);
	queue_end(&queue);
}
