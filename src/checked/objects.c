/* SPDX-License-Identifier: MIT */
/* The checks of resources and tasks. */
#include "checked/objects.h"

#include "checked/copied.h"
#include "core/checked.h"
#include "core/kind.h"
#include "core/word.h"

#include <string.h>
#include <unistd.h>

/* A walk looks at so many of a queue's newest tasks. Each task is looked at when entered, too. */
#define LOOKS_MAX 256U

#define RESERVED (sizeof(((struct baton_resource_config *)NULL)->_reserved) / sizeof(uint64_t))

/* ---- Resources ---- */

static uint64_t sum_of(const struct baton_resource_config *config)
{
	const unsigned char *bytes = (const unsigned char *)config;
	uint64_t sum = UINT64_C(0xCBF29CE484222325);

	for (size_t i = 0; config && i < sizeof(*config); i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001B3);
	return sum;
}

static void copy_name(char copy[BATON__RECORD_NAME_MAX], const char *name)
{
	copy[0] = 0;
	if (name)
		(void)strncpy(copy, name, BATON__RECORD_NAME_MAX - 1);
	copy[BATON__RECORD_NAME_MAX - 1] = 0;
}

/* What tells a resource from another one that has come to the same address. */
static bool same(const struct baton__record *record, const struct baton_resource *resource)
{
	return record->extras == resource->_extras;
}

/* A resource that has not been seen at this address before. */
static void sign(struct baton__record *record, const struct baton_resource *resource,
                 const char *call)
{
	record->extras = resource->_extras;
	record->config = baton__config(resource);
	record->config_sum = sum_of(record->config);
	record->gone = false;
	record->used = false;
	record->suspended = 0;
	copy_name(record->name, baton__name(resource));
	baton__records_note(record, call);
}

/* Does the call belong to the set-up, during which the config may still be filled in? */
static bool sets_up(const char *call)
{
	return strcmp(call, "baton_resource_init") == 0 ||
	       strncmp(call, "baton_resource_set_", strlen("baton_resource_set_")) == 0;
}

/* Is what the program must not change as it was at the first use? */
static void look_at_constants(struct baton__record *record, const struct baton_resource *resource,
                              const char *call, struct baton__mistake *mistake)
{
	char name[BATON__RECORD_NAME_MAX];

	if (record->used && record->config_sum != sum_of(record->config)) {
		baton__mistake(mistake, record->name,
		               "has a config that has changed, or is gone, since %s (thread %d): "
		               "the config must outlive the resource and not change",
		               record->call, (int)record->thread);
		return;
	}
	copy_name(name, baton__name(resource));
	/* name_of may return another name: then another resource of this config lies here now. */
	if (record->used && !(record->config && record->config->name_of) &&
	    strcmp(name, record->name) != 0)
		baton__mistake(mistake, record->name,
		               "has another name now, since %s (thread %d): the name must live as "
		               "long as the resource, and not change",
		               record->call, (int)record->thread);
	if (!record->used) {
		record->config_sum = sum_of(record->config);
		record->used = !sets_up(call);
	}
	memcpy(record->name, name, sizeof(name));
}

static void look_at_config(const struct baton__record *record, struct baton__mistake *mistake)
{
	for (size_t i = 0; record->config && i < RESERVED; i++)
		if (record->config->_reserved[i])
			baton__mistake(mistake, record->name,
			               "has a config whose last members are not zero: initialise "
			               "it by BATON_RESOURCE_CONFIG_INIT or by designated "
			               "initialisers");
}

/* Is one of the newest records of the queue accepted: has its submit returned? */
static bool has_accepted(const struct baton__record *record)
{
	const struct baton__record *task = record->newest;

	for (size_t looks = 0; task && looks < LOOKS_MAX; looks++) {
		if (task->accepted)
			return true;
		task = task->older;
	}
	return false;
}

/* The record says that tasks wait in the resource: does the resource look like that? */
static void look_at_queue(const struct baton__record *record, const struct baton_resource *resource,
                          struct baton__mistake *mistake)
{
	const bool idle = !baton__word_is_busy(baton__word(resource));

	if (!same(record, resource) || (idle && has_accepted(record)))
		baton__mistake(mistake, record->name,
		               "was zeroed, initialised anew or overwritten while %zu task%s in it "
		               "(the last by %s, thread %d): close and await it first",
		               record->tasks, record->tasks > 1 ? "s wait" : " waits",
		               record->newest->call, (int)record->newest->thread);
}

void baton__checked_resource(struct baton_resource *resource, const char *call)
{
	struct baton__mistake mistake = {.text = ""};
	struct baton__record *record;
	bool copied = false;

	if (!resource)
		BATON_MISUSE(call, "the resource is NULL: give the address of a resource");
	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_get(resource, BATON__RECORD_RESOURCE);
	if (!record) {
		baton__records_unlock(resource, BATON__RECORD_RESOURCE);
		return;
	}
	if (record->gone && baton__word_is_closed(baton__word(resource)) && same(record, resource))
		baton__mistake(&mistake, record->name,
		               "is no resource any more, since %s (thread %d): initialise it anew "
		               "before it is used again",
		               record->call, (int)record->thread);
	else if (record->tasks)
		look_at_queue(record, resource, &mistake);
	else if (!record->call || record->gone || !same(record, resource)) {
		copied = baton__word_is_busy(baton__word(resource));
		if (!copied)
			sign(record, resource, call);
		if (!copied)
			look_at_config(record, &mistake);
	}
	if (!mistake.text[0] && !copied)
		look_at_constants(record, resource, call, &mistake);
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
	if (copied)
		baton__mistake_copied(&mistake, resource);
	baton__mistake_end(&mistake, call);
}

