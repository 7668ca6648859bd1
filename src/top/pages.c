/* SPDX-License-Identifier: MIT */
/* The pages as text: at most 80 columns, unless a name of a function is long. */
#include "top/top.h"

#include "base/atomic.h"
#include "inspect/thread_name.h"

#include <inttypes.h>
#include <string.h>

#define NAME_WIDTH 24
/* A resource that is less busy than this is shown as busy 0 %, and is not called the busiest. */
#define SHOWN_BUSY 0.005

const char *top_time(char text[TOP_TEXT], uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	int unit = 0;

	if (!ns) {
		(void)snprintf(text, TOP_TEXT, "-");
		return text;
	}
	while (value >= 999.5 && unit < 3) {
		value /= 1000;
		unit++;
	}
	(void)snprintf(text, TOP_TEXT, "%.*f%s", value < 9.95 && unit ? 1 : 0, value, units[unit]);
	return text;
}

const char *top_number(char text[TOP_TEXT], double number)
{
	static const char units[] = " kMGT";
	int unit = 0;

	while (number >= 9999.5 && unit < 4) {
		number /= 1000;
		unit++;
	}
	if (unit)
		(void)snprintf(text, TOP_TEXT, "%.*f%c", number < 99.95 ? 1 : 0, number,
		               units[unit]);
	else
		(void)snprintf(text, TOP_TEXT, "%.0f", number);
	return text;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* One of the notes behind `t:`, the key that shows what the notes are about. */
static void print_note(FILE *out, bool *any, size_t count, const char *one, const char *several)
{
	if (!count)
		return;
	(void)fprintf(out, "%s%zu %s", *any ? ", " : "; t: ", count, count > 1 ? several : one);
	*any = true;
}

/* The rest of the second line. */
static void print_notes(FILE *out, const struct top_board *board, const struct top_rows *rows)
{
	size_t lasting = 0, held_up = 0;
	char text[TOP_TEXT];
	bool any = false;

	for (size_t i = 0; i < rows->all; i++) {
		const struct top_row *row = &rows->rows[i];

		lasting += row->function && row->runs_ns >= TOP_LASTS_NS;
		held_up += row->held_up;
	}
	if (rows->match)
		(void)fprintf(out, "; %zu with '%s' in their names", rows->count, rows->match);
	if (rows->failed)
		(void)fprintf(out, "; %s task%s failed", top_number(text, (double)rows->failed),
		              rows->failed > 1 ? "s have" : " has");
	print_note(out, &any, lasting, "task lasts", "tasks last");
	print_note(out, &any, held_up, "resource held up", "resources held up");
	print_note(out, &any, load_relaxed(&board->file->waits), "thread waits", "threads wait");
	(void)fputc('\n', out);
}

/* Shortens a long name in its middle: the beginning says the kind, the end which one it is. */
static const char *shorten(char shortened[NAME_WIDTH + 1], const char *name)
{
	const size_t length = strlen(name);

	if (length <= NAME_WIDTH)
		return name;
	(void)snprintf(shortened, NAME_WIDTH + 1, "%.9s~%s", name,
	               name + length - (NAME_WIDTH - 10));
	return shortened;
}

/* The third line: which resource is busiest, and whose queue is longest. */
static void print_most(FILE *out, const struct top_rows *rows)
{
	const struct top_row *busiest = NULL, *longest = NULL;
	char shortened[NAME_WIDTH + 1], text[2][TOP_TEXT];

	for (size_t i = 0; i < rows->all; i++) {
		const struct top_row *row = &rows->rows[i];

		if (row->busy > (busiest ? busiest->busy : SHOWN_BUSY))
			busiest = row;
		if (row->stats.waiting > (longest ? longest->stats.waiting : 0))
			longest = row;
	}
	if (busiest)
		(void)fprintf(out, "busiest: %s %.0f%%; ", shorten(shortened, busiest->name),
		              100 * busiest->busy);
	else
		(void)fprintf(out, "none is busy; ");
	if (longest)
		(void)fprintf(out, "longest queue: %s %s, oldest %s\n",
		              shorten(shortened, longest->name),
		              top_number(text[0], (double)longest->stats.waiting),
		              top_time(text[1], longest->oldest_ns));
	else
		(void)fprintf(out, "no task waits\n");
}

/* One column shows what the rows are sorted by, if no other column does. */
static const char *column_of(enum top_sort sort)
{
	return sort == TOP_BY_FAILED     ? "FAILED"
	       : sort == TOP_BY_HANDOFFS ? "H-OFFS"
	       : sort == TOP_BY_REFUSED  ? "REFUS."
	                                 : "WAIT99";
}

void top_print_head(FILE *out, const struct top_board *board, const struct top_rows *rows,
                    enum top_sort sort)
{
	const struct baton__board_file *file = board->file;
	char text[3][TOP_TEXT];

	(void)fprintf(out, "%s, pid %lld, %s, up %s: %zu resources, %s tasks/s, %s waiting\n",
	              file->program[0] ? last_part(file->program) : "a program",
	              (long long)file->pid, board->state,
	              top_time(text[0], rows->now_ns > file->created_ns
	                                        ? rows->now_ns - file->created_ns
	                                        : 0),
	              rows->all, top_number(text[1], rows->tasks),
	              top_number(text[2], (double)rows->waiting));
	(void)fprintf(out, "by %s", top_sort_names[sort]);
	print_notes(out, board, rows);
	print_most(out, rows);
	(void)fprintf(out, "%-*s %7s %7s %7s %6s %6s %6s %5s  %s\n", NAME_WIDTH, "RESOURCE",
	              "SUBM/S", "TASKS/S", "WAITING", "OLDEST", column_of(sort), "RUN99", "BUSY",
	              "NOW");
}

static const char *thread_name(char name[TOP_THREAD_TEXT], const struct top_board *board,
                               uint64_t thread)
{
	(void)snprintf(name, TOP_THREAD_TEXT, "%.*s", BATON__THREAD_NAME_MAX,
	               baton__thread_name(board->file, thread));
	return top_printable(name);
}

const char *top_thread(char text[TOP_THREAD_TEXT], const struct top_board *board, uint64_t thread)
{
	char name[TOP_THREAD_TEXT];

	(void)thread_name(name, board, thread);
	(void)snprintf(text, TOP_THREAD_TEXT, name[0] ? "%" PRIu64 " (%.15s)" : "%" PRIu64, thread,
	               name);
	return text;
}

static void print_now(FILE *out, const struct top_board *board, const struct top_row *row)
{
	char text[TOP_TEXT];

	if (row->function)
		(void)fprintf(out, "%s", top_function(board, row->function));
	if (row->function && row->runs_ns >= TOP_LASTS_NS)
		(void)fprintf(out, " for %s+", top_time(text, row->runs_ns));
	if (row->function && row->asleep > 0.5)
		(void)fprintf(out, " asleep");
	if (row->held_up)
		(void)fprintf(out, "%s", baton__cause_words[row->cause]);
	(void)fprintf(out, "\n");
}

static const char *column(char text[TOP_TEXT], const struct top_row *row, enum top_sort sort)
{
	if (sort == TOP_BY_FAILED)
		return top_number(text, (double)row->stats.failed);
	if (sort == TOP_BY_HANDOFFS)
		return top_number(text, (double)row->stats.handoffs);
	if (sort == TOP_BY_REFUSED)
		return top_number(text, (double)row->stats.refused);
	return top_time(text, row->wait_p99);
}

void top_print_rows(FILE *out, const struct top_board *board, const struct top_rows *rows,
                    const struct top_part *part)
{
	const enum top_sort sort = part->sort;
	const size_t first = part->first, lines = part->lines;

	char text[6][TOP_TEXT], name[NAME_WIDTH + 1];

	for (size_t i = first; i < rows->count && (!lines || i - first < lines); i++) {
		const struct top_row *row = &rows->rows[i];

		(void)fprintf(out, "%-*s %7s %7s %7s %6s %6s %6s %4.0f%%  ", NAME_WIDTH,
		              shorten(name, row->name), top_number(text[0], row->submits),
		              top_number(text[1], row->tasks),
		              top_number(text[2], (double)row->stats.waiting),
		              top_time(text[3], row->oldest_ns), column(text[4], row, sort),
		              top_time(text[5], row->run_p99), 100 * row->busy);
		print_now(out, board, row);
	}
}

/* The thread that runs a task of the resource on this line. 0: none. */
static uint64_t runner(const struct baton__board_file *file, uint32_t line)
{
	if (line >= file->lines || !load_relaxed(&file->line[line].stats._function))
		return 0;
	return load_relaxed(&file->line[line].stats._thread);
}

static const struct baton__board_wait *wait_of(const struct baton__board_file *file, uint32_t waits,
                                               uint64_t thread)
{
	for (uint32_t i = 0; i < waits; i++)
		if (file->wait[i].thread == thread)
			return &file->wait[i];
	return NULL;
}

/* Is the wait in a cycle? Follows it to the runner, and on to what that runner waits for. */
static bool in_cycle(const struct baton__board_file *file, uint32_t waits,
                     const struct baton__board_wait *first)
{
	const struct baton__board_wait *wait = first;

	for (uint32_t steps = 0; wait && steps <= waits; steps++) {
		wait = wait_of(file, waits, runner(file, wait->line));
		if (wait == first)
			return true;
	}
	return false;
}

static const char *name_of_line(const struct top_rows *rows, uint32_t line)
{
	for (size_t i = 0; i < rows->all; i++)
		if (rows->rows[i].line == line)
			return rows->rows[i].name;
	return "a resource that is not on the board";
}

static void print_run(FILE *out, const struct top_board *board, const struct top_row *row)
{
	char thread[TOP_THREAD_TEXT], text[TOP_TEXT];

	(void)fprintf(out, "thread %s runs %s of %s", top_thread(thread, board, row->thread),
	              top_function(board, row->function), row->name);
	if (row->runs_ns >= TOP_LASTS_NS)
		(void)fprintf(out, " for %s+", top_time(text, row->runs_ns));
	if (row->stats.waiting)
		(void)fprintf(out, ", %s wait", top_number(text, (double)row->stats.waiting));
	(void)fprintf(out, "%s\n", row->asleep > 0.5 ? ", asleep" : "");
}

static void print_held_up(FILE *out, const struct top_board *board, const struct top_row *row)
{
	char text[2][TOP_TEXT];

	(void)fprintf(out, "%s: %s wait, the oldest for %s: %s", row->name,
	              top_number(text[0], (double)row->stats.waiting),
	              top_time(text[1], row->oldest_ns), baton__cause_sentence[row->cause]);
	top_print_who(out, board, row);
	(void)fputc('\n', out);
}

void top_print_threads(FILE *out, const struct top_board *board, const struct top_rows *rows)
{
	const struct baton__board_file *file = board->file;
	const uint32_t found = load_relaxed(&file->waits);
	const uint32_t waits = found < BATON__BOARD_WAITS ? found : BATON__BOARD_WAITS;
	char text[TOP_TEXT], thread[TOP_THREAD_TEXT];

	if (!file->refreshed_ns) {
		(void)fprintf(out,
		              "threads: not known: the program has no watchdog, and does not call "
		              "baton_board_refresh\n");
		return;
	}
	for (size_t i = 0; i < rows->all; i++)
		if (rows->rows[i].function)
			print_run(out, board, &rows->rows[i]);
	for (size_t i = 0; i < rows->all; i++)
		if (rows->rows[i].held_up)
			print_held_up(out, board, &rows->rows[i]);
	for (uint32_t i = 0; i < waits; i++) {
		const struct baton__board_wait *wait = &file->wait[i];
		const uint64_t holder = runner(file, wait->line);

		(void)fprintf(out, "thread %s waits since %s for %s",
		              top_thread(thread, board, wait->thread),
		              top_time(text, file->refreshed_ns > wait->since_ns
		                                     ? file->refreshed_ns - wait->since_ns
		                                     : 0),
		              wait->promise    ? "a promise that nobody has completed"
		              : wait->resource ? name_of_line(rows, wait->line)
		                               : "a task that is not submitted, or for several");
		if (holder)
			(void)fprintf(out, ", which thread %s runs",
			              top_thread(thread, board, holder));
		if (wait->promise && wait->maker == wait->thread)
			(void)fprintf(out, ", which it has made itself");
		else if (wait->promise && wait->maker)
			(void)fprintf(out, "; thread %s has made it",
			              top_thread(thread, board, wait->maker));
		(void)fprintf(out, "%s\n", in_cycle(file, waits, wait) ? "  (a cycle)" : "");
	}
	if (!waits)
		(void)fprintf(out, "no thread waits\n");
	if (found > waits)
		(void)fprintf(out, "and %u more threads wait\n", found - waits);
}

void top_print_pools(FILE *out, const struct top_board *board)
{
	const struct baton__board_file *file = board->file;
	char text[4][TOP_TEXT], name[BATON_BOARD_NAME_MAX + 1];

	for (size_t i = 0; i < BATON_BOARD_POOLS_MAX; i++) {
		const struct baton__board_pool *pool = &file->pools[i];
		const struct baton_pool_stats *stats = &pool->stats;

		if (!load_relaxed(&pool->pool))
			continue;
		(void)snprintf(name, sizeof(name), "%.*s", BATON_BOARD_NAME_MAX, pool->name);
		(void)fprintf(out,
		              "pool %s: %" PRIu64 " workers, %" PRIu64 " spares (%" PRIu64
		              " refused); %s jobs, %s stolen, parked %s times\n",
		              name[0] ? top_printable(name) : "(no name)", pool->workers,
		              stats->spares, stats->spares_refused,
		              top_number(text[0], (double)stats->executed),
		              top_number(text[1], (double)stats->stolen),
		              top_number(text[2], (double)stats->parked));
	}
}

static void print_string(FILE *out, const char *text)
{
	(void)fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			(void)fputc('\\', out);
		(void)fputc(*text, out); /* names are printable ASCII (rows.c) */
	}
	(void)fputc('"', out);
}

