/* SPDX-License-Identifier: MIT */
/* Windows, and detached completion: tokens wait in the ground's stash until somebody answers. */
#include "mod_item.h"

#include <errno.h>

#include "actor.h"
#include "cell.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#define MEET_NS 100000U

/* So that the deadline and the answer often meet; the deadline passes a little late. */
static void meet(const struct item *item)
{
	uint64_t at = item->due_ns + random_below(&actor_self()->random, MEET_NS);
	uint64_t now = now_ns();

	if (now > at || at - now > 4 * MEET_NS)
		return;
	while (now_ns() < at)
		;
}

static struct baton_detached *token_of(struct item *item)
{
	return item->kind == ITEM_READER ? &item->reading.token : &item->windowed.part.token;
}

/* The answer: by one who is not in the task any more, or still is. */
static void complete(struct item *item)
{
	struct ground *ground = item->ground;
	bool has_future = item->has_future;
	bool timed = item->deadline != NULL;
	int status = random_one_in(&actor_self()->random, 4) ? MOD_TOKEN_FAILS : 0;
	int outcome;
	int error;

	if (timed)
		meet(item);
	(void)baton_detached_cancel_requested(token_of(item));
	if (item->flies)
		atomic_fetch_sub_explicit(&ground->flying, 1, memory_order_relaxed);
	if (!timed && item->flags & BATON_DETACH_COUNTED)
		atomic_fetch_sub_explicit(&ground->counted, 1, memory_order_relaxed);
	if (item->flags & BATON_DETACH_EXCLUSIVE)
		ground->held = false;
	if (!timed)
		item->status = status;
	error = baton_detached_complete(token_of(item), timed ? 0 : status, item);
	if (error == 0 && !has_future) {
		item_unref(item);
		return;
	}
	if (error && !(timed && error == -EALREADY))
		report(NULL, NULL, "ground %u: a token's completion: %d", ground->number, error);
	/* A deadline is told from an answer by the status. The owner has another reference. */
	outcome = baton_future_status(&item->future);
	if (timed && outcome != -EAGAIN && outcome != (error ? -ETIMEDOUT : 0))
		report(NULL, NULL, "ground %u: a token's completion said %d, its future %d",
		       ground->number, error, outcome);
	item_unref(item);
}

bool stash_complete(struct ground *ground, bool all)
{
	bool any = false;

	for (int i = 0; i < MOD_STASH; i++) {
		struct item *item = atomic_load_explicit(&ground->stash[i], memory_order_relaxed);

		if (!item || (!all && !random_one_in(&actor_self()->random, 2)))
			continue;
		item = atomic_exchange_explicit(&ground->stash[i], NULL, memory_order_acq_rel);
		if (!item)
			continue;
		complete(item);
		any = true;
	}
	return any;
}

static bool put_by(struct ground *ground, struct item *item)
{
	for (int i = 0; i < MOD_STASH; i++) {
		struct item *empty = NULL;

		if (atomic_compare_exchange_strong_explicit(&ground->stash[i], &empty, item,
		                                            memory_order_acq_rel,
		                                            memory_order_relaxed))
			return true;
	}
	return false;
}

void stash_put(struct item *item)
{
	if (!put_by(item->ground, item))
		complete(item);
}

static int detach(struct item *item, uint64_t *random)
{
	struct baton_deadline *deadline = item->deadline;
	uint64_t timeout_ns = random_below(random, 1000) * 1000;

	if (!deadline)
		return baton_detach(&item->windowed.part.token, item->flags);
	item->due_ns = now_ns() + timeout_ns;
	baton_deadline_init(deadline, alarms_wheel(random));
	return baton_detach_within(&item->windowed.part.token, item->flags, timeout_ns, deadline);
}

/* False: it has not detached itself. From here on it may be gone. */
static bool leave_it(struct item *item)
{
	struct ground *ground = item->ground;
	uint64_t *random = &actor_self()->random;
	int error;

	if (random_one_in(random, 3))
		return false;
	item->flags = random_one_in(random, 2) ? BATON_DETACH_COUNTED : 0;
	if (item->has_future && random_one_in(random, 2))
		item->deadline = cell_take();
	else if (random_one_in(random, 8))
		item->flags |= BATON_DETACH_EXCLUSIVE;
	/* What a deadline completes is not counted by us. */
	item->flies = !item->deadline;
	if (item->flies && item->flags & BATON_DETACH_COUNTED)
		atomic_fetch_add_explicit(&ground->counted, 1, memory_order_relaxed);
	if (item->flags & BATON_DETACH_EXCLUSIVE)
		ground->held = true;
	item->detached = true;
	atomic_store_explicit(&item->references, item->has_future ? 2 : 1, memory_order_relaxed);
	error = detach(item, random);
	if (error)
		report(NULL, NULL, "ground %u: detach: %d", ground->number, error);
	if (item->deadline)
		atomic_fetch_sub_explicit(&ground->flying, 1, memory_order_relaxed);
	return true;
}

int window_run(struct baton_task *task)
{
	struct item *item = baton_container_of(task, struct item, task);
	struct ground *ground = item->ground;
	int flying;

	item_enter(item);
	flying = atomic_fetch_add_explicit(&ground->flying, 1, memory_order_relaxed) + 1;
	if (sabotage_now(BREAK_MOD_WINDOW))
		flying += MOD_WINDOW_MAX;
	if (flying > MOD_WINDOW_MAX)
		report(NULL, NULL, "ground %u: %d tasks in flight", ground->number, flying);
	mod_nested(ground, NULL);
	if (leave_it(item)) {
		stash_put(item);
		ground_leave(ground);
		return 0;
	}
	atomic_fetch_sub_explicit(&ground->flying, 1, memory_order_relaxed);
	item->status = MOD_TASK_FAILS;
	item->batch = ground->batch;
	ground_leave(ground);
	if (item->has_future)
		return MOD_TASK_FAILS;
	item_unref(item);
	return 0;
}

void window_post(struct ground *ground)
{
	(void)item_submit(item_new(ground, ITEM_WINDOWED, false));
}

/* In a task of the ground, or while it is sure to be open. */
void window_change(struct ground *ground, bool inside)
{
	uint64_t *random = &actor_self()->random;
	uint32_t limit = random_below(random, MOD_WINDOW_MAX + 1);

	if (!inside && !ground_pin(ground))
		return;
	if (random_one_in(random, 8)) {
		atomic_fetch_add_explicit(&ground->window_cancels, 1, memory_order_relaxed);
		MUST(baton_window_cancel(&ground->window) == 0);
	} else {
		MUST(baton_window_set_limit(&ground->window, inside && !limit ? 1 : limit) == 0);
	}
	(void)baton_window_in_flight(&ground->window);
	(void)baton_window_waiting(&ground->window);
	if (!inside)
		ground_unpin(ground);
}
