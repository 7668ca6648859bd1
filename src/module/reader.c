/* SPDX-License-Identifier: MIT */
/*
 * Readers. The holder that comes to a reader leads a group: it says in the readers' word that
 * readers are at work, and runs the reader. Other threads come to the group in three ways. A
 * submitter, or a shared hold (hold_shared.c), joins the group by one CAS. The leader grants the
 * shared holds that follow. Or the leader, if it is a worker, takes the readers that follow out of
 * the queue into its party (reader_party.h), where other workers find them. A leader that ends
 * before others shelves the baton (shelf.c). The last reader of the group unshelves it.
 *
 * The word `_state`:
 *   OPEN   1 bit. Submitters may join: the leader has left no task in _list, and no module may keep
 *          tasks behind it. So every task that waits is in the inbox, where a joiner sees it.
 *          Without meaning while no reader is counted.
 *   COUNT  31 bits. The readers that run, those in the party, and shared holds.
 *   COUNT 0 -> n (OPEN)     the leader, which holds the baton
 *   COUNT n > 0 -> n+1      a joiner, with OPEN; the leader, for the thread of a grant
 *   COUNT n -> n-m          a thread that has run m readers
 *
 * Invariants:
 * reader.group: While COUNT is not 0 no thread but those counted runs a task of the resource, and
 *    nothing moves from the inbox to _list: the leader holds the baton, or has left it on the
 *    shelf. The leader counts itself until it has decided how it leaves. So exactly one thread sees
 *    the COUNT fall to 0: the leader, which stays the holder, or another thread, which unshelves.
 * reader.no_overtaking: A joiner has seen an empty inbox before its CAS. A task whose submit
 *    happens before the joiner's was in the inbox then, and the joiner would have seen it; or was
 *    in _list, and then the group that the joiner has joined began behind that task.
 * reader.counts: During a group the statistics' words `executed`, `submitted` and `_left` are
 *    counted by read-modify-writes.
 *
 * Linearisation point of a join: the load of the resource's word that found the inbox empty, or, if
 * tasks have come and gone since, the beginning of the group. Progress: a join is lock-free: a CAS
 * fails only because another reader has come or gone. ABA: a recurring word means the same.
 */
#include "module/reader.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "base/probe.h"
#include "core/backlog.h"
#include "core/batching.h"
#include "core/called.h"
#include "core/deferred.h"
#include "core/frame.h"
#include "core/guard.h"
#include "core/inbox.h"
#include "core/label.h"
#include "core/place.h"
#include "core/run.h"
#include "core/stats.h"
#include "module/reader_party.h"
#include "module/shelf.h"

#define OPEN 1U
#define READER 2U

static const struct baton__part_hooks reader_hooks;

/* Called for a task that has reader_hooks. */
static struct baton_readers *readers_of(const struct baton_task *task)
{
	return ((struct baton_reader *)baton__member(task, baton__type(task)->reader))->_readers;
}

/* ---- One reader ---- */

static void count_executed(const struct baton_resource *resource)
{
	struct baton_resource_stats *stats = baton__stats(resource);

	/* Relaxed: only counted (reader.counts). */
	if (stats)
		(void)add_relaxed(&stats->executed, 1);
}

void baton__reader_run(struct baton__frame *frame, struct baton_task *task)
{
	BATON_PROBE(task__begin, frame->resource, task);
	if (baton__run_beside(frame, task))
		count_executed(frame->resource);
	BATON_PROBE(task__end, frame->resource, 0);
}

/* A board shows so many readers more. Relaxed: a hint. */
static void show_at_work(const struct baton_resource *resource, int64_t more)
{
	const struct baton_resource_stats *stats = baton__stats(resource);

	if (stats && stats->_gauge)
		(void)add_relaxed(&stats->_gauge->readers, (uint64_t)more);
}

/* `ended` readers that this thread has run leave the group. True: they were the last. */
static bool leave_group(struct baton_readers *readers, uint32_t ended)
{
	/* Before the last touch of the resource. */
	show_at_work(readers->_resource, -(int64_t)ended);
	/* [reader.end] release: what these readers did; acquire: what the other readers did, for
	 * the last one; pairs with [reader.end] here and in baton__readers_end_lead */
	return sub_acq_rel(&readers->_state, ended * READER) / READER == ended;
}

void baton__readers_leave(struct baton_readers *readers, uint32_t ended)
{
	struct baton_resource *resource = readers->_resource;

	if (leave_group(readers, ended))
		baton__unshelve(resource, false);
	else
		baton__deferred_check(baton__self);
}

/* ---- The leader ---- */

/* Do readers of the resource run side by side? */
static bool side_by_side(const struct baton_resource *resource)
{
	const struct baton_resource_config *config = baton__config(resource);

	return baton__capture_max(resource) && !baton__hooked(resource) &&
	       (!config || !config->executor || config->executor->_ops->offer);
}

/* Is the leader to run other readers? A captured thread, a helper and a nested capture run no
 * other reader for others (L7, L8, L9). */
