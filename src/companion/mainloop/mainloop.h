/* SPDX-License-Identifier: MIT */
/*
 * What the main loop's files share.
 *
 * A source's word says what its starters and stoppers want. Any thread changes the word by CAS.
 * Only the owner knows where the source lies (`_place`, `_link`, `_due`, `_order`, `_level`). The
 * owner brings the place into line with the word (settle, in depend.c): at once, if the owner
 * itself has changed the word; else when it takes the source out of the inbox.
 *
 * The word:
 *   POSTED   1 bit. The source lies in the inbox, or its poster is about to push it. Set by the
 *            poster. Cleared by the owner, when it has taken the source out.
 *   ACTIVE   1 bit. Set by start. Cleared by stop, and by the owner before the run of a source that
 *            is not `again`.
 *   RUNNING  1 bit. The function runs. Set and cleared by the owner.
 *   FRESH    1 bit. Started since the last run began. Set by start; cleared by stop, and by the
 *            owner before a run.
 *   PARENT   1 bit. Other sources depend on this one: a stop wakes the owner. Set and cleared by
 *            the owner.
 *   DUE      59 bits. The deadline of the last start; all ones: never.
 *
 * Invariants:
 * mainloop.posted: The thread that sets POSTED pushes the source, once. Until the owner has cleared
 *    POSTED, only that thread and the owner touch `_posted`.
 * mainloop.place: A source that is not RUNNING, and whose word the owner has settled, lies in the
 *    place that the word asks for: in no list if it is not ACTIVE; else in `waiting` if a parent is
 *    busy or the deadline is never, in the heap before its deadline, in `asking` (CUSTOM), with its
 *    descriptor (READABLE, WRITABLE), or in the list of its priority. A RUNNING source is in no
 *    list: no nested run enters it.
 * mainloop.alarm: `alarm` is 0 while the owner is sure to look at the inbox again: the owner runs
 *    the loop, or a wake is under way. Else `alarm` is the time at which the host will run the
 *    loop. The owner stores `alarm`, then looks at the inbox; a poster pushes, then looks at
 *    `alarm`. Both are seq_cst ([mainloop.alarm]), so one of the two sees the other. The thread
 *    that changes `alarm` to 0 makes the descriptor readable: one wake for any number of starts.
 * mainloop.published: A start that finds POSTED set leaves the push to another thread, the poster,
 *    and wakes the owner by itself; the owner may find the inbox empty, and publish a later alarm,
 *    before the poster pushes. So the poster loads `published`, which counts alarms, before its CAS
 *    on the word and again after its push. If an alarm was published meanwhile, the poster wakes
 *    the owner in any case. The owner stores `alarm`, then counts, then looks at the inbox. If no
 *    alarm was published meanwhile, either the look comes after the push, and the owner sees the
 *    source; or the alarm comes before the poster's CAS, and the start that finds POSTED sees the
 *    alarm.
 */
#ifndef BATON_SRC_MAINLOOP_H
#define BATON_SRC_MAINLOOP_H

#include <baton/loop.h>
#include <baton/mainloop.h>
#include <baton/thread.h>
#include <baton/time.h>

#include "base/atomic.h"
#include "base/count.h"
#include "base/platform.h"

#include <errno.h>

#define BATON__SOURCE_POSTED ((uint64_t)1)
#define BATON__SOURCE_ACTIVE ((uint64_t)2)
#define BATON__SOURCE_RUNNING ((uint64_t)4)
#define BATON__SOURCE_FRESH ((uint64_t)8)
#define BATON__SOURCE_PARENT ((uint64_t)16)
#define BATON__SOURCE_DUE_SHIFT 5
#define BATON__SOURCE_FLAGS (((uint64_t)1 << BATON__SOURCE_DUE_SHIFT) - 1)

/* `_place`: where the owner has put a source. */
enum {
	BATON__NOWHERE = 0,
	BATON__READY = 1,   /* in ready[_level] */
	BATON__HEAP = 2,    /* waits for `_due` */
	BATON__ASKING = 3,  /* a CUSTOM, to be asked in the next round */
	BATON__WAITING = 4, /* for its parents, or for ever */
	BATON__WATCHED = 5, /* with its descriptor; see descriptor.h */
};

struct baton__edge;

/* A source that has dependencies (depend.h). */
struct baton__dependent {
	struct baton_source *source;
	struct baton__edge *parents;  /* edges that lead to this source */
	struct baton__edge *children; /* edges that lead from this source */
	size_t blockers;
	bool busy;
	uint64_t searched;              /* the search that has met this record */
	struct baton__dependent *found; /* the record from which the search came here */
	struct baton__dependent *queue; /* the next one to be searched */
	struct baton__dependent *next;  /* of the loop's records */
	struct baton__dependent **prev;
};

/* Is the source held back by a parent? */
BATON_INLINE bool baton__dependent_held(const struct baton__dependent *dependent)
{
	return dependent && dependent->blockers;
}

/* One run of a source's function, on the owner's stack. */
struct baton__source_run {
	struct baton__source_run *below;
	struct baton_source *source;
	struct baton__dependent *dependent;
	uint64_t began;
	uint32_t level;
};

