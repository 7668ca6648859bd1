/* SPDX-License-Identifier: MIT */
/*
 * What lies in a board's memory. Another process, perhaps of another build, maps this memory:
 * baton-top (src/top) compares `magic`, `version` and the sizes before it reads anything else.
 * A change of a struct here, of struct baton_resource_stats, or of struct baton__gauge raises
 * BATON__BOARD_VERSION.
 *
 * The state of a line (board.line):
 *   FREE -> TAKEN    a thread that joins: the line is its own
 *   TAKEN -> SHOWN   the same thread, when the line is filled in
 *   SHOWN -> FREE    the owner of the resource, after its end
 * A reader that finds SHOWN may still read the line of a resource that has ended meanwhile, or of
 * two resources; the reader then shows a wrong line once.
 */
#ifndef BATON_SRC_BOARD_H
#define BATON_SRC_BOARD_H

#include <baton/board.h>
#include <baton/stats.h>
#include <baton/watchdog.h>

#include "base/atomic.h"
#include "core/gauge.h"

#include <pthread.h>

#define BATON__BOARD_MAGIC "baton\nb"
#define BATON__BOARD_VERSION 8
#define BATON__BOARD_MEMFD "baton-board"

enum baton__board_line_state { BATON__LINE_FREE, BATON__LINE_TAKEN, BATON__LINE_SHOWN };

struct baton__board_line {
	struct baton_resource_stats stats BATON_CACHE_ALIGNED;
	struct baton__gauge gauge;
	uint32_t state;
	uint32_t cause; /* enum baton__cause (stuck.h), as of baton_board_refresh() */
	uint64_t joined_ns;
	struct baton_resource *resource; /* an address of the program */
	char name[BATON_BOARD_NAME_MAX + 1];
	/* The watchdog's last look: the number of tasks entered, and since when it is the same. */
	uint64_t seen;
	uint64_t seen_ns; /* 0: no watchdog has looked */
};

_Static_assert(offsetof(struct baton_resource_stats, submitted) == BATON_CACHE_LINE,
               "an idle run touches one cache line of the board");

struct baton__board_pool {
	const struct baton_pool *pool; /* NULL: a free entry */
	uint64_t workers;
	char name[BATON_BOARD_NAME_MAX + 1];
	struct baton_pool_stats stats;
};

/* A thread that waits, as baton_board_refresh() has found it. */
struct baton__board_wait {
	uint64_t thread; /* the kernel's id */
	uint64_t since_ns;
	const void *future;   /* addresses of the program */
	const void *resource; /* NULL: none, or not known */
	uint32_t promise;
	uint32_t line;  /* of the resource, if it is on the board; else UINT32_MAX */
	uint64_t maker; /* the kernel's id of the thread that has made the promise; 0: not known */
};

#define BATON__BOARD_WAITS 64

/* A thread, as baton_board_refresh() has found it. */
#define BATON__THREAD_NAME_MAX 15
struct baton__board_thread {
	uint64_t thread; /* the kernel's id */
	char name[BATON__THREAD_NAME_MAX + 1];
};

#define BATON__BOARD_THREADS 256

/*
 * A trace that baton-top or the program (baton_watchdog_trace) asks for. The asker takes the
 * request (FILLING), fills in the span and the path, and stores ASKED. baton-top may give its ASKED
 * request up (NONE). So the program's watchdog takes the request, too (STARTING), before it reads
 * the request; then the watchdog alone changes the state, and stores the error before DONE. From
 * DONE, and NONE, the request can be taken again.
 */
enum baton__trace_request_state {
	BATON__TRACE_NONE,
	BATON__TRACE_FILLING,
	BATON__TRACE_ASKED,
	BATON__TRACE_STARTING,
	BATON__TRACE_ON,
	BATON__TRACE_DONE
};

struct baton__trace_request {
	uint32_t state;
	int32_t error;
	uint64_t ns;
	char path[BATON_WATCHDOG_PATH_MAX + 1];
	uint32_t told; /* somebody outside waits for DONE, and tells of an error */
	uint32_t _unused;
};

/* Takes the request. False: a trace is on, or is asked for. Any thread or process. */
BATON_INLINE bool baton__trace_take(struct baton__trace_request *request)
{
	/* [trace.request] acquire: the watchdog has read the last request, and stored its error;
	 * pairs with [trace.request] in trace_done. Relaxed is enough: the compare-and-swap that
	 * confirms it acquires the same. */
	uint32_t state = load_acquire(&request->state);

	return (state == BATON__TRACE_NONE || state == BATON__TRACE_DONE) &&
	       cas_acquire(&request->state, &state, BATON__TRACE_FILLING);
}

struct baton__board_file {
	char magic[8];
	uint32_t version;
	uint32_t line_size;
	uint32_t times_size;
	uint32_t _unused;
	uint32_t lines_max;
	uint32_t lines; /* lines from this number on have always been free */
	int64_t pid;
	uint64_t created_ns;   /* CLOCK_MONOTONIC, as all times on the board */
	uint64_t refreshed_ns; /* when pools and threads were copied; 0: never */
	uint64_t program_base; /* where the program is loaded: function - base is its place */
	char program[256];     /* the path of the program's file; empty: not known */
	struct baton__board_pool pools[BATON_BOARD_POOLS_MAX];
	struct baton__trace_request trace;
	uint32_t waits;   /* how many threads wait; the first are in `wait` */
	uint32_t threads; /* how many are in `thread` */
	struct baton__board_thread thread[BATON__BOARD_THREADS];
	struct baton__board_wait wait[BATON__BOARD_WAITS];
	/* lines_max, and behind them as many struct baton__times */
	struct baton__board_line line[] BATON_CACHE_ALIGNED;
};

/* The times of a line, given by its number. */
BATON_INLINE struct baton__times *baton__board_times(const struct baton__board_file *file,
                                                     uint32_t line)
{
	const struct baton__times *first = (const void *)&file->line[file->lines_max];

	return (struct baton__times *)(uintptr_t)(first + line);
}

struct baton__left_name;

/* The names of resources that have left while a trace is on: trace_names.h. */
struct baton__left_names {
	struct baton__left_name *names;
	uint32_t count;
	uint32_t room;
};

struct baton_board {
	struct baton__board_file *file;
	struct baton_board *others; /* in the list of all boards */
	size_t size;
	char *path; /* NULL: anonymous memory */
	int fd;
	uint64_t trace;                /* the number of the board's trace; 0: none is on */
	uint64_t traced_ns;            /* when it began */
	struct baton__left_names left; /* with `looks` */
	uint32_t next;                 /* where the next join begins to look */
	uint32_t joined;               /* lines that are not free, and pools */
	/* Held while the resources and pools may be looked at. lock allowed: no submit takes it */
	pthread_mutex_t looks;
};

/*
 * begin: locks the board (`looks`) for a function that looks at it or changes it. False: this is a
 * fork's child that baton cannot serve. Its board is the parent's memory, and a lost thread may
 * hold the lock: the function does nothing, or returns -ECHILD.
 */
bool baton__board_look_begin(struct baton_board *board);
void baton__board_look_end(struct baton_board *board);

/* The resource's line; NULL: the resource is not on the board. */
struct baton__board_line *baton__board_line_of(struct baton_board *board,
                                               const struct baton_resource *resource);

#endif
