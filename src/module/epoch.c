/* SPDX-License-Identifier: MIT */
/*
 * Sections and limbos on one ck_epoch for the whole process: a thread needs one record, however
 * many structures it reads.
 *
 * ck_epoch orders its accesses by inline assembly, which says nothing to ThreadSanitizer and the
 * explorer. So a word of ours, `left`, orders what a section did before the reclaimer, too
 * ([epoch.left]): a plain store on x86.
 *
 * Invariants:
 * epoch.limbo: A limbo's record is active only inside retire: a limbo does not hold up an epoch for
 *    long.
 * epoch.no_garbage: The records of threads have no pending entries: a thread that exits leaves no
 *    garbage.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <baton/epoch.h>
#include <baton/task.h>

#include "base/atomic.h"
#include "base/checked.h"
#include "base/platform.h"
#include "thread/thread.h"
#include "core/guard.h"

#include <ck_epoch.h>
#include <ck_stack.h>

_Static_assert(sizeof(struct baton_retired) == sizeof(ck_epoch_entry_t), "visible stand-in");

struct baton_limbo {
	ck_epoch_record_t *record;
};

/* As ck_epoch_init() leaves it, but for the number at which the epoch begins. */
static ck_epoch_t epoch = {.epoch = 1, .records = CK_STACK_INITIALIZER};

/*
 * Takes a record that a destroyed limbo has given back, or allocates a record. Records are never
 * freed: ck_epoch cannot unlink them. NULL: no memory.
 */
static ck_epoch_record_t *take_record(void)
{
	ck_epoch_record_t *record = ck_epoch_recycle(&epoch, NULL);

	if (record)
		return record;
	record = aligned_alloc(_Alignof(ck_epoch_record_t), sizeof(*record));
	if (record)
		ck_epoch_register(&epoch, record, NULL);
	return record;
}

static BATON_COLD int first_section(void)
{
	int error = baton__thread_attach();

	if (error || baton__self->epoch)
		return error;
	baton__self->epoch = take_record();
	return baton__self->epoch ? 0 : -ENOMEM;
}

BATON_EXPORT int baton_epoch_enter(void)
{
	/* The depth is tested, too: in a fork's child that baton cannot serve, the thread may still
	 * have its epoch record. */
	if (BATON_UNLIKELY(!baton__self->epoch || !baton__has_record(baton__self))) {
		int error = first_section();

		if (error)
			return error;
	}
	ck_epoch_begin(baton__self->epoch, NULL);
	return 0;
}

BATON_EXPORT void baton_epoch_leave(void)
{
	struct baton__thread *self = baton__self;

	BATON_REQUIRE(self->epoch && self->epoch->active,
	              "this thread is in no section: enter before, on the same thread");
	/* [epoch.left] release: the reads of this section; pairs with [epoch.left] in
	 * readers_left */
	store_release(&self->left, load_relaxed(&self->left) + 1);
	(void)ck_epoch_end(self->epoch, NULL);
}

BATON_EXPORT bool baton_epoch_inside(void)
{
	return baton__self->epoch && baton__self->epoch->active;
}

BATON_EXPORT int baton_limbo_create(struct baton_limbo **limbo)
{
	struct baton_limbo *created;

	if (baton__forked())
		return -ECHILD;
	created = calloc(1, sizeof(*created));
	if (!created)
		return -ENOMEM;
	created->record = take_record();
	if (!created->record) {
		free(created);
		return -ENOMEM;
	}
	BATON__CHECKED(made(created, NULL, __func__));
	*limbo = created;
	return 0;
}

BATON_EXPORT void baton_limbo_retire(struct baton_limbo *limbo, struct baton_retired *retired,
                                     baton_reclaim_fn reclaim)
{
	ck_epoch_entry_t *entry = (ck_epoch_entry_t *)(void *)retired;

	/* The limbo's record enters a section. The fence at the beginning of the section orders the
	 * caller's unlinking of the object before ck_epoch_call's load of the epoch. During the
	 * section the epoch advances by one at most. Without the section, a thread that is stopped
	 * between that load and the push could push the entry into the list of an epoch long
	 * past. */
	ck_epoch_begin(limbo->record, NULL);
	ck_epoch_call(limbo->record, entry, (ck_epoch_cb_t *)reclaim);
	(void)ck_epoch_end(limbo->record, NULL);
}

/* Everything in the sections that ck_epoch has seen end happens-before the return. */
static void readers_left(void)
{
	for (struct baton__thread *thread = baton__thread_first(); thread; thread = thread->next)
		/* [epoch.left] acquire: the reads of the sections; pairs with [epoch.left] in
		 * leave. An RMW, since it reads the newest value. For a load only ck_epoch's fences
		 * would guarantee that, and the checkers do not see these. Acquire is enough: a
		 * read-modify-write for its newest value; nothing is published. */
		(void)or_acq_rel(&thread->left, 0);
}

BATON_EXPORT size_t baton_limbo_poll(struct baton_limbo *limbo)
{
	BATON__CHECKED(owned(limbo, __func__));

	const uintptr_t top = baton__self->top;
	ck_stack_t over = CK_STACK_INITIALIZER;
	ck_stack_entry_t *next;

	if (!limbo->record->n_pending)
		return 0;
	(void)ck_epoch_poll_deferred(limbo->record, &over);
	if (!CK_STACK_ISEMPTY(&over))
		readers_left();
	for (ck_stack_entry_t *each = CK_STACK_FIRST(&over); each; each = next) {
		ck_epoch_entry_t *entry = baton_container_of(each, ck_epoch_entry_t, stack_entry);
		baton_reclaim_fn reclaim = (baton_reclaim_fn)entry->function;

		next = CK_STACK_NEXT(each);
		reclaim((struct baton_retired *)(void *)entry); /* last touch */
		baton__guard_returned(top);
	}
	return limbo->record->n_pending;
}

BATON_EXPORT void baton_limbo_destroy(struct baton_limbo *limbo)
{
	BATON__CHECKED(owned(limbo, __func__));
	BATON_REQUIRE(!baton_epoch_inside(),
	              "this thread is in a section, and would wait for itself: leave it first");
	/* Ended by the threads that are in sections. Sections are short. */
	while (baton_limbo_poll(limbo))
		(void)sched_yield();
	BATON__CHECKED(ended(limbo, NULL, __func__));
	ck_epoch_unregister(limbo->record);
	free(limbo);
}
