/* SPDX-License-Identifier: MIT */
/* Chains of finalisers, of windows and of functions that are told of an end need a bounded stack,
 * whatever their length: see chain.h. */
#include "chain.h"

#include "../parts.h"

/* ---- Finalisers: of a token, of a window, of a suspension, of the next resource ---- */

static int detach_run(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, task);

	expect(link, baton_detach(&link->token, BATON_DETACH_COUNTED) == 0);
	return 0;
}

static int completes_next(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, finaliser);

	count_up(link);
	if (next_of(link))
		expect(link, baton_detached_complete(&next_of(link)->token, 0, NULL) == 0);
	return 0;
}

static void token_init(struct link *link)
{
	resource_of(link);
	baton_detached_init(&link->token);
	baton_task_init(&link->task, detach_run, NULL);
	baton_task_init(&link->finaliser, completes_next, NULL);
	expect(link, baton_submit(&link->resource, &link->task) == 0);
	expect(link, baton_resource_close_then(&link->resource, &link->finaliser) == 0);
}

static void completes_token(struct link *link)
{
	expect(link, baton_detached_complete(&link->token, 0, NULL) == 0);
}

static int hold_run(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, task);

	expect(link, baton_detach(&link->token, BATON_DETACH_EXCLUSIVE) == 0);
	return 0;
}

static void hold_init(struct link *link)
{
	resource_of(link);
	baton_detached_init(&link->token);
	baton_task_init(&link->task, hold_run, NULL);
	baton_task_init(&link->finaliser, completes_next, NULL);
	expect(link, baton_submit(&link->resource, &link->task) == 0);
	expect(link, baton_resource_close_then(&link->resource, &link->finaliser) == 0);
}

static int cancels_next_window(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, finaliser);

	count_up(link);
	if (next_of(link))
		expect(link, baton_window_cancel(&next_of(link)->window) == 0);
	return 0;
}

static void window_init(struct link *link)
{
	resource_of(link);
	baton_window_init(&link->window, &link->resource, 0);
	windowed_init(&link->windowed, &link->window, nothing_run, NULL);
	baton_task_init(&link->finaliser, cancels_next_window, NULL);
	expect(link, baton_submit(&link->resource, &link->windowed.task) == 0);
	expect(link, baton_resource_close_then(&link->resource, &link->finaliser) == 0);
}

static void cancels_window(struct link *link)
{
	expect(link, baton_window_cancel(&link->window) == 0);
}

static int raises_next_window(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, windowed.task);

	count_up(link);
	if (next_of(link))
		expect(link, baton_window_set_limit(&next_of(link)->window, 1) == 0);
	return 0;
}

static void raised_init(struct link *link)
{
	resource_of(link);
	baton_window_init(&link->window, &link->resource, 0);
	windowed_init(&link->windowed, &link->window, raises_next_window, NULL);
	expect(link, baton_submit(&link->resource, &link->windowed.task) == 0);
	expect(link, baton_resource_close(&link->resource) == 0);
}

static void raises_window(struct link *link)
{
	expect(link, baton_window_set_limit(&link->window, 1) == 0);
}

static int closes_next(struct baton_task *task)
{
	struct link *link = baton_container_of(task, struct link, finaliser);

	count_up(link);
	if (next_of(link))
		expect(link, baton_resource_close_then(&next_of(link)->resource,
		                                       &next_of(link)->finaliser) == 0);
	return 0;
}

static void closing_init(struct link *link)
{
	resource_of(link);
	baton_task_init(&link->finaliser, closes_next, NULL);
}

static void closes(struct link *link)
{
	expect(link, baton_resource_close_then(&link->resource, &link->finaliser) == 0);
}

/* ---- Functions that are told of an end, and submit the next task, whose end they are told ---- */

static void submits_next(void *arg)
{
	struct link *link = arg;

	count_up(link);
	if (next_of(link))
		expect(next_of(link),
		       baton_submit(&next_of(link)->resource, &next_of(link)->task) == 0);
}

static void told_init(struct link *link)
{
	resource_of(link);
	baton_future_init(&link->future);
	baton_task_init(&link->task, nothing_run, &link->future);
	baton_continuation_function(&link->continuation, submits_next, link);
	baton_future_then(&link->future, &link->continuation);
}

static void submits(struct link *link)
{
	expect(link, baton_submit(&link->resource, &link->task) == 0);
}

static const struct sort told[] = {
	{"that submit the next task", told_init, submits, NULL, NULL, POOL},
	{"that submit the next task, refused", told_init, submits, NULL, NULL, REFUSES},
};

static const struct sort finalisers[] = {
	{"that complete tokens", token_init, completes_token, NULL, NULL, POOL},
	{"that complete tokens, refused", token_init, completes_token, NULL, NULL, REFUSES},
	{"that release holds", hold_init, completes_token, NULL, NULL, POOL},
	{"that close resources", closing_init, closes, NULL, NULL, POOL},
};

static const struct sort windows[] = {
	{"that finalisers cancel", window_init, cancels_window, NULL, NULL, POOL},
	{"that finalisers cancel, refused", window_init, cancels_window, NULL, NULL, REFUSES},
	{"that tasks raise", raised_init, raises_window, NULL, NULL, POOL},
};

Test(chain_end, of_finalisers_on_64_kib, .timeout = 60)
{
	CHAINS(finalisers);
}

Test(chain_end, of_windows_on_64_kib, .timeout = 60)
{
	CHAINS(windows);
}

Test(chain_end, of_functions_that_are_told_on_64_kib, .timeout = 60)
{
	CHAINS(told);
}
