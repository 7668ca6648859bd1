/* SPDX-License-Identifier: MIT */
/*
 * What the files of the core share. The two shared words of a resource have files of their own:
 * word.h and turn.h.
 *
 * Invariants:
 * resource.one_holder: At most one thread holds the baton: the thread that made the CAS idle ->
 *    BUSY or resting -> BUSY, or took the baton over by a CAS on the turn. While the baton is on
 *    the shelf, or the resource rests, no thread holds the baton.
 * resource.holder_only: Only the holder touches _list, and only the holder puts the job into a
 *    queue. All entries of _list but suspend marks are older than the entries of the inbox.
 * resource.queued: While a job is in an executor's queue the phase is QUEUED or HELPED, and the
 *    resource is not released.
 * resource.one_place: A task is in one place: the inbox, _list, a list that a module keeps, or
 *    entered.
 * resource.after_publish: A submitter touches neither task nor resource after its publishing CAS,
 *    unless it is the holder.
 * resource.visits: A closed resource is released for good (awaits, finaliser) only while no visits
 *    are counted. Debts are not waited for: the holder revokes them (loan.h). A submit that is
 *    refused after the release may count a visit (future.visit, future.h); the next await waits for
 *    that visit.
 * resource.shelf: Only the holder sets WANTED or LEFT in an empty shelf; exactly one thread then
 *    unshelves. A shelved resource is BUSY: it is not idle, awaited or finalised.
 */
#ifndef BATON_SRC_RESOURCE_H
#define BATON_SRC_RESOURCE_H

#include <baton/resource.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "thread/thread.h"
#include "future/future.h"
#include "core/config.h"
#include "core/kind.h"
#include "core/turn.h"
#include "core/word.h"

_Static_assert(sizeof(struct baton_resource) == 40, "as small as a pthread_mutex_t");
_Static_assert(offsetof(struct baton_resource, _word) + sizeof(uintptr_t) ==
                       sizeof(struct baton_resource),
               "the user's state, behind the resource, shares the word's cache line");

#endif
