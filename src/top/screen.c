/* SPDX-License-Identifier: MIT */
/* The live screen: pages as text, drawn by ncurses. */
#include "top/top.h"

#include <ncurses.h>
#include <stdlib.h>
#include <string.h>

enum page { RESOURCES, RESOURCE, THREADS, HELP };

struct screen {
	struct top_board *board;
	struct top_rows rows;
	enum page page;
	enum top_sort sort;
	size_t selected; /* a row's number; or the first line shown, on the other pages */
	char resource[BATON_BOARD_NAME_MAX + 1];
	char match[BATON_BOARD_NAME_MAX + 1];
	bool typing; /* the text of `match` */
};

/* The lines above the first row. */
#define HEAD 4

static void print_help(FILE *out)
{
	(void)fputs(
		"Resources\n"
		"  up, down, page up, page down   choose a resource\n"
		"  return                         its own page, with histograms\n"
		"  s                              sort by the next column, FAILED, H-OFFS, REFUS.\n"
		"  /                              only names with a text; / return: all\n"
		"Everywhere\n"
		"  t  who runs what, what is held up and why, who waits for whom, and pools\n"
		"  r  resources\n"
		"  q  quit\n\n"
		"SUBM/S   tasks submitted, TASKS/S: tasks that have ended, a second\n"
		"WAITING  tasks that have not begun; OLDEST: since when the first of them waits\n"
		"WAIT99   of 100 tasks that had to wait, 99 waited for less; RUN99: ran for less\n"
		"BUSY     part of the time that tasks run\n"
		"NOW      the function that runs; \"for 3s+\": seen there for so long;\n"
		"         \"asleep\": its thread mostly sleeps in there, not for want of a CPU;\n"
		"         or why its tasks wait although none runs\n",
		out);
}

static void print_page(struct screen *screen, FILE *out, size_t height)
{
	const struct top_row *row;
	size_t first = 0;

	switch (screen->page) {
	case RESOURCE:
		row = top_find(&screen->rows, screen->resource);
		if (row)
			top_print_resource(out, screen->board, row);
		else
			(void)fprintf(out, "%s has ended\n", screen->resource);
		break;
	case THREADS:
		top_print_threads(out, screen->board, &screen->rows);
		top_print_pools(out, screen->board);
		break;
	case HELP:
		print_help(out);
		break;
	default:
		if (screen->selected + HEAD + 1 > height)
			first = screen->selected + HEAD + 1 - height;
		top_print_head(out, screen->board, &screen->rows, screen->sort);
		top_print_rows(out, screen->board, &screen->rows,
		               &(struct top_part){screen->sort, first, 0});
	}
}

static void draw_bottom(const struct screen *screen)
{
	char text[BATON_BOARD_NAME_MAX + 32];

	(void)snprintf(text, sizeof(text), "names with: %s_", screen->match);
	(void)mvaddnstr(
		LINES - 1, 0,
		screen->typing
			? text
			: "q quit  r resources  s sort  / find  return details  t threads  ? help",
		COLS);
}

static void draw(struct screen *screen)
{
	const size_t height = (size_t)(LINES > HEAD + 2 ? LINES - 1 : HEAD + 1);
	size_t size, skipped = 0, at = 0, marked = SIZE_MAX;
	char *text = NULL, *line, *rest;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	print_page(screen, out, height);
	if (fclose(out))
		return;
	if (screen->page == RESOURCES)
		marked = HEAD + screen->selected < height ? HEAD + screen->selected : height - 1;
	else
		skipped = screen->selected;
	(void)erase();
	for (rest = text; (line = strsep(&rest, "\n")) && at < height;) {
		if (skipped) {
			skipped--;
			continue;
		}
		if (at == marked)
			(void)attron(A_REVERSE);
		(void)mvaddnstr((int)at, 0, line, COLS);
		(void)attroff(A_REVERSE);
		at++;
	}
	draw_bottom(screen);
	(void)refresh();
	free(text);
}

