/* SPDX-License-Identifier: MIT */
/* Undo logs: in reverse order, before the next task, once; savepoints; what cannot be undone. */
#include "fixture.h"

#include <signal.h>

#include <baton/undo.h>

#define ENTRIES 5

struct entry {
	struct baton_undo undo;
	struct journal *journal;
	int number;
	int status;
};

/* A task that registers some compensations, and ends with a status. */
struct attempt {
	struct baton_task task;
	struct baton_future future;
	struct journal *journal;
	struct entry entries[ENTRIES];
	int status;
};

static int entry_undo(struct baton_undo *undo)
{
	struct entry *entry = baton_container_of(undo, struct entry, undo);

	journal_add(entry->journal, entry->number);
	return entry->status;
}

static int attempt_run(struct baton_task *task)
{
	struct attempt *attempt = baton_container_of(task, struct attempt, task);
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	for (int i = 0; i < ENTRIES; i++)
		baton_undo_log_push(&log, &attempt->entries[i].undo, entry_undo);
	baton_set_result(attempt);
	return baton_undo_log_end(&log, attempt->status);
}

static void attempt_init(struct attempt *attempt, struct journal *journal, int status)
{
	memset(attempt, 0, sizeof(*attempt));
	baton_future_init(&attempt->future);
	baton_task_init(&attempt->task, attempt_run, &attempt->future);
	attempt->journal = journal;
	attempt->status = status;
	for (int i = 0; i < ENTRIES; i++) {
		attempt->entries[i].journal = journal;
		attempt->entries[i].number = ENTRIES - 1 - i;
	}
}

Test(undo, what_succeeds_is_not_undone, .timeout = 10)
{
	struct attempt attempt;

	attempt_init(&attempt, &fix.journal, 0);
	cr_assert_eq(baton_submit(&fix.resource, &attempt.task), 0);
	cr_assert_eq(fix.journal.count, 0U);
	cr_assert_eq(baton_future_state(&attempt.future), BATON_DONE);
	cr_assert_eq(baton_future_value(&attempt.future), (void *)&attempt);
	fixture_end();
}

Test(undo, what_fails_is_undone_newest_first_before_the_next_task, .timeout = 10)
{
	struct attempt attempt;
	struct step next;

	attempt_init(&attempt, &fix.journal, -EIO);
	step_init(&next, &fix.journal, ENTRIES, NULL);
	occupy(&fix.occupant, &fix.resource);
	cr_assert_eq(baton_submit(&fix.resource, &attempt.task), 0);
	cr_assert_eq(baton_submit(&fix.resource, &next.task), 0);
	release(&fix.occupant);
	fixture_end();
	cr_assert(journal_counts_up(&fix.journal, 0, ENTRIES + 1));
	cr_assert_eq(baton_future_state(&attempt.future), BATON_FAILED);
	cr_assert_eq(baton_future_status(&attempt.future), -EIO);
}

Test(undo, one_that_cannot_be_undone_keeps_none_of_the_others, .timeout = 10)
{
	struct attempt attempt;

	attempt_init(&attempt, &fix.journal, -EIO);
	attempt.entries[3].status = -EBADF;
	attempt.entries[1].status = -EPERM;
	cr_assert_eq(baton_submit(&fix.resource, &attempt.task), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, ENTRIES));
	cr_assert_eq(baton_future_status(&attempt.future), -ENOTRECOVERABLE);
	fixture_end();
}

/* ---- In a call ---- */

static int note(void *arg)
{
	journal_add(arg, (int)((struct journal *)arg)->count);
	return 0;
}

static int fail(void *arg)
{
	(void)note(arg);
	return -EBADF;
}

