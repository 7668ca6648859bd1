/* SPDX-License-Identifier: MIT */
/*
 * What any thread may do with a source: change its word, and tell the owner.
 *
 * Linearisation point of start and stop: the CAS on the word. ABA: each transition depends on the
 * word alone; the inbox is taken whole. Progress: lock-free: a CAS fails only because of another
 * start, stop, run or post.
 */
#include "base/refused.h"
#include "companion/mainloop/depend.h"
#include "companion/mainloop/descriptor.h"
#include "companion/mainloop/places.h"

#include <errno.h>

#define POSTED BATON__SOURCE_POSTED
#define ACTIVE BATON__SOURCE_ACTIVE
#define RUNNING BATON__SOURCE_RUNNING
#define FRESH BATON__SOURCE_FRESH
#define PARENT BATON__SOURCE_PARENT

BATON_EXPORT void baton_source_init(struct baton_source *source, struct baton_mainloop *loop,
                                    const struct baton_source_config *config, const char *name)
{
	*source = (struct baton_source)BATON_SOURCE_INIT(loop, config, name);
}

BATON_EXPORT void baton_source_fd_init(struct baton_source_fd *source, struct baton_mainloop *loop,
                                       const struct baton_source_config *config, const char *name)
{
	*source = (struct baton_source_fd)BATON_SOURCE_FD_INIT(loop, config, name, -1);
}

BATON_EXPORT const char *baton_source_name(const struct baton_source *source)
{
	return source->_name;
}

void baton__mainloop_wake(struct baton__mainloop *loop, uint64_t due)
{
	/* [mainloop.alarm] seq_cst: after the push of a source, or the CAS on its word; pairs with
	 * [mainloop.alarm] in publish_alarm. Relaxed is enough: as in publish_alarm (round.c). */
	uint64_t alarm = load_seq_cst(&loop->alarm);

	/* Ends: each failure is another thread's wake, or the owner's next alarm. */
	while (due < alarm) {
		/* Relaxed is enough: nothing is published by `alarm`; Dekker is between the owner
		 * and the load. */
		if (!cas_seq_cst(&loop->alarm, &alarm, 0))
			continue;
		/* Relaxed: a counter. */
		(void)add_relaxed(&loop->stats.wakes, 1);
		baton_loop_wake(loop->executor);
		return;
	}
}

/* Pushes a source whose POSTED this thread has set. */
static void push_posted(struct baton__mainloop *loop, struct baton_source *source)
{
	uintptr_t newest = load_relaxed(&loop->inbox); /* validated by the CAS */

	/* Lock-free: a CAS fails only because another thread has pushed, or the owner has taken the
	 * inbox. */
	do {
		source->_posted = (struct baton_source *)newest;
		/* [mainloop.inbox] release: `_posted`; pairs with [mainloop.inbox] in absorb. And
		 * seq_cst: before the load of `alarm` in wake (mainloop.alarm). */
	} while (!cas_seq_cst(&loop->inbox, &newest, (uintptr_t)source));
}

/* Moves the latest post to the front of `oldest`. In the end the earliest post is first there. */
static void turn_one(struct baton__mainloop *loop)
{
	struct baton_source *source = loop->newest;

	loop->newest = source->_posted;
	source->_posted = loop->oldest;
	loop->oldest = source;
}

static void settle_one(struct baton__mainloop *loop)
{
	struct baton_source *source = loop->oldest;

	loop->oldest = source->_posted;
	/* [source.word] acquire: what the starter did; release: `_posted` may be written anew;
	 * pairs with [source.word] in change_posted */
	baton__source_settle(loop, source, sub_acq_rel(&source->_state, POSTED) & ~POSTED);
}

size_t baton__mainloop_absorb(struct baton__mainloop *loop, size_t steps)
{
	size_t count = 0;
	bool taken = false;

	/* Ends: the inbox is taken once, and what was taken is private. */
	for (; steps; steps--) {
		if (loop->newest) {
			turn_one(loop);
		} else if (loop->oldest) {
			settle_one(loop);
			count++;
			/* Relaxed is enough: the exchange acquires; an old value says "empty",
			 * which publish's own look corrects. */
		} else if (!taken && load_seq_cst(&loop->inbox)) {
			/* [mainloop.alarm] seq_cst, the load: after the store of `alarm` in
			 * publish_alarm; pairs with [mainloop.alarm] in push_posted
			 * [mainloop.inbox] acquire: `_posted` of each source; pairs with
			 * [mainloop.inbox] in push_posted */
			loop->newest = (struct baton_source *)swap_acquire(&loop->inbox, 0);
			taken = true;
		} else {
			break;
		}
	}
	return count;
}

void baton__mainloop_settled(struct baton__mainloop *loop)
{
	/* A round tells the kernel at its end. */
	if (!loop->round)
		baton__descriptors_tell(loop);
	baton__mainloop_wake(loop, baton__mainloop_next_due(loop));
}

/* What a change makes of a word, and by when the owner must look at it. */
struct change {
	uint64_t clear;
	uint64_t set;
	uint64_t due;
};

/* The owner changes the word of a source, and brings the source into line. */
static uint64_t change_own(struct baton__mainloop *loop, struct baton_source *source,
                           struct change change)
{
	uint64_t word = load_relaxed(&source->_state); /* validated by the CAS */
	uint64_t changed;

	/* Ends: as in change_posted.
	 * [source.word] acquire: what the starter did; pairs with [source.word] in change_posted */
	do
		changed = (word & ~change.clear) | change.set;
	while (!cas_acq_rel(&source->_state, &word, changed));
	/* If another thread has posted the source, it is in the inbox, or soon will be. Otherwise
	 * only the owner uses it. */
	if (word & POSTED)
		(void)baton__mainloop_absorb(loop, BATON__ABSORB_ALL);
	baton__source_settle(loop, source, changed);
	baton__mainloop_settled(loop);
	return word;
}