static void show_page(struct screen *screen, enum page page)
{
	if (page == RESOURCE && screen->selected < screen->rows.count)
		(void)snprintf(screen->resource, sizeof(screen->resource), "%s",
		               screen->rows.rows[screen->selected].name);
	screen->page = page;
	screen->selected = 0;
}

static void move_by(struct screen *screen, long lines)
{
	const long last = screen->page == RESOURCES ? (long)screen->rows.count - 1 : 200;
	long selected = (long)screen->selected + lines;

	selected = selected > last ? last : selected;
	screen->selected = selected < 0 ? 0 : (size_t)selected;
}

/* A key while the user types the text that names must have. */
static void type(struct screen *screen, int pressed)
{
	const size_t length = strlen(screen->match);

	if (pressed == '\n' || pressed == KEY_ENTER)
		screen->typing = false;
	else if ((pressed == KEY_BACKSPACE || pressed == 127 || pressed == '\b') && length)
		screen->match[length - 1] = '\0';
	else if (pressed >= ' ' && pressed < 127 && length + 1 < sizeof(screen->match)) {
		screen->match[length] = (char)pressed;
		screen->match[length + 1] = '\0';
	}
	screen->rows.match = screen->match[0] ? screen->match : NULL;
}

/* False: the user quits. */
static bool obey(struct screen *screen, int pressed)
{
	if (screen->typing) {
		type(screen, pressed);
		return true;
	}
	switch (pressed) {
	case 'q':
		return false;
	case 's':
		screen->sort = (screen->sort + 1) % TOP_SORTS;
		break;
	case 'r':
		show_page(screen, RESOURCES);
		break;
	case '/':
		show_page(screen, RESOURCES);
		screen->typing = true;
		screen->match[0] = '\0';
		screen->rows.match = NULL;
		break;
	case 't':
		show_page(screen, THREADS);
		break;
	case '?':
	case 'h':
		show_page(screen, HELP);
		break;
	case '\n':
	case KEY_ENTER:
		if (screen->page == RESOURCES)
			show_page(screen, RESOURCE);
		break;
	case KEY_UP:
		move_by(screen, -1);
		break;
	case KEY_DOWN:
		move_by(screen, 1);
		break;
	case KEY_PPAGE:
		move_by(screen, -(LINES - HEAD - 1));
		break;
	case KEY_NPAGE:
		move_by(screen, LINES - HEAD - 1);
		break;
	default:
		break;
	}
	return true;
}

/* The next key; ERR: none for a whole delay. */
static int next_key(struct screen *screen)
{
	int pressed = ERR;

	for (int i = 0; i < TOP_SAMPLES && pressed == ERR; i++) {
		pressed = getch();
		top_sample(screen->board, &screen->rows);
	}
	return pressed;
}

int top_screen(struct top_board *board, const struct top_view *view)
{
	struct screen screen = {.board = board, .sort = view->sort};
	int pressed = ERR;

	if (!initscr()) {
		(void)fputs("baton-top: this terminal cannot be used; try --once\n", stderr);
		return 1;
	}
	(void)cbreak();
	(void)noecho();
	(void)curs_set(0);
	(void)keypad(stdscr, TRUE);
	timeout((int)(view->delay_s * 1000 / TOP_SAMPLES));
	if (view->match) {
		(void)snprintf(screen.match, sizeof(screen.match), "%s", view->match);
		screen.rows.match = screen.match;
	}
	if (view->resource) {
		(void)snprintf(screen.resource, sizeof(screen.resource), "%s", view->resource);
		screen.page = RESOURCE;
	}
	do {
		/* A key alone causes no read: rates over so short a time would say nothing. */
		if (pressed == ERR || pressed == 's' || screen.typing) {
			top_look(board);
			top_read(board, &screen.rows, screen.sort);
			move_by(&screen, 0);
		}
		draw(&screen);
		pressed = next_key(&screen);
	} while (obey(&screen, pressed));
	(void)endwin();
	top_free(&screen.rows);
	return 0;
}