static bool leads_others(const struct baton__frame *frame)
{
	const struct baton__thread *self = baton__self;

	return self->member && self->member == baton__executor_if_any(frame->resource) &&
	       baton__turn_seems_held(frame->resource) && !baton__frame_nested(frame);
}

static bool is_grant(const struct baton_task *task)
{
	return baton__kind_is(task, BATON__KIND_ALONE);
}

/* May the leader grant the shared holds that follow? No function of the user's runs for that. But a
 * helper that completes the future for which it helps would enter the reader too late (L9). */
static bool may_grant(const struct baton_resource *resource, const struct baton_task *task)
{
	return baton__turn_seems_held(resource) || is_grant(task);
}

/* The entry behind the running task; NULL: none is known. */
static struct baton_task *next_entry(struct baton_resource *resource)
{
	const uintptr_t word = baton__word(resource);

	/* What a look asks for is done when the group is over. */
	if (!resource->_list && baton__word_newest(word) && !baton__word_must_look(word))
		baton__take(resource);
	if (!resource->_list && baton__has_extras(resource))
		(void)baton__backlog_next(resource);
	return resource->_list;
}

/* Takes the readers that follow: grants into the chain, others into the party, if there is one, up
 * to the first entry that is neither. Returns the number of those in the party. */
static uint32_t gather_readers(struct baton_readers *readers, struct baton__party *party,
                               struct baton_task **grants)
{
	struct baton_resource *resource = readers->_resource;
	struct baton_task *task;
	const bool had = resource->_list;
	uint32_t count = 0;

	for (uint32_t left = BATON__PARTY_MAX; left > 0; left--) {
		task = next_entry(resource);
		if (!task || baton__part_hooks(task) != &reader_hooks ||
		    readers_of(task) != readers || !(party || is_grant(task)))
			break;
		resource->_list = task->_next;
		if (baton__has_extras(resource))
			baton__backlog_left(resource, task);
		if (is_grant(task)) {
			*grants = task;
			grants = &task->_next;
		} else {
			party->tasks[count++] = task;
		}
	}
	*grants = NULL;
	baton__backlog_put_back(resource);
	/* The release at the end of a short path then fails: such a path has an empty _list. */
	if (!had && resource->_list)
		baton__word_set_attention(resource);
	return count;
}

/* The group begins: `count` readers are at work or in the party. */
static void begin_group(struct baton_readers *readers, struct baton__party *party, uint32_t count)
{
	struct baton_resource *resource = readers->_resource;
	const bool open = !baton__backlog(resource) && !resource->_list;

	/* [reader.begin] release: what the tasks before did; pairs with [reader.begin] in
	 * join_group */
	store_release(&readers->_state, count * READER + (open ? OPEN : 0));
	show_at_work(resource, count);
	if (count == 1)
		return;
	baton__party_begin(party, count - 1);
}

void baton__readers_begin(struct baton_readers *readers)
{
	if (side_by_side(readers->_resource))
		begin_group(readers, NULL, 1);
}

void baton__readers_end_lead(struct baton_readers *readers, uint32_t ended)
{
	struct baton_resource *resource = readers->_resource;
	uint32_t word = load_relaxed(&readers->_state);

	/* [reader.end] acquire: what the other readers did; pairs with [reader.end] in leave_group.
	 * The baton publishes what this thread did. Ends: each failure is another reader that has
	 * come or gone. */
	while (word / READER == ended)
		if (cas_acquire(&readers->_state, &word, 0)) {
			show_at_work(resource, -(int64_t)ended);
			return;
		}
	/* Before this thread is counted off: the last reader may then unshelve. */
	baton__shelve(resource, BATON__READERS);
	if (leave_group(readers, ended))
		baton__turn_unwant_shelf(resource);
}

/* Shows the leader's function, as the drain shows that of an ordinary task. */
static void run_first(struct baton__frame *frame, struct baton_task *task)
{
	struct baton_resource_stats *stats = baton__stats(frame->resource);
	const bool shown = stats && stats->_gauge;
	const uint64_t before = shown ? load_relaxed(&stats->executed) : 0;

	if (shown)
		baton__gauge_enter(stats, baton__function(task), before);
	baton__reader_run(frame, task);
	if (shown)
		baton__gauge_leave(stats, before);
}

/* The holder has come to the reader. False: it is to be entered as an ordinary task. */
static bool lead_group(struct baton_task *task)
{
	struct baton__frame *frame = baton__top(baton__self);
	struct baton_resource *resource = frame->resource;
	struct baton_readers *readers = readers_of(task);
	struct baton__party *party = NULL;
	struct baton_task *grants = NULL;
	uint32_t count = 0;
	uint32_t ended = 1;

	if (BATON_UNLIKELY(readers->_resource != resource))
		BATON_MISUSE_OF("baton_submit", baton__name(resource),
		                "was given a reader of another resource");
	if (!side_by_side(resource))
		return false;
	if (baton__has_extras(resource))
		baton__backlog_left(resource, task);
	if (baton__any_waits(resource) && may_grant(resource, task)) {
		if (leads_others(frame))
			party = baton__party_of(readers);
		count = gather_readers(readers, party, &grants);
	}
	begin_group(readers, party, count + 1);
	(void)baton__backlog_lend(resource); /* until the drain goes on */
	/* Bounded as the party is. */
	while (grants) {
		struct baton_task *next = grants->_next;

		baton__reader_run(frame, grants); /* last touch of the grant */
		grants = next;
	}
	run_first(frame, task);
	/* Ends with the party (reader.taken). */
	while (count && (task = baton__party_take(party))) {
		BATON__CHECKED(enter(resource, task));
		baton__reader_run(frame, task);
		ended++;
	}
	baton__readers_end_lead(readers, ended);
	return true;
}