/* Another thread changes the word of a source, and posts the source, unless it is posted. */
static uint64_t change_posted(struct baton__mainloop *loop, struct baton_source *source,
                              struct change change)
{
	/* Seq_cst: mainloop.published. Acquire is enough: the start that finds POSTED acquires the
	 * alarm from the thread that loaded the new count; the load after the push corrects an
	 * older count. */
	const uint64_t published = load_seq_cst(&loop->published);
	uint64_t word = load_relaxed(&source->_state); /* validated by the CAS */

	/* Lock-free: a CAS fails only because the word has changed.
	 * [source.word] release: what the caller did; pairs with [source.word] in absorb,
	 * change_own, claim. Acquire: the owner has done with `_posted`; pairs with [source.word]
	 * in absorb. And seq_cst: mainloop.published. Acq_rel is enough: as the load. */
	while (!cas_seq_cst(&source->_state, &word, (word & ~change.clear) | change.set | POSTED))
		;
	/* Only push_posted may touch the source after this: the owner may run and free it. */
	if (!(word & POSTED)) {
		push_posted(loop, source);
		/* Seq_cst: mainloop.published. */
		if (load_seq_cst(&loop->published) != published)
			change.due = 0;
	}
	if (word & PARENT && change.clear & ~change.set & ACTIVE)
		change.due = 0;
	baton__mainloop_wake(loop, change.due);
	return word;
}

static uint64_t change(struct baton__mainloop *loop, struct baton_source *source,
                       struct change change)
{
	return baton_loop_is_owner(loop->executor) ? change_own(loop, source, change)
	                                           : change_posted(loop, source, change);
}

uint64_t baton__mainloop_due_after(const struct baton__mainloop *loop, uint64_t delay_ns)
{
	uint64_t due = BATON_MAINLOOP_TIME_MAX;

	if (!delay_ns)
		return 0;
	if (delay_ns != BATON_NEVER)
		due = baton__mainloop_clock(loop) + delay_ns;
	return due < BATON_MAINLOOP_TIME_MAX ? due : BATON_MAINLOOP_TIME_MAX;
}

static bool valid(const struct baton_source_config *config)
{
	if (!config || !config->fn || config->level > BATON_PRIORITIES || BATON__UNKNOWN(config))
		return false;
	switch (config->kind) {
	case BATON_SOURCE_IDLE:
	case BATON_SOURCE_READABLE:
	case BATON_SOURCE_WRITABLE:
		return true;
	case BATON_SOURCE_TIMER:
		return (config->period_ns || !config->again) &&
		       (config->period_ns <= BATON_MAINLOOP_TIME_MAX ||
		        config->period_ns == BATON_NEVER);
	case BATON_SOURCE_CUSTOM:
		return config->ready;
	}
	return false;
}

static bool has_fd(const struct baton_source *source)
{
	const enum baton_source_kind kind = source->_config->kind;

	if (kind != BATON_SOURCE_READABLE && kind != BATON_SOURCE_WRITABLE)
		return true;
	return baton_container_of(source, struct baton_source_fd, source)->fd >= 0;
}

static int start_source(struct baton_source *source, struct baton__mainloop *loop,
                        uint64_t delay_ns)
{
	const uint64_t due = baton__mainloop_due_after(loop, delay_ns);
	const struct change start = {
		~(POSTED | RUNNING | PARENT),
		due << BATON__SOURCE_DUE_SHIFT | ACTIVE | FRESH,
		due < BATON_MAINLOOP_TIME_MAX ? due : BATON_NEVER,
	};

	if (!has_fd(source))
		return -EBADF;
	(void)change(loop, source, start);
	return 0;
}

BATON_EXPORT int baton_source_start(struct baton_source *source)
{
	struct baton__mainloop *loop = baton__mainloop_of(source->_loop);
	const struct baton_source_config *config = source->_config;

	if (!loop)
		return -ESHUTDOWN;
	if (!valid(config))
		return -EINVAL;
	return start_source(source, loop,
	                    config->kind == BATON_SOURCE_TIMER ? config->period_ns : 0);
}

BATON_EXPORT int baton_source_start_after(struct baton_source *source, uint64_t delay_ns)
{
	struct baton__mainloop *loop = baton__mainloop_of(source->_loop);

	if (!loop)
		return -ESHUTDOWN;
	if (!valid(source->_config) ||
	    (delay_ns > BATON_MAINLOOP_TIME_MAX && delay_ns != BATON_NEVER))
		return -EINVAL;
	return start_source(source, loop, delay_ns);
}

uint64_t baton__source_stop(struct baton__mainloop *loop, struct baton_source *source)
{
	static const struct change stop = {ACTIVE | FRESH, 0, BATON_NEVER};

	return change(loop, source, stop);
}

BATON_EXPORT int baton_source_set_level(struct baton_source *source, uint32_t level)
{
	static const struct change none = {0, 0, BATON_NEVER};
	struct baton__mainloop *loop = baton__mainloop_of(source->_loop);

	if (!loop)
		return -ESHUTDOWN;
	if (level > BATON_PRIORITIES)
		return -EINVAL;
	/* Relaxed: change publishes it. */
	store_relaxed(&source->_set_level, level ? level : BATON_PRIORITY_DEFAULT);
	(void)change(loop, source, none);
	return 0;
}

BATON_EXPORT bool baton_source_is_active(const struct baton_source *source)
{
	/* Relaxed: the answer is true of one moment. */
	return load_relaxed(&source->_state) & ACTIVE;
}
