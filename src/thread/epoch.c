/* SPDX-License-Identifier: MIT */
/*
 * Sections and limbos on one ck_epoch for the whole process: a thread needs one record,
 * however many structures it reads.
 *
 * ck_epoch's own accesses are inline assembly, which orders them for the CPU and the compiler, but
 * tells ThreadSanitizer and the explorer nothing. So what a section did is also handed to the
 * reclaimer by a word of ours, `left` ([Z1]): a plain store on x86.
 *
 * Z1 A limbo's record is active only inside retire: it never holds up an epoch for long.
 * Z2 Records of threads never have pending entries, so a thread that exits leaves no garbage.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <baton/epoch.h>
#include <baton/task.h>

#include "base/atomic.h"
#include "base/platform.h"
#include "thread/thread.h"

#include <ck_epoch.h>
#include <ck_stack.h>

_Static_assert(sizeof(struct baton_retired) == sizeof(ck_epoch_entry_t), "visible stand-in");

struct baton_limbo {
	ck_epoch_record_t *record;
};

/* As ck_epoch_init() would leave it, but for the epoch, which begins at any number. */
static ck_epoch_t epoch = {.epoch = 1, .records = CK_STACK_INITIALIZER};

/*
 * Records are never freed: ck_epoch cannot unlink them. Taken from those that ended limbos have
 * given back, else new. NULL: no memory.
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
	/* The depth: in a child of fork that baton cannot serve, a thread may have its record. */
	if (BATON_UNLIKELY(!baton__self->epoch || baton__self->depth >= BATON__DEPTH_NONE)) {
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
	/* [Z1] release: what this section has read is read; pairs with [Z1] in readers_left */
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
	*limbo = created;
	return 0;
}

BATON_EXPORT void baton_limbo_retire(struct baton_limbo *limbo, struct baton_retired *retired,
                                     baton_reclaim_fn reclaim)
{
	ck_epoch_entry_t *entry = (ck_epoch_entry_t *)(void *)retired;

	/* In a section: its fence puts the look at the epoch behind the caller's taking out, and
	 * while we are in it the epoch goes on by one at most. Outside, who is stopped between the
	 * look and the push might put it among the entries of an epoch long past. */
	ck_epoch_begin(limbo->record, NULL);
	ck_epoch_call(limbo->record, entry, (ck_epoch_cb_t *)reclaim);
	(void)ck_epoch_end(limbo->record, NULL);
}

/* ck_epoch has seen that they have left; now all that they did before happens-before us. */
static void readers_left(void)
{
	for (struct baton__thread *thread = baton__thread_first(); thread; thread = thread->next)
		/* [Z1] acquire: the sections' reads; pairs with [Z1] in leave. An RMW, since only
		 * ck_epoch's fences say that a load would find the newest value. */
		(void)or_acq_rel(&thread->left, 0);
}

BATON_EXPORT size_t baton_limbo_poll(struct baton_limbo *limbo)
{
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
	}
	return limbo->record->n_pending;
}

BATON_EXPORT void baton_limbo_destroy(struct baton_limbo *limbo)
{
	BATON_REQUIRE(!baton_epoch_inside(),
	              "this thread is in a section, and would wait for itself: leave it first");
	/* Ended by the threads that are in sections: those are short. */
	while (baton_limbo_poll(limbo))
		(void)sched_yield();
	ck_epoch_unregister(limbo->record);
	free(limbo);
}
