/* SPDX-License-Identifier: MIT */
/* Words for what is stuck. See stuck.h. */
#include "inspect/stuck.h"

#include "base/atomic.h"
#include "core/turn.h"
#include "core/word.h"

#include <inttypes.h>
#include <stdio.h>

#define NS_PER_S 1e9

static const char *name_of(const struct baton__board_line *line)
{
	return line->name[0] ? line->name : "(no name)";
}

static uint64_t waiting_on(const struct baton__board_line *line)
{
	struct baton_resource_stats copy;

	baton_resource_stats_read(&line->stats, &copy);
	return copy.waiting;
}

/* Why do the tasks of a resource wait although none runs? */
static const char *cause(const struct baton_resource *resource)
{
	if (baton__turn_seems_shelved(resource))
		return "the resource is suspended, and nobody has resumed it";
	if (!baton__turn_seems_held(resource))
		return "the resource is in its executor's queue: nobody runs that loop, or every "
		       "worker is busy";
	if (!baton__word_is_busy(baton__word(resource)))
		return "they wait for their window, in which others are in flight";
	return "a thread has the baton, and runs none of them: it commits a batch, or was stopped";
}

void baton__stuck_tasks(struct baton_stuck *stuck, const struct baton__board_line *line,
                        uint64_t ns, char message[BATON__MESSAGE_MAX])
{
	*stuck = (struct baton_stuck){
		.kind = BATON_STUCK_TASKS,
		.resource = line->name,
		.ns = ns,
		.waiting = waiting_on(line),
		.message = message,
	};
	(void)snprintf(message, BATON__MESSAGE_MAX,
	               "the tasks of \"%s\" wait since %.1f s, %" PRIu64 " of them: %s",
	               name_of(line), (double)ns / NS_PER_S, stuck->waiting, cause(line->resource));
}

void baton__stuck_runs(struct baton_stuck *stuck, const struct baton__board_line *line, uint64_t ns,
                       char message[BATON__MESSAGE_MAX])
{
	*stuck = (struct baton_stuck){
		.kind = BATON_STUCK_RUNS,
		.resource = line->name,
		.ns = ns,
		.thread = load_relaxed(&line->gauge.thread),
		.function = load_relaxed(&line->gauge.function),
		.waiting = waiting_on(line),
		.message = message,
	};
	(void)snprintf(message, BATON__MESSAGE_MAX,
	               "thread %" PRIu64 " runs a task of \"%s\" since %.1f s, the function at %p; "
	               "%" PRIu64 " tasks wait for it",
	               stuck->thread, name_of(line), (double)ns / NS_PER_S, (void *)stuck->function,
	               stuck->waiting);
}

static void describe_wait(const struct baton_stuck *stuck, const char *name, const char *holds,
                          char message[BATON__MESSAGE_MAX])
{
	const double seconds = (double)stuck->ns / NS_PER_S;

	if (stuck->kind == BATON_STUCK_PROMISE)
		(void)snprintf(message, BATON__MESSAGE_MAX,
		               "thread %" PRIu64
		               "%s waits since %.1f s for a promise that nobody has completed",
		               stuck->thread, holds, seconds);
	else if (stuck->kind == BATON_STUCK_RESOURCE)
		(void)snprintf(message, BATON__MESSAGE_MAX,
		               "thread %" PRIu64 "%s waits since %.1f s for a task of %s",
		               stuck->thread, holds, seconds, name);
	else
		(void)snprintf(message, BATON__MESSAGE_MAX,
		               "thread %" PRIu64
		               "%s waits since %.1f s for a task that is not submitted, or for "
		               "several",
		               stuck->thread, holds, seconds);
}

void baton__stuck_wait(struct baton_stuck *stuck, const struct baton__board_file *file,
                       const struct baton__board_wait *wait, char message[BATON__MESSAGE_MAX])
{
	char name[BATON_BOARD_NAME_MAX + 3], holds[BATON_BOARD_NAME_MAX + 32] = "";

	*stuck = (struct baton_stuck){
		.kind = wait->promise    ? BATON_STUCK_PROMISE
	                : wait->resource ? BATON_STUCK_RESOURCE
	                                 : BATON_STUCK_UNKNOWN,
		.resource = wait->line != UINT32_MAX ? file->line[wait->line].name : "",
		.ns = file->refreshed_ns > wait->since_ns ? file->refreshed_ns - wait->since_ns : 0,
		.thread = wait->thread,
		.message = message,
	};
	(void)snprintf(name, sizeof(name),
	               stuck->resource[0] ? "\"%s\"" : "a resource that is not on the board",
	               stuck->resource);
	/* The task in which the thread waits, if its resource is on the board. */
	for (uint32_t i = 0; i < load_relaxed(&file->lines) && !holds[0]; i++)
		if (load_acquire(&file->line[i].state) == BATON__LINE_SHOWN &&
		    load_relaxed(&file->line[i].gauge.function) &&
		    load_relaxed(&file->line[i].gauge.thread) == wait->thread)
			(void)snprintf(holds, sizeof(holds), ", in a task of \"%s\",",
			               name_of(&file->line[i]));
	describe_wait(stuck, name, holds, message);
}
