/* SPDX-License-Identifier: MIT */
/* The texts of errors. `make tidy` compares the list with what headers and sources name. */
#include <baton/error.h>

#include "base/platform.h"
#include "base/refused.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static const char *const texts[] = {
	[0] = "no error",
	[EACCES] = "access is denied",
	[EAGAIN] = "not now: it is busy, or there is no room",
	[EALREADY] = "that has been done or begun before",
	[EBADF] = "the descriptor is not open",
	[EBADMSG] = "what was found or received is malformed",
	[EBUSY] = "it is in use",
	[ECANCELED] = "it was cancelled",
	[ECHILD] = "this process was forked from one that used baton",
	[ECONNREFUSED] = "there is no connection to the server",
	[ECONNRESET] = "the other side has ended the connection",
	[EDEADLK] = "the wait could never end, or calls have nested too deep",
	[EEXIST] = "it exists already",
	[EINPROGRESS] = "it runs at the moment",
	[EINTR] = "a signal, or a stop, came first",
	[EINVAL] = "an argument is not valid here",
	[EIO] = "input or output has failed",
	[ELOOP] = "it would depend on itself",
	[EMFILE] = "the process has too many open descriptors",
	[EMSGSIZE] = "it is too large",
	[ENAMETOOLONG] = "the name is too long",
	[ENFILE] = "the system has too many open files",
	[ENOBUFS] = "messages were lost for want of room",
	[ENOENT] = "there is none of that name",
	[ENOMEM] = "there is no memory",
	[ENOSPC] = "there is no room left",
	[ENOTRECOVERABLE] = "a change could not be undone",
	[ENOTSUP] = "this build or system does not support it",
	[EPERM] = "this thread or process may not do that",
	[EPIPE] = "the resource is closed",
	[EPROTO] = "the other side speaks another version",
	[EREMOTE] = "another machine has it",
	[EROFS] = "it can only be read",
	[ESHUTDOWN] = "it has been shut down",
	[ESTALE] = "somebody else has taken over",
	[ETIMEDOUT] = "the deadline has passed",
	[EXDEV] = "the two do not belong together",
};

/* The system's text, a constant string. NULL: the system has no text. */
static const char *system_text(int error)
{
#ifndef __GLIBC__
	const char *text = strerror(error); /* musl: constant, one text for all unknown errors */

	return text == strerror(-1) ? NULL : text;
#elif __GLIBC_PREREQ(2, 32)
	return strerrordesc_np(error);
#else
	(void)error;
	return NULL; /* strerror() may write into a buffer of all threads */
#endif
}

BATON_EXPORT const char *baton_error_text(int error)
{
	const unsigned number = error < 0 ? 0U - (unsigned)error : (unsigned)error;
	const char *text = number < sizeof(texts) / sizeof(*texts) ? texts[number] : NULL;

	if (!text && number <= INT_MAX)
		text = system_text((int)number);
	return text ? text : "an unknown error";
}

static __thread const char *refusal __attribute__((tls_model("initial-exec")));

int baton__refused(const char *text)
{
	refusal = text;
	return -EINVAL;
}

BATON_EXPORT const char *baton_refused(void)
{
	return refusal;
}
