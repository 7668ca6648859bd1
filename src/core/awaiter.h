/* SPDX-License-Identifier: MIT */
/* The marks that have a future: those of awaits and suspensions. */
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

/* The future of a mark that a thread waits for. */
BATON_INLINE struct baton_future *baton__mark_future(struct baton_task *mark)
{
	return &baton__awaiter(mark)->counted.future;
}

#endif