static void print_json_lanes(FILE *out, const struct baton__gauge *gauge,
                             const struct baton__times *times, uint64_t now_ns)
{
	const uint64_t lanes = top_lanes(gauge);

	if (!lanes)
		return;
	(void)fputs(", \"lanes\": [", out);
	for (uint64_t i = 0; i < lanes; i++) {
		const struct baton__histogram *waited = &times->lane[i].waited;
		struct baton__lane_queue queue;

		baton__gauge_lane_read(&times->lane[i], &queue);
		(void)fprintf(out,
		              "%s{\"waiting\": %" PRIu64 ", \"oldest_ns\": %" PRIu64
		              ", \"wait_ns\": {\"p50\": %" PRIu64 ", \"p99\": %" PRIu64
		              ", \"max\": %" PRIu64 "}}",
		              i ? ", " : "", queue.waiting, top_lane_oldest(&queue, now_ns),
		              baton__histogram_quantile(waited, 500),
		              baton__histogram_quantile(waited, 990),
		              load_relaxed(&waited->max_ns));
	}
	(void)fputc(']', out);
}

/* Prints the thread that is the cause. */
static void print_json_who(FILE *out, const struct top_board *board, const struct top_row *row)
{
	const struct baton__board_file *file = board->file;
	const struct baton__who who = baton__cause_who(&file->line[row->line], row->cause);
	char name[BATON_BOARD_NAME_MAX + 1];

	if (!who.thread)
		return;
	(void)fprintf(out, ", \"by\": {\"thread\": %u, \"function\": ", who.thread);
	if (who.function)
		print_string(out, top_function(board, who.function));
	else
		(void)fputs("null", out);
	(void)fputs(", \"resource\": ", out);
	if (who.resource)
		print_string(out, top_name_at(name, file, who.resource));
	else
		(void)fputs("null", out);
	(void)fputc('}', out);
}

