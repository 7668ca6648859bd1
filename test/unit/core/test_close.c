/* SPDX-License-Identifier: MIT */
/* Closing: what is refused, what still runs, the finaliser, and when the memory may go. */
#include "fixture.h"

#include <signal.h>

Test(close, what_was_accepted_still_runs_and_new_tasks_are_refused, .timeout = 10)
{
	occupy(&fix.occupant, &fix.resource);
	steps_submit(0, 3);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[3].task), -EPIPE);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[3].task), -EPIPE);
	release(&fix.occupant);
	cr_assert(journal_counts_up(&fix.journal, 0, 3));
	fixture_end();
}

/* Whatever else is wrong with the task, which stays as it is. */
Test(close, a_task_whose_future_is_in_use_elsewhere_is_refused_as_any_other, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_resource other = BATON_RESOURCE_INIT(NULL);
	struct step step;

	fixture_config();
	occupy(&fix.occupant, &other);
	step_init(&step, &fix.journal, 1, &future);
	cr_assert_eq(baton_submit(&other, &step.task), 0);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), -EPIPE);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), -EPIPE);
	release(&fix.occupant);
	cr_assert_eq(baton_future_status(&future), 0);
	cr_assert(journal_counts_up(&fix.journal, 1, 1));
	resource_end(&other);
	fixture_end();
}

Test(close, a_second_close_says_already, .timeout = 10)
{
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_resource_close(&fix.resource), -EALREADY);
	fixture_end();
}

Test(close, a_queued_resource_runs_what_it_has, .timeout = 10)
{
	fixture_stash();
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[1].task), -EPIPE);
	stash_run(&fix.stash);
	cr_assert(journal_counts_up(&fix.journal, 0, 1));
	fixture_end();
}

Test(close, what_a_resource_says_of_itself_follows_its_way, .timeout = 10)
{
	fixture_stash();
	cr_assert(baton_resource_is_idle(&fix.resource) &&
	          !baton_resource_is_closed(&fix.resource));
	occupy(&fix.occupant, &fix.resource);
	cr_assert_not(baton_resource_is_idle(&fix.resource), "a task runs");
	release(&fix.occupant);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_not(baton_resource_is_idle(&fix.resource), "a task is queued");
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert(baton_resource_is_closed(&fix.resource) &&
	          !baton_resource_is_idle(&fix.resource));
	stash_run(&fix.stash);
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	cr_assert(baton_resource_is_closed(&fix.resource) && baton_resource_is_idle(&fix.resource));
	baton_resource_deinit(&fix.resource);
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
	struct closer closer = {.task = BATON_TASK_INIT(closer_run, NULL),
	                        .resource = &fix.resource,
	                        .late = &fix.steps[1].task};
	struct baton_task *batch[2] = {&closer.task, &fix.steps[0].task};

	cr_assert_eq(baton_submit_batch(&fix.resource, batch, 2), 0);
	cr_assert_eq(closer.results[0], 0);
	cr_assert_eq(closer.results[1], -EALREADY);
	cr_assert_eq(closer.late_result, -EPIPE);
	cr_assert(journal_counts_up(&fix.journal, 0, 1), "accepted before, runs after");
	cr_assert_eq(baton_resource_await(&fix.resource), 0);
	baton_resource_deinit(&fix.resource);
}

Test(close, deinit_of_an_open_resource_is_stopped, .timeout = 10, .signal = SIGABRT)
{
	baton_resource_deinit(&fix.resource);
}

Test(close, deinit_of_a_closed_resource_that_is_queued_is_stopped, .timeout = 10, .signal = SIGABRT)
{
	fixture_stash();
	BATON_IGNORE(baton_submit_later(&fix.resource, &fix.steps[0].task));
	(void)baton_resource_close(&fix.resource);
	baton_resource_deinit(&fix.resource);
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
	struct finale finale;

	finale_init(&finale, &fix.resource, NULL);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &finale.task), 0);
	cr_assert_eq(finale.calls, 1);
	cr_assert(pthread_equal(finale.thread, pthread_self()));
	cr_assert_not(finale.held);
	cr_assert_null(finale.current);
	cr_assert_eq(baton_submit(&fix.resource, &fix.steps[0].task), -EPIPE);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &finale.task), -EALREADY);
	cr_assert_eq(baton_resource_close(&fix.resource), -EALREADY);
	cr_assert_eq(finale.calls, 1);
}

