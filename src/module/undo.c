/* SPDX-License-Identifier: MIT */
/*
 * Undo logs: a list of compensations on the stack of the task that fills it.
 *
 * Invariants:
 * undo.owner: One thread touches a log, while it holds the baton of the resource in whose task the
 *    log began. Nothing is shared, so nothing is atomic.
 * undo.out_first: A compensation is taken out of the list before it is called: it may free itself,
 *    and is not called twice.
 * undo.freed: A compensation that the library has allocated is freed once: when it is called, or
 *    when the log ends.
 */
#include "core/called.h"
#include "core/resource.h"

#include <baton/undo.h>

#include "thread/node.h"

#include <errno.h>

/* A compensation that baton_undo_log_add has allocated. */
struct call {
	struct baton_undo undo;
	baton_undo_call_fn fn;
	void *arg;
};

_Static_assert(sizeof(struct call) <= BATON__NODE_BODY_SIZE, "fits a node");

static void require_usable(const struct baton_undo_log *log, const char *function)
{
	if (BATON_UNLIKELY(!baton__thread_excludes(baton__self, log->_resource)))
		BATON_MISUSE_OF(
			function, baton__name(log->_resource),
			"is not held by this thread: a log is used in the task that began it");
	if (BATON_UNLIKELY(log->_undoing))
		BATON_MISUSE_OF(function, baton__name(log->_resource),
		                "is being undone: an undo function leaves the log alone");
}

BATON_EXPORT void baton_undo_log_begin(struct baton_undo_log *log)
{
	struct baton_resource *resource = baton_current();

	BATON_REQUIRE(resource, "this thread runs no task: begin the log in a task's function");
	*log = (struct baton_undo_log){NULL, resource, 0, false};
}

BATON_EXPORT void baton_undo_log_push(struct baton_undo_log *log, struct baton_undo *undo,
                                      baton_undo_fn fn)
{
	require_usable(log, __func__);
	*undo = (struct baton_undo){log->_newest, fn, NULL};
	log->_newest = undo;
}

static int run_call(struct baton_undo *undo)
{
	struct call *call = baton_container_of(undo, struct call, undo);
	baton_undo_call_fn fn = call->fn;
	void *arg = call->arg;

	baton__node_free(call);
	return fn(arg);
}

static void forget_call(struct baton_undo *undo)
{
	baton__node_free(baton_container_of(undo, struct call, undo));
}

BATON_EXPORT int baton_undo_log_add(struct baton_undo_log *log, baton_undo_call_fn fn, void *arg)
{
	struct call *call;

	require_usable(log, __func__);
	call = baton__node_alloc(sizeof(*call));
	if (!call)
		return -ENOMEM;
	call->fn = fn;
	call->arg = arg;
	baton_undo_log_push(log, &call->undo, run_call);
	call->undo._forget = forget_call;
	return 0;
}

/* Calls the compensations newer than `mark`, newest first. Returns the first error. */
static int undo_to(struct baton_undo_log *log, const struct baton_undo *mark)
{
	int failure = 0;

	log->_undoing = true;
	while (log->_newest != mark) {
		struct baton_undo *undo = log->_newest;
		int status;

		log->_newest = undo->_older;
		status = undo->_fn(undo); /* last touch */
		if (status && !failure)
			failure = status;
	}
	log->_undoing = false;
	if (failure && !log->_failure)
		log->_failure = failure;
	return failure;
}

/* Ends a log without undoing: frees the compensations that the library has allocated. */
static void forget(struct baton_undo_log *log)
{
	struct baton_undo *undo = log->_newest;

	log->_newest = NULL;
	while (undo) {
		struct baton_undo *older = undo->_older;

		if (undo->_forget)
			undo->_forget(undo);
		undo = older;
	}
}

BATON_EXPORT int baton_undo_log_end(struct baton_undo_log *log, int status)
{
	require_usable(log, __func__);
	if (status)
		(void)undo_to(log, NULL);
	else
		forget(log);
	return log->_failure ? -ENOTRECOVERABLE : status;
}

BATON_EXPORT int baton_undo_log_failure(const struct baton_undo_log *log)
{
	return log->_failure;
}

BATON_EXPORT struct baton_undo_mark baton_undo_log_mark(const struct baton_undo_log *log)
{
	struct baton_undo_mark mark = {log->_newest};

	require_usable(log, __func__);
	return mark;
}

/* Is the mark still in the log? Bounded by the length of the log. */
static bool good(const struct baton_undo_log *log, struct baton_undo_mark mark)
{
	const struct baton_undo *undo = log->_newest;

	while (undo && undo != mark._newest)
		undo = undo->_older;
	return undo == mark._newest;
}

BATON_EXPORT int baton_undo_log_roll_back(struct baton_undo_log *log, struct baton_undo_mark mark)
{
	require_usable(log, __func__);
	BATON_REQUIRE_OF(
		good(log, mark), baton__name(log->_resource),
		"has nothing at that mark: it was rolled back before, or is another log's");
	return undo_to(log, mark._newest);
}
