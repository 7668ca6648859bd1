/* SPDX-License-Identifier: MIT */
/* Places for the log; see log_target.h. */
#include "common/log_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "common/must.h"

#define FILE_MODE 0640

struct log_target {
	unsigned int places;
	int file;
};

/* A named pipe must not stop the broker until somebody reads it. */
static int open_file(const char *path)
{
	const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC | O_NONBLOCK,
	                    FILE_MODE);
	struct stat found;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

int log_target_open(unsigned int places, const char *path, struct log_target **target)
{
	const int file = path != NULL ? open_file(path) : 0;

	if (file < 0) {
		log_event(LOG_LEVEL_ERROR, "log_file_failed", log_text("file", path),
		          log_text("reason",
		                   file == -EINVAL ? "not a regular file" : strerror(-file)));
		return file;
	}
	*target = must_alloc(sizeof(**target));
	(*target)->places = places != 0 ? places : LOG_TO_STDERR;
	(*target)->file = file;
	return 0;
}

void log_target_close(struct log_target *target)
{
	if (target != NULL && (target->places & LOG_TO_FILE) != 0)
		close(target->file);
	free(target);
}

static bool write_all(int fd, const char *text, size_t size)
{
	while (size > 0) { /* ends: each turn writes something, or gives up */
		const ssize_t written = write(fd, text, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		text += written;
		size -= (size_t)written;
	}
	return true;
}

bool log_target_write(struct log_target *target, enum log_level level, const char *line,
                      size_t size, size_t head)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG};
	const unsigned int places = target != NULL ? target->places : LOG_TO_STDERR;
	bool taken = true;

	if ((places & LOG_TO_STDERR) != 0)
		taken = write_all(STDERR_FILENO, line, size);
	if ((places & LOG_TO_STDOUT) != 0)
		taken = write_all(STDOUT_FILENO, line, size) && taken;
	if ((places & LOG_TO_FILE) != 0)
		taken = write_all(target->file, line, size) && taken;
	if ((places & LOG_TO_SYSLOG) != 0)
		syslog(LOG_DAEMON | priorities[level], "%.*s", (int)(size - head - 1), line + head);
	return taken;
}
