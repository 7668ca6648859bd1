/* SPDX-License-Identifier: MIT */
/* Reads the lines of a board into rows, with rates since the look before. */
#include "top/top.h"

#include "base/atomic.h"
#include "base/futex.h"

#include <stdlib.h>
#include <string.h>

/* What the last look found on a line. */
struct top_past {
	uint64_t joined_ns; /* another value: another resource */
	uint64_t looked_ns;
	uint64_t executed;
	uint64_t submitted;
	uint64_t entered;
	uint64_t entered_ns; /* when `entered` was first seen */
	uint32_t running;    /* samples in which a task ran */
	uint32_t asleep;     /* samples in which that task's thread slept */
};

const char *const top_sort_names[TOP_SORTS] = {
	[TOP_BY_BUSY] = "busy",     [TOP_BY_TASKS] = "tasks",       [TOP_BY_WAITING] = "waiting",
	[TOP_BY_OLDEST] = "oldest", [TOP_BY_WAIT] = "wait",         [TOP_BY_RUN] = "run",
	[TOP_BY_FAILED] = "failed", [TOP_BY_HANDOFFS] = "handoffs", [TOP_BY_REFUSED] = "refused",
	[TOP_BY_NAME] = "name",
};

static void *must(void *memory)
{
	if (!memory) {
		(void)fputs("baton-top: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

char *top_printable(char *text)
{
	for (char *at = text; *at; at++)
		if (*at < 0x20 || *at >= 0x7f)
			*at = '?';
	return text;
}

static void copy_printable(char *copy, const struct baton__board_line *line)
{
	(void)snprintf(copy, BATON_BOARD_NAME_MAX + 1, "%.*s", BATON_BOARD_NAME_MAX, line->name);
	(void)top_printable(copy);
	if (!copy[0])
		(void)snprintf(copy, BATON_BOARD_NAME_MAX, "%p", (void *)line->resource);
}

const char *top_name_at(char name[BATON_BOARD_NAME_MAX + 1], const struct baton__board_file *file,
                        const void *resource)
{
	const struct baton__board_line *line = baton__line_at(file, resource);

	if (!line)
		return "a resource that is not on the board";
	copy_printable(name, line);
	return name;
}

/* The mean of the recorded times, in nanoseconds. */
static double mean(const struct baton__histogram *histogram)
{
	double sum = 0, count = 0;

	for (size_t i = 0; i < BATON__HISTOGRAM_BUCKETS; i++) {
		const double times = (double)load_relaxed(&histogram->counts[i]);

		sum += times *
		       ((double)baton__histogram_lowest(i) +
		        (double)baton__histogram_lowest(i + 1)) /
		       2;
		count += times;
	}
	return count > 0 ? sum / count : 0;
}

/* The growth per second. */
static double rate(uint64_t before, uint64_t now, uint64_t since_ns)
{
	return now < before ? 0 : (double)(now - before) * 1e9 / (double)since_ns;
}

static void read_rates(struct top_row *row, const struct baton__board_line *line,
                       const struct baton__times *times, struct top_past *past, uint64_t now_ns)
{
	const uint64_t entered = baton__gauge_entered(&line->stats);
	const uint64_t began_ns = load_relaxed(&line->stats._began_ns);
	const uint64_t seen_ns = load_relaxed(&line->seen_ns);
	uint64_t since_ns;

	if (past->joined_ns != line->joined_ns)
		*past = (struct top_past){
			.joined_ns = line->joined_ns,
			.looked_ns = line->joined_ns,
			.entered = entered,
			.entered_ns = now_ns,
		};
	since_ns = now_ns > past->looked_ns ? now_ns - past->looked_ns : 1;
	row->tasks = rate(past->executed, row->stats.executed, since_ns);
	row->submits = rate(past->submitted, row->stats.submitted, since_ns);
	row->busy = row->tasks * mean(&times->ran) / 1e9;
	/* The mean is of all tasks, not of the last ones. All samples saw a task run: busy. */
	if (row->busy > 1 || past->running == TOP_SAMPLES)
		row->busy = 1;
	if (past->entered != entered)
		past->entered_ns = now_ns;
	past->entered = entered;
	/* The clock is read for some tasks only (core/gauge.h). */
	if (began_ns && began_ns < past->entered_ns)
		past->entered_ns = began_ns;
	/* The program's watchdog has looked at the task before this program did. */
	if (seen_ns && seen_ns < past->entered_ns && load_relaxed(&line->seen) == entered)
		past->entered_ns = seen_ns;
	row->runs_ns = row->function ? now_ns - past->entered_ns : 0;
	/* A task that does not end shows in no count. */
	if (row->function && row->tasks == 0 && row->runs_ns)
		row->busy = 1;
	row->asleep = past->running ? (double)past->asleep / past->running : -1;
	past->running = past->asleep = 0;
	past->looked_ns = now_ns;
	past->executed = row->stats.executed;
	past->submitted = row->stats.submitted;
}

static void read_row(struct top_row *row, const struct baton__board_line *line,
                     const struct baton__times *times, uint64_t now_ns)
{
	copy_printable(row->name, line);
	row->now_ns = now_ns;
	baton_resource_stats_read(&line->stats, &row->stats);
	row->oldest_ns = row->stats.oldest_ns && row->stats.oldest_ns < now_ns
	                         ? now_ns - row->stats.oldest_ns
	                         : 0;
	row->wait_p50 = baton__histogram_quantile(&times->waited, 500);
	row->wait_p99 = baton__histogram_quantile(&times->waited, 990);
	row->run_p50 = baton__histogram_quantile(&times->ran, 500);
	row->run_p99 = baton__histogram_quantile(&times->ran, 990);
	row->function = load_relaxed(&line->stats._function);
	row->thread = load_relaxed(&line->stats._thread);
	row->readers = load_relaxed(&line->gauge.readers);
	row->cause = row->stats.waiting && !row->function ? load_relaxed(&line->cause)
	                                                  : BATON__CAUSE_NONE;
	if (row->cause >= BATON__CAUSES)
		row->cause = BATON__CAUSE_NONE;
	row->held_up = row->cause != BATON__CAUSE_NONE && row->oldest_ns >= TOP_LASTS_NS;
}

static enum top_sort order;

static double sort_key(const struct top_row *row)
{
	switch (order) {
	case TOP_BY_WAITING:
		return (double)row->stats.waiting;
	case TOP_BY_OLDEST:
		return (double)row->oldest_ns;
	case TOP_BY_WAIT:
		return (double)row->wait_p99;
	case TOP_BY_RUN:
		return (double)row->run_p99;
	case TOP_BY_BUSY:
		return row->held_up ? 2 : row->busy;
	case TOP_BY_FAILED:
		return (double)row->stats.failed;
	case TOP_BY_HANDOFFS:
		return (double)row->stats.handoffs;
	case TOP_BY_REFUSED:
		return (double)row->stats.refused;
	default:
		return row->tasks;
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct top_row *a = left, *b = right;
	const double first = sort_key(a), second = sort_key(b);

	if (a->matches != b->matches)
		return a->matches ? -1 : 1;
	if (order != TOP_BY_NAME && first != second)
		return first < second ? 1 : -1;
	if (order != TOP_BY_NAME && a->tasks != b->tasks)
		return a->tasks < b->tasks ? 1 : -1;
	return strcmp(a->name, b->name);
}

void top_sample(const struct top_board *board, struct top_rows *rows)
{
	const struct baton__board_file *file = board->file;

	for (size_t i = 0; i < rows->past_count; i++) {
		const struct baton__board_line *line = &file->line[i];
		struct top_past *past = &rows->past[i];

		/* Relaxed goes unnoticed: the explorer has one process. */
		if (load_acquire(&line->state) != BATON__LINE_SHOWN ||
		    past->joined_ns != line->joined_ns || !load_relaxed(&line->stats._function))
			continue;
		past->running++;
		past->asleep += top_asleep(board, load_relaxed(&line->stats._thread));
	}
}

/* The clock goes on when a program has died: what waited then waits no longer. */
static uint64_t moment_of(const struct top_board *board)
{
	const uint64_t refreshed_ns = load_relaxed(&board->file->refreshed_ns);

	return board->gone && refreshed_ns ? refreshed_ns : baton__now_ns();
}

void top_read(const struct top_board *board, struct top_rows *rows, enum top_sort sort)
{
	const struct baton__board_file *file = board->file;
	/* Relaxed goes unnoticed below: the explorer has one process. */
	const uint32_t lines = load_acquire(&file->lines);

	if (lines > rows->past_count) {
		rows->past = must(realloc(rows->past, lines * sizeof(*rows->past)));
		memset(rows->past + rows->past_count, 0,
		       (lines - rows->past_count) * sizeof(*rows->past));
		rows->rows = must(realloc(rows->rows, lines * sizeof(*rows->rows)));
		rows->past_count = lines;
	}
	rows->now_ns = moment_of(board);
	rows->count = 0;
	rows->all = 0;
	rows->tasks = 0;
	rows->waiting = 0;
	rows->failed = 0;
	for (uint32_t i = 0; i < lines; i++) {
		const struct baton__board_line *line = &file->line[i];
		const struct baton__times *times = baton__board_times(file, i);
		struct top_row *row = &rows->rows[rows->all];

		/* Acquire: the line (board.shown, inspect/board.c). */
		if (load_acquire(&line->state) != BATON__LINE_SHOWN)
			continue;
		memset(row, 0, sizeof(*row));
		row->line = i;
		read_row(row, line, times, rows->now_ns);
		read_rates(row, line, times, &rows->past[i], rows->now_ns);
		rows->tasks += row->tasks;
		rows->waiting += row->stats.waiting;
		rows->failed += row->stats.failed;
		rows->all++;
		row->matches = !rows->match || strstr(row->name, rows->match);
		rows->count += row->matches;
	}
	order = sort;
	if (rows->all)
		qsort(rows->rows, rows->all, sizeof(*rows->rows), compare_rows);
}

void top_free(struct top_rows *rows)
{
	free(rows->rows);
	free(rows->past);
}

const struct top_row *top_find(const struct top_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->all; i++)
		if (!strcmp(rows->rows[i].name, name))
			return &rows->rows[i];
	return NULL;
}
