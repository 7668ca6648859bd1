/* SPDX-License-Identifier: MIT */
/*
 * Topics and notes. What they remember is the explorer's, not the program's: it is written without
 * being looked at (UNSEEN), save for `changes`, which the batons protect.
 */
#include "support.h"

#define UNSEEN __attribute__((no_sanitize("thread"), noinline))

/* ---- Who holds it: follows the two words of the resource ---- */

static struct sim_topic *topic_of_word(const void *word)
{
	return baton_container_of((uintptr_t)word, struct sim_topic, resource._word);
}

static struct sim_topic *topic_of_turn(const void *turn)
{
	return baton_container_of((uintptr_t)turn, struct sim_topic, resource._job._turn);
}

UNSEEN static void hand(struct sim_topic *topic, int from, int to)
{
	if (topic->holder != from)
		sim_fail("two holders: %d, though %d holds it, gives it to %d", from, topic->holder,
		         to);
	topic->holder = to;
}

UNSEEN static void word_changes(const void *word, unsigned thread, uint64_t before, uint64_t after)
{
	struct sim_topic *topic = topic_of_word(word);

	if (!(before & BATON__BUSY) && after & BATON__BUSY)
		hand(topic, SIM_NOBODY, (int)thread);
	else if (before & BATON__BUSY && !(after & BATON__BUSY))
		hand(topic, (int)thread, SIM_NOBODY);
}

UNSEEN static void turn_changes(const void *word, unsigned thread, uint64_t before, uint64_t after)
{
	struct sim_topic *topic = topic_of_turn(word);
	uint32_t from = before & BATON__PHASE;
	uint32_t to = after & BATON__PHASE;

	if (from != to) {
		if (from == BATON__QUEUED)
			hand(topic, SIM_QUEUE, (int)thread);
		else if (to == BATON__QUEUED)
			hand(topic, (int)thread, SIM_QUEUE);
	}
	if (!(before & BATON__LEAVING) && after & BATON__LEAVING)
		hand(topic, (int)thread, SIM_VISITORS);
	if (before & BATON__LEAVING && !(after & BATON__LEAVING))
		hand(topic, SIM_VISITORS, (int)thread);
}

/* ---- Notes ---- */

UNSEEN static void note_fate(struct sim_note *note, enum sim_fate fate)
{
	if (note->fate != SIM_ACCEPTED)
		sim_fail("a task of fate %d has now fate %d", note->fate, fate);
	note->fate = fate;
	note->runner = sim_thread();
}

/* A cancelled task says so by its future alone, if it has one. */
UNSEEN static bool waiting(const struct sim_note *note)
{
	/* unshared: the explorer's look */
	return note->fate == SIM_ACCEPTED && !(note->future._state & BATON__FUTURE_FINAL);
}

/* Nobody whose submit had ended before this one's began is still waiting. */
UNSEEN static void check_order(const struct sim_note *note)
{
	const struct sim_topic *topic = note->topic;

	for (unsigned i = 0; i < topic->note_count; i++) {
		const struct sim_note *other = topic->notes[i];

		if (other != note && other->topic == topic && waiting(other) && other->ended &&
		    other->ended < note->began)
			sim_fail("order: a task runs before one that was submitted earlier");
	}
}

UNSEEN static void enter(struct sim_topic *topic, bool entered)
{
	if (topic->entered == entered)
		sim_fail("two tasks of one resource overlap");
	if (entered && topic->holder != (int)sim_thread())
		sim_fail("a task runs on thread %u, the holder is %d", sim_thread(), topic->holder);
	topic->entered = entered;
}

static int run_note(struct baton_task *task)
{
	struct sim_note *note = baton_container_of(task, struct sim_note, task);
	struct sim_topic *topic = note->topic;

	enter(topic, true);
	check_order(note);
	note_fate(note, SIM_RAN);
	topic->changes++;
	if (note->body)
		note->body(note);
	enter(topic, false);
	if (!task->_future)
		sim_retire(&note->task, sizeof(note->task));
	return note->status;
}

static void cancel_note(struct baton_task *task)
{
	struct sim_note *note = baton_container_of(task, struct sim_note, task);

	note_fate(note, SIM_CANCELLED);
	sim_retire(&note->task, sizeof(note->task));
}

void sim_note_init(struct sim_note *note, struct sim_topic *topic, bool with_future)
{
	*note = (struct sim_note){.topic = topic, .own_future = with_future};
	baton_future_init(&note->future);
	baton_task_init(&note->task, run_note, with_future ? &note->future : NULL);
}

