/* SPDX-License-Identifier: MIT */
/* What a board shows of a running task is the program's to change. */
#include <baton/board.h>

#include "base/checked.h"
#include "core/stats.h"

BATON_EXPORT baton_shown_fn baton_board_show(struct baton_resource *resource,
                                             baton_shown_fn function)
{
	BATON__CHECKED(resource(resource, __func__));
	BATON__NEED(baton_held(resource), "this thread does not run the resource");

	const uintptr_t before = baton__stats_shown(resource);

	baton__stats_show(resource, (uintptr_t)function);
	return (baton_shown_fn)before;
}
