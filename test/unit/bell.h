/* SPDX-License-Identifier: MIT */
/* A trigger that counts its answered and its cancelled fires. */
#ifndef BATON_TEST_UNIT_BELL_H
#define BATON_TEST_UNIT_BELL_H

#include "support.h"

#include <baton/trigger.h>

struct bell {
	struct baton_trigger trigger;
	struct baton_resource *resource;
	int runs;
	uint64_t fires;     /* answered */
	uint64_t cancelled; /* told by the function `cancelled` */
	int again;          /* number of fires inside the next run */
	int results[4];     /* of these fires */
	bool refire;        /* fire again when told of a cancel */
};

static inline int bell_run(struct baton_trigger *trigger, uint64_t fires)
{
	struct bell *bell = baton_container_of(trigger, struct bell, trigger);

	bell->runs++;
	bell->fires += fires;
	for (int i = 0; i < bell->again; i++)
		bell->results[i] = baton_trigger_fire(trigger);
	bell->again = 0;
	return 0;
}

static inline void bell_cancelled(struct baton_trigger *trigger, int error, uint64_t fires)
{
	struct bell *bell = baton_container_of(trigger, struct bell, trigger);

	bell->cancelled += fires;
	if (bell->refire)
		bell->results[0] = baton_trigger_fire(trigger);
	bell->refire = false;
}

static inline void bell_init(struct bell *bell, struct baton_resource *resource)
{
	memset(bell, 0, sizeof(*bell));
	bell->resource = resource;
	baton_trigger_init(&bell->trigger, resource, bell_run);
	baton_trigger_set_dropped(&bell->trigger, bell_cancelled);
}

#endif
