/* SPDX-License-Identifier: MIT */
/* Items with a future: the client that submits one keeps it until the future is complete. */
#include "mod_item.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "actor.h"
#include "cell.h"
#include "deed.h"
#include "random.h"
#include "report.h"

#define OPENS_MAX 24

static _Thread_local struct item *opens[OPENS_MAX];
static _Thread_local uint32_t open_count;

/* It ran to its end: what its future says. */
static void check_ran(const struct item *item, enum baton_future_state state, int status)
{
	struct ground *ground = item->ground;
	uint32_t batch = item->batch;
	bool undone = item->status && item->kind == ITEM_UNDOABLE;

	if (item->runs != 1)
		report(NULL, NULL, "L3: ground %u: a task has run %u times, its future says %d",
		       ground->number, item->runs, status);
	if (status != item->status && !(ground->hooks_fail && !item->status && !item->detached &&
	                                (status == MOD_END_FAILS || status == MOD_BEGIN_FAILS)))
		report(NULL, NULL, "ground %u: a future's status is %d, not %d", ground->number,
		       status, item->status);
	if (state == BATON_DONE && baton_future_value(&item->future) != item)
		report(NULL, NULL, "ground %u: a future has another's value", ground->number);
	if (undone && (item->pushed || baton_future_value(&item->future)))
		report(NULL, NULL, "ground %u: a failed task left a trace", ground->number);
	if (!ground->config.delay_completions || item->detached || !batch || status)
		return;
	if (atomic_load_explicit(&ground->batches_over, memory_order_relaxed) < batch)
		report(NULL, NULL, "ground %u: a future is complete before its batch",
		       ground->number);
	if (atomic_load_explicit(&ground->failed[batch % MOD_BATCHES], memory_order_relaxed) ==
	    batch)
		report(NULL, NULL, "ground %u: a future is done, its batch has failed",
		       ground->number);
}

static void finish(struct item *item)
{
	enum baton_future_state state = baton_future_state(&item->future);
	int status = baton_future_status(&item->future);

	if (state == BATON_CANCELLED) {
		if (item->runs || status != -ECANCELED)
			report(NULL, NULL, "L3: ground %u: a cancelled task has run (%d)",
			       item->ground->number, status);
		item_justify(item);
	} else if (status == -ETIMEDOUT && item->deadline) {
		if (item->runs != 1)
			report(NULL, NULL, "ground %u: a token timed out that was never given",
			       item->ground->number);
	} else if (!(status == MOD_BEGIN_FAILS && item->runs == 0 && item->ground->hooks_fail)) {
		check_ran(item, state, status);
	}
	item_unref(item);
}

static void wait_for(struct item *item, bool for_ever)
{
	uint64_t deadline = deed_deadline();
	struct ground *ground = item->ground;
	int error;

	actor_busy("a wait for a future of a ground", ground->number);
	error = baton_future_wait_until(&item->future, for_ever ? BATON_FOREVER : deadline);
	actor_idle();
	if (error && (for_ever || error != -ETIMEDOUT))
		report(NULL, NULL, "ground %u: wait: %d", ground->number, error);
}

void open_finish(bool all)
{
	uint64_t *random = &actor_self()->random;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < open_count; i++) {
		struct item *item = opens[i];

		if (all || random_one_in(random, 4))
			wait_for(item, all || random_one_in(random, 2));
		if (baton_future_is_complete(&item->future))
			finish(item);
		else
			opens[kept++] = item;
	}
	open_count = kept;
}

void open_cancel(void)
{
	struct item *item;
	int error;

	if (open_count == 0)
		return;
	item = opens[random_below(&actor_self()->random, open_count)];
	atomic_store_explicit(&item->tried, true, memory_order_relaxed);
	error = item->kind == ITEM_WINDOWED ? baton_window_cancel_task(&item->windowed.task)
	                                    : baton_future_cancel(&item->future);
	if (error && error != -EINPROGRESS && error != -EALREADY)
		report(NULL, NULL, "ground %u: cancel: %d", item->ground->number, error);
}

void open_submit(struct ground *ground)
{
	enum item_kind kind;
	struct item *item;

	if (open_count == OPENS_MAX)
		open_finish(false);
	if (open_count == OPENS_MAX)
		return;
	kind = (enum item_kind)random_below(&actor_self()->random, ITEM_KINDS);
	item = kind == ITEM_UNDOABLE || kind == ITEM_WINDOWED ? item_new(ground, kind, true)
	                                                      : item_labelled(ground, true);
	if (item_submit(item) == 0)
		opens[open_count++] = item;
}
