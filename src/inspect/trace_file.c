/* SPDX-License-Identifier: MIT */
/*
 * Collects the events of a trace (thread/trace.h), and writes them in the Trace Event Format of
 * Chrome, which Perfetto reads.
 */
#include "inspect/function_place.h"

#include "base/atomic.h"
#include "inspect/thread_name.h"
#include "inspect/trace_names.h"
#include "base/futex.h"
#include "thread/thread.h"
#include "thread/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* An event, the thread that wrote it, and the number of the arrow from a push to its entry. */
struct collected {
	struct baton__event event;
	uint32_t thread;
	uint32_t arrow;
};

struct collection {
	struct collected *events;
	size_t count;
	uint64_t began_ns;
	const struct baton_board *board;
	const struct baton__board_file *file;
	FILE *out;
	uintptr_t function; /* the function that was written last, and its place */
	char place[BATON__PLACE_TEXT];
	bool more; /* something has been written before */
};

static uint64_t traces; /* how many traces there have been */
static uint32_t busy;   /* from the start of a trace until it is written */

BATON_EXPORT int baton_board_trace_start(struct baton_board *board)
{
	uint32_t idle = 0;

	if (baton__forked())
		return -ECHILD;
	/* [trace.busy] acquire: the last trace has been read; pairs with [trace.busy] in stop */
	if (!cas_acquire(&busy, &idle, 1))
		return -EBUSY;
	store_relaxed(&board->traced_ns, baton__now_ns());
	store_relaxed(&board->trace, ++traces);
	store_relaxed(&baton__tracing, traces);
	return 0;
}

static enum baton__event_kind kind_of(const struct baton__event *event)
{
	return (enum baton__event_kind)(event->kind_and_more & 255);
}

static void collect_ring(struct collection *all, const struct baton__ring *ring)
{
	/* Acquire: the events (baton__trace, thread/trace.c). Relaxed goes unnoticed: a ring is as
	 * large as the explorer's memory. */
	const uint64_t head = load_acquire(&ring->head);
	/* The oldest event may just be overwritten (trace.ring). */
	uint64_t at = head > BATON__EVENTS_MAX - 1 ? head - (BATON__EVENTS_MAX - 1) : 0;
	uint32_t thread = load_relaxed(&ring->oldest_thread);

	for (; at < head; at++) {
		const struct baton__event *from = &ring->events[at % BATON__EVENTS_MAX];
		const struct baton__event event = {
			load_relaxed(&from->ns), load_relaxed(&from->object),
			load_relaxed(&from->detail), load_relaxed(&from->kind_and_more)};

		if (kind_of(&event) == BATON__EVENT_THREAD)
			thread = (uint32_t)event.detail;
		else
			all->events[all->count++] = (struct collected){event, thread, 0};
	}
}

static int collect(struct collection *all, uint64_t trace)
{
	struct baton__thread *first = baton__thread_first();
	size_t rings = 0;

	/* Acquire, here and below: zeroed memory (own_ring, thread/trace.c). Relaxed is enough: it
	 * only counts the rings. */
	for (struct baton__thread *thread = first; thread; thread = thread->next)
		rings += load_acquire(&thread->ring) != NULL;
	all->events = calloc(rings + 1, sizeof(*all->events) * BATON__EVENTS_MAX);
	if (!all->events)
		return -ENOMEM;
	for (struct baton__thread *thread = first; thread && rings; thread = thread->next) {
		/* Relaxed goes unnoticed: as in collect_ring. */
		const struct baton__ring *ring = load_acquire(&thread->ring);

		if (!ring)
			continue;
		rings--;
		if (load_relaxed(&ring->trace) == trace)
			collect_ring(all, ring);
	}
	return 0;
}

static int by_task_and_time(const void *left, const void *right)
{
	const struct baton__event *a = &((const struct collected *)left)->event;
	const struct baton__event *b = &((const struct collected *)right)->event;

	if (a->detail != b->detail)
		return a->detail < b->detail ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static int by_time(const void *left, const void *right)
{
	const struct baton__event *a = &((const struct collected *)left)->event;
	const struct baton__event *b = &((const struct collected *)right)->event;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* Numbers each push and the entry of the same task that follows it. A task that runs inside its
 * submit is entered without a push. The push of a batch names the first task only. */
static void find_arrows(struct collection *all)
{
	struct collected *push = NULL;
	uint32_t arrows = 0;

	qsort(all->events, all->count, sizeof(*all->events), by_task_and_time);
	for (size_t i = 0; i < all->count; i++) {
		struct collected *one = &all->events[i];

		if (push && push->event.detail != one->event.detail)
			push = NULL;
		if (kind_of(&one->event) == BATON__EVENT_PUSHED) {
			push = one;
		} else if (push && kind_of(&one->event) == BATON__EVENT_ENTERED) {
			push->arrow = one->arrow = ++arrows;
			push = NULL;
		}
	}
	qsort(all->events, all->count, sizeof(*all->events), by_time);
}

static void write_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		const unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte >= 0x7f)
			(void)fputc('?', out);
		else
			(void)fprintf(out, byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
	}
}

static void write_name(const struct collection *all, const struct baton__event *event)
{
	const char *name = baton__trace_name(all->board, event->object, event->ns);

	if (name)
		write_text(all->out, name);
	else
		(void)fprintf(all->out, "%#" PRIx64, event->object);
}

/* The members that all events have: what, when, and on which track. */
static void begin_event(struct collection *all, const struct collected *one, const char *phase)
{
	(void)fprintf(all->out,
	              "%s\n{\"ph\": \"%s\", \"pid\": %" PRId64 ", \"tid\": %" PRIu32
	              ", \"ts\": %.3f",
	              all->more ? "," : "", phase, all->file->pid, one->thread,
	              (double)(one->event.ns - all->began_ns) / 1000);
	all->more = true;
}