static void *add_and_end(void *arg)
{
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	for (int i = 0; i < 3; i++)
		MUST(baton_undo_log_add(&log, i == 1 ? fail : note, arg) == 0);
	MUST(baton_undo_log_failure(&log) == 0);
	MUST(baton_undo_log_end(&log, -EIO) == -ENOTRECOVERABLE);
	MUST(baton_undo_log_failure(&log) == -EBADF);
	/* Done: forgotten, and the library's memory is given back. */
	baton_undo_log_begin(&log);
	for (int i = 0; i < 3; i++)
		MUST(baton_undo_log_add(&log, note, arg) == 0);
	MUST(baton_undo_log_end(&log, 0) == 0);
	return NULL;
}

Test(undo, the_library_allocates_where_one_has_no_memory, .timeout = 10)
{
	cr_assert_eq(baton_call(&fix.resource, add_and_end, &fix.journal, NULL), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 3));
	fixture_end();
}

static void *roll_back_some(void *arg)
{
	struct journal *journal = arg;
	struct entry entries[5];
	struct baton_undo_mark marks[2];
	struct baton_undo_log log;

	for (int i = 0; i < 5; i++)
		entries[i] = (struct entry){.journal = journal, .number = i};
	baton_undo_log_begin(&log);
	marks[0] = baton_undo_log_mark(&log);
	baton_undo_log_push(&log, &entries[3].undo, entry_undo);
	marks[1] = baton_undo_log_mark(&log);
	baton_undo_log_push(&log, &entries[1].undo, entry_undo);
	baton_undo_log_push(&log, &entries[0].undo, entry_undo);
	MUST(baton_undo_log_roll_back(&log, marks[1]) == 0);
	MUST(journal_counts_up(journal, 0, 2));
	MUST(baton_undo_log_roll_back(&log, marks[1]) == 0); /* nothing more */
	baton_undo_log_push(&log, &entries[2].undo, entry_undo);
	MUST(baton_undo_log_roll_back(&log, marks[0]) == 0);
	MUST(journal_counts_up(journal, 0, 4));
	baton_undo_log_push(&log, &entries[4].undo, entry_undo);
	MUST(baton_undo_log_end(&log, -EIO) == -EIO);
	return NULL;
}

Test(undo, a_savepoint_is_rolled_back_to_and_the_task_goes_on, .timeout = 10)
{
	cr_assert_eq(baton_call(&fix.resource, roll_back_some, &fix.journal, NULL), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 5));
	fixture_end();
}

/* Two roll backs fail, each with a status of its own. */
static void *fail_to_roll_back(void *arg)
{
	struct entry entries[] = {{.journal = arg, .number = 0, .status = -EBADF},
	                          {.journal = arg, .number = 1, .status = -EPERM}};
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	for (int i = 0; i < 2; i++) {
		struct baton_undo_mark mark = baton_undo_log_mark(&log);

		baton_undo_log_push(&log, &entries[i].undo, entry_undo);
		MUST(baton_undo_log_roll_back(&log, mark) == entries[i].status);
		MUST(baton_undo_log_failure(&log) == -EBADF);
	}
	MUST(baton_undo_log_end(&log, 0) == -ENOTRECOVERABLE);
	MUST(baton_undo_log_failure(&log) == -EBADF);
	return NULL;
}

Test(undo, of_several_failures_the_first_is_told, .timeout = 10)
{
	cr_assert_eq(baton_call(&fix.resource, fail_to_roll_back, &fix.journal, NULL), 0);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	fixture_end();
}

struct freed {
	struct baton_undo undo;
	struct baton_resource *resource;
	struct step *step;
};

static int free_and_submit(struct baton_undo *undo)
{
	struct freed *freed = baton_container_of(undo, struct freed, undo);
	int status = baton_submit(freed->resource, &freed->step->task);

	free(freed);
	return status;
}

struct submitting {
	struct baton_task task;
	struct baton_resource *resources[2];
	struct step steps[2];
	struct journal *journal;
};

