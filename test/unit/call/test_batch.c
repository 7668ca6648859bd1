/* SPDX-License-Identifier: MIT */
/*
 * baton_submit_batch: the tasks run in the given order with no other task between them, and are
 * accepted all or none.
 */
#include "fixture.h"

static void tasks_of(struct step *steps, size_t count, struct baton_task **tasks)
{
	for (size_t i = 0; i < count; i++)
		tasks[i] = &steps[i].task;
}

Test(batch, an_idle_resource_runs_it_inline_in_the_given_order, .timeout = 10)
{
	struct baton_task *tasks[10];

	tasks_of(fix.steps, 10, tasks);
	cr_assert_eq(baton_submit_batch(&fix.resource, tasks, 10), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 10));
	for (size_t i = 0; i < 10; i++)
		cr_assert(journal_here(&fix.journal, i));
	fixture_end();
}

Test(batch, a_busy_resource_takes_it_behind_what_is_there, .timeout = 10)
{
	struct baton_task *tasks[4];

	tasks_of(&fix.steps[1], 4, tasks);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_submit_batch(&fix.resource, tasks, 4), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[5].task), 0);
	cr_assert_eq(fix.journal.count, 0);
	release(&fix.occupant);
	cr_assert(journal_counts_up(&fix.journal, 0, 6));
	fixture_end();
}

Test(batch, of_nothing_does_nothing, .timeout = 10)
{
	struct baton_resource_stats stats = {0};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_task *tasks[1] = {NULL};

	baton_resource_set_stats(&resource, &stats);
	cr_assert_eq(baton_submit_batch(&resource, tasks, 0), 0);
	cr_assert_eq(resource_counts(&stats).submitted, 0);
	cr_assert_eq(resource_counts(&stats).outstanding, 0);
	resource_end(&resource);
}

#define BATCH_MAX 25
#define OTHERS 4

/* The first task of a batch, during which others come. */
struct prolific {
	struct baton_task task;
	struct step *others;
};

static int prolific_run(struct baton_task *task)
{
	struct prolific *prolific = baton_container_of(task, struct prolific, task);

	for (int i = 0; i < OTHERS; i++)
		MUST(baton_submit(&fix.resource, &prolific->others[i].task) == 0);
	return 0;
}

/* A batch of `count` tasks runs here as a whole, and of the others as many as the limit of 10
 * leaves. */
static void is_not_cut(size_t count, size_t others, bool counted, struct baton_future *last)
{
	struct baton_task *tasks[BATCH_MAX];
	struct step steps[BATCH_MAX + OTHERS];
	struct prolific prolific = {BATON_TASK_INIT(prolific_run, NULL), steps + count - 1};

	fix.counted = counted;
	fix.stats = (struct baton_resource_stats){0};
	fixture_stash();
	steps_init(steps, count - 1 + OTHERS, &fix.journal, 0);
	tasks[0] = &prolific.task;
	tasks_of(steps, count - 1, tasks + 1);
	tasks[count - 1]->_future = last;
	cr_assert_eq(baton_submit_batch(&fix.resource, tasks, count), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, count - 1 + others), "%zu tasks ran",
	          (size_t)fix.journal.count);
	cr_assert_eq(fix.stash.count, 1, "one hand-off");
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 0, count - 1 + OTHERS));
	fixture_end();
}

Test(batch, ones_own_is_not_cut_at_the_capture_limit, .timeout = 10)
{
	struct baton_future last = BATON_FUTURE_INIT;

	is_not_cut(25, 0, false, NULL);
	is_not_cut(10, 0, false, NULL);
	is_not_cut(8, 2, false, NULL);
	is_not_cut(25, 0, true, NULL);
	is_not_cut(8, 2, true, NULL);
	is_not_cut(25, 0, false, &last);
	cr_assert(baton_future_is_complete(&last));
}

static void *batch_inside(void *arg)
{
	struct baton_task *tasks[BATCH_MAX];
	struct step steps[BATCH_MAX];

	steps_init(steps, BATCH_MAX, &fix.journal, 0);
	tasks_of(steps, BATCH_MAX, tasks);
	MUST(baton_submit_batch(&fix.resource, tasks, BATCH_MAX) == 0);
	MUST(fix.journal.count == BATCH_MAX);
	return arg;
}

Test(batch, nor_inside_a_task_of_another_resource, .timeout = 10)
{
	struct baton_resource outer = BATON_RESOURCE_INIT(NULL);

	fixture_stash();
	cr_assert_eq(baton_call(&outer, batch_inside, NULL, NULL), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, BATCH_MAX));
	fixture_end();
	resource_end(&outer);
}

Test(batch, one_stale_future_refuses_all_of_it, .timeout = 10)
{
	struct baton_future futures[3] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct baton_task *tasks[3];

	for (int i = 0; i < 3; i++)
		step_init(&fix.steps[i], &fix.journal, i, &futures[i]);
	tasks_of(fix.steps, 3, tasks);
	cr_assert_eq(baton_submit(&fix.resource, tasks[2]), 0);
	cr_assert_eq(baton_submit_batch(&fix.resource, tasks, 3), -EINVAL);
	cr_assert_eq(fix.journal.count, 1);
	cr_assert_eq(baton_future_cancel(&futures[0]), -EINVAL, "it was not submitted");
	baton_future_init(&futures[2]);
	cr_assert_eq(baton_submit_batch(&fix.resource, tasks, 3), 0);
	cr_assert_eq(fix.journal.count, 4);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_future_state(&futures[i]), BATON_DONE);
	fixture_end();
}

