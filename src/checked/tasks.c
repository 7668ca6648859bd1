/* SPDX-License-Identifier: MIT */
/* The checks of tasks. */
#include "checked/objects.h"

#include "checked/refusals.h"
#include "core/config.h"
#include "core/kind.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Links the task's record into the queue of the resource's record. */
static void link_record(struct baton__record *task, const struct baton_resource *resource)
{
	struct baton__record *record;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	task->older = task->newer = NULL;
	if (record) {
		memcpy(task->name, record->name, sizeof(task->name));
		task->older = record->newest;
		if (record->newest)
			record->newest->newer = task;
		record->newest = task;
		record->tasks++;
	}
	task->resource = record ? (struct baton_resource *)(uintptr_t)resource : NULL;
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
}

/* The task waits no more: takes its record out of the queue, and frees it. */
static void forget_record(struct baton__record *task)
{
	struct baton_resource *resource = task->resource;
	struct baton__record *record;

	if (resource) {
		baton__records_lock(resource, BATON__RECORD_RESOURCE);
		record = baton__records_find(resource, BATON__RECORD_RESOURCE);
		if (task->newer)
			task->newer->older = task->older;
		else if (record)
			record->newest = task->older;
		if (task->older)
			task->older->newer = task->newer;
		if (record)
			record->tasks--;
		baton__records_unlock(resource, BATON__RECORD_RESOURCE);
	}
	baton__records_forget(task);
}

/* Has anything but the library written to the task since its submit? */
static void look_at_task(const struct baton__record *record, struct baton__mistake *mistake)
{
	const struct baton_task *task = record->object;

	if (record->run == (const void *)(uintptr_t)task->_run && record->future == task->_future)
		return;
	baton__mistake(mistake, record->name,
	               "has a task that was %s while it waited (submitted by %s, thread %d): a "
	               "task's memory is baton's until its function is entered",
	               task->_run || task->_future ? "changed or freed" : "zeroed", record->call,
	               (int)record->thread);
}

/* Has the task a function? */
static bool can_run(const struct baton_task *task)
{
	if (!baton__of_kind(task))
		return task->_run != NULL;
	return baton__type(task)->run != NULL || baton__kind_is(task, BATON__KIND_MARK);
}

static void look_before_submit(const struct baton__record *record,
                               const struct baton_resource *resource, const char *call,
                               struct baton__mistake *mistake)
{
	static const char mend[] = "submit a task again only when its function has been entered";

	if (!record)
		return;
	if (record->resource != resource)
		baton__mistake(
			mistake, baton__name(resource),
			"was given a task that already waits in \"%s\" since %s (thread %d): "
			"%s",
			record->name, record->call, (int)record->thread, mend);
	else if (!record->accepted && record->thread == gettid() &&
	         strcmp(call, "baton_submit_batch") == 0 && strcmp(record->call, call) == 0)
		baton__mistake(mistake, record->name,
		               "was given the same task twice in one batch: a batch has each task "
		               "once");
	else
		baton__mistake(mistake, record->name,
		               "was given a task that already waits in it since %s (thread %d): %s",
		               record->call, (int)record->thread, mend);
}

static void look_whether_idle(const struct baton_resource *resource, const struct baton_task *task,
                              const char *call)
{
	struct baton__mistake mistake = {.text = ""};

	if (!task)
		BATON_MISUSE_OF(call, baton__name(resource),
		                "was given NULL instead of a task: give the address of a task");
	if (!can_run(task))
		BATON_MISUSE_OF(call, baton__name(resource),
		                "was given a task without a function: initialise the task by "
		                "BATON_TASK_INIT or baton_task_init");
	baton__records_lock(task, BATON__RECORD_TASK);
	look_before_submit(baton__records_find(task, BATON__RECORD_TASK), resource, call, &mistake);
	baton__records_unlock(task, BATON__RECORD_TASK);
	baton__mistake_end(&mistake, call);
}

void baton__check_finaliser(struct baton_resource *resource, const struct baton_task *task,
                            const char *call)
{
	baton__check_resource(resource, call);
	look_whether_idle(resource, task, call);
}

