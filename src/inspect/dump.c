/* SPDX-License-Identifier: MIT */
/* Writes a board as text: what runs, what waits, and why. */
#include "inspect/stuck.h"

#include "base/atomic.h"
#include "base/futex.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_S 1e9

static int write_line(int fd, const char *text)
{
	char line[BATON__MESSAGE_MAX + 1];
	size_t length = strnlen(text, BATON__MESSAGE_MAX), written = 0;

	memcpy(line, text, length);
	line[length++] = '\n';
	while (written < length) {
		ssize_t more = write(fd, line + written, length - written);

		if (more < 0 && errno != EINTR)
			return -errno;
		if (more > 0)
			written += (size_t)more;
	}
	return 0;
}

/* Writes how many tasks wait in each lane, how long, and how long earlier tasks waited. */
static int write_lanes(int fd, const struct baton__board_line *line, uint64_t now_ns)
{
	const uint64_t lanes = line->gauge.lanes;
	char message[BATON__MESSAGE_MAX];
	int error = 0;

	for (uint64_t i = 0; !error && i < lanes && i < BATON__GAUGE_LANES; i++) {
		const struct baton__gauge_lane *lane = &line->gauge.times->lane[i];
		struct baton__lane_queue queue;

		baton__gauge_lane_read(lane, &queue);
		if (!queue.waiting)
			continue;
		(void)snprintf(message, sizeof(message),
		               "  lane %" PRIu64 ": %" PRIu64
		               " tasks wait, the oldest since %.1f s; before, half of them waited "
		               "less than %.6f s, 99 %% less than %.6f s, the longest %.6f s",
		               i, queue.waiting,
		               queue.oldest_ns && queue.oldest_ns < now_ns
		                       ? (double)(now_ns - queue.oldest_ns) / NS_PER_S
		                       : 0,
		               (double)baton__histogram_quantile(&lane->waited, 500) / NS_PER_S,
		               (double)baton__histogram_quantile(&lane->waited, 990) / NS_PER_S,
		               (double)load_relaxed(&lane->waited.max_ns) / NS_PER_S);
		error = write_line(fd, message);
	}
	return error;
}

static int write_readers(int fd, const struct baton__board_line *line)
{
	const uint64_t readers = load_relaxed(&line->gauge.readers);
	char message[BATON__MESSAGE_MAX];

	if (!readers)
		return 0;
	(void)snprintf(message, sizeof(message), "  readers at work in \"%s\": %" PRIu64,
	               line->name, readers);
	return write_line(fd, message);
}

static int write_resource(int fd, const struct baton__board_file *file,
                          const struct baton__board_line *line, uint64_t now_ns)
{
	char message[BATON__MESSAGE_MAX];
	struct baton_resource_stats copy;
	struct baton_stuck stuck;
	int error;

	/* [board.shown] acquire: the line; pairs with [board.shown] in baton_board_join */
	if (load_acquire(&line->state) != BATON__LINE_SHOWN)
		return 0;
	baton_resource_stats_read(&line->stats, &copy);
	if (load_relaxed(&line->stats._function))
		baton__stuck_runs(&stuck, file, line, 0, message);
	else if (copy.waiting)
		baton__stuck_tasks(
			&stuck, file, line,
			copy.oldest_ns && copy.oldest_ns < now_ns ? now_ns - copy.oldest_ns : 0,
			message);
	else
		return write_readers(fd, line);
	error = write_line(fd, message);
	if (!error)
		error = write_readers(fd, line);
	return error ? error : write_lanes(fd, line, now_ns);
}

BATON_EXPORT int baton_board_dump(struct baton_board *board, int fd)
{
	const struct baton__board_file *file = board->file;
	char message[BATON__MESSAGE_MAX];
	struct baton_stuck stuck;
	uint64_t now_ns;
	int error;

	baton_board_refresh(board);
	if (!baton__board_look_begin(board))
		return -ECHILD;
	now_ns = file->refreshed_ns;
	(void)snprintf(message, sizeof(message), "baton: process %" PRId64 ", %u threads wait",
	               file->pid, file->waits);
	error = write_line(fd, message);
	for (uint32_t i = 0; !error && i < load_relaxed(&file->lines); i++)
		error = write_resource(fd, file, &file->line[i], now_ns);
	for (uint32_t i = 0; !error && i < file->waits && i < BATON__BOARD_WAITS; i++) {
		baton__stuck_wait(&stuck, file, &file->wait[i], message);
		error = write_line(fd, message);
	}
	baton__board_look_end(board);
	return error;
}
