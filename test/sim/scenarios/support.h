/* SPDX-License-Identifier: MIT */
/*
 * What scenarios share: topics, resources whose runners are watched; notes, tasks whose fate is
 * known.
 *
 * An execution fails when two threads hold a topic at once or its tasks overlap (L1); when a note
 * runs before one whose submit had ended before its own began (L2); runs twice, or both runs and is
 * cancelled, or is left out (L3: sim_settled); when the library touches a note or a topic after it
 * was given back (L10).
 */
#ifndef BATON_SIM_SUPPORT_H
#define BATON_SIM_SUPPORT_H

#include <baton/all.h>

#include <errno.h>

#include "sim.h"

#include "core/resource.h"

/* Of a function: what it does with memory is not looked at. */
#define SIM_UNSEEN __attribute__((no_sanitize("thread"), noinline))

#define SIM_NOTES_MAX 64

enum sim_fate { SIM_FRESH, SIM_ACCEPTED, SIM_RAN, SIM_CANCELLED, SIM_REFUSED };

/* Who holds a topic, if not a thread. */
#define SIM_NOBODY (-1)
#define SIM_QUEUE (-2)    /* its job is in an executor's hands */
#define SIM_VISITORS (-3) /* the last visitor is to go on */
#define SIM_SHELF (-4)    /* whoever unshelves it is to go on */
#define SIM_REST (-5)     /* whoever puts the next entry into the inbox is to go on */
#define SIM_TAKER (-6)    /* who has its queue is to go on: lend.h */

struct sim_note;

struct sim_topic {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_task finaliser;
	int changes; /* by its tasks, protected by the baton alone */
	int holder;
	int giver; /* who last gave it to a queue */
	int taker; /* who last took its queue: lend.h */
	int only;  /* the thread on which alone its tasks run, or SIM_NOBODY */
	bool entered;
	unsigned reading;        /* how many readers run */
	const uint32_t *readers; /* the word that counts them; or NULL */
	bool stays;              /* the finaliser does not give its memory back */
	bool finalised;
	unsigned finalised_by;
	uint32_t over; /* published by the finaliser: load it with acquire */
	struct sim_note *notes[SIM_NOTES_MAX];
	unsigned note_count;
};

struct sim_note {
	struct baton_task task;
	struct baton_future future;
	struct baton_task *entry; /* what is submitted: `task`, or a task that calls sim_note_run */
	unsigned lane;            /* tasks of one lane have their order */
	struct sim_topic *topic;
	int status;                          /* what its function returns */
	void (*body)(struct sim_note *note); /* called inside, may be NULL */
	void *argument;                      /* for body */
	bool own_future;                     /* task with `future` */
	bool reads;                          /* runs beside those that read, too */
	uint64_t known;                      /* if it reads: sim_notes_known at its submit */
	/* What became of it. */
	enum sim_fate fate;
	bool never;         /* cancelled, said baton_future_cancel */
	unsigned runner;    /* thread that ran it */
	unsigned submitter; /* thread */
	uint32_t began;     /* steps at which its submit began and ended */
	uint32_t ended;
	uint32_t released; /* the last release of its submitter when its submit had ended */
};

/* Gives the topic's resource a bound, and follows to whom its queue is lent. */
void sim_topic_bound(struct sim_topic *topic, struct baton_bound *bound);

/*
 * `limit`: capture limit; 0: BATON_CAPTURE_NONE: the tasks are to run on the calling thread.
 * `executor`: not NULL if there can be a hand-off.
 */
void sim_topic_init(struct sim_topic *topic, uint32_t limit, uint32_t quantum,
                    struct baton_executor *executor);

void sim_note_init(struct sim_note *note, struct sim_topic *topic, bool with_future);

/* Submits, and notes what came of it: baton_submit's status. _begin and _end: around other ways. */
int sim_note_submit(struct sim_note *note);
int sim_note_submit_later(struct sim_note *note);
void sim_note_begin(struct sim_note *note);
int sim_note_end(struct sim_note *note, int status);