void baton__checked_deinit(struct baton_resource *resource, const char *call)
{
	struct baton__record *record;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	if (record) {
		record->gone = true;
		baton__records_note(record, call);
	}
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
}

void baton__checked_suspended(struct baton_resource *resource, bool more)
{
	struct baton__record *record;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	if (record && (more || record->suspended))
		record->suspended += more ? 1 : SIZE_MAX;
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
}

/* ---- Tasks ---- */

/* Links the task's record into the queue of its resource's. */
static void link_in(struct baton__record *task, const struct baton_resource *resource)
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
static void forget_task(struct baton__record *task)
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
	return baton__type(task)->run != NULL || baton__kind_is(task, BATON__KIND_OWN);
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

void baton__checked_idle(const struct baton_resource *resource, const struct baton_task *task,
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

uint64_t baton__checked_submit(struct baton_resource *resource, struct baton_task *task,
                               const char *call)
{
	struct baton__record *record;
	uint64_t serial = 0;

	baton__checked_idle(resource, task, call);
	baton__records_lock(task, BATON__RECORD_TASK);
	record = baton__records_get(task, BATON__RECORD_TASK);
	/* Another thread may have submitted the task since the look. */
	if (record && !record->call) {
		baton__records_note(record, call);
		serial = record->serial;
		record->run = (const void *)(uintptr_t)task->_run;
		record->future = task->_future;
		link_in(record, resource);
	}
	baton__records_unlock(task, BATON__RECORD_TASK);
	return serial;
}

void baton__checked_submitted(const struct baton_task *task, uint64_t serial, int error)
{
	struct baton__record *record;

	baton__records_lock(task, BATON__RECORD_TASK);
	record = baton__records_find(task, BATON__RECORD_TASK);
	if (record && record->serial == serial) {
		if (error) {
			forget_task(record);
		} else if (record->resource) {
			baton__records_lock(record->resource, BATON__RECORD_RESOURCE);
			record->accepted = true;
			baton__records_unlock(record->resource, BATON__RECORD_RESOURCE);
		}
	}
	baton__records_unlock(task, BATON__RECORD_TASK);
}

/* ---- What the core tells ---- */

/* The task's record has done its work. */
static void end_task(struct baton_task *task, struct baton__mistake *mistake)
{
	struct baton__record *record;

	baton__records_lock(task, BATON__RECORD_TASK);
	record = baton__records_find(task, BATON__RECORD_TASK);
	if (record) {
		look_at_task(record, mistake);
		forget_task(record);
	}
	baton__records_unlock(task, BATON__RECORD_TASK);
}

/* Is the task a timer's first member? A timer that runs is armed no more: forgets its record. */
static void end_timer(const void *timer)
{
	struct baton__record *record;

	baton__records_lock(timer, BATON__RECORD_TIMER);
	record = baton__records_find(timer, BATON__RECORD_TIMER);
	if (record)
		baton__records_forget(record);
	baton__records_unlock(timer, BATON__RECORD_TIMER);
}

/* The library itself uses the resource: sign its record, or a later call would call it a copy. */
static void use(struct baton_resource *resource)
{
	struct baton__record *record;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_get(resource, BATON__RECORD_RESOURCE);
	if (record && !record->tasks && (!record->call || record->gone || !same(record, resource)))
		sign(record, resource, "a timer, trigger, continuation or the like");
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
}

static void enter(struct baton_resource *resource, struct baton_task *task)
{
	struct baton__mistake mistake = {.text = ""};

	end_task(task, &mistake);
	if (!mistake.text[0] && !can_run(task))
		baton__mistake(&mistake, baton__name(resource),
		               "is to run a task without a function: initialise the task by "
		               "BATON_TASK_INIT or baton_task_init before it is submitted, or its "
		               "continuation fires");
	end_timer(task);
	use(resource);
	baton__mistake_end(&mistake, "baton_submit");
}

/* What lay at this address before is forgotten. */
static void init(struct baton_resource *resource)
{
	struct baton__mistake mistake = {.text = ""};
	struct baton__record *record;

	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	if (record && record->tasks)
		baton__mistake(
			&mistake, record->name,
			"is initialised anew while %zu task%s in it (the last by %s, thread %d): "
			"close and await it first",
			record->tasks, record->tasks > 1 ? "s wait" : " waits",
			record->newest->call, (int)record->newest->thread);
	else if (record)
		baton__records_forget(record);
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
	baton__mistake_end(&mistake, "baton_resource_init");
}

static void drop(struct baton_task *task)
{
	struct baton__mistake mistake = {.text = ""};

	end_task(task, &mistake);
	baton__mistake_end(&mistake, "baton_submit");
}

static void take(struct baton_resource *resource)
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

static void hand_off(struct baton_resource *resource, const void *executor)
{
	struct baton__mistake mistake = {.text = ""};
	struct baton__record copy = {.gone = false};
	const struct baton__record *record;

	baton__records_lock(executor, BATON__RECORD_OWNED);
	record = baton__records_find(executor, BATON__RECORD_OWNED);
	if (record)
		copy = *record;
	baton__records_unlock(executor, BATON__RECORD_OWNED);
	if (!copy.gone)
		return;
	baton__records_lock(resource, BATON__RECORD_RESOURCE);
	record = baton__records_find(resource, BATON__RECORD_RESOURCE);
	/* A resource that came after that executor's end has another one, at the same address. */
	if (record && record->serial < copy.serial)
		baton__mistake(&mistake, record->name,
		               "is handed off to an executor that %s has ended (thread %d): close "
		               "and await the resource before its executor ends",
		               copy.call, (int)copy.thread);
	baton__records_unlock(resource, BATON__RECORD_RESOURCE);
	baton__mistake_end(&mistake, "baton_submit");
}

const struct baton__checks baton__checks = {init, enter, drop, use, take, hand_off};
