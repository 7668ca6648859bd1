/* SPDX-License-Identifier: MIT */
/* Describes a line of a board, or a thread's wait, in words: for watchdogs' reports and dumps. */
#ifndef BATON_SRC_STUCK_H
#define BATON_SRC_STUCK_H

#include <baton/watchdog.h>

#include "inspect/board.h"

/* The longest message; a longer one is cut off. */
#define BATON__MESSAGE_MAX 400

/* Why do a resource's tasks wait although none of its tasks runs? */
enum baton__cause {
	BATON__CAUSE_NONE,      /* a task runs, or none waits */
	BATON__CAUSE_SUSPENDED, /* the baton is on the shelf */
	BATON__CAUSE_DETACHED,  /* a detached task has put the baton on the shelf */
	BATON__CAUSE_READERS,   /* readers run beside each other */
	BATON__CAUSE_LANES,     /* the lower lanes are suspended */
	BATON__CAUSE_QUEUED,    /* the resource is in its executor's queue */
	BATON__CAUSE_WINDOW,    /* the tasks have been entered, and wait in a window */
	BATON__CAUSE_HELD,      /* a thread has the baton */
	BATON__CAUSES
};

/* The cause for the resource of this line, a hint. The caller holds the board's `looks`. */
enum baton__cause baton__cause_of(const struct baton__board_line *line);

/* Each cause in a few words, and as the rest of a sentence. */
extern const char *const baton__cause_words[BATON__CAUSES];
extern const char *const baton__cause_sentence[BATON__CAUSES];

/* The deed of the thread that is the cause: "has suspended it". NULL: no thread is the cause. */
extern const char *const baton__cause_deed[BATON__CAUSES];

/* The thread that is this cause, as the line says; `thread` 0: none, or not known. Any process. */
struct baton__who baton__cause_who(const struct baton__board_line *line, enum baton__cause cause);

/* The line of the resource at this address. Returns NULL if the board has no such line, or if the
 * address is NULL. */
const struct baton__board_line *baton__line_at(const struct baton__board_file *file,
                                               const void *resource);

/*
 * Each fills in `stuck`, whose message is `message`. tasks: tasks wait on that line, for `ns`, and
 * none runs. runs: the line's task has run for `ns`. wait: the thread of that wait has waited for
 * `ns`. The caller holds the board's `looks`.
 */
void baton__stuck_tasks(struct baton_stuck *stuck, const struct baton__board_file *file,
                        const struct baton__board_line *line, uint64_t ns,
                        char message[BATON__MESSAGE_MAX]);
void baton__stuck_runs(struct baton_stuck *stuck, const struct baton__board_file *file,
                       const struct baton__board_line *line, uint64_t ns,
                       char message[BATON__MESSAGE_MAX]);
void baton__stuck_wait(struct baton_stuck *stuck, const struct baton__board_file *file,
                       const struct baton__board_wait *wait, char message[BATON__MESSAGE_MAX]);

#endif
