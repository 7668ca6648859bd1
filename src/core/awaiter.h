/* SPDX-License-Identifier: MIT */
/* The marks that have a future: of awaits, suspensions, and submitters that wait for room. */
#ifndef BATON_SRC_AWAITER_H
#define BATON_SRC_AWAITER_H

#include "core/resource.h"

/* A mark whose completion a thread waits for. */
struct baton__awaiter {
	struct baton__counted counted;
	struct baton_task task;
	struct baton_task *others;      /* carried marks: marks.many, suspends.first */
	struct baton_task *others_last; /* of a suspend mark */
};

BATON_INLINE struct baton__awaiter *baton__awaiter(struct baton_task *mark)
{
	return baton_container_of(mark, struct baton__awaiter, task);
}

/* Sets up a mark before its push. The caller has a reference to the mark's future. */
BATON_INLINE void baton__awaiter_init(struct baton__awaiter *awaiter,
                                      struct baton_resource *resource,
                                      const struct baton__kind *kind)
{
	*awaiter = (struct baton__awaiter){
		.counted = {.future = BATON_FUTURE_INIT, .references = 1},
	};
	baton__kind_set(&awaiter->task, kind);
	/* unshared: not pushed yet */
	awaiter->counted.future._state = BATON__FUTURE_COUNTED;
	awaiter->counted.future._resource = resource;
}

/* The future of a mark that a thread waits for. */
BATON_INLINE struct baton_future *baton__mark_future(struct baton_task *mark)
{
	return &baton__awaiter(mark)->counted.future;
}

#endif