Test(batch, one_future_completes_whichever_of_its_tasks_has_it, .timeout = 10)
{
	for (int with = 0; with < 3; with++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
		struct baton_future future = BATON_FUTURE_INIT;
		struct journal journal = {0};
		struct baton_task *tasks[3];
		struct step steps[3];
		struct step first;

		step_init(&first, &journal, 0, NULL);
		for (int i = 0; i < 3; i++)
			step_init(&steps[i], &journal, i + 1, i == with ? &future : NULL);
		tasks_of(steps, 3, tasks);
		/* The short path is for what has been used before. */
		cr_assert_eq(baton_submit(&resource, &first.task), 0);
		cr_assert_eq(baton_submit_batch(&resource, tasks, 3), 0);
		cr_assert(journal_counts_up(&journal, 0, 4));
		cr_assert_eq(baton_future_state(&future), BATON_DONE);
		resource_end(&resource);
	}
}

Test(batch, a_refused_one_leaves_alone_what_is_bound_elsewhere, .timeout = 10)
{
	for (int with = 0; with < 3; with++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
		struct baton_resource other = BATON_RESOURCE_INIT(NULL);
		struct baton_future future = BATON_FUTURE_INIT;
		struct journal journal = {0};
		struct occupant occupant;
		struct baton_task *tasks[3];
		struct step steps[4];

		step_init(&steps[3], &journal, 3, &future);
		occupy(&occupant, &other);
		cr_assert_eq(baton_submit(&other, &steps[3].task), 0);
		for (int i = 0; i < 3; i++)
			step_init(&steps[i], &journal, i, i == with ? &future : NULL);
		tasks_of(steps, 3, tasks);
		cr_assert_eq(baton_submit_batch(&resource, tasks, 3), -EINVAL);
		cr_assert_eq(journal.count, 0);
		cr_assert_eq(baton_future_cancel(&future), 0, "it is bound as it was");
		release(&occupant);
		cr_assert_eq(baton_future_state(&future), BATON_CANCELLED);
		resource_end(&resource);
		resource_end(&other);
	}
}

/* Under contention: what the resource guards is the batch that is under way. */
enum { MEMBERS = 5 };

struct scene {
	struct baton_resource resource;
	int under_way; /* the batch that has begun and not ended, or 0 */
	int next;      /* the member that must come next */
	int errors;
	int members;
	int loners;
};

struct member {
	struct baton_task task;
	struct scene *scene;
	int batch; /* 0: a task of its own */
	int index;
};

static int member_run(struct baton_task *task)
{
	struct member *member = baton_container_of(task, struct member, task);
	struct scene *scene = member->scene;

	if (member->batch == 0) {
		scene->errors += scene->under_way != 0;
		scene->loners++;
		return 0;
	}
	if (member->index == 0)
		scene->errors += scene->under_way != 0;
	else
		scene->errors += scene->under_way != member->batch || scene->next != member->index;
	scene->next = member->index + 1;
	scene->under_way = scene->next == MEMBERS ? 0 : member->batch;
	scene->members++;
	return 0;
}

struct party {
	struct scene *scene;
	struct member *members;
	int batches;
	int first_batch; /* 0: submits loners */
	int refused;
};

static void *party_main(void *arg)
{
	struct party *party = arg;
	struct member *member = party->members;

	for (int i = 0; i < party->batches; i++) {
		struct baton_task *tasks[MEMBERS];
		int batch = party->first_batch ? party->first_batch + i : 0;

		for (int j = 0; j < MEMBERS; j++, member++) {
			baton_task_init(&member->task, member_run, NULL);
			member->scene = party->scene;
			member->batch = batch;
			member->index = j;
			tasks[j] = &member->task;
			if (!batch)
				party->refused +=
					baton_submit(&party->scene->resource, tasks[j]) != 0;
		}
		if (batch)
			party->refused +=
				baton_submit_batch(&party->scene->resource, tasks, MEMBERS) != 0;
	}
	return NULL;
}

