/* SPDX-License-Identifier: MIT */
/* Readers of a ground: beside each other, and beside nobody who has the shadow to itself. */
#include "mod_item.h"

#include <unistd.h>

#include "actor.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

void ground_read_begin(struct ground *ground)
{
	struct actor *self = actor_self();

	ground_look(ground);
	if (baton_held(&ground->resource) || !baton_reading(&ground->resource))
		report(NULL, NULL, "ground %u: a reader holds it", ground->number);
	atomic_fetch_add_explicit(&ground->reading, 1, memory_order_relaxed);
	self->hidden++;
	atomic_fetch_add_explicit(&self->deeds, 1, memory_order_relaxed);
}

void ground_read_end(struct ground *ground)
{
	actor_self()->hidden--;
	ground_look(ground);
	if (!sabotage_now(BREAK_MOD_READER))
		atomic_fetch_sub_explicit(&ground->reading, 1, memory_order_relaxed);
}

/* False: it has not detached itself. From here on it may be gone. */
static bool leave_it(struct item *item)
{
	struct ground *ground = item->ground;
	uint64_t *random = &actor_self()->random;
	int error;

	if (!random_one_in(random, 8))
		return false;
	item->flags = random_one_in(random, 2) ? BATON_DETACH_COUNTED : 0;
	if (item->flags)
		atomic_fetch_add_explicit(&ground->counted, 1, memory_order_relaxed);
	item->detached = true;
	atomic_store_explicit(&item->references, item->has_future ? 2 : 1, memory_order_relaxed);
	baton_detached_init(&item->reading.token);
	error = baton_detach(&item->reading.token, item->flags);
	if (error)
		report(NULL, NULL, "ground %u: detach by a reader: %d", ground->number, error);
	stash_put(item);
	return true;
}

int reader_run(struct baton_task *task)
{
	struct item *item = baton_container_of(task, struct item, task);
	struct ground *ground = item->ground;
	uint64_t *random = &actor_self()->random;
	const uint64_t version = ground->version;
	int status = 0;

	item_read(item);
	if (!item->has_future && random_one_in(random, 2)) {
		item_unref(item);
		item = NULL;
	}
	mod_nested(ground, NULL);
	if (random_one_in(random, 8))
		usleep(random_below(random, 50));
	if (item && !leave_it(item)) {
		item->batch = ground->batch;
		if (item->has_future) {
			status = item->status = random_one_in(random, 4) ? MOD_TASK_FAILS : 0;
			baton_set_result(item);
		} else {
			item_unref(item);
		}
	}
	if (ground->version != version)
		report(NULL, NULL, "L1: ground %u: changes beside a reader", ground->number);
	ground_read_end(ground);
	return status;
}