/* Without a task of its own: baton_post, baton_call; and the function that they call. */
int sim_note_post(struct sim_note *note);
int sim_note_call(struct sim_note *note);
void *sim_note_run(void *note);
/* The same for a reader's task, which calls it: the note `reads`. */
void *sim_note_read(void *note);
/* A thread begins to read what the topic's tasks write; it has ended. */
void sim_reading_begin(struct sim_topic *topic);
void sim_reading_end(struct sim_topic *topic);

/* A cancel has succeeded: it must not run. */
void sim_note_never(struct sim_note *note);
/* For an entry of another sort: it is cancelled, and has no future. */
void sim_note_cancelled(struct sim_note *note);

/* Cancels; if that succeeds it must not run. baton_future_cancel's status. */
int sim_note_cancel(struct sim_note *note);

/* Its future is complete: looks whether it says what happened; the memory is given back. */
void sim_note_over(struct sim_note *note);
/* Waits, then the same. */
void sim_note_wait(struct sim_note *note);

/* Closes; a finaliser gives the resource's memory back. baton_resource_close_then's status. */
int sim_topic_close_then(struct sim_topic *topic);
/* Closes, awaits; the memory is given back. */
void sim_topic_close(struct sim_topic *topic);

/* At the end: every note has its fate, nobody holds the topic. */
void sim_settled(const struct sim_topic *topic);

/* How many accepted notes have not met their fate, those of thread `but` left out. */
unsigned sim_left(const struct sim_topic *topic, unsigned but);

/* What threads do, for sim_start: each with the note that is its argument. */
void sim_does_submit(void *note);
void sim_does_wait(void *note);
void sim_does_cancel(void *note);
void sim_does_submit_and_wait(void *note);
void sim_does_submit_two(void *notes); /* [0], then [1] */

/*
 * A topic with a manual executor of the calling thread's, in whose queue `count` notes with futures
 * lie; and its end: the calling thread has driven the executor, and the others have ended.
 */
struct sim_stage {
	struct sim_topic topic;
	struct baton_manual *manual;
	struct sim_note notes[8];
};

void sim_stage_init(struct sim_stage *stage, uint32_t limit, uint32_t quantum, unsigned count);
void sim_stage_end(struct sim_stage *stage);

/* Every block of the library's that is left is a thread's record, or a node that one has cached.
 * When the other threads have ended and executors are destroyed. */
void sim_no_leaks(void);

/* known: the notes (a bit each) whose submit happens before this call. awaited: an await that has
 * begun with `known` has ended, and these notes are over. */
uint64_t sim_notes_known(const struct sim_topic *topic);
void sim_awaited(const struct sim_topic *topic, uint64_t known);

/*
 * For `frozen`, where an executor has a thread that is not frozen: every submit of the others' has
 * ended; their tasks are over, unless it is the frozen thread that holds the resource, or is about
 * to give its job to the executor.
 */
void sim_not_delayed(const struct sim_topic *topic);

/* Runs jobs of the executor, which this thread has created, until all other threads have ended and
 * there is none left. */
void sim_drive(struct baton_manual *manual);

/*
 * An executor without a thread: jobs lie on it, any thread may run them. What `schedule` returns is
 * its own thing: 1, if only helpers are to come; and from the refuse-th call on it refuses (0:
 * never).
 */
struct sim_shelf {
	struct baton_executor executor;
	uintptr_t jobs; /* newest first */
	uint32_t calls;
	uint32_t refuse;
	int status;
};

void sim_shelf_init(struct sim_shelf *shelf, int status, uint32_t refuse);
/* Runs what lies on it now: how many jobs. */
unsigned sim_shelf_run(struct sim_shelf *shelf);
/* The same, again and again, until all other threads have ended. */
void sim_shelf_drive(struct sim_shelf *shelf);

#endif
