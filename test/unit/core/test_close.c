/* SPDX-License-Identifier: MIT */
/* Closing: what is refused, what still runs, the finaliser, and when the memory may go. */
#include "stash.h"

#include <signal.h>

Test(close, what_was_accepted_still_runs_and_new_tasks_are_refused, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);
	struct journal journal = {0};
	struct occupant occupant;
	struct step steps[4];

	steps_init(steps, 4, &journal, 0);
	occupy(&occupant, &resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_submit(&resource, &steps[i].task), 0);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_submit(&resource, &steps[3].task), -EPIPE);
	cr_assert_eq(baton_submit_later(&resource, &steps[3].task), -EPIPE);
	release(&occupant);
	cr_assert(journal_counts_up(&journal, 0, 3));
	cr_assert_eq(baton_resource_await(&resource, NULL), 0);
	baton_resource_deinit(&resource);
}

Test(close, a_second_close_says_already, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);

	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_close(&resource), -EALREADY);
	cr_assert_eq(baton_resource_await(&resource, NULL), 0);
	baton_resource_deinit(&resource);
}

Test(close, a_queued_resource_runs_what_it_has, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct stash stash;
	struct step steps[2];

	stash_init(&stash);
	config.executor = &stash.executor;
	baton_resource_init(&resource, NULL, NULL, &config, NULL);
	steps_init(steps, 2, &journal, 0);
	cr_assert_eq(baton_submit_later(&resource, &steps[0].task), 0);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_submit(&resource, &steps[1].task), -EPIPE);
	stash_run(&stash);
	cr_assert(journal_counts_up(&journal, 0, 1));
	cr_assert_eq(baton_resource_await(&resource, NULL), 0);
	baton_resource_deinit(&resource);
}

Test(close, what_a_resource_says_of_itself_follows_its_way, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct occupant occupant;
	struct stash stash;
	struct step step;

	stash_init(&stash);
	config.executor = &stash.executor;
	baton_resource_init(&resource, NULL, NULL, &config, NULL);
	steps_init(&step, 1, &journal, 0);
	cr_assert(baton_resource_is_idle(&resource) && !baton_resource_is_closed(&resource));
	occupy(&occupant, &resource);
	cr_assert_not(baton_resource_is_idle(&resource), "a task runs");
	release(&occupant);
	cr_assert_eq(baton_submit_later(&resource, &step.task), 0);
	cr_assert_not(baton_resource_is_idle(&resource), "a task is queued");
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert(baton_resource_is_closed(&resource) && !baton_resource_is_idle(&resource));
	stash_run(&stash);
	cr_assert_eq(baton_resource_await(&resource, NULL), 0);
	cr_assert(baton_resource_is_closed(&resource) && baton_resource_is_idle(&resource));
	baton_resource_deinit(&resource);
}

struct closer {
	struct baton_task task;
	struct baton_resource *resource;
	struct baton_task *finaliser; /* close_then with it, else close */
	struct baton_task *late;
	int results[2];
	int late_result;
};

static int closer_run(struct baton_task *task)
{
	struct closer *closer = baton_container_of(task, struct closer, task);

	for (int i = 0; i < 2; i++)
		closer->results[i] =
			closer->finaliser
				? baton_resource_close_then(closer->resource, closer->finaliser)
				: baton_resource_close(closer->resource);
	closer->late_result = baton_submit(closer->resource, closer->late);
	return 0;
}

Test(close, an_own_task_may_close, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);
	struct journal journal = {0};
	struct step steps[2];
	struct closer closer = {.task = BATON_TASK_INIT(closer_run, NULL),
	                        .resource = &resource,
	                        .late = &steps[1].task};
	struct baton_task *batch[2] = {&closer.task, &steps[0].task};

	steps_init(steps, 2, &journal, 0);
	cr_assert_eq(baton_submit_batch(&resource, batch, 2), 0);
	cr_assert_eq(closer.results[0], 0);
	cr_assert_eq(closer.results[1], -EALREADY);
	cr_assert_eq(closer.late_result, -EPIPE);
	cr_assert(journal_counts_up(&journal, 0, 1), "accepted before, runs after");
	cr_assert_eq(baton_resource_await(&resource, NULL), 0);
	baton_resource_deinit(&resource);
}

