/* SPDX-License-Identifier: MIT */
/* The names of resources that have left the board while a trace is on. See trace_names.h. */
#include "inspect/trace_names.h"

#include "base/futex.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MIN 64U
#define NAMES_MAX 65536U /* 6 MiB; resources that leave later have no name in the trace */

struct baton__left_name {
	const struct baton__board_line *line;
	uint64_t joined_ns;
	uint64_t left_ns;
	char name[BATON_BOARD_NAME_MAX + 1];
};

/* False: there is no memory, or there are too many. */
static bool grow_names(struct baton__left_names *left)
{
	const uint32_t room = left->room ? left->room * 2 : NAMES_MIN;
	struct baton__left_name *grown;

	if (left->count < left->room)
		return true;
	if (room > NAMES_MAX)
		return false;
	grown = realloc(left->names, room * sizeof(*grown));
	if (!grown)
		return false;
	left->names = grown;
	left->room = room;
	return true;
}

void baton__trace_names_keep(struct baton_board *board, const struct baton__board_line *line)
{
	struct baton__left_names *left = &board->left;
	struct baton__left_name *name;

	/* Relaxed: a trace that begins beside this call need not have the name. */
	if (!load_relaxed(&board->trace) || !grow_names(left))
		return;
	name = &left->names[left->count++];
	name->line = line;
	name->joined_ns = line->joined_ns;
	name->left_ns = baton__now_ns();
	memcpy(name->name, line->name, sizeof(name->name));
}

/* The spans of one line do not overlap. Spans with a common moment compare equal. */
static int by_line_and_span(const void *left, const void *right)
{
	const struct baton__left_name *a = left;
	const struct baton__left_name *b = right;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->left_ns < b->joined_ns)
		return -1;
	return a->joined_ns > b->left_ns;
}

void baton__trace_names_sort(struct baton_board *board)
{
	if (board->left.count)
		qsort(board->left.names, board->left.count, sizeof(*board->left.names),
		      by_line_and_span);
}

/* The line of a gauge; NULL: the gauge is not on the board. */
static const struct baton__board_line *line_of(const struct baton__board_file *file, uint64_t gauge)
{
	const uintptr_t first = (uintptr_t)file->line;
	const uint64_t number = (gauge - first) / sizeof(struct baton__board_line);

	/* Relaxed: a number that only grows. */
	return gauge < first || number >= load_relaxed(&file->lines) ? NULL : &file->line[number];
}

const char *baton__trace_name(const struct baton_board *board, uint64_t gauge, uint64_t ns)
{
	const struct baton__left_name wanted = {
		.line = line_of(board->file, gauge), .joined_ns = ns, .left_ns = ns};
	const struct baton__left_name *found = NULL;

	if (!wanted.line)
		return NULL;
	/* [board.shown] acquire: the line; pairs with [board.shown] in baton_board_join. Relaxed
	 * goes unnoticed: no scenario shows a line while a trace is written. */
	if (load_acquire(&wanted.line->state) == BATON__LINE_SHOWN && wanted.line->joined_ns <= ns)
		return wanted.line->name[0] ? wanted.line->name : NULL;
	if (board->left.count)
		found = bsearch(&wanted, board->left.names, board->left.count, sizeof(wanted),
		                by_line_and_span);
	return found && found->name[0] ? found->name : NULL;
}

void baton__trace_names_clear(struct baton_board *board)
{
	free(board->left.names);
	board->left = (struct baton__left_names){.names = NULL};
}