UNSEEN void sim_note_begin(struct sim_note *note)
{
	struct sim_topic *topic = note->topic;

	if (topic->note_count == SIM_NOTES_MAX)
		sim_fail("explorer: more than %d notes", SIM_NOTES_MAX);
	topic->notes[topic->note_count++] = note;
	note->fate = SIM_ACCEPTED;
	note->submitter = sim_thread();
	note->began = sim_step();
	note->ended = 0;
}

UNSEEN int sim_note_end(struct sim_note *note, int status)
{
	note->ended = sim_step();
	if (!status)
		return 0;
	if (note->fate != SIM_ACCEPTED)
		sim_fail("a task was refused (%d), and has run", status);
	note->fate = status == -ECANCELED ? SIM_CANCELLED : SIM_REFUSED;
	return status;
}

int sim_note_submit(struct sim_note *note)
{
	sim_note_begin(note);
	return sim_note_end(note, baton_submit(&note->topic->resource, &note->task));
}

UNSEEN static enum sim_fate fate_of(const struct sim_note *note)
{
	return note->fate;
}

UNSEEN static void cancelled_now(struct sim_note *note)
{
	if (note->fate == SIM_ACCEPTED)
		note->fate = SIM_CANCELLED;
}

void sim_note_over(struct sim_note *note)
{
	enum baton_state state = baton_future_poll(&note->future);
	int status = baton_future_status(&note->future);

	if (state == BATON_CANCELLED) {
		cancelled_now(note);
		sim_require(fate_of(note) == SIM_CANCELLED);
		sim_require(status == -ECANCELED);
	} else {
		sim_require(state == (note->status ? BATON_FAILED : BATON_DONE));
		sim_require(fate_of(note) == SIM_RAN);
		sim_require(status == note->status);
	}
	sim_retire(&note->task, sizeof(note->task));
	sim_retire(&note->future, sizeof(note->future));
}

void sim_note_wait(struct sim_note *note)
{
	sim_require(baton_future_wait(&note->future) == 0);
	sim_note_over(note);
}

/* ---- Topics ---- */

void sim_topic_init(struct sim_topic *topic, uint32_t limit, uint32_t quantum,
                    struct baton_executor *executor)
{
	*topic = (struct sim_topic){.holder = SIM_NOBODY};
	topic->config = (struct baton_resource_config){
		.capture_limit = limit,
		.quantum = quantum,
		.executor = executor,
		.cancelled = cancel_note,
	};
	baton_resource_init(&topic->resource, topic, NULL, &topic->config, NULL);
	sim_watch(&topic->resource._word, word_changes);
	sim_watch(&topic->resource._job._turn, turn_changes);
}

UNSEEN unsigned sim_left(const struct sim_topic *topic, unsigned but)
{
	unsigned left = 0;

	for (unsigned i = 0; i < topic->note_count; i++)
		left += topic->notes[i]->topic == topic && waiting(topic->notes[i]) &&
		        topic->notes[i]->submitter != but;
	return left;
}

UNSEEN static void note_finalised(struct sim_topic *topic)
{
	if (topic->finalised)
		sim_fail("finalised twice");
	if (sim_left(topic, SIM_THREADS_MAX))
		sim_fail("finalised before its last task");
	if (topic->holder != SIM_NOBODY)
		sim_fail("finalised while %d holds it", topic->holder);
	topic->finalised = true;
	topic->finalised_by = sim_thread();
}

static int finalise(struct baton_task *task)
{
	struct sim_topic *topic = baton_container_of(task, struct sim_topic, finaliser);

	note_finalised(topic);
	topic->changes++;
	sim_retire(&topic->finaliser, sizeof(topic->finaliser));
	sim_retire(&topic->resource, sizeof(topic->resource));
	return 0;
}

int sim_topic_close_then(struct sim_topic *topic)
{
	baton_task_init(&topic->finaliser, finalise, NULL);
	return baton_resource_close_then(&topic->resource, &topic->finaliser);
}

void sim_topic_close(struct sim_topic *topic)
{
	(void)baton_resource_close(&topic->resource);
	sim_require(baton_resource_await(&topic->resource, NULL) == 0);
	baton_resource_deinit(&topic->resource);
	topic->changes++;
	sim_retire(&topic->resource, sizeof(topic->resource));
}

UNSEEN void sim_settled(const struct sim_topic *topic)
{
	if (sim_left(topic, SIM_THREADS_MAX))
		sim_fail("%u tasks were accepted and have never run",
		         sim_left(topic, SIM_THREADS_MAX));
	if (topic->holder != SIM_NOBODY)
		sim_fail("in the end %d holds the resource", topic->holder);
}

/* ---- A manual executor ---- */

void sim_drive(struct baton_manual *manual)
{
	for (;;) {
		bool last = sim_others_ended();

		if (baton_manual_run_one(manual))
			continue;
		if (last)
			break;
		sim_yield();
	}
	sim_join_all();
}
