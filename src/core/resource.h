/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a resource (submit, drain, help, close) share. The two shared words of
 * a resource have files of their own: word.h and turn.h.
 *
 * Invariants:
 * R1 At most one thread holds the baton: it made the CAS idle -> BUSY, or took over by a CAS on
 *    the turn from one that gave it up there.
 * R2 _list, _job, the statistics are touched by the holder alone. _list is older than the inbox.
 * R3 While a job is in an executor's queue the phase is QUEUED, HELPED; never released then.
 * R4 A task is in one place: the inbox, _list, or entered.
 * R5 A submitter touches neither task nor resource after its publishing CAS (unless it captured).
 * R6 A closed resource is released for good (awaits, finaliser) only with no visits. A submit that
 *    is refused then may count one afterwards (future.h, F3): the next await waits for it. The
 *    visits of debts are not waited for, but revoked (loan.h).
 * R7 The shelf's bits are set by the holder alone, while they are 0; then there is exactly one
 *    unshelve. A shelved resource is BUSY: never idle, awaited or finalised.
 */
#ifndef BATON_SRC_RESOURCE_H
#define BATON_SRC_RESOURCE_H

#include <baton/resource.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "core/config.h"
#include "core/kind.h"
#include "core/turn.h"
#include "core/word.h"
#include "future/future.h"
#include "thread/thread.h"

_Static_assert(sizeof(struct baton_resource) <= 64, "an idle resource is one cache line");
_Static_assert(offsetof(struct baton_resource, _list) + sizeof(void *) <= 16, "hot words");

#endif
