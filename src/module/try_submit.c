/* SPDX-License-Identifier: MIT */
/* A submit that does not wait for the room that a bound grants. */
#include <baton/bound.h>

#include "base/checked.h"
#include "core/label.h"
#include "core/submit.h"

BATON_EXPORT int baton_try_submit_later(struct baton_resource *resource, struct baton_task *task)
{
	BATON__CHECKED_SUBMIT(resource, &task, 1, baton_try_submit_later(resource, task));
	baton__stamp_carry(task);
	return baton__submit(resource, task, BATON__SUBMIT_LATER | BATON__SUBMIT_NO_WAIT);
}
