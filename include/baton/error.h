/* SPDX-License-Identifier: MIT */
/* What the errors of baton's calls mean, for messages. */
#ifndef BATON_ERROR_H
#define BATON_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A text for an error that a call of baton has returned, in baton's words: "it has been shut down"
 * for -ESHUTDOWN, say. (strerror() has the system's words: "Cannot send after transport endpoint
 * shutdown".) `error`: as it was returned, or errno. What the error means for one call is said
 * there.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: a constant string, without a full stop. "no error" for 0. The system's words where
 * baton has none: a call that opens a file, say, may return whatever open(2) says. "an unknown
 * error" where neither has any.
 */
const char *baton_error_text(int error);

/*
 * Why the last call of this thread that returned -EINVAL has done so: which argument is not valid.
 * "baton_pool_create: workers is above BATON_POOL_WORKERS_MAX", say. A text of several functions
 * names them by a `*`: "baton_timer_arm_*: ...".
 *
 * Thread safety: any thread; the answer concerns the calling thread. Blocking: never.
 * Returns: a constant string. NULL: no call of this thread has returned -EINVAL. Calls of libraries
 * beside libbaton leave the text as it is.
 */
const char *baton_refused(void);

#ifdef __cplusplus
}
#endif

#endif