static int submitting_run(struct baton_task *task)
{
	struct submitting *submitting = baton_container_of(task, struct submitting, task);
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	for (int i = 0; i < 2; i++) {
		struct freed *freed = malloc(sizeof(*freed));

		MUST(freed);
		freed->resource = submitting->resources[i];
		freed->step = &submitting->steps[i];
		baton_undo_log_push(&log, &freed->undo, free_and_submit);
	}
	return baton_undo_log_end(&log, -EIO);
}

Test(undo, compensations_may_submit_and_free_themselves, .timeout = 10)
{
	struct baton_resource resources[2] = {BATON_RESOURCE_INIT(NULL), BATON_RESOURCE_INIT(NULL)};
	struct submitting submitting = {.resources = {&resources[0], &resources[1]}};
	struct journal journal = {0};

	/* The newest first: at once, on an idle resource; the other when this task is over. */
	step_init(&submitting.steps[1], &journal, 0, NULL);
	step_init(&submitting.steps[0], &journal, 1, NULL);
	baton_task_init(&submitting.task, submitting_run, NULL);
	cr_assert_eq(baton_submit(&resources[0], &submitting.task), 0);
	resource_end(&resources[0]);
	resource_end(&resources[1]);
	cr_assert(journal_counts_up(&journal, 0, 2));
}

/* A task with an open log submits one, nested, that fails; what the outer one has done stays. */
struct nested {
	struct attempt outer;
	struct attempt *inner;
	struct baton_resource *inner_resource;
};

static int nested_run(struct baton_task *task)
{
	struct nested *nested = baton_container_of(task, struct nested, outer.task);
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	for (int i = 0; i < ENTRIES; i++)
		baton_undo_log_push(&log, &nested->outer.entries[i].undo, entry_undo);
	MUST(baton_submit(nested->inner_resource, &nested->inner->task) == 0);
	MUST(baton_future_is_complete(&nested->inner->future));
	return baton_undo_log_end(&log, 0);
}

Test(undo, nested_tasks_have_logs_of_their_own, .timeout = 10)
{
	struct baton_resource resources[2] = {BATON_RESOURCE_INIT(NULL), BATON_RESOURCE_INIT(NULL)};
	struct journal journals[2] = {{0}, {0}};
	struct attempt inner;
	struct nested nested;

	attempt_init(&nested.outer, &journals[0], 0);
	attempt_init(&inner, &journals[1], -EIO);
	baton_task_init(&nested.outer.task, nested_run, &nested.outer.future);
	nested.inner = &inner;
	nested.inner_resource = &resources[1];
	cr_assert_eq(baton_submit(&resources[0], &nested.outer.task), 0);
	cr_assert_eq(baton_future_status(&inner.future), -EIO);
	cr_assert_eq(baton_future_status(&nested.outer.future), 0);
	cr_assert_eq(journals[0].count, 0U);
	cr_assert(journal_counts_up(&journals[1], 0, ENTRIES));
	resource_end(&resources[0]);
	resource_end(&resources[1]);
}

/* ---- Misuse ---- */

Test(undo, without_a_baton_there_is_no_log, .timeout = 10, .signal = SIGABRT)
{
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
}

static void *keep_log(void *arg)
{
	baton_undo_log_begin(arg);
	return NULL;
}

Test(undo, a_log_is_not_used_after_its_task, .timeout = 10, .signal = SIGABRT)
{
	struct entry entry = {.number = 0};
	struct baton_undo_log log;

	cr_assert_eq(baton_call(&fix.resource, keep_log, &log, NULL), 0);
	baton_undo_log_push(&log, &entry.undo, entry_undo);
}

static void *foreign_mark(void *arg)
{
	struct entry entry = {.journal = arg};
	struct baton_undo_log log;
	struct baton_undo_mark mark = {&entry.undo};

	baton_undo_log_begin(&log);
	BATON_IGNORE(baton_undo_log_roll_back(&log, mark));
	return NULL;
}

Test(undo, a_mark_of_another_log_is_stopped, .timeout = 10, .signal = SIGABRT)
{
	BATON_IGNORE(baton_call(&fix.resource, foreign_mark, NULL, NULL));
}