Test(close, deinit_of_an_open_resource_is_stopped, .timeout = 10, .signal = SIGABRT)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);

	baton_resource_deinit(&resource);
}

Test(close, deinit_of_a_closed_resource_that_is_queued_is_stopped, .timeout = 10, .signal = SIGABRT)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct stash stash;
	struct step step;

	stash_init(&stash);
	config.executor = &stash.executor;
	baton_resource_init(&resource, NULL, NULL, &config, NULL);
	step_init(&step, &journal, 0, NULL);
	(void)baton_submit_later(&resource, &step.task);
	(void)baton_resource_close(&resource);
	baton_resource_deinit(&resource);
}

/* Finalisers. */
struct finale {
	struct baton_task task;
	struct baton_resource *resource;
	struct journal *journal;       /* of the resource, to see what came before */
	struct baton_future *previous; /* of its last task */
	sem_t *gate;
	int calls;
	size_t seen;
	bool held;
	struct baton_resource *current;
	enum baton_future_state state;
	pthread_t thread;
};

static int finale_run(struct baton_task *task)
{
	struct finale *finale = baton_container_of(task, struct finale, task);

	finale->calls++;
	finale->seen = finale->journal ? finale->journal->count : 0;
	finale->held = baton_held(finale->resource);
	finale->current = baton_current();
	finale->state = finale->previous ? baton_future_state(finale->previous) : BATON_DONE;
	finale->thread = pthread_self();
	if (finale->gate)
		gate_open(finale->gate);
	return -EIO;
}

static void finale_init(struct finale *finale, struct baton_resource *resource,
                        struct journal *journal)
{
	memset(finale, 0, sizeof(*finale));
	baton_task_init(&finale->task, finale_run, NULL);
	finale->resource = resource;
	finale->journal = journal;
}

Test(close, the_finaliser_of_an_idle_resource_is_called_at_once, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);
	struct journal journal = {0};
	struct finale finale;
	struct step step;

	finale_init(&finale, &resource, NULL);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_resource_close_then(&resource, &finale.task), 0);
	cr_assert_eq(finale.calls, 1);
	cr_assert(pthread_equal(finale.thread, pthread_self()));
	cr_assert_not(finale.held);
	cr_assert_null(finale.current);
	cr_assert_eq(baton_submit(&resource, &step.task), -EPIPE);
	cr_assert_eq(baton_resource_close_then(&resource, &finale.task), -EALREADY);
	cr_assert_eq(baton_resource_close(&resource), -EALREADY);
	cr_assert_eq(finale.calls, 1);
}

Test(close, the_finaliser_follows_the_last_task_on_its_runners_thread, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);
	struct baton_future future = BATON_FUTURE_INIT;
	struct journal journal = {0};
	struct occupant occupant;
	struct finale finale;
	struct step steps[3];

	steps_init(steps, 3, &journal, 0);
	step_init(&steps[2], &journal, 2, &future);
	finale_init(&finale, &resource, &journal);
	finale.previous = &future;
	occupy(&occupant, &resource);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_submit(&resource, &steps[i].task), 0);
	cr_assert_eq(baton_resource_close_then(&resource, &finale.task), 0);
	cr_assert_eq(finale.calls, 0);
	cr_assert_eq(baton_resource_close_then(&resource, &finale.task), -EALREADY);
	release(&occupant);
	cr_assert_eq(finale.calls, 1);
	cr_assert_eq(finale.seen, 3);
	cr_assert_eq(finale.state, BATON_DONE);
	cr_assert(pthread_equal(finale.thread, occupant.thread));
	cr_assert_not(finale.held);
	cr_assert_null(finale.current);
}

Test(close, a_finaliser_can_be_set_after_close, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);
	struct baton_resource idle = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);
	struct journal journal = {0};
	struct occupant occupant;
	struct finale finales[2];

	finale_init(&finales[0], &resource, &journal);
	finale_init(&finales[1], &idle, &journal);
	occupy(&occupant, &resource);
	cr_assert_eq(baton_resource_close(&resource), 0);
	cr_assert_eq(baton_resource_close(&idle), 0);
	cr_assert_eq(baton_resource_close_then(&resource, &finales[0].task), 0);
	cr_assert_eq(baton_resource_close_then(&idle, &finales[1].task), 0);
	cr_assert_eq(finales[0].calls, 0);
	cr_assert_eq(finales[1].calls, 1);
	release(&occupant);
	cr_assert_eq(finales[0].calls, 1);
}