static void write_function(struct collection *all, uintptr_t function)
{
	if (function != all->function)
		(void)baton__place_text(all->place, all->file->program, function);
	all->function = function;
	(void)fputs(", \"args\": {\"function\": \"", all->out);
	write_text(all->out, all->place);
	(void)fputs("\"}", all->out);
}

static void write_span(struct collection *all, const struct collected *one, const char *what)
{
	begin_event(all, one, "X");
	(void)fprintf(all->out, ", \"dur\": %.3f, \"cat\": \"%s\", \"name\": \"",
	              (double)(one->event.kind_and_more >> 8) / 1000, what);
	if (kind_of(&one->event) == BATON__EVENT_RAN)
		write_name(all, &one->event);
	else
		(void)fputs(what, all->out);
	(void)fputc('"', all->out);
	if (kind_of(&one->event) == BATON__EVENT_RAN)
		write_function(all, (uintptr_t)one->event.detail);
	(void)fputc('}', all->out);
}

static void write_instant(struct collection *all, const struct collected *one, const char *what)
{
	begin_event(all, one, "i");
	(void)fprintf(all->out, ", \"s\": \"t\", \"name\": \"%s", what);
	if (kind_of(&one->event) != BATON__EVENT_STOLE) {
		(void)fputc(' ', all->out);
		write_name(all, &one->event);
	}
	(void)fputs("\"}", all->out);
}

/* One end of an arrow. */
static void write_arrow(struct collection *all, const struct collected *one)
{
	begin_event(all, one, kind_of(&one->event) == BATON__EVENT_PUSHED ? "s" : "f");
	(void)fprintf(all->out,
	              ", \"bp\": \"e\", \"cat\": \"task\", \"name\": \"task\", \"id\": %u, "
	              "\"args\": {\"resource\": \"",
	              one->arrow);
	write_name(all, &one->event);
	(void)fputs("\"}}", all->out);
}

static void write_length(struct collection *all, const struct collected *one)
{
	begin_event(all, one, "C");
	(void)fputs(", \"name\": \"queue of ", all->out);
	write_name(all, &one->event);
	(void)fprintf(all->out, "\", \"args\": {\"tasks\": %" PRIu64 "}}",
	              one->event.kind_and_more >> 8);
}

static void write_collected(struct collection *all, const struct collected *one)
{
	switch (kind_of(&one->event)) {
	case BATON__EVENT_RAN:
		write_span(all, one, "run");
		break;
	case BATON__EVENT_WAITED:
		write_span(all, one, "wait");
		break;
	case BATON__EVENT_PARKED:
		write_span(all, one, "parked");
		break;
	case BATON__EVENT_STOLE:
		write_instant(all, one, "steal");
		break;
	case BATON__EVENT_HANDED_OFF:
		write_instant(all, one, "hand-off");
		break;
	default:
		if (one->arrow)
			write_arrow(all, one);
		else if (kind_of(&one->event) == BATON__EVENT_PUSHED)
			write_instant(all, one, "submit");
		write_length(all, one);
	}
}

/* The name of a thread's track, for a thread that has events. */
static void write_thread(struct collection *all, const struct baton__board_thread *thread)
{
	size_t i = 0;

	while (i < all->count && all->events[i].thread != thread->thread)
		i++;
	if (i == all->count || !thread->name[0])
		return;
	(void)fprintf(all->out,
	              "%s\n{\"ph\": \"M\", \"pid\": %" PRId64 ", \"tid\": %" PRIu64
	              ", \"ts\": 0, \"name\": \"thread_name\", \"args\": {\"name\": \"",
	              all->more ? "," : "", all->file->pid, thread->thread);
	write_text(all->out, thread->name);
	(void)fputs("\"}}", all->out);
	all->more = true;
}

static void write_all(struct collection *all)
{
	(void)fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", all->out);
	for (uint32_t i = 0; i < all->file->threads; i++)
		write_thread(all, &all->file->thread[i]);
	for (size_t i = 0; i < all->count; i++)
		if (all->events[i].event.ns >= all->began_ns)
			write_collected(all, &all->events[i]);
	(void)fputs("\n]}\n", all->out);
}

/* Writes what was collected, in order. */
static int write_file(struct collection *all, const char *path)
{
	int error;

	all->out = fopen(path, "we");
	if (!all->out)
		return -errno;
	write_all(all);
	error = ferror(all->out) ? -EIO : 0;
	if (fclose(all->out) && !error)
		error = -errno;
	return error;
}

BATON_EXPORT int baton_board_trace_stop(struct baton_board *board, const char *path)
{
	struct collection all = {.board = board, .file = board->file};
	uint64_t trace;
	int error;

	/* The lock guards whether a trace is on: owners that leave keep their names only during a
	 * trace. */
	if (!baton__board_look_begin(board))
		return -ECHILD;
	trace = load_relaxed(&board->trace);
	/* Relaxed: of several threads that stop this trace only one continues. */
	if (!trace || !cas_relaxed(&board->trace, &trace, 0)) {
		baton__board_look_end(board);
		return -EALREADY;
	}
	store_relaxed(&baton__tracing, 0);
	all.began_ns = load_relaxed(&board->traced_ns);
	error = collect(&all, trace);
	if (!error) {
		baton__thread_names(board->file);
		baton__trace_names_sort(board);
		find_arrows(&all);
		error = write_file(&all, path);
	}
	baton__trace_names_clear(board);
	baton__board_look_end(board);
	free(all.events);
	/* [trace.busy] release: the rings have been read; pairs with [trace.busy] in start */
	store_release(&busy, 0);
	return error;
}
