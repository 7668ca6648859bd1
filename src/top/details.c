/* SPDX-License-Identifier: MIT */
/* The page of one resource, with histograms; and who holds its tasks up. */
#include "top/top.h"

#include "base/atomic.h"

#include <inttypes.h>

/* One bar for each power of two that has times. */
static void print_histogram(FILE *out, const struct baton__histogram *histogram, const char *what)
{
	uint64_t rows[BATON__HISTOGRAM_BUCKETS / BATON__HISTOGRAM_PART] = {0}, most = 1, all = 0;
	char text[3][TOP_TEXT];

	for (size_t i = 0; i < BATON__HISTOGRAM_BUCKETS; i++) {
		uint64_t *row = &rows[i / BATON__HISTOGRAM_PART];

		*row += load_relaxed(&histogram->counts[i]);
		all += load_relaxed(&histogram->counts[i]);
		most = *row > most ? *row : most;
	}
	(void)fprintf(out,
	              "\n%s: %" PRIu64 " measured; half below %s, 99 %% below %s, longest %s\n",
	              what, all, top_time(text[0], baton__histogram_quantile(histogram, 500)),
	              top_time(text[1], baton__histogram_quantile(histogram, 990)),
	              top_time(text[2], load_relaxed(&histogram->max_ns)));
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		if (!rows[row])
			continue;
		(void)fprintf(
			out, "  %6s  ",
			top_time(text[0], baton__histogram_lowest(row * BATON__HISTOGRAM_PART)));
		for (uint64_t bar = 0; bar < (rows[row] * 50 + most - 1) / most; bar++)
			(void)fputc('#', out);
		(void)fprintf(out, " %" PRIu64 "\n", rows[row]);
	}
}

uint64_t top_lanes(const struct baton__gauge *gauge)
{
	const uint64_t lanes = load_relaxed(&gauge->lanes);

	return lanes < BATON__GAUGE_LANES ? lanes : BATON__GAUGE_LANES;
}

uint64_t top_lane_oldest(const struct baton__lane_queue *queue, uint64_t now_ns)
{
	return queue->oldest_ns && queue->oldest_ns < now_ns ? now_ns - queue->oldest_ns : 0;
}

static void print_lanes(FILE *out, const struct baton__gauge *gauge,
                        const struct baton__times *times, uint64_t now_ns)
{
	const uint64_t lanes = top_lanes(gauge);

	for (uint64_t i = 0; i < lanes; i++) {
		const bool further = i + 1 == lanes && load_relaxed(&gauge->lanes) > lanes;
		struct baton__lane_queue queue;
		char text[TOP_TEXT], what[64];

		baton__gauge_lane_read(&times->lane[i], &queue);
		(void)snprintf(what, sizeof(what), "time in lane %" PRIu64 "%s", i,
		               further ? " and below" : "");
		print_histogram(out, &times->lane[i].waited, what);
		(void)fprintf(out, "  %" PRIu64 " wait there now, the oldest for %s\n",
		              queue.waiting, top_time(text, top_lane_oldest(&queue, now_ns)));
	}
}

void top_print_who(FILE *out, const struct top_board *board, const struct top_row *row)
{
	const struct baton__board_file *file = board->file;
	const struct baton__who who = baton__cause_who(&file->line[row->line], row->cause);
	char thread[TOP_THREAD_TEXT], name[BATON_BOARD_NAME_MAX + 1];

	if (!who.thread)
		return;
	(void)fprintf(out, "; thread %s %s", top_thread(thread, board, who.thread),
	              baton__cause_deed[row->cause]);
	if (who.function)
		(void)fprintf(out, " in %s", top_function(board, who.function));
	if (who.resource && !who.why)
		(void)fprintf(out, "%s %s", who.function ? " of" : " in a task of",
		              top_name_at(name, file, who.resource));
}

void top_print_resource(FILE *out, const struct top_board *board, const struct top_row *row)
{
	const struct baton__board_line *line = &board->file->line[row->line];
	const struct baton__times *times = baton__board_times(board->file, row->line);
	const struct baton_resource_stats *stats = &row->stats;
	char text[2][TOP_TEXT], thread[TOP_THREAD_TEXT];

	(void)fprintf(out, "%s\n\n", row->name);
	if (row->function)
		(void)fprintf(out, "runs now      %s, thread %s, for %s\n",
		              top_function(board, row->function),
		              top_thread(thread, board, row->thread),
		              row->runs_ns ? top_time(text[0], row->runs_ns) : "a moment");
	else
		(void)fprintf(out, "runs now      nothing; last thread %s\n",
		              top_thread(thread, board, row->thread));
	if (row->readers)
		(void)fprintf(out, "readers       %" PRIu64 " at work\n", row->readers);
	(void)fprintf(out, "waiting       %" PRIu64 ", the oldest for %s\n", stats->waiting,
	              top_time(text[0], row->oldest_ns));
	if (row->cause != BATON__CAUSE_NONE) {
		(void)fprintf(out, "              %s", baton__cause_sentence[row->cause]);
		top_print_who(out, board, row);
		(void)fputc('\n', out);
	}
	(void)fprintf(out, "a second      %s submitted, %s ended; busy %.0f %%",
	              top_number(text[0], row->submits), top_number(text[1], row->tasks),
	              100 * row->busy);
	if (row->asleep >= 0)
		(void)fprintf(out, ", of which asleep %.0f %%, computing %.0f %%",
		              100 * row->asleep, 100 - 100 * row->asleep);
	(void)fputc('\n', out);
	(void)fprintf(
		out,
		"submitted     %" PRIu64 " in all, %" PRIu64 " to the idle resource\n"
		"executed      %" PRIu64 "\nfailed        %" PRIu64 "\n"
		"cancelled     %" PRIu64 "\nhand-offs     %" PRIu64 " (%" PRIu64
		" refused by the executor)\nhelped        %" PRIu64 "\nlargest queue %" PRIu64 "\n",
		stats->submitted, stats->captures, stats->executed, stats->failed, stats->cancelled,
		stats->handoffs, stats->refused, stats->helped, stats->backlog_max);
	print_histogram(out, &times->waited, "time in the queue");
	print_lanes(out, &line->gauge, times, row->now_ns);
	print_histogram(out, &times->ran, "run time");
}
