/* SPDX-License-Identifier: MIT */
/*
 * baton-top: shows what the resources of another program do, from that program's board
 * (baton/board.h). The board is mapped read-only; the program notices nothing.
 */
#ifndef BATON_TOP_H
#define BATON_TOP_H

#include "inspect/stuck.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum top_sort {
	TOP_BY_BUSY,
	TOP_BY_TASKS,
	TOP_BY_WAITING,
	TOP_BY_OLDEST,
	TOP_BY_WAIT,
	TOP_BY_RUN,
	TOP_BY_FAILED,
	TOP_BY_HANDOFFS,
	TOP_BY_REFUSED,
	TOP_BY_NAME,
	TOP_SORTS
};

/* The sorts' names for --sort. */
extern const char *const top_sort_names[TOP_SORTS];

/* A board that is mapped (attach.c). */
struct top_board {
	const struct baton__board_file *file;
	size_t size;
	bool running; /* the program is alive, and not stopped */
	bool gone;
	char state[32];
};

/* Opens the board of a process, or of a file. False: a message has been printed. */
bool top_attach(struct top_board *board, const char *whose);

/* Makes the program's watchdog write a trace. Returns the exit status. */
int top_trace(const char *whose, double seconds, const char *path);

void top_detach(struct top_board *board);

/* Looks whether the program runs. */
void top_look(struct top_board *board);

/* Does the thread sleep, in the kernel's eyes? Not known: false. */
bool top_asleep(const struct top_board *board, uint64_t thread);

/* "4711", or "4711 (name)" where the board has the thread's name; in `text`, which is returned. */
#define TOP_THREAD_TEXT 48
const char *top_thread(char text[TOP_THREAD_TEXT], const struct top_board *board, uint64_t thread);

/* One resource, as it was at one look, and its rates since the look before (rows.c). */
struct top_row {
	uint32_t line;
	bool matches;
	char name[BATON_BOARD_NAME_MAX + 1]; /* printable */
	struct baton_resource_stats stats;
	double tasks;       /* a second; at the first look: since the resource joined */
	double busy;        /* the share of time in which tasks run; estimated from samples */
	double asleep;      /* the share of `busy` in which the thread sleeps; below 0: not known */
	double submits;     /* a second, as tasks */
	uint32_t cause;     /* enum baton__cause: why the tasks that wait are not run */
	bool held_up;       /* they wait for so long that this is shown */
	uint64_t oldest_ns; /* how long the oldest task has waited; 0: none waits */
	uint64_t wait_p50, wait_p99, run_p50, run_p99;
	uintptr_t function; /* that runs now; 0: none */
	uint64_t thread;
	uint64_t readers; /* at work now */
	uint64_t now_ns;  /* when the row was read */
	uint64_t runs_ns; /* for at least so long the same task has run, as seen from here */
};

struct top_rows {
	struct top_row *rows;
	const char *match; /* the text that names must have; NULL: any */
	size_t count;      /* of the rows that match; they come first */
	size_t all;
	double tasks; /* of all rows, a second */
	uint64_t waiting;
	uint64_t failed;
	uint64_t now_ns;       /* of a program that has died: when its watchdog looked last */
	struct top_past *past; /* by line */
	size_t past_count;
};

/* A run or wait of at least this length is shown as one that lasts. */
#define TOP_LASTS_NS 1000000000U

/* How many samples are taken between two looks. */
#define TOP_SAMPLES 20

/* Looks once which threads run tasks, and whether they sleep, for the next top_read(). */
void top_sample(const struct top_board *board, struct top_rows *rows);

/* Reads all rows, and sorts them. */
void top_read(const struct top_board *board, struct top_rows *rows, enum top_sort sort);
void top_free(struct top_rows *rows);

/* The row of that name. NULL: none. */
const struct top_row *top_find(const struct top_rows *rows, const char *name);

/* The name of the resource at an address of the program; in `name`, or constant. */
const char *top_name_at(char name[BATON_BOARD_NAME_MAX + 1], const struct baton__board_file *file,
                        const void *resource);

/* The name of a function of the program, as addr2line tells it, or its place (symbols.c). */
const char *top_function(const struct top_board *board, uintptr_t function);

/* Names come from strangers: a terminal must not obey them. Makes each byte that is not printable
 * ASCII a `?`, in place; returns `text`. */
char *top_printable(char *text);

/* Which rows are printed. `lines`: the most; 0: all. */
struct top_part {
	enum top_sort sort;
	size_t first;
	size_t lines;
};

/* Pages as text, for the screen and for --once (pages.c). */
void top_print_head(FILE *out, const struct top_board *board, const struct top_rows *rows,
                    enum top_sort sort);
void top_print_rows(FILE *out, const struct top_board *board, const struct top_rows *rows,
                    const struct top_part *part);
void top_print_threads(FILE *out, const struct top_board *board, const struct top_rows *rows);
void top_print_pools(FILE *out, const struct top_board *board);
/* Prints "; thread 4711 (name) has suspended it in ...", where a thread is the row's cause. */
void top_print_who(FILE *out, const struct top_board *board, const struct top_row *row);
void top_print_json(FILE *out, const struct top_board *board, const struct top_rows *rows);

/* The page of one resource (details.c). */
void top_print_resource(FILE *out, const struct top_board *board, const struct top_row *row);

/* The lanes that have times of their own; for how long a lane's oldest task has waited, or 0. */
uint64_t top_lanes(const struct baton__gauge *gauge);
uint64_t top_lane_oldest(const struct baton__lane_queue *queue, uint64_t now_ns);

/* "1.2ms", "7.0s", "-" for 0; in `text`, which is returned. */
#define TOP_TEXT 16
const char *top_time(char text[TOP_TEXT], uint64_t ns);
const char *top_number(char text[TOP_TEXT], double number);

/* The live screen, until the user quits (screen.c). */
struct top_view {
	enum top_sort sort;
	double delay_s;
	const char *resource; /* the view begins with this resource's page; or NULL */
	const char *match;    /* only rows whose names have this text; or NULL */
};
int top_screen(struct top_board *board, const struct top_view *view);

#endif