static void print_json_row(FILE *out, const struct top_board *board, const struct top_row *row)
{
	const struct baton_resource_stats *stats = &row->stats;
	const struct baton__gauge *gauge = &board->file->line[row->line].gauge;
	const struct baton__times *times = baton__board_times(board->file, row->line);

	(void)fprintf(out, "    {\"name\": ");
	print_string(out, row->name);
	(void)fprintf(
		out,
		", \"tasks_per_s\": %.1f, \"submits_per_s\": %.1f, \"busy\": %.3f"
		", \"submitted\": %" PRIu64 ", \"executed\": %" PRIu64 ", \"failed\": %" PRIu64
		", \"cancelled\": %" PRIu64 ", \"waiting\": %" PRIu64 ", \"oldest_ns\": %" PRIu64
		", \"captures\": %" PRIu64 ", \"handoffs\": %" PRIu64 ", \"refused\": %" PRIu64
		", \"helped\": %" PRIu64 ", \"backlog_max\": %" PRIu64,
		row->tasks, row->submits, row->busy, stats->submitted, stats->executed,
		stats->failed, stats->cancelled, stats->waiting, row->oldest_ns, stats->captures,
		stats->handoffs, stats->refused, stats->helped, stats->backlog_max);
	(void)fprintf(out,
	              ", \"wait_ns\": {\"p50\": %" PRIu64 ", \"p99\": %" PRIu64
	              ", \"max\": %" PRIu64 "}, \"run_ns\": {\"p50\": %" PRIu64
	              ", \"p99\": %" PRIu64 ", \"max\": %" PRIu64 "}",
	              row->wait_p50, row->wait_p99, load_relaxed(&times->waited.max_ns),
	              row->run_p50, row->run_p99, load_relaxed(&times->ran.max_ns));
	print_json_lanes(out, gauge, times, row->now_ns);
	if (row->asleep >= 0)
		(void)fprintf(out, ", \"asleep\": %.3f", row->asleep);
	(void)fprintf(out, ", \"thread\": %" PRIu64 ", \"function\": ", row->thread);
	if (row->function)
		print_string(out, top_function(board, row->function));
	else
		(void)fputs("null", out);
	(void)fprintf(out,
	              ", \"runs_ns\": %" PRIu64 ", \"readers\": %" PRIu64
	              ", \"cause\": \"%s\"",
	              row->runs_ns, row->readers, baton__cause_words[row->cause]);
	print_json_who(out, board, row);
	(void)fputc('}', out);
}

