/* SPDX-License-Identifier: MIT */
/* Where the lines of the log go: stderr, stdout, syslog and a file, or some of these. */
#ifndef BROKER_LOG_TARGET_H
#define BROKER_LOG_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "common/log.h"

/* In the order of the words of --log-dest. */
enum log_place {
	LOG_TO_STDERR = 1,
	LOG_TO_STDOUT = 2,
	LOG_TO_SYSLOG = 4,
	LOG_TO_FILE = 8,
	LOG_TO_NOTHING = 16,
};

struct log_target;

/*
 * open: of some places, a bit for each (0: stderr). Opens the file, if `path` is not NULL, and
 * makes it if need be; errors are logged. close:
 * NULL is allowed.
 */
int log_target_open(unsigned int places, const char *path, struct log_target **target);
void log_target_close(struct log_target *target);

/*
 * Writes a line, which ends in a line break; `head`: so many bytes at its begin say the time, which
 * syslog adds itself. NULL: to stderr. False: some place has not taken it.
 */
bool log_target_write(struct log_target *target, enum log_level level, const char *line,
                      size_t size, size_t head);

#endif
