/* SPDX-License-Identifier: MIT */
/* Reads the names of this process's threads from /proc. See thread_name.h. */
#include "inspect/thread_name.h"

#include "base/atomic.h"
#include "thread/thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Without /proc, or when the thread has ended meanwhile, the name is empty. */
static void read_name(char name[BATON__THREAD_NAME_MAX + 1], uint32_t thread)
{
	char path[48];
	ssize_t length = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, name, BATON__THREAD_NAME_MAX);
		(void)close(fd);
	}
	name[length < 0 ? 0 : length] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

static void add(struct baton__board_file *file, uint32_t *count, uint32_t thread)
{
	struct baton__board_thread *entry = &file->thread[*count];

	entry->thread = thread;
	read_name(entry->name, thread);
	++*count;
}

void baton__thread_names(struct baton__board_file *file)
{
	const uint32_t waits = file->waits < BATON__BOARD_WAITS ? file->waits : BATON__BOARD_WAITS;
	uint32_t count = 0;

	for (struct baton__thread *thread = baton__thread_first();
	     thread && count < BATON__BOARD_THREADS; thread = thread->next)
		if (load_relaxed(&thread->used))
			add(file, &count, load_relaxed(&thread->tid));
	store_relaxed(&file->threads, count);
	/* A thread that has made a promise may have no record. */
	for (uint32_t i = 0; i < waits && count < BATON__BOARD_THREADS; i++)
		if (file->wait[i].maker && !baton__thread_name(file, file->wait[i].maker)[0])
			add(file, &count, (uint32_t)file->wait[i].maker);
	store_relaxed(&file->threads, count);
}

const char *baton__thread_name(const struct baton__board_file *file, uint64_t thread)
{
	const uint32_t found = load_relaxed(&file->threads);
	const uint32_t threads = found < BATON__BOARD_THREADS ? found : BATON__BOARD_THREADS;

	for (uint32_t i = 0; i < threads; i++)
		if (file->thread[i].thread == thread &&
		    memchr(file->thread[i].name, '\0', sizeof(file->thread[i].name)))
			return file->thread[i].name;
	return "";
}
