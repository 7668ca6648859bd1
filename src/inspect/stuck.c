/* SPDX-License-Identifier: MIT */
/* Words for what is stuck. See stuck.h. */
#include "inspect/stuck.h"

#include "base/atomic.h"
#include "core/turn.h"
#include "core/word.h"
#include "inspect/function_place.h"
#include "inspect/thread_name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S 1e9

static const char *name_of(const struct baton__board_line *line)
{
	return line->name[0] ? line->name : "(no name)";
}

#define THREAD_TEXT (BATON__THREAD_NAME_MAX + 32)

/* "4711", "4711 (name)"; in `text`, which is returned. */
static const char *thread_text(char text[THREAD_TEXT], const struct baton__board_file *file,
                               uint64_t thread)
{
	const char *name = baton__thread_name(file, thread);

	(void)snprintf(text, THREAD_TEXT, name[0] ? "%" PRIu64 " (%s)" : "%" PRIu64, thread, name);
	return text;
}

/* A name may contain control characters, which a terminal would obey. */
static void make_printable(char message[BATON__MESSAGE_MAX])
{
	for (char *at = message; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
}

static uint64_t waiting_on(const struct baton__board_line *line)
{
	struct baton_resource_stats copy;

	baton_resource_stats_read(&line->stats, &copy);
	return copy.waiting;
}

const char *const baton__cause_words[BATON__CAUSES] = {
	[BATON__CAUSE_NONE] = "",
	[BATON__CAUSE_SUSPENDED] = "suspended",
	[BATON__CAUSE_DETACHED] = "task is detached",
	[BATON__CAUSE_READERS] = "readers at work",
	[BATON__CAUSE_LANES] = "lanes suspended",
	[BATON__CAUSE_QUEUED] = "in executor's queue",
	[BATON__CAUSE_WINDOW] = "window is full",
	[BATON__CAUSE_HELD] = "held, runs none",
};

const char *const baton__cause_sentence[BATON__CAUSES] = {
	[BATON__CAUSE_NONE] = "nothing holds them up",
	[BATON__CAUSE_SUSPENDED] = "the resource is suspended, and nobody has resumed it",
	[BATON__CAUSE_DETACHED] =
		"a detached task holds the resource, and nobody has completed that task",
	[BATON__CAUSE_READERS] = "readers of the resource are at work, and have not returned",
	[BATON__CAUSE_LANES] = "the lower lanes are suspended, and nobody has resumed them",
	[BATON__CAUSE_QUEUED] = "the resource is in its executor's queue: nobody runs that loop, "
				"or every worker is busy",
	[BATON__CAUSE_WINDOW] =
		"their window is full: its tasks in flight have detached themselves, "
		"and nobody has completed them",
	[BATON__CAUSE_HELD] = "a thread has the baton, and runs none of them: it commits a batch, "
			      "or was stopped",
};

const char *const baton__cause_deed[BATON__CAUSES] = {
	[BATON__CAUSE_SUSPENDED] = "has suspended it",
	[BATON__CAUSE_DETACHED] = "has detached it",
	[BATON__CAUSE_READERS] = "was the first of them",
	[BATON__CAUSE_LANES] = "has suspended them",
};

/* By an enum baton__who_why. */
static const enum baton__cause cause_of_shelf[4] = {
	[BATON__SUSPENDED] = BATON__CAUSE_SUSPENDED,
	[BATON__DETACHED_TASK] = BATON__CAUSE_DETACHED,
	[BATON__READERS] = BATON__CAUSE_READERS,
};

enum baton__cause baton__cause_of(const struct baton__board_line *line)
{
	const struct baton_resource *resource = line->resource;
	const uintptr_t word = baton__word(resource);

	if (load_relaxed(&line->stats._function) || !waiting_on(line))
		return BATON__CAUSE_NONE;
	if (baton__turn_seems_shelved(resource))
		return cause_of_shelf[load_relaxed(&line->gauge.shelved.why) % 4];
	if (!baton__turn_seems_held(resource))
		return BATON__CAUSE_QUEUED;
	if (!baton__word_is_busy(word))
		return BATON__CAUSE_WINDOW;
	return baton__word_is_resting(word) ? BATON__CAUSE_LANES : BATON__CAUSE_HELD;
}

struct baton__who baton__cause_who(const struct baton__board_line *line, enum baton__cause cause)
{
	const bool lanes = cause == BATON__CAUSE_LANES;
	const struct baton__who *who = lanes ? &line->gauge.paused : &line->gauge.shelved;

	if (!baton__cause_deed[cause])
		return (struct baton__who){.thread = 0};
	return (struct baton__who){
		.thread = load_relaxed(&who->thread),
		.why = load_relaxed(&who->why),
		.function = load_relaxed(&who->function),
		.resource = load_relaxed(&who->resource),
	};
}

const struct baton__board_line *baton__line_at(const struct baton__board_file *file,
                                               const void *resource)
{
	for (uint32_t i = 0; resource && i < load_relaxed(&file->lines); i++)
		/* [board.shown] acquire: the line; pairs with [board.shown] in baton_board_join */
		if (load_acquire(&file->line[i].state) == BATON__LINE_SHOWN &&
		    file->line[i].resource == resource)
			return &file->line[i];
	return NULL;
}

/* Appends to the message as much as it has room for. */
static void append_text(char message[BATON__MESSAGE_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append_text(char message[BATON__MESSAGE_MAX], const char *format, ...)
{
	const size_t length = strlen(message);
	va_list list;

	va_start(list, format);
	(void)vsnprintf(message + length, BATON__MESSAGE_MAX - length, format, list);
	va_end(list);
}

/* "; thread 4711 (name) has suspended it in a task of "topic", the function at ..."; or nothing. */
static void append_who(char message[BATON__MESSAGE_MAX], const struct baton__board_file *file,
                       const struct baton__who *who, const char *deed)
{
	const struct baton__board_line *line = baton__line_at(file, who->resource);
	char thread[THREAD_TEXT], place[BATON__PLACE_TEXT];

	if (!who->thread)
		return;
	append_text(message, "; thread %s %s", thread_text(thread, file, who->thread), deed);
	if (line && !who->why)
		append_text(message, " in a task of \"%s\"", name_of(line));
	else if (who->resource && !who->why)
		append_text(message, " in a task of a resource that is not on the board");
	if (who->function)
		append_text(message, ", the function at %#" PRIxPTR " (%s)", who->function,
		            baton__place_text(place, file->program, who->function));
}

void baton__stuck_tasks(struct baton_stuck *stuck, const struct baton__board_file *file,
                        const struct baton__board_line *line, uint64_t ns,
                        char message[BATON__MESSAGE_MAX])
{
	const enum baton__cause cause = baton__cause_of(line);
	const struct baton__who who = baton__cause_who(line, cause);

	*stuck = (struct baton_stuck){
		.kind = BATON_STUCK_TASKS,
		.resource = line->name,
		.ns = ns,
		.thread = who.thread,
		.function = who.function,
		.waiting = waiting_on(line),
		.message = message,
	};
	(void)snprintf(message, BATON__MESSAGE_MAX,
	               "the tasks of \"%s\" wait since %.1f s, %" PRIu64 " of them: %s",
	               name_of(line), (double)ns / NS_PER_S, stuck->waiting,
	               baton__cause_sentence[cause]);
	append_who(message, file, &who, baton__cause_deed[cause]);
	make_printable(message);
}

void baton__stuck_runs(struct baton_stuck *stuck, const struct baton__board_file *file,
                       const struct baton__board_line *line, uint64_t ns,
                       char message[BATON__MESSAGE_MAX])
{
	char thread[THREAD_TEXT], place[BATON__PLACE_TEXT];

	*stuck = (struct baton_stuck){
		.kind = BATON_STUCK_RUNS,
		.resource = line->name,
		.ns = ns,
		.thread = load_relaxed(&line->stats._thread),
		.function = load_relaxed(&line->stats._function),
		.waiting = waiting_on(line),
		.message = message,
	};
	(void)snprintf(message, BATON__MESSAGE_MAX,
	               "thread %s runs a task of \"%s\" since %.1f s, the function at %#" PRIxPTR
	               " (%s); "
	               "%" PRIu64 " tasks wait for it",
	               thread_text(thread, file, stuck->thread), name_of(line),
	               (double)ns / NS_PER_S, stuck->function,
	               baton__place_text(place, file->program, stuck->function), stuck->waiting);
	make_printable(message);
}

/* The parts of the text about a wait. */
struct described {
	char thread[THREAD_TEXT];
	char maker[THREAD_TEXT + 32];
	const char *own; /* "it has made itself, and that ", or "" */
	char name[BATON_BOARD_NAME_MAX + 48];
	const char *none;                      /* why the awaited resource runs nothing, or "" */
	char holds[BATON_BOARD_NAME_MAX + 32]; /* the task in which the thread waits */
};

static void describe_wait(const struct baton_stuck *stuck, const struct described *described,
                          char message[BATON__MESSAGE_MAX])
{
	const double seconds = (double)stuck->ns / NS_PER_S;

	if (stuck->kind == BATON_STUCK_PROMISE)
		(void)snprintf(message, BATON__MESSAGE_MAX,
		               "thread %s%s waits since %.1f s for a promise that %snobody has "
		               "completed%s",
		               described->thread, described->holds, seconds, described->own,
		               described->maker);
	else if (stuck->kind == BATON_STUCK_RESOURCE)
		(void)snprintf(message, BATON__MESSAGE_MAX,
		               "thread %s%s waits since %.1f s for a task of %s%s",
		               described->thread, described->holds, seconds, described->name,
		               described->none);
	else
		(void)snprintf(message, BATON__MESSAGE_MAX,
		               "thread %s%s waits since %.1f s for a task that is not submitted, "
		               "or for several",
		               described->thread, described->holds, seconds);
}

/* Has the resource no task that waits or runs? A thread that waits for the resource waits for tasks
 * that have left the runner. */
static bool runs_none(const struct baton__board_line *line)
{
	return !load_relaxed(&line->stats._function) && !waiting_on(line);
}

void baton__stuck_wait(struct baton_stuck *stuck, const struct baton__board_file *file,
                       const struct baton__board_wait *wait, char message[BATON__MESSAGE_MAX])
{
	struct described described = {.own = "", .none = ""};
	char maker[THREAD_TEXT];

	*stuck = (struct baton_stuck){
		.kind = wait->promise    ? BATON_STUCK_PROMISE
	                : wait->resource ? BATON_STUCK_RESOURCE
	                                 : BATON_STUCK_UNKNOWN,
		.resource = wait->line != UINT32_MAX ? file->line[wait->line].name : "",
		.ns = file->refreshed_ns > wait->since_ns ? file->refreshed_ns - wait->since_ns : 0,
		.thread = wait->thread,
		.message = message,
	};
	(void)thread_text(described.thread, file, wait->thread);
	if (wait->maker == wait->thread)
		described.own = "it has made itself, and that ";
	else if (wait->maker)
		(void)snprintf(described.maker, sizeof(described.maker), "; thread %s has made it",
		               thread_text(maker, file, wait->maker));
	(void)snprintf(described.name, sizeof(described.name),
	               stuck->resource[0] ? "\"%s\"" : "a resource that is not on the board",
	               stuck->resource);
	if (wait->line != UINT32_MAX && runs_none(&file->line[wait->line]))
		described.none = ", which has none that waits or runs: a task has detached itself, "
				 "and nobody has completed it";
	/* The task in which the thread waits, if its resource is on the board. */
	for (uint32_t i = 0; i < load_relaxed(&file->lines) && !described.holds[0]; i++)
		if (load_acquire(&file->line[i].state) == BATON__LINE_SHOWN &&
		    load_relaxed(&file->line[i].stats._function) &&
		    load_relaxed(&file->line[i].stats._thread) == wait->thread)
			(void)snprintf(described.holds, sizeof(described.holds),
			               ", in a task of \"%s\",", name_of(&file->line[i]));
	describe_wait(stuck, &described, message);
	make_printable(message);
}
