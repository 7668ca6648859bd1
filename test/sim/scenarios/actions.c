/* SPDX-License-Identifier: MIT */
/*
 * What scenarios have their threads do, and the stage on which most of them play.
 */
#include "support.h"

void sim_does_submit(void *note)
{
	sim_require(sim_note_submit(note) == 0);
}

void sim_does_wait(void *note)
{
	sim_note_wait(note);
}

void sim_does_cancel(void *note)
{
	int status = sim_note_cancel(note);

	sim_require(status == 0 || status == -EALREADY || status == -EINPROGRESS);
}

void sim_does_submit_and_wait(void *note)
{
	sim_does_submit(note);
	sim_note_wait(note);
}

void sim_does_submit_two(void *notes)
{
	struct sim_note *first = notes;

	sim_does_submit(&first[0]);
	sim_does_submit(&first[1]);
}

void sim_stage_init(struct sim_stage *stage, uint32_t limit, uint32_t quantum, unsigned count)
{
	sim_require(baton_manual_create(&stage->manual) == 0);
	sim_topic_init(&stage->topic, limit, quantum, baton_manual_executor(stage->manual));
	for (unsigned i = 0; i < count; i++) {
		sim_note_init(&stage->notes[i], &stage->topic, true);
		sim_require(sim_note_submit_later(&stage->notes[i]) == 0);
	}
}

void sim_stage_end(struct sim_stage *stage)
{
	sim_settled(&stage->topic);
	sim_topic_close(&stage->topic);
	baton_manual_destroy(stage->manual);
	sim_no_leaks();
}
