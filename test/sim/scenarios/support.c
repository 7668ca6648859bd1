/* SPDX-License-Identifier: MIT */
/*
 * Topics and notes. What they remember is the explorer's, not the program's: it is written without
 * being looked at (SIM_UNSEEN), save for `changes`, which the batons protect.
 */
#include "support.h"

#include "base/atomic.h"
#include "module/bound.h"
#include "module/lend.h"

/* ---- Who holds it: follows the two words of the resource ---- */

static struct sim_topic *topic_of_word(const void *word)
{
	return baton_container_of((uintptr_t)word, struct sim_topic, resource._word);
}

static struct sim_topic *topic_of_turn(const void *turn)
{
	return baton_container_of((uintptr_t)turn, struct sim_topic, resource._job._turn);
}

SIM_UNSEEN static void hand(struct sim_topic *topic, int from, int to)
{
	if (topic->holder != from)
		sim_fail("two holders: %d, though %d holds it, gives it to %d", from, topic->holder,
		         to);
	topic->holder = to;
}

SIM_UNSEEN static void word_changes(const void *word, unsigned thread, uint64_t before,
                                    uint64_t after)
{
	struct sim_topic *topic = topic_of_word(word);

	if (!baton__word_is_busy(before) && baton__word_is_busy(after))
		hand(topic, SIM_NOBODY, (int)thread);
	else if (baton__word_is_busy(before) && !baton__word_is_busy(after))
		hand(topic, (int)thread, SIM_NOBODY);
	else if (!baton__word_is_resting(before) && baton__word_is_resting(after))
		hand(topic, (int)thread, SIM_REST);
	else if (baton__word_is_resting(before) && !baton__word_is_resting(after))
		hand(topic, SIM_REST, (int)thread);
}

SIM_UNSEEN static void turn_changes(const void *word, unsigned thread, uint64_t before,
                                    uint64_t after)
{
	struct sim_topic *topic = topic_of_turn(word);
	uint32_t from = before & BATON__PHASE;
	uint32_t to = after & BATON__PHASE;

	if (from != to) {
		if (from == BATON__QUEUED)
			hand(topic, SIM_QUEUE, (int)thread);
		else if (to == BATON__QUEUED) {
			hand(topic, (int)thread, SIM_QUEUE);
			/* A borrower gives back; the job is where the runner has put it. */
			if (from == BATON__HELD)
				topic->giver = (int)thread;
		}
	}
	if ((before & BATON__SHELF) != BATON__SHELF_LEFT &&
	    (after & BATON__SHELF) == BATON__SHELF_LEFT)
		hand(topic, (int)thread, SIM_SHELF);
	if ((before & BATON__SHELF) == BATON__SHELF_LEFT &&
	    (after & BATON__SHELF) != BATON__SHELF_LEFT)
		hand(topic, SIM_SHELF, (int)thread);
	if (!(before & BATON__LEAVING) && after & BATON__LEAVING)
		hand(topic, (int)thread, SIM_VISITORS);
	if (before & BATON__LEAVING && !(after & BATON__LEAVING))
		hand(topic, SIM_VISITORS, (int)thread);
}

/* The topics whose queue is lent (module/lend.h), and the words that say to whom. */
#define LENDERS_MAX 8

static struct {
	const uint32_t *word;
	struct sim_topic *topic;
} lenders[LENDERS_MAX];

SIM_UNSEEN static struct sim_topic *topic_of_lent(const void *word)
{
	int i = 0;

	while (lenders[i].word != word)
		i++;
	return lenders[i].topic;
}