/* ---- Joining ---- */

/* Can the readers at work be joined? `word`: theirs. */
static bool may_join(const struct baton_resource *resource, uint32_t word)
{
	const uintptr_t inbox = baton__word(resource);

	return word & OPEN && word / READER && baton__word_is_busy(inbox) &&
	       !baton__word_is_closed(inbox) && !baton__word_newest(inbox);
}

/* Counts this thread as a reader, beside the readers at work. */
static bool join_group(struct baton_readers *readers)
{
	struct baton_resource *resource = readers->_resource;
	uint32_t word = load_relaxed(&readers->_state); /* validated by the CAS */

	do {
		if (!may_join(resource, word))
			return false;
		/* [reader.begin] acquire: what the tasks before did; pairs with [reader.begin] in
		 * begin_group */
	} while (!cas_acquire(&readers->_state, &word, word + READER));
	baton__stats_beside(resource);
	show_at_work(resource, 1);
	return true;
}

/* Runs the task at once, beside the readers at work, if it may. */
static bool run_joined(struct baton_resource *resource, struct baton_task *task)
{
	struct baton_readers *readers = readers_of(task);
	struct baton_future *future = baton__task_future(task);
	struct baton__frame frame;

	/* The holder says that the reader is another resource's. */
	if (readers->_resource != resource || !baton_readers_at_work(readers) ||
	    (future && !baton__future_fresh(future)) || baton__place(resource) != BATON__HERE ||
	    baton__thread_runs_in(baton__self, resource) || !join_group(readers))
		return false;
	if (future)
		baton__future_bind(future, resource);
	baton__frame_push(&frame, resource);
	BATON_GUARD(guard);
	BATON__CHECKED(enter(resource, task));
	baton__reader_run(&frame, task);
	guard = false;
	baton__frame_pop(&frame);
	baton__readers_leave(readers, 1);
	return true;
}

/* ---- The part ---- */

/* Says to what the function calls that it is a reader's. */
static int run_reading(struct baton_task *task, baton_task_fn run)
{
	struct baton__thread *self = baton__self;
	const struct baton__reading reading = {self->reading, baton__top(self)->resource};
	int status;

	self->reading = &reading;
	status = run(task);
	self->reading = reading.below;
	return status;
}

static void drop_reader(struct baton_task *task)
{
	(void)task;
}

/* ---- Shared holds ---- */

bool baton__readers_join_held(struct baton_readers *readers)
{
	struct baton_resource *resource = readers->_resource;

	return !baton__thread_holds(baton__self, resource) &&
	       !baton__caller_holds(baton__self->called, resource) && join_group(readers) &&
	       (count_executed(resource), true);
}

bool baton__readers_count_held(struct baton_readers *readers)
{
	if (!baton_readers_at_work(readers))
		return false;
	/* Relaxed: the completion of the grant's future publishes what the tasks before did, and
	 * the leader is counted until it has decided how it leaves (reader.group). */
	(void)add_relaxed(&readers->_state, READER);
	show_at_work(readers->_resource, 1);
	return true;
}

static const struct baton__part_hooks reader_hooks = {
	.keep = lead_group,
	.run = run_reading,
	.join = run_joined,
	.drop = drop_reader,
};

BATON_EXPORT void baton_reader_init(struct baton_reader *reader, struct baton_readers *readers)
{
	BATON__NEED(reader, "the reader is NULL: a task's struct has one beside the task");
	BATON__NEED(readers, "the readers are NULL");
	*reader = (struct baton_reader){{&reader_hooks}, readers};
}

BATON_EXPORT void baton_readers_init(struct baton_readers *readers, struct baton_resource *resource)
{
	BATON__NEED(readers, "the readers are NULL");
	BATON__NEED(resource, "the resource is NULL: readers belong to a resource");
	*readers = (struct baton_readers)BATON_READERS_INIT(resource);
}

BATON_EXPORT void baton_readers_deinit(struct baton_readers *readers)
{
	BATON_REQUIRE_OF(load_relaxed(&readers->_state) / READER == 0,
	                 baton__name(readers->_resource),
	                 "has readers at work: close and await it first");
	baton__party_end(readers);
}

BATON_EXPORT uint32_t baton_readers_at_work(const struct baton_readers *readers)
{
	return load_relaxed(&readers->_state) / READER;
}

BATON_EXPORT bool baton_reading(const struct baton_resource *resource)
{
	return baton__thread_reads(baton__self, resource);
}