void top_print_json(FILE *out, const struct top_board *board, const struct top_rows *rows)
{
	const struct baton__board_file *file = board->file;
	const uint32_t found = load_relaxed(&file->waits);
	const uint32_t waits = found < BATON__BOARD_WAITS ? found : BATON__BOARD_WAITS;

	(void)fprintf(out, "{\n  \"pid\": %lld,\n  \"state\": \"%s\",\n  \"resources\": [\n",
	              (long long)file->pid, board->state);
	for (size_t i = 0; i < rows->count; i++) {
		print_json_row(out, board, &rows->rows[i]);
		(void)fprintf(out, "%s\n", i + 1 < rows->count ? "," : "");
	}
	(void)fprintf(out, "  ],\n  \"waits\": [\n");
	for (uint32_t i = 0; i < waits; i++) {
		const struct baton__board_wait *wait = &file->wait[i];

		(void)fprintf(out,
		              "    {\"thread\": %" PRIu64 ", \"ns\": %" PRIu64
		              ", \"promise\": %s, \"maker\": %" PRIu64
		              ", \"cycle\": %s, \"runner\": %" PRIu64 ", \"resource\": ",
		              wait->thread, file->refreshed_ns - wait->since_ns,
		              wait->promise ? "true" : "false", wait->maker,
		              in_cycle(file, waits, wait) ? "true" : "false",
		              runner(file, wait->line));
		if (wait->line < file->lines)
			print_string(out, name_of_line(rows, wait->line));
		else
			(void)fputs("null", out);
		(void)fprintf(out, "}%s\n", i + 1 < waits ? "," : "");
	}
	(void)fprintf(out, "  ],\n  \"threads\": {");
	for (uint32_t i = 0, found_names = load_relaxed(&file->threads); i < found_names; i++) {
		char text[TOP_THREAD_TEXT];

		if (i >= BATON__BOARD_THREADS)
			break;
		(void)fprintf(out, "%s\"%" PRIu64 "\": ", i ? ", " : "", file->thread[i].thread);
		print_string(out, thread_name(text, board, file->thread[i].thread));
	}
	(void)fprintf(out, "}\n}\n");
}
