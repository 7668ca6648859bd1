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

#include <baton.h>

#include <errno.h>

#include "sim.h"

#include "resource.h"

#define SIM_NOTES_MAX 64

enum sim_fate { SIM_FRESH, SIM_ACCEPTED, SIM_RAN, SIM_CANCELLED, SIM_REFUSED };

/* Who holds a topic, if not a thread. */
#define SIM_NOBODY (-1)
#define SIM_QUEUE (-2)    /* its job is in an executor's hands */
#define SIM_VISITORS (-3) /* the last visitor is to go on */

struct sim_note;

struct sim_topic {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_task finaliser;
	int changes; /* by its tasks, protected by the baton alone */
	int holder;
	bool entered;
	bool finalised;
	unsigned finalised_by;
	struct sim_note *notes[SIM_NOTES_MAX];
	unsigned note_count;
};

struct sim_note {
	struct baton_task task;
	struct baton_future future;
	struct sim_topic *topic;
	int status;                          /* what its function returns */
	void (*body)(struct sim_note *note); /* called inside, may be NULL */
	void *argument;                      /* for body */
	bool own_future;                     /* task with `future` */
	/* What became of it. */
	enum sim_fate fate;
	unsigned runner;    /* thread that ran it */
	unsigned submitter; /* thread */
	uint32_t began;     /* steps at which its submit began and ended */
	uint32_t ended;
};

/* `limit`: capture limit; `executor`: not NULL if there can be a hand-off. */
void sim_topic_init(struct sim_topic *topic, uint32_t limit, uint32_t quantum,
                    struct baton_executor *executor);

void sim_note_init(struct sim_note *note, struct sim_topic *topic, bool with_future);

/* Submits, and notes what came of it: baton_submit's status. _begin and _end: around other ways. */
int sim_note_submit(struct sim_note *note);
void sim_note_begin(struct sim_note *note);
int sim_note_end(struct sim_note *note, int status);

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

/* Runs jobs of the executor, which this thread has created, until all other threads have ended and
 * there is none left. */
void sim_drive(struct baton_manual *manual);

#endif