Test(close, an_own_task_may_set_the_finaliser_and_what_was_accepted_comes_first, .timeout = 10)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL, NULL, NULL, NULL);
	struct journal journal = {0};
	struct finale finale;
	struct step steps[3];
	struct closer closer = {.task = BATON_TASK_INIT(closer_run, NULL),
	                        .resource = &resource,
	                        .finaliser = &finale.task,
	                        .late = &steps[2].task};
	struct baton_task *batch[3] = {&closer.task, &steps[0].task, &steps[1].task};

	steps_init(steps, 3, &journal, 0);
	finale_init(&finale, &resource, &journal);
	cr_assert_eq(baton_submit_batch(&resource, batch, 3), 0);
	cr_assert_eq(closer.results[0], 0);
	cr_assert_eq(closer.results[1], -EALREADY);
	cr_assert_eq(closer.late_result, -EPIPE);
	cr_assert_eq(finale.calls, 1);
	cr_assert_eq(finale.seen, 2);
	cr_assert_not(finale.held);
}

Test(close, a_queued_resources_finaliser_follows_its_hand_off, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct finale finale;
	struct stash stash;
	struct step step;

	stash_init(&stash);
	config.executor = &stash.executor;
	baton_resource_init(&resource, NULL, NULL, &config, NULL);
	finale_init(&finale, &resource, &journal);
	step_init(&step, &journal, 0, NULL);
	cr_assert_eq(baton_submit_later(&resource, &step.task), 0);
	cr_assert_eq(baton_resource_close_then(&resource, &finale.task), 0);
	cr_assert_eq(finale.calls, 0);
	stash_run(&stash);
	cr_assert_eq(finale.calls, 1);
	cr_assert_eq(finale.seen, 1);
}

Test(close, a_helper_that_empties_the_resource_leaves_the_finaliser_to_the_entry, .timeout = 10)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_resource resource;
	struct journal journal = {0};
	struct finale finale;
	struct stash stash;
	struct step step;

	stash_init(&stash);
	config.executor = &stash.executor;
	baton_resource_init(&resource, NULL, NULL, &config, NULL);
	finale_init(&finale, &resource, &journal);
	step_init(&step, &journal, 0, &future);
	cr_assert_eq(baton_submit_later(&resource, &step.task), 0);
	cr_assert_eq(baton_resource_close_then(&resource, &finale.task), 0);
	cr_assert_eq(baton_future_wait(&future, NULL), 0);
	cr_assert_eq(finale.calls, 0, "the run queue still refers to the resource");
	stash_run(&stash);
	cr_assert_eq(finale.calls, 1);
}

/* A session on the heap that ends itself in its own task, on whichever thread that runs. */
struct session {
	struct baton_resource resource;
	struct baton_task quit;
	struct baton_task finaliser;
	atomic_int *alive;
	int state;
};

static int session_finalise(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, finaliser);
	atomic_int *alive = session->alive;

	memset(session, 0x5A, sizeof(*session));
	free(session);
	atomic_fetch_sub(alive, 1);
	return 0;
}

static int session_quit(struct baton_task *task)
{
	struct session *session = baton_container_of(task, struct session, quit);

	session->state = 1;
	return baton_resource_close_then(&session->resource, &session->finaliser);
}

static void *session_post(void *arg)
{
	struct session *session = arg;

	session->state++;
	return NULL;
}

Test(close, a_session_ends_itself_and_frees_the_resource, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	int count = scaled(5000);
	atomic_int alive = count;

	config.executor = baton_pool_executor(pool);
	for (int i = 0; i < count; i++) {
		struct session *session = calloc(1, sizeof(*session));

		MUST(session);
		baton_resource_init(&session->resource, session, NULL, &config, NULL);
		baton_task_init(&session->quit, session_quit, NULL);
		baton_task_init(&session->finaliser, session_finalise, NULL);
		session->alive = &alive;
		for (int j = 0; j < i % 15; j++)
			cr_assert_eq(baton_post(&session->resource, session_post, session), 0);
		if (i % 2)
			cr_assert_eq(baton_submit_later(&session->resource, &session->quit), 0);
		else
			cr_assert_eq(baton_submit(&session->resource, &session->quit), 0);
	}
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_eq(atomic_load(&alive), 0);
}
