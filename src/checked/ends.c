/* SPDX-License-Identifier: MIT */
/* Waits that cannot end, and the report at the program's end. */
#include "checked/objects.h"

#include "base/futex.h"
#include "future/future.h"

#include <errno.h>
#include <stdio.h>

#define SLICE_NS (50 * BATON_MILLISECOND)

/*
 * How long a wait without a deadline may last for a future with which nothing has been submitted. A
 * program may store another value before its first wait.
 */
extern unsigned baton_checked_patience_ms;
BATON_EXPORT unsigned baton_checked_patience_ms = 10000;

/* Waits for a submit with the future, which another thread may still make. */
static void await_submit(struct baton_future *future, const char *function)
{
	const uint64_t until_ns = baton_after(baton_checked_patience_ms * BATON_MILLISECOND);

	/* Ends: with a submit, or when the patience is over. */
	while (baton__future_fresh(future) && !baton__is_past(until_ns))
		if (baton_future_wait_until(future, baton_after(SLICE_NS)) != -ETIMEDOUT)
			return;
	if (baton__future_fresh(future))
		BATON_MISUSE(
			function,
			"the future belongs to no task that was submitted, and the wait has "
			"lasted for baton_checked_patience_ms (10 seconds, if not changed): "
			"submit the task before the wait, and look at what the submit returns");
}

/* A future of the library's own, or with a continuation, may belong to a submit that is still to
 * come: the future of a fan-out's item does. */
void baton__check_wait(struct baton_future *future, bool for_ever, const char *function)
{
	if (!future)
		BATON_MISUSE(function, "the future is NULL");
	if (for_ever &&
	    !(load_relaxed(&future->_state) & (BATON__FUTURE_COUNTED | BATON__FUTURE_CHAINED)))
		await_submit(future, function);
}

/* ---- The end ---- */

static void report_left(struct baton__record *record, void *arg)
{
	char text[400];

	(void)arg;
	if (record->gone || (!record->tasks && !record->suspended) || !baton_assert_hook)
		return;
	if (record->suspended)
		(void)snprintf(text, sizeof(text),
		               "exit: \"%s\" is still suspended: each baton_resource_suspend needs "
		               "a baton_resource_resume",
		               record->name);
	else
		(void)snprintf(text, sizeof(text),
		               "exit: \"%s\" still has %zu task%s that will not run (the last by "
		               "%s, thread %d): close and await it before the program ends",
		               record->name, record->tasks, record->tasks == 1 ? "" : "s",
		               record->newest->call, (int)record->newest->thread);
	baton_assert_hook(text, __FILE__, __LINE__);
}

/* Reports what is left, and does not abort: the program ends in any case. */
__attribute__((destructor)) static void report_at_exit(void)
{
	baton__records_each(BATON__RECORD_RESOURCE, report_left, NULL);
}
