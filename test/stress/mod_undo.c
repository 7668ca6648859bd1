/* SPDX-License-Identifier: MIT */
/* Undo logs: what a failed task did is gone when the next one of its ground is entered. */
#include "mod_item.h"

#include "actor.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

static int nothing(void *arg)
{
	return 0;
}

static int take_back(struct baton_undo *undo)
{
	struct ground *ground = ground_of(baton_current());

	ground->undone -= 3;
	return 0;
}

/* A log within a task: what it does must be gone at its end, or kept. */
void item_use_log(struct ground *ground)
{
	struct baton_undo_log log;
	struct baton_undo undos[2];
	int status = random_one_in(&actor_self()->random, 2) ? MOD_TASK_FAILS : 0;
	int64_t kept = status ? 0 : 6;

	baton_undo_log_begin(&log);
	for (int i = 0; i < 2; i++) {
		baton_undo_log_push(&log, &undos[i], take_back);
		ground->undone += 3;
		MUST(baton_undo_log_add(&log, nothing, NULL) == 0);
	}
	if (baton_undo_log_end(&log, status) != status)
		report(NULL, NULL, "ground %u: a log's end has another status", ground->number);
	ground->undo_kept += kept;
	if (sabotage_now(BREAK_MOD_UNDO) || ground->undone != ground->undo_kept)
		report(NULL, NULL, "ground %u: a log has not undone, or too much", ground->number);
}

static int compensate(struct baton_undo *undo)
{
	struct ground *ground = ground_of(baton_current());
	struct item *item = ((struct item_undo *)undo)->item;

	if (item->pushed == 0 || undo != &item->undos[item->pushed - 1].undo)
		report(NULL, NULL, "ground %u: compensations run out of order", ground->number);
	item->pushed--;
	ground->undone -= 5;
	return 0;
}

int item_undo_run(struct baton_task *task)
{
	struct item *item = baton_container_of(task, struct item, task);
	struct ground *ground = item->ground;
	uint64_t *random = &actor_self()->random;
	uint32_t pushed = random_below(random, ITEM_UNDOS + 1);
	uint32_t marked = random_below(random, ITEM_UNDOS + 1);
	struct baton_undo_mark mark;
	struct baton_undo_log log;
	uint32_t kept = 0;

	baton_undo_log_begin(&log);
	mark = baton_undo_log_mark(&log);
	item_enter(item);
	for (uint32_t i = 0; i < pushed; i++) {
		if (i == marked) {
			mark = baton_undo_log_mark(&log);
			kept = i;
		}
		item->undos[item->pushed++].item = item;
		ground->undone += 5;
		baton_undo_log_push(&log, &item->undos[i].undo, compensate);
	}
	if (random_one_in(random, 3)) {
		MUST(baton_undo_log_roll_back(&log, mark) == 0);
		if (item->pushed != kept)
			report(NULL, NULL, "ground %u: rolled back to %u instead of %u",
			       ground->number, item->pushed, kept);
	}
	item->status = random_one_in(random, 2) ? MOD_TASK_FAILS : 0;
	baton_set_result(item->status ? NULL : item);
	if (!item->status)
		ground->undo_kept += 5 * item->pushed;
	item->batch = ground->batch;
	ground_leave(ground);
	return baton_undo_log_end(&log, item->status);
}