Test(close, the_finaliser_follows_the_last_task_on_its_runners_thread, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct finale finale;

	step_init(&fix.steps[2], &fix.journal, 2, &future);
	finale_init(&finale, &fix.resource, &fix.journal);
	finale.previous = &future;
	occupy(&fix.occupant, &fix.resource);
	steps_submit(0, 3);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &finale.task), 0);
	cr_assert_eq(finale.calls, 0);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &finale.task), -EALREADY);
	release(&fix.occupant);
	cr_assert_eq(finale.calls, 1);
	cr_assert_eq(finale.seen, 3);
	cr_assert_eq(finale.state, BATON_DONE);
	cr_assert(pthread_equal(finale.thread, fix.occupant.thread));
	cr_assert_not(finale.held);
	cr_assert_null(finale.current);
}

Test(close, a_finaliser_can_be_set_after_close, .timeout = 10)
{
	struct baton_resource idle = BATON_RESOURCE_INIT(NULL);
	struct finale finales[2];

	finale_init(&finales[0], &fix.resource, &fix.journal);
	finale_init(&finales[1], &idle, &fix.journal);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_resource_close(&fix.resource), 0);
	cr_assert_eq(baton_resource_close(&idle), 0);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &finales[0].task), 0);
	cr_assert_eq(baton_resource_close_then(&idle, &finales[1].task), 0);
	cr_assert_eq(finales[0].calls, 0);
	cr_assert_eq(finales[1].calls, 1);
	release(&fix.occupant);
	cr_assert_eq(finales[0].calls, 1);
}

Test(close, an_own_task_may_set_the_finaliser_and_what_was_accepted_comes_first, .timeout = 10)
{
	struct finale finale;
	struct closer closer = {.task = BATON_TASK_INIT(closer_run, NULL),
	                        .resource = &fix.resource,
	                        .finaliser = &finale.task,
	                        .late = &fix.steps[2].task};
	struct baton_task *batch[3] = {&closer.task, &fix.steps[0].task, &fix.steps[1].task};

	finale_init(&finale, &fix.resource, &fix.journal);
	cr_assert_eq(baton_submit_batch(&fix.resource, batch, 3), 0);
	cr_assert_eq(closer.results[0], 0);
	cr_assert_eq(closer.results[1], -EALREADY);
	cr_assert_eq(closer.late_result, -EPIPE);
	cr_assert_eq(finale.calls, 1);
	cr_assert_eq(finale.seen, 2);
	cr_assert_not(finale.held);
}

Test(close, a_queued_resources_finaliser_follows_its_hand_off, .timeout = 10)
{
	struct finale finale;

	fixture_stash();
	finale_init(&finale, &fix.resource, &fix.journal);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &finale.task), 0);
	cr_assert_eq(finale.calls, 0);
	stash_run(&fix.stash);
	cr_assert_eq(finale.calls, 1);
	cr_assert_eq(finale.seen, 1);
}

Test(close, a_helper_that_empties_the_resource_leaves_the_finaliser_to_the_entry, .timeout = 10)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct finale finale;

	fixture_stash();
	finale_init(&finale, &fix.resource, &fix.journal);
	step_init(&fix.steps[0], &fix.journal, 0, &future);
	cr_assert_eq(baton_submit_later(&fix.resource, &fix.steps[0].task), 0);
	cr_assert_eq(baton_resource_close_then(&fix.resource, &finale.task), 0);
	cr_assert_eq(baton_future_wait(&future), 0);
	cr_assert_eq(finale.calls, 0, "the run queue still refers to the resource");
	stash_run(&fix.stash);
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
		baton_resource_init(&session->resource, &config);
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
