/* SPDX-License-Identifier: MIT */
/*
 * Why a call refuses an argument. A call that returns -EINVAL returns baton__refused(text): so the
 * program can ask which argument it was (baton_refused(), error.h), and `make tidy` finds each
 * -EINVAL that says nothing.
 */
#ifndef BATON_SRC_REFUSED_H
#define BATON_SRC_REFUSED_H

/*
 * Keeps the text for this thread, and returns -EINVAL. `text`, a constant: the function, a colon,
 * and what is wrong with which argument. A text of several functions names their family by a `*`.
 */
int baton__refused(const char *text);

/* Of a task that is submitted. */
#define BATON__NOT_FRESH(function)                                                                 \
	baton__refused(function ": the task's future is not fresh: it has served a task before")

/* Has the program set a member of a config or of options that this library does not know? */
#define BATON__UNKNOWN(options)                                                                    \
	(((options)->_reserved[0] | (options)->_reserved[1] | (options)->_reserved[2] |            \
	  (options)->_reserved[3]) != 0)

#endif