/* Notes that the task waits. Returns the number of the note; 0: no note was made. */
static uint64_t note_submit(struct baton_resource *resource, struct baton_task *task,
                            const char *call)
{
	struct baton__record *record;
	uint64_t serial = 0;

	look_whether_idle(resource, task, call);
	baton__records_lock(task, BATON__RECORD_TASK);
	record = baton__records_get(task, BATON__RECORD_TASK);
	/* Another thread may have submitted the task since the look. */
	if (record && !record->call) {
		baton__records_note(record, call);
		serial = record->serial;
		record->run = (const void *)(uintptr_t)task->_run;
		record->future = task->_future;
		link_record(record, resource);
	}
	baton__records_unlock(task, BATON__RECORD_TASK);
	return serial;
}

/* What the check keeps until the submit returns. By then a task may have run, and the memory of the
 * task and of the array of tasks may be gone. */
struct submit {
	bool own; /* a part of another public function, which answers */
	size_t count;
	struct {
		const struct baton_task *task;
		uint64_t serial;
	} of[];
};

/* Does the function that submits go on when it calls itself (base/checked.h)? */
static __thread bool goes_on;

static __thread bool submits_own;

void baton__check_submits_own(void)
{
	submits_own = true;
}

bool baton__check_submit(struct baton_resource *resource, struct baton_task *const *tasks,
                         size_t count, const char *call, void **checked)
{
	struct submit *submit;

	if (goes_on) {
		goes_on = false;
		return false;
	}
	baton__check_resource(resource, call);
	if (!tasks && count)
		BATON_MISUSE(call, "the array of tasks is NULL");
	submit = calloc(1, sizeof(*submit) + count * sizeof(*submit->of));
	for (; submit && submit->count < count; submit->count++) {
		submit->of[submit->count].task = tasks[submit->count];
		submit->of[submit->count].serial =
			note_submit(resource, tasks[submit->count], call);
	}
	if (submit)
		submit->own = submits_own;
	submits_own = false;
	*checked = submit;
	goes_on = true;
	return true;
}

static void end_submit(const struct baton_task *task, uint64_t serial, int error)
{
	struct baton__record *record;

	baton__records_lock(task, BATON__RECORD_TASK);
	record = baton__records_find(task, BATON__RECORD_TASK);
	if (record && record->serial == serial) {
		if (error) {
			forget_record(record);
		} else if (record->resource) {
			baton__records_lock(record->resource, BATON__RECORD_RESOURCE);
			record->accepted = true;
			baton__records_unlock(record->resource, BATON__RECORD_RESOURCE);
		}
	}
	baton__records_unlock(task, BATON__RECORD_TASK);
}

/* Of an accepted task the resource may be gone. */
void baton__check_submitted(void *checked, struct baton_resource *resource, int outcome,
                            const char *function, const void *caller)
{
	struct submit *submit = checked;

	if (outcome && !(submit && submit->own))
		baton__check_refused(resource, outcome, function, caller);

	for (size_t i = 0; submit && i < submit->count; i++)
		end_submit(submit->of[i].task, submit->of[i].serial, outcome);
	free(submit);
}

/* ---- What the core tells ---- */

/* Checks a task that waits no more, and forgets its record. */
static void end_task(struct baton_task *task, struct baton__mistake *mistake)
{
	struct baton__record *record;

	baton__records_lock(task, BATON__RECORD_TASK);
	record = baton__records_find(task, BATON__RECORD_TASK);
	if (record) {
		look_at_task(record, mistake);
		forget_record(record);
	}
	baton__records_unlock(task, BATON__RECORD_TASK);
}

void baton__check_enter(struct baton_resource *resource, struct baton_task *task)
{
	struct baton__mistake mistake = {.text = ""};

	end_task(task, &mistake);
	if (!mistake.text[0] && !can_run(task))
		baton__mistake(&mistake, baton__name(resource),
		               "is to run a task without a function: initialise the task by "
		               "BATON_TASK_INIT or baton_task_init before it is submitted, or its "
		               "continuation fires");
	baton__check_timer_entered(task);
	baton__check_use(resource);
	baton__mistake_end(&mistake, "baton_submit");
}

void baton__check_drop(struct baton_task *task)
{
	struct baton__mistake mistake = {.text = ""};

	end_task(task, &mistake);
	baton__mistake_end(&mistake, "baton_submit");
}

void baton__check_take(struct baton_resource *resource)
{
	struct baton__mistake mistake = {.text = ""};
	const struct baton__record *record;
	struct baton__record *task;
	size_t looks = 0;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	task = record ? record->newest : NULL;
	for (; task && !task->looked_at && looks < LOOKS_MAX; looks++) {
		look_at_task(task, &mistake);
		task->looked_at = task->accepted;
		task = task->older;
	}
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
	baton__mistake_end(&mistake, "baton_submit");
}