SIM_UNSEEN static void lent_changes(const void *word, unsigned thread, uint64_t before,
                                    uint64_t after)
{
	struct sim_topic *topic = topic_of_lent(word);

	if (before == BATON__OPEN && after == BATON__TAKEN)
		topic->taker = (int)thread;
	else if (before == BATON__TAKEN && after == BATON__LEFT)
		hand(topic, (int)thread, SIM_TAKER);
	else if (before == BATON__LEFT && after == BATON__KEPT && topic->taker == (int)thread)
		hand(topic, SIM_TAKER, (int)thread);
	else if (before != after && before + after != BATON__KEPT + BATON__OPEN &&
	         !(before == BATON__TAKEN && after == BATON__OPEN))
		sim_fail("the queue goes from %u to %u", (unsigned)before, (unsigned)after);
}

SIM_UNSEEN void sim_topic_bound(struct sim_topic *topic, struct baton_bound *bound)
{
	int i = 0;

	baton_resource_set_bound(&topic->resource, bound);
	if (!baton__bound_drops_oldest(bound->_config))
		return;
	while (lenders[i].word && lenders[i].word != &bound->_lent)
		i++;
	if (i == LENDERS_MAX)
		sim_fail("more bounds that drop than LENDERS_MAX");
	lenders[i].word = &bound->_lent;
	lenders[i].topic = topic;
	sim_watch(&bound->_lent, lent_changes);
}

/* ---- Notes ---- */

SIM_UNSEEN static void note_fate(struct sim_note *note, enum sim_fate fate)
{
	if (note->fate != SIM_ACCEPTED)
		sim_fail("a task of fate %d has now fate %d", note->fate, fate);
	if (fate == SIM_RAN && note->never)
		sim_fail("a task runs whose cancel has succeeded");
	note->fate = fate;
	note->runner = sim_thread();
}

SIM_UNSEEN static uint32_t state_of(const struct sim_note *note)
{
	return note->own_future ? note->future._state & BATON__FUTURE_STATE : 0;
}

/* Is it still to run? */
SIM_UNSEEN static bool waits(const struct sim_note *note)
{
	uint32_t state = state_of(note);

	return note->fate == SIM_ACCEPTED && state != BATON__FUTURE_CANCELLING &&
	       state != BATON__FUTURE_CANCELLED;
}

/*
 * Had the submit of note number `i` ended before that of `note` began? For a reader, which may join
 * by a look at the word: does its end happen before that beginning?
 */
SIM_UNSEEN static bool is_earlier(const struct sim_note *note, unsigned i)
{
	const struct sim_note *other = note->topic->notes[i];

	return note->reads ? note->known >> i & 1 : other->ended && other->ended < note->began;
}

/* Nobody whose submit had ended before this one's began is still waiting. */
SIM_UNSEEN static void check_order(const struct sim_note *note)
{
	const struct sim_topic *topic = note->topic;

	for (unsigned i = 0; i < topic->note_count; i++) {
		const struct sim_note *other = topic->notes[i];

		if (other != note && other->topic == topic && other->lane == note->lane &&
		    !(note->reads && other->reads) && waits(other) && is_earlier(note, i))
			sim_fail("order: a task runs before one that was submitted earlier");
	}
}

SIM_UNSEEN static void enter(struct sim_topic *topic, bool entered)
{
	if (topic->entered == entered || topic->reading)
		sim_fail("two tasks of one resource overlap");
	if (entered && topic->holder != (int)sim_thread())
		sim_fail("a task runs on thread %u, the holder is %d", sim_thread(), topic->holder);
	if (topic->finalised)
		sim_fail("a task runs after the finaliser");
	if (topic->only != SIM_NOBODY && topic->only != (int)sim_thread())
		sim_fail("a task runs on thread %u, not on the executor's", sim_thread());
	topic->entered = entered;
}

void *sim_note_run(void *argument)
{
	struct sim_note *note = argument;
	struct sim_topic *topic = note->topic;

	enter(topic, true);
	check_order(note);
	note_fate(note, SIM_RAN);
	topic->changes++;
	if (note->body)
		note->body(note);
	enter(topic, false);
	return note;
}

