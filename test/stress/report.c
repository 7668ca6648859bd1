/* SPDX-License-Identifier: MIT */
/* Reports: the shortest history that still shows the violation. */
#include "report.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "note.h"
#include "options.h"
#include "site.h"

#define LINES_MAX 48

enum moment { BEGINS, RUNS, RAN, RETURNS };

struct event {
	uint64_t at;
	const struct note *note;
	enum moment moment;
};

struct history {
	struct event *events;
	size_t count;
	size_t room;
	uint32_t resource;
};

static _Atomic uint64_t current_round;
static pthread_mutex_t word = PTHREAD_MUTEX_INITIALIZER;

void report_round(uint64_t round)
{
	atomic_store(&current_round, round);
}

static void add(struct history *history, const struct note *note, uint64_t at, enum moment moment)
{
	if (at == 0 || at == NOTE_NEVER)
		return;
	if (history->count == history->room) {
		history->room = history->room * 2 + 256;
		history->events =
			realloc(history->events, history->room * sizeof(*history->events));
		MUST(history->events);
	}
	history->events[history->count++] = (struct event){at, note, moment};
}

/* Whose ticket it goes by. */
static const struct note *subject(const struct note *note)
{
	return note->kind == NOTE_WAIT || note->kind == NOTE_CANCEL ? note->about : note;
}

static void collect(struct note *note, void *arg)
{
	struct history *history = arg;
	const struct note *about = subject(note);
	uint32_t resource = about ? about->resource : 0;

	if (resource != history->resource)
		return;
	add(history, note, note->begin, BEGINS);
	add(history, note, note->ran, RUNS);
	add(history, note, note->ran_end, RAN);
	add(history, note, note->end, RETURNS);
}

static int compare(const void *left, const void *right)
{
	const struct event *a = left;
	const struct event *b = right;

	return a->at < b->at ? -1 : a->at > b->at;
}

static void print_event(const struct event *event)
{
	static const char *const moments[] = {"begins", "runs", "ran", "returns"};
	const struct note *note = event->note;
	bool running = event->moment == RUNS || event->moment == RAN;

	fprintf(stderr, "%10" PRIu64 "  thread %-3u  %s %s", event->at,
	        running ? note->runner : note->actor, note_kind_name(note->kind),
	        moments[event->moment]);
	fprintf(stderr, ", of %" PRIu64, subject(note)->begin);
	if (note->batch && event->moment == BEGINS)
		fprintf(stderr, ", batch %" PRIu32, note->batch);
	if (event->moment == RUNS)
		fprintf(stderr, ", number %" PRIu32, note->position);
	if (event->moment == RETURNS)
		fprintf(stderr, ", %" PRId32, note->result);
	fputc('\n', stderr);
}

void report_history(uint32_t resource, uint64_t around)
{
	struct history history = {.resource = resource};
	size_t first = 0;

	note_each(collect, &history);
	if (history.count == 0)
		return;
	qsort(history.events, history.count, sizeof(*history.events), compare);
	while (first < history.count && history.events[first].at < around)
		first++;
	first = first > LINES_MAX * 2 / 3 ? first - LINES_MAX * 2 / 3 : 0;
	fprintf(stderr,
	        "resource %" PRIu32 ", %zu events, those around ticket %" PRIu64
	        " (a task goes by the ticket of its begin):\n",
	        resource, history.count, around);
	for (size_t i = first; i < history.count && i < first + LINES_MAX; i++)
		print_event(&history.events[i]);
	free(history.events);
}

static void print_note(const char *title, const struct note *note)
{
	fprintf(stderr,
	        "%s: %s by thread %u on resource %" PRIu32 ": begin %" PRIu64 " end %" PRId64
	        " result %" PRId32 "; ran %u (%" PRIu64 " to %" PRIu64 ", number %" PRIu32
	        ", thread %u), cancelled %u\n",
	        title, note_kind_name(note->kind), note->actor, note->resource, note->begin,
	        (int64_t)note->end, note->result == NOTE_PENDING ? 9999 : note->result, note->runs,
	        note->ran, note->ran_end, note->position, note->runner, note->cancels);
}

static void print_open(struct note *note, void *arg)
{
	(void)arg;
	if (note->kind != NOTE_THEN || note->runs || note->cancels)
		return;
	print_note("neither ran nor was cancelled", note);
	if (note->after)
		print_note("it comes after", note->after);
}

void report_open(void)
{
	note_each(print_open, NULL);
}

void report(const struct note *note, const struct note *other, const char *format, ...)
{
	va_list arguments;

	/* Held until the end: a second violation waits, and the process is gone before its turn. */
	pthread_mutex_lock(&word);
	fprintf(stderr, "\nVIOLATION: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	options_print_rerun(atomic_load(&current_round));
	if (note)
		print_note("this", note);
	if (other)
		print_note("other", other);
	if (note && note->resource)
		report_history(note->resource, note->ran ? note->ran : note->begin);
	fflush(stderr);
	while (options.hold)
		pause();
	_exit(1);
}

static void on_crash(int signal_number)
{
	static atomic_int first;
	char doing[128];
	const struct actor *self = actor_self();

	signal(signal_number, SIG_DFL);
	if (atomic_fetch_add(&first, 1) == 0) {
		snprintf(doing, sizeof(doing), "\nVIOLATION: signal %d on thread %u\n",
		         signal_number, self->number);
		(void)!write(STDERR_FILENO, doing, strlen(doing));
		options_print_rerun(atomic_load(&current_round));
		if (self->depth)
			report_history(self->held[self->depth - 1], ticket_now());
	}
	raise(signal_number);
}

void report_on_crash(void)
{
	signal(SIGABRT, on_crash);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	signal(SIGSEGV, on_crash);
	signal(SIGBUS, on_crash);
#endif
}
