/* SPDX-License-Identifier: MIT */
/* Finds the board of a process or file, and maps it. */
#include "top/top.h"

#include <baton/error.h>

#include "base/atomic.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

/* Opens the first open file of the process that is a board. -1: errno says why. */
static int open_of_process(const char *pid, int flags)
{
	char folder[64], path[PATH_MAX], target[PATH_MAX];
	struct dirent *entry;
	int fd = -1;
	DIR *list;

	(void)snprintf(folder, sizeof(folder), "/proc/%.20s/fd", pid);
	list = opendir(folder);
	if (!list)
		return -1;
	errno = ENODATA;
	while (fd < 0 && (entry = readdir(list))) {
		ssize_t length;

		(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		length = readlink(path, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = '\0';
		if (!strncmp(target, "/memfd:" BATON__BOARD_MEMFD,
		             strlen("/memfd:" BATON__BOARD_MEMFD)))
			fd = open(path, flags);
		else
			errno = ENODATA;
	}
	(void)closedir(list);
	return fd;
}

/* NULL: a board that this program can read; else what is wrong with it. */
static const char *fault(const struct baton__board_file *file, size_t size)
{
	if (size < sizeof(*file) ||
	    memcmp(file->magic, BATON__BOARD_MAGIC, sizeof(file->magic)) != 0)
		return "is no board of baton";
	if (file->version != BATON__BOARD_VERSION ||
	    file->line_size != sizeof(struct baton__board_line) ||
	    file->times_size != sizeof(struct baton__times))
		return "is the board of another version of baton: use that version's baton-top";
	if (size < sizeof(*file) +
	                    file->lines_max * ((uint64_t)file->line_size + file->times_size) ||
	    file->lines > file->lines_max)
		return "is a board that was cut off";
	return NULL;
}

static bool attach_board(struct top_board *board, const char *whose, bool to_write)
{
	const bool process = is_number(whose);
	const int flags = (to_write ? O_RDWR : O_RDONLY) | O_CLOEXEC;
	const char *wrong;
	struct stat stat;
	void *memory;
	int fd;

	fd = process ? open_of_process(whose, flags) : open(whose, flags);
	if (fd < 0) {
		if (process && errno == ENODATA)
			(void)fprintf(
				stderr,
				"baton-top: process %s has no board in memory: the program must "
				"call baton_board_create; is its board a file? Give its path\n",
				whose);
		else
			(void)fprintf(
				stderr, "baton-top: %s%s: %s\n", process ? "process " : "", whose,
				errno == ENOENT && process
					? "no process has this id. If it has crashed, give the "
					  "board's file, or open the core file in gdb: see "
					  "baton-debugging(7)"
					: strerror(errno));
		return false;
	}
	if (fstat(fd, &stat) || stat.st_size == 0) {
		(void)fprintf(stderr, "baton-top: %s is no board of baton\n", whose);
		(void)close(fd);
		return false;
	}
	memory = mmap(NULL, (size_t)stat.st_size, PROT_READ | (to_write ? PROT_WRITE : 0),
	              MAP_SHARED, fd, 0);
	(void)close(fd);
	if (memory == MAP_FAILED) {
		(void)fprintf(stderr, "baton-top: %s: %s\n", whose, strerror(errno));
		return false;
	}
	board->file = memory;
	board->size = (size_t)stat.st_size;
	wrong = fault(board->file, board->size);
	if (wrong) {
		(void)fprintf(stderr, "baton-top: %s %s\n", whose, wrong);
		top_detach(board);
		return false;
	}
	top_look(board);
	return true;
}

bool top_attach(struct top_board *board, const char *whose)
{
	return attach_board(board, whose, false);
}

/* Makes the path absolute: the program has another working directory. */
static bool absolute(char full[sizeof(((struct baton__trace_request *)0)->path)], const char *path)
{
	char folder[PATH_MAX] = "";
	const size_t size = sizeof(((struct baton__trace_request *)0)->path);

	if (*path != '/' && !getcwd(folder, sizeof(folder)))
		return false;
	return (size_t)snprintf(full, size, "%s%s%s", folder, *folder ? "/" : "", path) < size;
}

static bool wait_for(const uint32_t *state, uint32_t wanted, double seconds)
{
	const struct timespec pause = {0, 20000000};

	for (double waited = 0; waited < seconds; waited += 0.02) {
		/* Acquire: the error, which the program's watchdog has stored before DONE. Relaxed
		 * goes unnoticed: the explorer has one process. */
		if (load_acquire(state) >= wanted)
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

static int ask_program(struct baton__trace_request *request, double seconds, const char *path)
{
	char full[sizeof(request->path)];
	uint32_t asked = BATON__TRACE_ASKED;

	if (!absolute(full, path)) {
		(void)fprintf(stderr, "baton-top: %s: the path is too long\n", path);
		return 1;
	}
	if (!baton__trace_take(request)) {
		(void)fputs("baton-top: a trace of this program is on, or has been asked for\n",
		            stderr);
		return 1;
	}
	memcpy(request->path, full, sizeof(full));
	request->ns = (uint64_t)(seconds * 1e9);
	request->told = true;
	/* Release: the request, which the program's watchdog reads. Relaxed goes unnoticed: the
	 * explorer has one process. */
	store_release(&request->state, BATON__TRACE_ASKED);
	/* If this fails, the watchdog has just answered. Relaxed: the request is given up. */
	if (!wait_for(&request->state, BATON__TRACE_ON, 5) &&
	    cas_relaxed(&request->state, &asked, BATON__TRACE_NONE)) {
		(void)fputs("baton-top: the program does not answer: it has no watchdog "
		            "(baton_watchdog_create), or is stopped\n",
		            stderr);
		return 1;
	}
	if (!wait_for(&request->state, BATON__TRACE_DONE, seconds + 60)) {
		(void)fputs("baton-top: the program has not written the trace\n", stderr);
		return 1;
	}
	if (request->error)
		(void)fprintf(stderr, "baton-top: %s: %s\n", request->path,
		              baton_error_text(request->error));
	else
		(void)printf("%s is written; open it in ui.perfetto.dev\n", request->path);
	return request->error ? 1 : 0;
}

int top_trace(const char *whose, double seconds, const char *path)
{
	struct top_board board;
	int status;

	if (!attach_board(&board, whose, true))
		return 1;
	if (board.running) {
		status = ask_program(&((struct baton__board_file *)(uintptr_t)board.file)->trace,
		                     seconds, path);
	} else {
		(void)fprintf(stderr, "baton-top: the program is %s\n", board.state);
		status = 1;
	}
	top_detach(&board);
	return status;
}

void top_detach(struct top_board *board)
{
	(void)munmap((void *)(uintptr_t)board->file, board->size);
}

/* The kernel's letter for the state of a process or thread, from its file in /proc. 0: none. */
static char state_in(const char *path)
{
	char stat[512], *end;
	FILE *file = fopen(path, "re");

	if (!file)
		return 0;
	stat[fread(stat, 1, sizeof(stat) - 1, file)] = '\0';
	(void)fclose(file);
	end = strrchr(stat, ')'); /* the name may contain anything */
	return end && end[1] ? end[2] : 0;
}

/* Has another program got the process id since? */
static bool other_program(const struct baton__board_file *file)
{
	char path[64], target[PATH_MAX];
	ssize_t length;

	(void)snprintf(path, sizeof(path), "/proc/%lld/exe", (long long)file->pid);
	length = readlink(path, target, sizeof(target) - 1);
	/* A file that was replaced is "PATH (deleted)". */
	return length > 0 && file->program[0] &&
	       ((size_t)length < strlen(file->program) ||
	        strncmp(target, file->program, strlen(file->program)) != 0);
}

void top_look(struct top_board *board)
{
	const char *word = "gone";
	char path[64], state;

	(void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)board->file->pid);
	state = state_in(path);
	if (state && other_program(board->file))
		state = 0;
	board->running = state && !strchr("TtZX", state);
	board->gone = !state || strchr("ZX", state);
	if (state)
		word = board->running ? "running" : strchr("Tt", state) ? "stopped" : "dead";
	(void)snprintf(board->state, sizeof(board->state), "%s", word);
}

bool top_asleep(const struct top_board *board, uint64_t thread)
{
	char path[64], state;

	(void)snprintf(path, sizeof(path), "/proc/%lld/task/%llu/stat", (long long)board->file->pid,
	               (unsigned long long)thread);
	state = state_in(path);
	return state == 'S' || state == 'D';
}