/* One call of run, drain or advance_to, on the owner's stack. */
struct baton__round {
	struct baton__round *below;
	uint64_t deadline; /* no source is entered from then on */
	size_t may_run;    /* sources that the round may still run */
	int64_t count;     /* sources that the round has run */
	uint32_t levels;   /* the priorities that the round may run, as bits */
	uint32_t depth;    /* of nested rounds; 1: the outermost */
	bool asked;        /* the CUSTOM sources were asked in this round */
	bool gave_way;     /* an idle source gave way to input: the round is over */
	int error;
};

struct baton__descriptor;

struct baton__mainloop {
	uintptr_t inbox; /* the newest posted source, or 0 */
	uint64_t alarm;
	uint64_t published; /* alarms; the owner counts */
	uint64_t virtual_now;
	struct baton_mainloop_stats stats;
	struct baton_loop *executor;
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_mainloop_options options;
	/* The owner's: */
	struct baton_task pick; /* picks and runs one source as a task of the resource */
	bool pick_queued;
	bool asks;     /* a `ready` or the input probe is being called */
	bool ask_soon; /* a source in `asking` has not been asked since it came to `asking` */
	uint32_t mask; /* bit n: ready[n] has a source */
	struct baton_source_link ready[BATON_PRIORITIES];
	struct baton_source_link asking;
	struct baton_source_link waiting;
	struct baton_source_link *heap; /* the earliest deadline */
	uint64_t now;    /* at the last look at the clock; deadlines in the heap are later */
	uint64_t polled; /* when the kernel was last asked about descriptors */
	uint64_t order;  /* the next number: of a start, or of a source that becomes ready */
	uint64_t picks;  /* for the aging */
	size_t rest;     /* so many picks come before the next look at the inbox */
	/* What was taken from the inbox, and is not settled yet. */
	struct baton_source *newest;       /* the latest post first; each is moved to `oldest` */
	struct baton_source *oldest;       /* the earliest first; settled when `newest` is empty */
	struct baton__source_run *running; /* the innermost */
	struct baton__round *round;        /* the innermost */
	int epoll;
	struct baton__descriptor **descriptors; /* by place: descriptor.c */
	size_t descriptor_count;
	size_t descriptor_end;             /* destroy: no source is WATCHED below this place */
	struct baton__descriptor *changed; /* the kernel is not told yet */
	size_t watched;                    /* sources that are `_watched` */
	struct baton__dependent *dependents;
	uint64_t searches;
	uint64_t edges_looked; /* by depend and undepend, since the loop's creation; for tests */
	size_t cycle_count;
	const char *cycle[BATON_MAINLOOP_CYCLE_MAX];
};

/* The loop of a handle; NULL: the loop was not created, or was destroyed. */
BATON_INLINE struct baton__mainloop *baton__mainloop_of(const struct baton_mainloop *handle)
{
	/* [mainloop.made] acquire: the loop; pairs with [mainloop.made] in baton_mainloop_init */
	return handle ? load_acquire(&handle->_loop) : NULL;
}

/* Is this process a fork's child, which shares the loop with its parent? The owner. */
BATON_INLINE bool baton__mainloop_forked(void)
{
	return baton_thread_attach() == -ECHILD;
}

/* The deadline that a word asks for. */
BATON_INLINE uint64_t baton__source_due(uint64_t word)
{
	const uint64_t due = word >> BATON__SOURCE_DUE_SHIFT;

	return due < BATON_MAINLOOP_TIME_MAX ? due : BATON_NEVER;
}

BATON_INLINE struct baton_source *baton__source_of(struct baton_source_link *link)
{
	return baton_container_of(link, struct baton_source, _link);
}

/* The time on the loop's clock. Any thread. */
uint64_t baton__mainloop_clock(const struct baton__mainloop *loop);

/* The deadline `delay_ns` from now, in the form of the word's DUE. Any thread. */
uint64_t baton__mainloop_due_after(const struct baton__mainloop *loop, uint64_t delay_ns);

/*
 * The owner takes the inbox, and settles its sources. Returns how many were settled. After `steps`
 * steps the owner stops, and goes on in the next call. A source takes two steps: one that moves it
 * to `oldest`, and one that settles it.
 */
#define BATON__ABSORB_ALL SIZE_MAX
size_t baton__mainloop_absorb(struct baton__mainloop *loop, size_t steps);

/* Stops the source. Returns its word as it was. Any thread. */
uint64_t baton__source_stop(struct baton__mainloop *loop, struct baton_source *source);

/* Makes the descriptor readable, unless `alarm` brings the owner by `due` anyway. Any thread. */
void baton__mainloop_wake(struct baton__mainloop *loop, uint64_t due);

/* Tells the kernel and the host what the owner has changed, maybe outside of a run. */
void baton__mainloop_settled(struct baton__mainloop *loop);

/* The time at which the loop must be run next; 0: now. The owner. */
uint64_t baton__mainloop_next_due(const struct baton__mainloop *loop);

/* The type of the task that runs one source. */
extern const struct baton_task_type baton__mainloop_pick;

/* Should the running source of the loop `arg` return? The owner. */
bool baton__mainloop_yields(void *arg);

#endif
