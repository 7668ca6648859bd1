/* SPDX-License-Identifier: MIT */
/* Visitors of a future whose submit is refused: whose visit ends when, and who waits for it. */
#include "stash.h"

#define BATCH 64

/* A task of a queued resource that stays; it runs on the thread that helps. */
struct stay {
	struct baton_task task;
	atomic_int entered;
	sem_t leave;
};

static int stay_run(struct baton_task *task)
{
	struct stay *stay = baton_container_of(task, struct stay, task);

	atomic_store(&stay->entered, 1);
	gate_pass(&stay->leave);
	return 0;
}

/* A resource in the queue of an executor that runs nothing, with a task that stays. */
struct place {
	struct stash stash;
	struct baton_resource_config config;
	struct baton_resource resource;
	struct stay stay;
	/* If set: a helper that has given the baton back stays, as a visitor. */
	bool holds;
	atomic_int returned;
	sem_t leave;
	struct baton_task finaliser;
	atomic_int ended;
	atomic_int late; /* touches of the executor after that */
};

static int place_returned(struct baton_executor *executor)
{
	struct place *place = baton_container_of(executor, struct place, stash.executor);

	if (place->holds) {
		atomic_store(&place->returned, 1);
		gate_pass(&place->leave);
	}
	return 0;
}

/* Whoever asks is not the one that drives it. */
static int place_drive(struct baton_executor *executor)
{
	struct place *place = baton_container_of(executor, struct place, stash.executor);

	if (atomic_load(&place->ended))
		atomic_fetch_add(&place->late, 1);
	return -EPERM;
}

/* Else a wait with a deadline would not help. */
static bool place_alone(struct baton_executor *executor)
{
	return true;
}

static const struct baton_executor_ops place_ops = {
	.schedule = stash_schedule,
	.drive = place_drive,
	.returned = place_returned,
	.alone = place_alone,
};

/* The resource is over, and, as far as it goes, so is its executor. */
static int place_end(struct baton_task *finaliser)
{
	atomic_store(&baton_container_of(finaliser, struct place, finaliser)->ended, 1);
	return 0;
}

static void place_init(struct place *place, bool holds)
{
	stash_init(&place->stash);
	baton_executor_init(&place->stash.executor, &place_ops);
	place->holds = holds;
	atomic_init(&place->returned, 0);
	atomic_init(&place->ended, 0);
	atomic_init(&place->late, 0);
	baton_task_init(&place->finaliser, place_end, NULL);
	gate_init(&place->leave);
	place->config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	place->config.executor = &place->stash.executor;
	baton_resource_init(&place->resource, &place->config);
	baton_task_init(&place->stay.task, stay_run, NULL);
	atomic_init(&place->stay.entered, 0);
	gate_init(&place->stay.leave);
	MUST(baton_submit_later(&place->resource, &place->stay.task) == 0);
}

/* Waits, in pieces, since nothing wakes who sleeps for a future that is bound a moment later. */
static void *waits(void *arg)
{
	uint64_t deadline;
	int status;

	do {
		deadline = deadline_in_ms(1);
		status = baton_future_wait_until(arg, deadline);
	} while (status == -ETIMEDOUT);
	return status ? arg : NULL;
}

/* Submits, again and again, what is refused because of the last task, until somebody visits. */
static void refuse_until(struct place *place, struct baton_task *task, atomic_int *visited)
{
	struct baton_future futures[BATCH];
	struct baton_future unfit = BATON_PROMISE_INIT;
	struct baton_task tasks[BATCH];
	struct baton_task *batch[BATCH];

	batch[0] = task;
	for (int i = 1; i < BATCH; i++) {
		baton_future_init(&futures[i]);
		baton_task_init(&tasks[i], stay_run, i < BATCH - 1 ? &futures[i] : &unfit);
		batch[i] = &tasks[i];
	}
	while (!atomic_load(visited))
		cr_assert_eq(baton_submit_batch(&place->resource, batch, BATCH), -EINVAL);
}

Test(visit, from_before_a_refusal_takes_no_later_one_for_itself, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct journal journal = {0};
	struct place before, after;
	pthread_t first, second;
	struct step step;

	place_init(&before, false);
	place_init(&after, false);
	step_init(&step, &journal, 0, &future);
	first = thread_start(waits, &future);
	refuse_until(&before, &step.task, &before.stay.entered);
	cr_assert_eq(baton_submit_later(&after.resource, &step.task), 0);
	second = thread_start(waits, &future);
	while (!atomic_load(&after.stay.entered))
		sched_yield();
	/* Both are visitors; the first leaves, while the other's visit goes on. */
	gate_open(&before.stay.leave);
	stash_run(&before.stash);
	resource_end(&before.resource);
	gate_open(&after.stay.leave);
	cr_assert_null(thread_join(first));
	cr_assert_null(thread_join(second));
	stash_run(&after.stash);
	resource_end(&after.resource);
	cr_assert(journal_counts_up(&journal, 0, 1));
}

Test(visit, that_a_refused_submit_leaves_behind_is_awaited, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_future future = BATON_FUTURE_INIT;
	struct place *place = malloc(sizeof(*place));
	struct journal journal = {0};
	uint64_t deadline;
	pthread_t visitor;
	struct step step;

	MUST(place);
	place_init(place, true);
	step_init(&step, &journal, 0, &future);
	visitor = thread_start(waits, &future);
	gate_open(&place->stay.leave);
	refuse_until(place, &step.task, &place->returned);
	stash_run(&place->stash);
	/* Idle, and the visitor is still there. */
	cr_assert_eq(baton_resource_close(&place->resource), 0);
	deadline = deadline_in_ms(10);
	cr_assert_eq(baton_resource_await_until(&place->resource, deadline), -ETIMEDOUT);
	gate_open(&place->leave);
	resource_end(&place->resource);
	free(place);
	cr_assert_eq(baton_submit(&other, &step.task), 0);
	cr_assert_null(thread_join(visitor));
	resource_end(&other);
}

Test(visit, that_ends_everything_looks_at_no_executor_afterwards, .timeout = 10)
{
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct baton_future futures[2] = {BATON_FUTURE_INIT, BATON_FUTURE_INIT};
	struct journal journal = {0};
	struct place place;
	struct step steps[2];
	pthread_t visitor;

	place_init(&place, false);
	step_init(&steps[0], &journal, 0, &futures[0]);
	step_init(&steps[1], &journal, 1, &futures[1]);
	gate_open(&place.stay.leave);
	cr_assert_eq(baton_submit(&place.resource, &steps[0].task), 0);
	cr_assert_eq(baton_future_wait(&futures[0]), 0);
	/* Queued, with nothing to help with. */
	place.holds = true;
	visitor = thread_start(waits, &futures[1]);
	refuse_until(&place, &steps[1].task, &place.returned);
	stash_run(&place.stash);
	cr_assert_eq(baton_resource_close_then(&place.resource, &place.finaliser), 0);
	cr_assert_eq(atomic_load(&place.ended), 0, "it is left to the visitor");
	gate_open(&place.leave);
	until_at_least(&place.ended, 1);
	cr_assert_eq(baton_submit(&other, &steps[1].task), 0);
	cr_assert_null(thread_join(visitor));
	cr_assert_eq(atomic_load(&place.late), 0);
	resource_end(&other);
	cr_assert(journal_counts_up(&journal, 0, 2));
}