Test(batch, nobody_comes_between_its_tasks, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct scene scene = {0};
	struct party parties[3];
	pthread_t threads[3];
	int batches = scaled(10000);

	config.executor = baton_pool_executor(pool);
	config.capture_max = 3;
	config.quantum = 7;
	baton_resource_init(&scene.resource, &config);
	for (int i = 0; i < 3; i++) {
		parties[i] = (struct party){&scene, NULL, batches, i ? i * batches * 2 : 0, 0};
		parties[i].members = calloc((size_t)batches * MEMBERS, sizeof(struct member));
		MUST(parties[i].members);
	}
	for (int i = 0; i < 3; i++)
		threads[i] = thread_start(party_main, &parties[i]);
	for (int i = 0; i < 3; i++)
		thread_join(threads[i]);
	resource_end(&scene.resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	for (int i = 0; i < 3; i++) {
		free(parties[i].members);
		cr_assert_eq(parties[i].refused, 0);
	}
	cr_assert_eq(scene.errors, 0);
	cr_assert_eq(scene.members, 2 * batches * MEMBERS);
	cr_assert_eq(scene.loners, batches * MEMBERS);
}

Test(batch, more_tasks_than_can_be_counted_are_refused, .timeout = 5)
{
	struct baton_task *const none = NULL;

	cr_assert_eq(baton_submit_batch(&fix.resource, &none, (size_t)UINT32_MAX + 1), -EINVAL);
	fixture_end();
}

/* What a task in the middle of a batch does to its own resource. */
struct meddler {
	struct baton_task task;
	struct baton_resource *resource;
	struct baton_task *more;
	int (*meddle)(struct baton_resource *resource);
	uint32_t limit; /* of the resource; 0: the default */
	int result;
};

static int meddler_run(struct baton_task *task)
{
	struct meddler *meddler = baton_container_of(task, struct meddler, task);

	if (meddler->more)
		MUST(baton_submit(meddler->resource, meddler->more) == 0);
	if (meddler->meddle)
		meddler->result = meddler->meddle(meddler->resource);
	return 0;
}

static int cancelled_count;

static void count_cancelled(struct baton_task *task)
{
	cancelled_count++;
}

/* Six in a batch, the third of which meddles; a seventh may be submitted by it. */
static void run_meddled(struct meddler *meddler, struct journal *journal, struct step *steps,
                        struct baton_resource *resource)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_task *tasks[6];

	if (meddler->limit)
		config.capture_max = meddler->limit;
	config.cancelled = count_cancelled;
	cancelled_count = 0;
	baton_resource_init(resource, &config);
	steps_init(steps, 7, journal, 0);
	tasks_of(steps, 6, tasks);
	meddler->task = (struct baton_task)BATON_TASK_INIT(meddler_run, NULL);
	meddler->resource = resource;
	tasks[2] = &meddler->task;
	cr_assert_eq(baton_submit_batch(resource, tasks, 6), 0);
}

Test(batch, a_cancel_from_inside_meets_the_rest_of_it, .timeout = 10)
{
	struct meddler meddler = {.meddle = baton_resource_cancel_pending};
	struct baton_resource resource;
	struct journal journal = {0};
	struct step steps[7];

	run_meddled(&meddler, &journal, steps, &resource);
	cr_assert_eq(meddler.result, 0);
	cr_assert_eq(journal.count, 2);
	cr_assert_eq(cancelled_count, 3);
	resource_end(&resource);
}

Test(batch, what_its_tasks_submit_comes_after_all_of_it, .timeout = 10)
{
	struct baton_resource resource;
	struct journal journal = {0};
	struct step steps[7];
	struct meddler meddler = {.more = &steps[6].task};

	run_meddled(&meddler, &journal, steps, &resource);
	cr_assert_eq(journal.count, 6);
	cr_assert_eq(journal.number[4], 5);
	cr_assert_eq(journal.number[5], 6);
	resource_end(&resource);
}

/* Also with a limit of which nothing is left. */
Test(batch, a_close_from_inside_leaves_it_whole, .timeout = 10)
{
	for (uint32_t limit = 0; limit <= 6; limit++) {
		struct meddler meddler = {.meddle = baton_resource_close, .limit = limit};
		struct baton_resource resource;
		struct journal journal = {0};
		struct step steps[7];

		run_meddled(&meddler, &journal, steps, &resource);
		cr_assert_eq(meddler.result, 0);
		cr_assert_eq(journal.count, 5, "limit %u: %zu", limit, (size_t)journal.count);
		cr_assert_eq(baton_submit(&resource, &steps[6].task), -EPIPE);
		cr_assert_eq(baton_resource_await(&resource), 0);
		baton_resource_deinit(&resource);
	}
}

/* Its tasks, and the array that names them, in one piece of memory. */
struct parcel {
	struct baton_task *tasks[3];
	struct baton_task own[3];
	int left;
};

static int parcel_run(struct baton_task *task)
{
	static struct parcel *parcel;

	if (!parcel)
		parcel = baton_container_of(task, struct parcel, own[0]);
	if (--parcel->left == 0)
		free(parcel);
	return 0;
}

Test(batch, its_last_task_may_free_all_of_it, .timeout = 10)
{
	struct parcel *parcel = malloc(sizeof(*parcel));
	struct baton_resource resource;

	cr_assert_not_null(parcel);
	baton_resource_init(&resource, NULL);
	parcel->left = 3;
	for (size_t i = 0; i < 3; i++) {
		parcel->own[i] = (struct baton_task)BATON_TASK_INIT(parcel_run, NULL);
		parcel->tasks[i] = &parcel->own[i];
	}
	cr_assert_eq(baton_submit_batch(&resource, parcel->tasks, 3), 0);
	resource_end(&resource);
}
