/* SPDX-License-Identifier: MIT */
/* Boards: joining, leaving, and the memory that other processes map. See inspect/board.h. */
#include "inspect/board.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/futex.h"
#include "base/refused.h"
#include "core/stats.h"
#include "module/lane.h"
#include "inspect/stuck.h"
#include "inspect/thread_name.h"
#include "inspect/trace_names.h"
#include "thread/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RESOURCES 1024U
#define RESOURCES_MAX (1U << 20)

/* All boards, for debuggers (src/gdb). */
static struct baton_board *boards;
/* lock allowed: as in lock_counted */
static pthread_mutex_t boards_lock = PTHREAD_MUTEX_INITIALIZER;

/* A fork's child may lose the thread that holds the lock: so a thread first counts itself.
 * lock allowed: no submit or task takes the lock, only a look, a leave, the making of a board */
static void lock_counted(pthread_mutex_t *lock)
{
	baton__fork_losses_add(1);
	(void)pthread_mutex_lock(lock); /* lock allowed: as above */
}

/* lock allowed: as in lock_counted */
static void unlock_counted(pthread_mutex_t *lock)
{
	(void)pthread_mutex_unlock(lock); /* lock allowed: as in lock_counted */
	baton__fork_losses_add(-1);
}

bool baton__board_look_begin(struct baton_board *board)
{
	if (baton__forked())
		return false;
	lock_counted(&board->looks);
	return true;
}

void baton__board_look_end(struct baton_board *board)
{
	unlock_counted(&board->looks);
}

static void link_board(struct baton_board *board)
{
	lock_counted(&boards_lock);
	board->others = boards;
	boards = board;
	unlock_counted(&boards_lock);
}

static void unlink_board(struct baton_board *board)
{
	struct baton_board **link = &boards;

	lock_counted(&boards_lock);
	while (*link != board)
		link = &(*link)->others;
	*link = board->others;
	unlock_counted(&boards_lock);
}

/* The first object is the program itself. */
static int note_base(struct dl_phdr_info *object, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = object->dlpi_addr;
	return 1;
}

static void fill_in(struct baton__board_file *file, uint32_t lines)
{
	ssize_t length = readlink("/proc/self/exe", file->program, sizeof(file->program) - 1);

	if (length < 0)
		length = 0;
	file->program[length] = '\0';
	(void)dl_iterate_phdr(note_base, &file->program_base);
	file->version = BATON__BOARD_VERSION;
	file->line_size = sizeof(struct baton__board_line);
	file->times_size = sizeof(struct baton__times);
	file->lines_max = lines;
	file->pid = getpid();
	file->created_ns = baton__now_ns();
	memcpy(file->magic, BATON__BOARD_MAGIC, sizeof(file->magic));
}

