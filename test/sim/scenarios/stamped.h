/* SPDX-License-Identifier: MIT */
/*
 * Stamped tasks and their topics: as notes, but the order is that of each lane. An execution fails
 * when a task runs before one of its lane whose submit had ended before its own began; runs twice,
 * or is cancelled, too, or left out.
 */
#ifndef BATON_SIM_LABELLED_H
#define BATON_SIM_LABELLED_H

#include "support.h"

#include "../../parts.h"

#define SIM_LABELLED_MAX 8

struct sim_piece {
	struct stamped stamped;
	struct baton_future future;
	bool own_future;
	void (*body)(struct sim_piece *piece); /* called inside, may be NULL */
	enum sim_fate fate;
	uint32_t began; /* steps at which its submit began and ended, and it was entered */
	uint32_t ended;
	uint32_t entered;
};

/* One topic of `lanes` lanes (0: none), bounded by `limits` (NULL: not), and a manual executor. */
struct sim_scene {
	struct sim_topic topic;
	struct baton_manual *manual;
	struct baton_lane array[3];
	struct baton_lanes lanes;
	struct baton_bound bound;
	struct sim_piece pieces[SIM_LABELLED_MAX];
};

extern struct sim_scene sim_scene;

void sim_scene_init(uint32_t limit, uint32_t quantum, uint32_t lanes,
                    const struct baton_bound_config *limits);
/* The others have ended: everything is over, the books balance. */
void sim_scene_end(void);

struct sim_piece *sim_piece_init(unsigned index, unsigned lane, bool with_future);
/* Submits, and notes what came of it: baton_submit's status. */
int sim_piece_submit(struct sim_piece *piece);
int sim_piece_submit_later(struct sim_piece *piece);
/* Waits for its future. */
void sim_piece_wait(struct sim_piece *piece);

/* What threads do, for sim_start: with a piece, or with nothing. */
void sim_does_piece(void *piece);
void sim_does_piece_and_wait(void *piece);
void sim_does_await(void *none);

#endif
