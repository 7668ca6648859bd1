/* SPDX-License-Identifier: MIT */
/* Items without a future: given back when they are entered, or cancelled, on whatever thread. */
#include "mod_item.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "cell.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#include "../parts.h"

#include <baton/call.h>

#define BATCH_MAX 6

/* Shared by all, for ever: how many of its cancels have begun, and have returned. */
static struct tag {
	struct baton_tag tag;
	_Atomic uint64_t begun;
	_Atomic uint64_t done;
} tags[MOD_TAGS];

static uint64_t relaxed(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void more(_Atomic uint64_t *word)
{
	atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
}

/* What has been cancelled by now must not be entered next. */
void items_look(struct ground *ground)
{
	for (int i = 0; i < MOD_TAGS; i++)
		ground->tags_seen[i] = relaxed(&tags[i].done);
}

void item_tag_cancel(uint64_t *random)
{
	struct tag *tag = &tags[random_below(random, MOD_TAGS)];

	more(&tag->begun);
	baton_tag_cancel(&tag->tag);
	more(&tag->done);
}

static bool may_fail(struct item *item, int32_t *status)
{
	*status = random_one_in(&actor_self()->random, 4) ? MOD_TASK_FAILS : 0;
	if (item->has_future)
		item->status = *status;
	return *status != 0;
}

static void flush_batch(struct ground *ground, struct item *item)
{
	int error = baton_batch_flush();

	if (error && !ground->hooks_fail)
		report(NULL, NULL, "ground %u: batch_flush: %d", ground->number, error);
	if (error == MOD_BEGIN_FAILS)
		ground->in_batch = false;
	if (item)
		item->batch = ground->batch;
}

static int item_run(struct baton_task *task)
{
	struct item *item = baton_container_of(task, struct item, task);
	struct ground *ground = item->ground;
	uint64_t *random = &actor_self()->random;
	int32_t status = 0;

	item_enter(item);
	if (!item->has_future) {
		item_unref(item);
		item = NULL;
	}
	if (random_one_in(random, 8))
		item_use_log(ground);
	mod_nested(ground, NULL);
	if (random_one_in(random, 8))
		(void)baton_should_yield();
	if (ground->hooked && random_one_in(random, 16))
		flush_batch(ground, item);
	if (item) {
		(void)may_fail(item, &status);
		baton_set_result(item);
		item->batch = ground->batch;
	}
	ground_leave(ground);
	return status;
}

static void check_order(const struct item *item)
{
	struct ground *ground = item->ground;
	uint64_t *last = &ground->last[item->stream][item->key];

	if (item->stream == 0)
		return;
	if (*last && sabotage_now(BREAK_MOD_ORDER))
		*last += 1000000;
	if (item->sequence <= *last ||
	    item->sequence <= relaxed(&ground->read_last[item->stream][item->key]))
		report(NULL, NULL,
		       "L2: ground %u: of thread %u in lane %u number %llu runs after %llu",
		       ground->number, item->stream, item->key, (unsigned long long)item->sequence,
		       (unsigned long long)*last);
	*last = item->sequence;
}

/* Only the newest number of a reader is kept: others may run beside it. */
static void check_read_order(const struct item *item)
{
	struct ground *ground = item->ground;
	_Atomic uint64_t *newest = &ground->read_last[item->stream][item->key];
	uint64_t before = relaxed(newest);

	if (item->stream == 0)
		return;
	if (item->sequence <= ground->last[item->stream][item->key])
		report(NULL, NULL, "L2: ground %u: reader %llu of thread %u runs after a writer",
		       ground->number, (unsigned long long)item->sequence, item->stream);
	while (before < item->sequence &&
	       !atomic_compare_exchange_weak_explicit(newest, &before, item->sequence,
	                                              memory_order_relaxed, memory_order_relaxed))
		;
}

static void check_fate(struct item *item)
{
	struct ground *ground = item->ground;

	if (item->magic != ITEM_MAGIC || item->runs)
		report(NULL, NULL, "L3: a task is entered that is over (%u runs)", item->runs);
	item->runs++;
	if (item->bound_counts)
		more(&ground->bound_out);
	if (item->tag >= 0 && ground->tags_seen[item->tag] > item->tag_begun)
		report(NULL, NULL, "ground %u: a task runs although its tag was cancelled",
		       ground->number);
}

void item_enter(struct item *item)
{
	ground_enter(item->ground);
	check_fate(item);
	check_order(item);
}

void item_read(struct item *item)
{
	ground_read_begin(item->ground);
	check_fate(item);
	check_read_order(item);
}

void item_justify(const struct item *item)
{
	struct ground *ground = item->ground;
	bool asked = atomic_load(&item->tried) || item->own_tag ||
	             relaxed(&ground->cancel_begun) > item->cancel_done;

	if (item->tag >= 0 && relaxed(&tags[item->tag].begun) > item->tag_done)
		asked = true;
	if (item->kind == ITEM_WINDOWED && relaxed(&ground->window_cancels))
		asked = true;
	if (!asked && !ground->drops && !ground->hooks_fail)
		report(NULL, NULL, "L3: ground %u: a task is cancelled, but nobody asked",
		       ground->number);
}

void item_unref(struct item *item)
{
	struct ground *ground = item->ground;
	struct baton_group *group = item->group;

	if (atomic_fetch_sub_explicit(&item->references, 1, memory_order_acq_rel) != 1)
		return;
	if (item->deadline)
		cell_give(item->deadline);
	item->magic = 0;
	cell_give(item);
	more(&ground->over);
	if (group)
		baton_group_leave(group);
}

/* Under the baton or, where a bound drops the newest, not. */
void item_cancelled(struct baton_task *task)
{
	struct item *item = baton_container_of(task, struct item, task);

	if (item->magic != ITEM_MAGIC || item->runs || item->has_future)
		report(NULL, NULL, "L3: a task is cancelled that is over (%u runs)", item->runs);
	item_justify(item);
	if (item->bound_counts)
		more(&item->ground->bound_out);
	item_unref(item);
}

struct item *item_new(struct ground *ground, enum item_kind kind, bool has_future)
{
	struct item *item = cell_take();
	struct baton_future *future = has_future ? &item->future : NULL;

	memset(item, 0, sizeof(*item));
	baton_future_init(&item->future);
	item->magic = ITEM_MAGIC;
	item->ground = ground;
	item->kind = (uint8_t)kind;
	item->has_future = has_future;
	item->tag = -1;
	atomic_init(&item->references, 1);
	if (kind == ITEM_UNDOABLE)
		baton_task_init(&item->task, item_undo_run, future);
	else if (kind == ITEM_READER)
		read_task_init(&item->reading.read, &ground->readers, reader_run, future);
	else if (kind == ITEM_WINDOWED)
		windowed_init(&item->windowed, &ground->window, window_run, future);
	else
		stamped_init(&item->stamped, item_run, future);
	item->key = kind == ITEM_WINDOWED ? MOD_LANES : 0;
	return item;
}

static struct baton_stamp *stamp_of(struct item *item)
{
	return item->kind == ITEM_READER ? &item->reading.read.stamp : &item->stamped.stamp;
}

static void stamp(struct item *item, uint32_t index)
{
	item->tag = (int16_t)index;
	item->tag_done = relaxed(&tags[index].done);
	baton_stamp_set_tag(stamp_of(item), &tags[index].tag);
	item->tag_begun = relaxed(&tags[index].begun);
}

static void label(struct item *item)
{
	struct ground *ground = item->ground;
	uint64_t *random = &actor_self()->random;
	unsigned lane = random_below(random, MOD_LANES);

	baton_stamp_set_lane(stamp_of(item), lane);
	baton_stamp_set_bytes(stamp_of(item), random_below(random, 64));
	/* A lane that there is not is the lowest. */
	if (ground->lane_count)
		item->key = (uint8_t)(lane < ground->lane_count ? lane : ground->lane_count - 1);
	if (random_one_in(random, 3))
		stamp(item, random_below(random, MOD_TAGS));
	item->bound_counts =
		!item->has_future && ground->bounded &&
		!(ground->bound_config.exempt >> (ground->lane_count ? item->key : lane) & 1);
}

struct item *item_labelled(struct ground *ground, bool has_future)
{
	bool reads = random_one_in(&actor_self()->random, 3);
	struct item *item = item_new(ground, reads ? ITEM_READER : ITEM_LABELLED, has_future);

	label(item);
	return item;
}

/* How many at least wait; one may be on its way into its function, one was captured. */
static void check_bound(struct ground *ground)
{
	const struct baton_bound_config *config = &ground->bound_config;
	uint64_t in = atomic_load_explicit(&ground->bound_in, memory_order_acquire);
	uint64_t out = relaxed(&ground->bound_out);
	uint64_t limit = config->tasks_max;

	if (config->policy >= BATON_BOUND_DROP_OLDEST)
		limit = config->tasks_hard;
	if (sabotage_now(BREAK_MOD_BOUND))
		in += 1000;
	if (in > out && in - out > limit + 2)
		report(NULL, NULL, "ground %u: %llu tasks wait, its bound is %llu", ground->number,
		       (unsigned long long)(in - out), (unsigned long long)limit);
}

static void draw(struct item *item)
{
	struct ground *ground = item->ground;

	item->stream = (uint16_t)mod_stream();
	if (item->stream)
		item->sequence = ++ground->next[item->stream][item->key];
	item->cancel_done = relaxed(&ground->cancel_done);
}

static int submit_all(struct ground *ground, struct item *const *items, size_t count)
{
	struct baton_task *list[BATCH_MAX];
	uint32_t bounded = 0;
	int error;

	for (size_t i = 0; i < count; i++) {
		draw(items[i]);
		list[i] = &items[i]->task;
		bounded += items[i]->bound_counts;
	}
	atomic_fetch_add_explicit(&ground->accepted, count, memory_order_relaxed);
	if (count > 1)
		error = baton_submit_batch(&ground->resource, list, count);
	else if (random_one_in(&actor_self()->random, 3))
		error = baton_submit_later(&ground->resource, list[0]);
	else
		error = baton_submit(&ground->resource, list[0]);
	if (error) {
		mod_expect(ground, error, "submit");
		if (error == -EAGAIN)
			more(&ground->refused);
		/* Untouched: they are given back like those that ran. */
		for (size_t i = 0; i < count; i++) {
			if (items[i]->runs || items[i]->magic != ITEM_MAGIC)
				report(NULL, NULL, "L3: a refused task has run");
			if (items[i]->own_tag)
				baton_stamp_set_tag(stamp_of(items[i]), NULL);
			item_unref(items[i]);
		}
		return error;
	}
	atomic_fetch_add_explicit(&ground->bound_in, bounded, memory_order_relaxed);
	if (ground->bounded)
		check_bound(ground);
	return 0;
}

int item_submit(struct item *item)
{
	return submit_all(item->ground, &item, 1);
}

void item_post(struct ground *ground)
{
	(void)item_submit(item_labelled(ground, false));
}

void item_post_for(struct ground *ground, struct baton_group *group)
{
	struct item *item = item_labelled(ground, false);

	item->group = group;
	(void)item_submit(item);
}

void item_batch(struct ground *ground)
{
	struct item *items[BATCH_MAX];
	size_t count = 2 + random_below(&actor_self()->random, BATCH_MAX - 1);

	for (size_t i = 0; i < count; i++)
		items[i] = item_labelled(ground, false);
	(void)submit_all(ground, items, count);
}

static void *posted(void *arg)
{
	struct ground *ground = arg;

	ground_enter(ground);
	mod_nested(ground, NULL);
	ground_leave(ground);
	return NULL;
}

/* Nobody is told what becomes of it. */
void item_post_stamped(struct ground *ground)
{
	uint64_t *random = &actor_self()->random;
	struct baton_label label = BATON_LABEL_INIT;

	label.lane = (uint8_t)random_below(random, MOD_LANES);
	label.bytes = random_below(random, 64);
	label.tag = &tags[random_below(random, MOD_TAGS)].tag;
	label.hold = random_one_in(random, 2);
	mod_expect(ground,
	           baton_post_with(&ground->resource,
	                           &(struct baton_call_options){
					   .fn = posted, .arg = ground, .label = &label}),
	           "post");
}

/* A tag of this thread's: its memory goes as soon as it is said to be held no more. */
void item_hold_tag(struct ground *ground)
{
	struct baton_tag *tag = cell_take();
	uint64_t *random = &actor_self()->random;

	baton_tag_init(tag);
	for (uint32_t left = 1 + random_below(random, 4); left > 0; left--) {
		struct item *item = item_labelled(
			random_one_in(random, 2) ? ground : ground_pick(random), false);

		item->tag = -1;
		item->own_tag = true;
		baton_stamp_hold_tag(stamp_of(item), tag);
		(void)item_submit(item);
	}
	if (random_one_in(random, 2))
		baton_tag_cancel(tag);
	actor_busy("for a tag that is held", ground->number);
	while (baton_tag_held(tag) > 0)
		usleep(20);
	actor_idle();
	cell_give(tag);
}
