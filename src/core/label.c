/* SPDX-License-Identifier: MIT */
/* Tags; the setters of a stamp. */
#include "core/label.h"

#include "base/atomic.h"

_Static_assert(sizeof(struct baton_stamp) == 32, "part of the ABI");

BATON_EXPORT void baton_stamp_set_lane(struct baton_stamp *stamp, unsigned lane)
{
	BATON_REQUIRE(lane < BATON_LANES_MAX, "there are lanes 0 to 31");
	stamp->_lane = (uint8_t)lane;
}

BATON_EXPORT void baton_stamp_set_bytes(struct baton_stamp *stamp, uint64_t bytes)
{
	stamp->_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

BATON_EXPORT void baton_stamp_set_tag(struct baton_stamp *stamp, struct baton_tag *tag)
{
	baton__stamp_let_go(stamp);
	stamp->_tag = tag;
	if (tag)
		stamp->_generation = baton__tag_generation(tag);
}

BATON_EXPORT void baton_stamp_hold_tag(struct baton_stamp *stamp, struct baton_tag *tag)
{
	baton_stamp_set_tag(stamp, tag);
	if (!tag)
		return;
	baton__tag_hold(tag);
	stamp->_holds = true;
}

BATON_EXPORT void baton_stamp_set(struct baton_stamp *stamp, const struct baton_label *label)
{
	baton_stamp_set_lane(stamp, label->lane);
	baton_stamp_set_bytes(stamp, label->bytes);
	if (label->hold)
		baton_stamp_hold_tag(stamp, label->tag);
	else
		baton_stamp_set_tag(stamp, label->tag);
}

/* ---- The function ---- */

static int run_with_part(struct baton_task *task)
{
	const struct baton__part_hooks *hooks = baton__part_hooks(task);
	const baton_task_fn run = baton__type(task)->run;

	return hooks ? hooks->run(task, run) : run(task);
}

static void *carried_by(const struct baton_task *task)
{
	const struct baton_stamp *stamp = baton__stamp(task);

	return stamp ? load_relaxed(&stamp->_carried) : NULL;
}

int baton__run_of_kind(struct baton_task *task)
{
	void *value = carried_by(task);
	struct baton__carried carried;
	int status;

	if (BATON_LIKELY(!value))
		return run_with_part(task);
	baton__carry_begin(&carried, value);
	status = run_with_part(task);
	baton__carry_end(&carried);
	return status;
}

void baton__cancelled_of_kind(struct baton_task *task, baton_task_cancelled_fn cancelled)
{
	void *value = carried_by(task);
	struct baton__carried carried;

	/* A thread without a record carries nothing. */
	if (!value || !baton__has_record(baton__self)) {
		cancelled(task);
		return;
	}
	baton__carry_begin(&carried, value);
	cancelled(task);
	baton__carry_end(&carried);
}

/* ---- Tags: a generation, and the number of stamps that hold the tag. Wait-free ---- */

BATON_EXPORT void baton_tag_init(struct baton_tag *tag)
{
	*tag = (struct baton_tag)BATON_TAG_INIT;
}

BATON_EXPORT void baton_tag_cancel(struct baton_tag *tag)
{
	/* [tag.generation] release: what the canceller did; pairs with [tag.generation] in
	 * baton__tag_generation. Linearisation point. Release is enough: the caller learns nothing
	 * by it. */
	(void)sub_acq_rel(&tag->_generation, 1);
}

BATON_EXPORT uint64_t baton_tag_held(const struct baton_tag *tag)
{
	/* [tag.held] acquire: the looks of the stamps that have let go; pairs with [tag.held] in
	 * baton__tag_let_go */
	return load_acquire(&tag->_held);
}