SIM_UNSEEN void sim_reading_begin(struct sim_topic *topic)
{
	if (topic->entered)
		sim_fail("a reader overlaps a writer");
	if (topic->finalised)
		sim_fail("a reader runs after the finaliser");
	topic->reading++;
}

SIM_UNSEEN void sim_reading_end(struct sim_topic *topic)
{
	topic->reading--;
}

void *sim_note_read(void *argument)
{
	struct sim_note *note = argument;
	struct sim_topic *topic = note->topic;
	int changes = topic->changes;

	sim_reading_begin(topic);
	check_order(note);
	note_fate(note, SIM_RAN);
	if (note->body)
		note->body(note);
	sim_point();
	sim_require(topic->changes == changes);
	sim_reading_end(topic);
	return note;
}

static int run_note(struct baton_task *task)
{
	struct sim_note *note = baton_container_of(task, struct sim_note, task);

	(void)sim_note_run(note);
	if (!task->_future)
		sim_retire(&note->task, sizeof(note->task));
	return note->status;
}

void sim_note_cancelled(struct sim_note *note)
{
	note_fate(note, SIM_CANCELLED);
	sim_retire(&note->task, sizeof(note->task));
}

static void cancel_note(struct baton_task *task)
{
	sim_note_cancelled(baton_container_of(task, struct sim_note, task));
}

void sim_note_init(struct sim_note *note, struct sim_topic *topic, bool with_future)
{
	*note = (struct sim_note){.topic = topic, .entry = &note->task, .own_future = with_future};
	baton_future_init(&note->future);
	baton_task_init(&note->task, run_note, with_future ? &note->future : NULL);
}

SIM_UNSEEN void sim_note_begin(struct sim_note *note)
{
	struct sim_topic *topic = note->topic;

	if (topic->note_count == SIM_NOTES_MAX)
		sim_fail("explorer: more than %d notes", SIM_NOTES_MAX);
	if (note->reads)
		note->known = sim_notes_known(topic);
	topic->notes[topic->note_count++] = note;
	note->fate = SIM_ACCEPTED;
	note->submitter = sim_thread();
	note->began = sim_step();
	note->ended = 0;
}

SIM_UNSEEN int sim_note_end(struct sim_note *note, int status)
{
	note->ended = sim_step();
	note->released = sim_known(sim_thread()) - 1;
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
	return sim_note_end(note, baton_submit(&note->topic->resource, note->entry));
}

int sim_note_submit_later(struct sim_note *note)
{
	sim_note_begin(note);
	return sim_note_end(note, baton_submit_later(&note->topic->resource, note->entry));
}

int sim_note_post(struct sim_note *note)
{
	sim_note_begin(note);
	return sim_note_end(note, baton_post(&note->topic->resource, sim_note_run, note));
}

int sim_note_call(struct sim_note *note)
{
	void *value = NULL;
	int status;

	sim_note_begin(note);
	status = sim_note_end(note, baton_call(&note->topic->resource, sim_note_run, note, &value));
	sim_require(value == (status ? NULL : note));
	return status;
}

SIM_UNSEEN void sim_note_never(struct sim_note *note)
{
	if (note->fate == SIM_RAN)
		sim_fail("a task has run whose cancel succeeds");
	if (note->never)
		sim_fail("two cancels of a task succeed");
	note->never = true;
}

int sim_note_cancel(struct sim_note *note)
{
	int status = baton_future_cancel(&note->future);

	if (!status)
		sim_note_never(note);
	return status;
}

SIM_UNSEEN static enum sim_fate fate_of(const struct sim_note *note)
{
	return note->fate;
}

SIM_UNSEEN static void cancelled_now(struct sim_note *note)
{
	if (note->fate == SIM_ACCEPTED)
		note->fate = SIM_CANCELLED;
}