/* Opens new memory. An older file is not written to: another process may map it. */
static int open_memory(const char *path)
{
	int fd;

	if (!path)
		fd = memfd_create(BATON__BOARD_MEMFD, MFD_CLOEXEC);
	else if (unlink(path) && errno != ENOENT)
		return -errno;
	else
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int map_board(struct baton_board *board, const char *path)
{
	void *memory;
	int error;

	board->fd = open_memory(path);
	if (board->fd < 0)
		return board->fd;
	if (path) {
		board->path = strdup(path);
		error = board->path ? 0 : -ENOMEM;
		if (error)
			goto close;
	}
	memory = MAP_FAILED;
	if (!ftruncate(board->fd, (off_t)board->size))
		memory = mmap(NULL, board->size, PROT_READ | PROT_WRITE, MAP_SHARED, board->fd, 0);
	error = memory == MAP_FAILED ? -errno : 0;
	if (error)
		goto close;
	board->file = memory;
	return 0;
close:
	if (path)
		(void)unlink(path);
	free(board->path);
	(void)close(board->fd);
	return error;
}

/* Recursive: a watchdog's report may look at the board, and is called within a look. */
static void init_looks(struct baton_board *board)
{
	pthread_mutexattr_t recursive;

	(void)pthread_mutexattr_init(&recursive);
	(void)pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	(void)pthread_mutex_init(&board->looks, &recursive); /* lock allowed: as in lock_counted */
	(void)pthread_mutexattr_destroy(&recursive);
}

BATON_EXPORT int baton_board_create(const struct baton_board_options *options,
                                    struct baton_board **board_out)
{
	uint32_t lines = options && options->resources ? options->resources : RESOURCES;
	struct baton_board *board;
	int error;

	if (lines > RESOURCES_MAX)
		return BATON__ANSWER(NULL,
		                     baton__refused("baton_board_create: resources is above 2^20"));
	if (options && BATON__UNKNOWN(options))
		return BATON__ANSWER(NULL, baton__refused("baton_board_create: a word of "
		                                          "_reserved is not zero"));
	error = baton__thread_attach(); /* registers the fork handler */
	if (error)
		return error;
	board = calloc(1, sizeof(*board));
	if (!board)
		return -ENOMEM;
	board->size = sizeof(*board->file) +
	              lines * (sizeof(struct baton__board_line) + sizeof(struct baton__times));
	error = map_board(board, options ? options->path : NULL);
	if (error) {
		free(board);
		return error;
	}
	init_looks(board);
	fill_in(board->file, lines);
	link_board(board);
	BATON__CHECKED(made(board, NULL, __func__));
	*board_out = board;
	return 0;
}

BATON_EXPORT void baton_board_destroy(struct baton_board *board)
{
	BATON__CHECKED(owned(board, __func__));
	if (baton__forked())
		return;
	/* Relaxed is enough: the count only finds misuse. The destroyer must know, by an order of
	 * its own, that all have left. */
	BATON_REQUIRE(load_acquire(&board->joined) == 0,
	              "a resource or pool is still on the board: take it from there first, by "
	              "baton_board_leave or baton_board_pool_leave");
	BATON__CHECKED(ended(board, NULL, __func__));
	unlink_board(board);
	baton__trace_names_clear(board);
	(void)munmap(board->file, board->size);
	if (board->path)
		(void)unlink(board->path);
	free(board->path);
	(void)close(board->fd);
	(void)pthread_mutex_destroy(&board->looks); /* lock allowed: as in lock_counted */
	free(board);
}

/* Takes a free line. NULL: the board is full. */
static struct baton__board_line *take_line(struct baton_board *board)
{
	struct baton__board_file *file = board->file;
	/* Relaxed, here and below: where the search begins is a guess. */
	uint32_t at = load_relaxed(&board->next);

	for (uint32_t i = 0; i < file->lines_max; i++, at++) {
		struct baton__board_line *line = &file->line[at % file->lines_max];
		uint32_t state = BATON__LINE_FREE;

		/* [board.free] acquire: the last owner's stores; pairs with [board.free] in
		 * leave */
		if (load_relaxed(&line->state) != state ||
		    !cas_acquire(&line->state, &state, BATON__LINE_TAKEN))
			continue;
		at %= file->lines_max;
		store_relaxed(&board->next, at + 1);
		return line;
	}
	return NULL;
}

/* Makes readers look at all lines up to this line. */
static void raise_lines(struct baton__board_file *file, const struct baton__board_line *line)
{
	const uint32_t lines = (uint32_t)(line - file->line) + 1;
	uint32_t found = load_relaxed(&file->lines);

	/* Ends: a failure is a larger number, of at most lines_max. */
	while (found < lines && !cas_relaxed(&file->lines, &found, lines))
		continue;
}

static void copy_to_board(char *copy, const char *name)
{
	size_t length = name ? strnlen(name, BATON_BOARD_NAME_MAX) : 0;

	if (length)
		memcpy(copy, name, length);
	copy[length] = '\0';
}

/* A page that is never touched takes no memory: without lanes the lanes' times stay untouched. */
static void clear_gauge(struct baton__board_file *file, struct baton__board_line *line)
{
	struct baton__times *times = baton__board_times(file, (uint32_t)(line - file->line));

	memset(times, 0, line->gauge.lanes ? sizeof(*times) : offsetof(struct baton__times, lane));
	line->gauge = (struct baton__gauge){.times = times};
}

BATON_EXPORT int baton_board_join(struct baton_board *board, struct baton_resource *resource,
                                  const char *name, struct baton_resource_stats **stats)
{
	BATON__CHECKED(resource(resource, __func__));

	struct baton__board_line *line;

	if (baton__forked())
		return -ECHILD;
	line = take_line(board);
	if (!line)
		return -ENOSPC;
	memset(&line->stats, 0, sizeof(line->stats));
	clear_gauge(board->file, line);
	copy_to_board(line->name, name ? name : baton__name(resource));
	line->resource = resource;
	line->cause = BATON__CAUSE_NONE;
	line->joined_ns = baton__now_ns();
	line->seen_ns = 0;
	line->stats._gauge = &line->gauge;
	baton_resource_set_stats(resource, &line->stats);
	baton__lanes_show(resource);
	(void)add_relaxed(&board->joined, 1);
	raise_lines(board->file, line);
	/* [board.shown] release: the line is filled in; pairs with [board.shown] in
	 * baton__line_at */
	store_release(&line->state, BATON__LINE_SHOWN);
	if (stats)
		*stats = &line->stats;
	return 0;
}

struct baton__board_line *baton__board_line_of(struct baton_board *board,
                                               const struct baton_resource *resource)
{
	const struct baton_resource_stats *stats = baton__stats(resource);
	const char *at = (const char *)stats;
	const char *first = (const char *)board->file->line;

	if (!stats || at < first || at >= (const char *)board->file + board->size)
		return NULL;
	return &board->file->line[(size_t)(at - first) / sizeof(struct baton__board_line)];
}

BATON_EXPORT void baton_board_leave(struct baton_board *board, struct baton_resource *resource)
{
	BATON__CHECKED(resource(resource, __func__));

	struct baton__board_line *line = baton__board_line_of(board, resource);

	if (!line || !baton__board_look_begin(board))
		return;
	BATON__CHECKED(left(resource));
	baton__trace_names_keep(board, line);
	line->resource = NULL;
	/* [board.free] release: the stores of this resource's runners; pairs with [board.free] in
	 * take_line */
	store_release(&line->state, BATON__LINE_FREE);
	baton__board_look_end(board);
	/* Release: the last touch of the line; pairs with the look in destroy. Relaxed is enough:
	 * as in destroy. */
	(void)sub_acq_rel(&board->joined, 1);
}

static struct baton__board_pool *entry_of(struct baton_board *board, const struct baton_pool *pool)
{
	for (size_t i = 0; i < BATON_BOARD_POOLS_MAX; i++)
		if (board->file->pools[i].pool == pool)
			return &board->file->pools[i];
	return NULL;
}

BATON_EXPORT int baton_board_pool_join(struct baton_board *board, const struct baton_pool *pool,
                                       const char *name)
{
	struct baton__board_pool *entry;

	if (!baton__board_look_begin(board))
		return -ECHILD;
	entry = entry_of(board, NULL);
	if (entry) {
		copy_to_board(entry->name, name);
		entry->workers = baton_pool_workers(pool);
		baton_pool_stats_read(pool, &entry->stats);
		/* Relaxed is enough: this process looks at entries while it holds `looks`;
		 * baton-top may show a wrong pool once. */
		store_release(&entry->pool, pool);
		(void)add_relaxed(&board->joined, 1);
	}
	baton__board_look_end(board);
	return entry ? 0 : -ENOSPC;
}

BATON_EXPORT void baton_board_pool_leave(struct baton_board *board, const struct baton_pool *pool)
{
	struct baton__board_pool *entry;

	if (!baton__board_look_begin(board))
		return;
	entry = entry_of(board, pool);
	if (entry) {
		store_relaxed(&entry->pool, NULL);
		/* Relaxed is enough: as in destroy. */
		(void)sub_acq_rel(&board->joined, 1);
	}
	baton__board_look_end(board);
}

/* Copies which threads wait. A copied wait may be over already. */
static void refresh_waits(struct baton__board_file *file)
{
	uint32_t waits = 0;

	for (struct baton__thread *thread = baton__thread_first(); thread; thread = thread->next) {
		const uint64_t since_ns = load_relaxed(&thread->wait.since_ns);
		const void *resource = load_relaxed(&thread->wait.resource);
		const struct baton__board_line *line;

		if (!since_ns || !load_relaxed(&thread->used))
			continue;
		line = baton__line_at(file, resource);
		if (waits < BATON__BOARD_WAITS)
			file->wait[waits] = (struct baton__board_wait){
				.thread = load_relaxed(&thread->tid),
				.since_ns = since_ns,
				.future = load_relaxed(&thread->wait.future),
				.resource = resource,
				.promise = load_relaxed(&thread->wait.promise),
				.line = line ? (uint32_t)(line - file->line) : UINT32_MAX,
				.maker = load_relaxed(&thread->wait.maker),
			};
		waits++;
	}
	store_relaxed(&file->waits, waits);
}

static void refresh_causes(struct baton__board_file *file)
{
	for (uint32_t i = 0; i < load_relaxed(&file->lines); i++) {
		struct baton__board_line *line = &file->line[i];

		/* [board.shown] acquire: the line; pairs with [board.shown] in baton_board_join */
		if (load_acquire(&line->state) == BATON__LINE_SHOWN)
			store_relaxed(&line->cause, baton__cause_of(line));
	}
}

BATON_EXPORT void baton_board_refresh(struct baton_board *board)
{
	if (!baton__board_look_begin(board))
		return;
	for (size_t i = 0; i < BATON_BOARD_POOLS_MAX; i++) {
		struct baton__board_pool *entry = &board->file->pools[i];

		if (entry->pool)
			baton_pool_stats_read(entry->pool, &entry->stats);
	}
	refresh_waits(board->file);
	refresh_causes(board->file);
	baton__thread_names(board->file);
	store_relaxed(&board->file->refreshed_ns, baton__now_ns());
	baton__board_look_end(board);
}