void sim_note_over(struct sim_note *note)
{
	enum baton_future_state state = baton_future_state(&note->future);
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
	*topic = (struct sim_topic){.holder = SIM_NOBODY, .only = SIM_NOBODY};
	if (limit == 0 && executor && executor->_ops->drive) /* its creator drives it */
		topic->only = (int)sim_thread();
	topic->config = (struct baton_resource_config){
		.capture_max = limit ? limit : BATON_CAPTURE_NONE,
		.quantum = quantum,
		.executor = executor,
		.cancelled = cancel_note,
	};
	baton_resource_init(&topic->resource, &topic->config);
	sim_watch(&topic->resource._word, word_changes);
	sim_watch(&topic->resource._job._turn, turn_changes);
}

SIM_UNSEEN static bool settled(const struct sim_note *note)
{
	return note->fate != SIM_ACCEPTED || state_of(note) == BATON__FUTURE_CANCELLED ||
	       (note->never && !note->own_future);
}

SIM_UNSEEN unsigned sim_left(const struct sim_topic *topic, unsigned but)
{
	unsigned left = 0;

	for (unsigned i = 0; i < topic->note_count; i++)
		left += topic->notes[i]->topic == topic && !settled(topic->notes[i]) &&
		        topic->notes[i]->submitter != but;
	return left;
}

_Static_assert(SIM_NOTES_MAX <= 64, "a bit for each note");

SIM_UNSEEN uint64_t sim_notes_known(const struct sim_topic *topic)
{
	uint64_t known = 0;

	for (unsigned i = 0; i < topic->note_count; i++) {
		const struct sim_note *note = topic->notes[i];

		if (note->ended && note->released <= sim_known(note->submitter))
			known |= UINT64_C(1) << i;
	}
	return known;
}

SIM_UNSEEN void sim_awaited(const struct sim_topic *topic, uint64_t known)
{
	for (unsigned i = 0; i < topic->note_count; i++)
		if (known & UINT64_C(1) << i && !settled(topic->notes[i]))
			sim_fail("await has not waited for a task");
}

SIM_UNSEEN void sim_not_delayed(const struct sim_topic *topic)
{
	int frozen = (int)sim_frozen();

	for (unsigned i = 0; i < topic->note_count; i++)
		if ((int)topic->notes[i]->submitter != frozen && !topic->notes[i]->ended)
			sim_fail("a submit is delayed");
	/* Readers are at work, or the last of them is about to unshelve: one of them is frozen,
	 * since nothing else keeps a reader here. */
	if (topic->readers && (*topic->readers > 1 || topic->holder == SIM_SHELF))
		return;
	if (topic->holder == frozen || (topic->holder == SIM_QUEUE && topic->giver == frozen) ||
	    (topic->holder == SIM_TAKER && topic->taker == frozen))
		return;
	if (sim_left(topic, (unsigned)frozen))
		sim_fail("a task is delayed by thread %d, which does not hold its resource: %d",
		         frozen, topic->holder);
}

SIM_UNSEEN static void note_finalised(struct sim_topic *topic)
{
	if (topic->finalised)
		sim_fail("finalised twice");
	for (unsigned i = 0; i < topic->note_count; i++)
		if (topic->notes[i]->ended && !settled(topic->notes[i]))
			sim_fail("finalised before its last task");
	if (topic->holder != SIM_NOBODY && !topic->stays)
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
	if (!topic->stays)
		sim_retire(&topic->resource, sizeof(topic->resource));
	store_release(&topic->over, 1);
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
	sim_require(baton_resource_await(&topic->resource) == 0);
	baton_resource_deinit(&topic->resource);
	topic->changes++;
	sim_retire(&topic->resource, sizeof(topic->resource));
}

SIM_UNSEEN void sim_settled(const struct sim_topic *topic)
{
	if (sim_left(topic, SIM_THREADS_MAX))
		sim_fail("%u tasks were accepted and have never run",
		         sim_left(topic, SIM_THREADS_MAX));
	if (topic->holder != SIM_NOBODY)
		sim_fail("in the end %d holds the resource", topic->holder);
}
