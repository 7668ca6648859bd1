/* SPDX-License-Identifier: MIT */
/*
 * Readers: beside each other, beside writers, and the end of the resource. What writers write
 * readers look at, as a plain word: an edge that is missing is a race. An execution fails when a
 * reader and a writer overlap; when a reader overtakes a writer whose submit had ended before, or
 * the other way round; when a reader is lost, or touched after it was given back.
 */
#include "script.h"

#include <baton/reader.h>
#include <baton/stats.h>
#include <baton/tag.h>

#include "base/atomic.h"
#include "thread/thread.h"

#include "../../parts.h"

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct sim_note *const notes = sim_script_stage.notes;

struct baton_readers sim_script_readers;
static struct read_task reads[SIM_SCRIPT_NOTES];
static struct baton_executor_ops beside; /* the manual executor's, and offer */
static struct baton_plain_job *offered;
static bool refuses;
static bool gone; /* the readers have ended */

static int read_note(struct baton_task *task)
{
	struct read_task *read = baton_container_of(task, struct read_task, task);
	struct sim_note *note = &notes[read - reads];

	(void)sim_note_read(note);
	if (!note->own_future)
		sim_retire(read, sizeof(*read));
	return note->status;
}

static void cancel_read(struct baton_task *task)
{
	sim_note_cancelled(&notes[baton_container_of(task, struct read_task, task) - reads]);
}

static const struct baton_task_type type = {
	.run = read_note,
	.cancelled = cancel_read,
	.future = BATON_TASK_PLACE(struct read_task, task, future),
	.stamp = BATON_TASK_PLACE(struct read_task, task, stamp),
	.reader = BATON_TASK_PLACE(struct read_task, task, reader),
};

/* A job lies here until a thread helps: one at most is on its way. */
static int offer(struct baton_executor *executor, struct baton_plain_job *job)
{
	(void)executor;
	if (refuses)
		return -ESHUTDOWN;
	job->job._next = NULL; /* as a queue does: plain */
	sim_require(swap_acq_rel(&offered, job) == NULL);
	return 0;
}

static struct baton_plain_job *take_offer(void)
{
	struct baton_plain_job *job = swap_acq_rel(&offered, NULL);

	if (job)
		job->job._next = &job->job;
	return job;
}

static void cancel_offer(void)
{
	struct baton_plain_job *job = take_offer();

	if (job)
		baton_job_cancel(&job->job);
	sim_require(gone || baton_readers_at_work(&sim_script_readers) == 0);
	baton__self->member = NULL;
}

static void give_back(void)
{
	if (gone)
		return;
	gone = true;
	baton_readers_deinit(&sim_script_readers);
	sim_retire(&sim_script_readers, sizeof(sim_script_readers));
}

SIM_VERB(readers, SIM_OK)
{
	struct baton_executor *executor = topic->config.executor;

	if (executor) {
		beside = *executor->_ops;
		beside.offer = offer;
		executor->_ops = &beside;
	}
	baton_readers_init(&sim_script_readers, &topic->resource);
	topic->readers = &sim_script_readers._state;
	sim_script_before_close(cancel_offer);
	sim_script_after_close(give_back);
	return 0;
}

SIM_VERB(reads, SIM_OK)
{
	struct read_task *read = &reads[note - notes];

	baton_task_init_of(&read->task, &type);
	baton_reader_init(&read->reader, &sim_script_readers);
	read->future = note->own_future ? &note->future : NULL;
	note->entry = &read->task;
	note->reads = true;
	return 0;
}

/* This thread is one of the executor's. */
SIM_VERB(works, SIM_OK)
{
	baton__self->member = topic->config.executor;
	return 0;
}

SIM_VERB(refuse_offers, SIM_OK)
{
	refuses = true;
	return 0;
}

SIM_VERB(help, SIM_OK)
{
	struct baton_plain_job *job = take_offer();

	if (job)
		baton_job_run(&job->job);
	return 0;
}

/* The resource has ended; a worker may still have the invitation. */
SIM_VERB(end_readers, SIM_OK)
{
	topic->readers = NULL;
	give_back();
	return 0;
}

SIM_VERB(cancel_job, SIM_OK)
{
	struct baton_plain_job *job = take_offer();

	if (job)
		baton_job_cancel(&job->job);
	return 0;
}

SIM_VERB(at_work, SIM_OK)
{
	sim_require(baton_readers_at_work(&sim_script_readers) == number);
	return 0;
}

static struct baton_tag tag = BATON_TAG_INIT;

SIM_VERB(tagged_reader, SIM_OK)
{
	baton_stamp_hold_tag(&reads[note - notes].stamp, &tag);
	return 0;
}

SIM_VERB(cancel_readers_tag, SIM_OK)
{
	sim_script_mark(&sim_script_marks.cancels);
	baton_tag_cancel(&tag);
	return 0;
}

static struct baton_resource_stats stats;

static void counts_are_balanced(void)
{
	struct baton_resource_stats copy;

	baton_resource_stats_read(&stats, &copy);
	sim_require(copy.submitted == copy.executed + copy.cancelled);
	sim_require(copy.outstanding == 0 && copy.waiting == 0);
	stats = (struct baton_resource_stats){0};
}

SIM_VERB(count_readers, SIM_OK)
{
	baton_resource_set_stats(&topic->resource, &stats);
	sim_script_after_close(counts_are_balanced);
	return 0;
}

/* ---- Joining ---- */

SIM_SCRIPT(reader_join, 0, "two readers and a writer, on an idle resource",
           "bare; readers; reads a b"
           "| A: attach; submit a | B: attach; submit b | C: attach; submit c")

SIM_SCRIPT(reader_join_2, 2, "three readers beside a writer",
           "bare; readers; reads a b c"
           "| A: attach; submit a | B: attach; submit b | C: attach; submit c"
           "| submit d")

SIM_SCRIPT(reader_join_again, 2, "a writer between two readers of one thread, beside another",
           "bare; readers; reads a c d"
           "| A: attach; submit a b c | B: attach; submit d | submit e")

SIM_SCRIPT(reader_told, 2, "a reader of a thread that has been told of a writer's submit",
           "readers; futures c; reads a b"
           "| A: attach; submit a | B: attach; submit c; fulfil | C: until_fulfilled; submit b")

SIM_SCRIPT(reader_futures, 2, "the same with futures, which are waited for",
           "readers; futures a b c; reads a b"
           "| A: attach; submit a; wait a | B: attach; submit b; wait b"
           "| submit c; drive; over c")

SIM_SCRIPT(reader_cancel, 2, "a reader is cancelled, beside its submit and beside a writer",
           "readers; futures a b; reads a b"
           "| A: attach; submit a | B: attach; submit b"
           "| C: attach; submit c | b: start D | D: attach; cancel b | drive")

SIM_SCRIPT(reader_tag, 2, "a tag is cancelled beside readers that join",
           "bare; readers; reads a b; tagged_reader b"
           "| A: attach; submit a | B: attach; submit b"
           "| cancel_readers_tag; submit c")

SIM_SCRIPT(reader_counts, 2, "statistics count each once",
           "bare; count_readers; readers; reads a b c"
           "| A: attach; submit a | B: attach; submit b | submit c d")

SIM_SCRIPT(reader_suspend, 2, "a suspension takes effect behind the readers at work",
           "bare; readers; reads a b"
           "| A: attach; submit a | B: attach; submit b"
           "| suspend 0; effective 0; alone; resume 0")

SIM_SCRIPT(reader_close, 2, "the finaliser comes behind the last reader",
           "bare; readers; reads a b; stays"
           "| A: attach; submit a = ok / closed | B: attach; submit b = ok / closed"
           "| close_then")

SIM_SCRIPT(reader_closed, 1, "a closed resource refuses a reader, although one is at work",
           "readers; reads a b"
           "| a: start B | B: attach; submit b = closed"
           "| works; later a; close; drive")

SIM_SCRIPT(reader_close_await, 2, "await on the closed resource comes behind the last reader",
           "bare; readers; reads a b"
           "| a: start B | A: attach; submit a"
           "| B: attach; submit b = ok / closed | join; end")

SIM_SCRIPT(reader_await, 2, "an await on the open resource",
           "bare; readers; reads a b"
           "| A: attach; submit a | B: attach; submit b | submit c; await")

SIM_SCRIPT(reader_hand_off, 2, "a limit of one task per stay: the executor goes on",
           "limit 1; quantum 1; readers; reads a b"
           "| A: attach; submit a | B: attach; submit b | C: attach; submit c | drive")

SIM_SCRIPT(reader_help, 1, "waiters help, and lead no others",
           "limit 1; quantum 1; readers; futures a b c; reads a c"
           "| A: attach; submit a; wait a | B: attach; submit b; wait b"
           "| submit c; wait c")

/* ---- The party ---- */

SIM_SCRIPT(reader_party, 2, "those that wait together, with one helper and a writer behind",
           "readers; futures b c; reads b c"
           "| A: attach; help; help"
           "| works; later a b c d; drive; help")

SIM_SCRIPT(reader_party_captured, 2, "a worker that captures in a job takes along what has come",
           "readers; reads a b"
           "| A: attach; submit b c"
           "| works; submit a; help")

SIM_SCRIPT(reader_party_2, 1, "the same with two helpers",
           "readers; reads b c d"
           "| A: attach; help | B: attach; help"
           "| works; later a b c d e; drive; help")

SIM_SCRIPT(reader_party_join, 2, "another joins the party, or waits behind the writer",
           "readers; reads b c e"
           "| A: attach; help | B: attach; submit e"
           "| works; later a b c; drive; help; submit d")

SIM_SCRIPT(reader_party_twice, 2, "two parties: an old invitation meets the next party",
           "readers; reads a b d e"
           "| A: attach; help | B: attach; help"
           "| works; later a b c d e; drive; help")

SIM_SCRIPT(reader_party_old, 2, "one party after the other, with one helper",
           "readers; reads a b d e"
           "| A: attach; help"
           "| works; later a b c d e; drive")

SIM_SCRIPT(reader_party_cancel, 2, "readers that are taken along are cancelled until they begin",
           "readers; futures b c; reads a b c"
           "| A: attach; help | a: start B | B: attach; cancel c"
           "| works; later a b c d; drive; help")

SIM_SCRIPT(reader_party_shutdown, 2, "the invitation is cancelled, beside the next one",
           "readers; reads a b d e"
           "| A: attach; cancel_job; cancel_job"
           "| works; later a b c d e; drive; help")

SIM_SCRIPT(reader_party_refused, 1, "no worker comes: the leader runs them all",
           "readers; refuse_offers; reads a b d"
           "| A: attach; help"
           "| works; later a b c d; drive")

SIM_SCRIPT(reader_party_end, 2, "the readers end while a worker has the invitation",
           "readers; reads a b"
           "| A: attach; help"
           "| works; later a b; run_one; end; end_readers")

SIM_SCRIPT(reader_party_end_2, 2, "the same, of an invitation that is cancelled",
           "readers; reads a b"
           "| A: attach; cancel_job"
           "| works; later a b; run_one; end; end_readers")

SIM_SCRIPT(reader_party_counts, 2, "statistics count each once",
           "count_readers; readers; reads a b c"
           "| A: attach; help | B: attach; submit d"
           "| works; later a b c; drive; help")

/* ---- Frozen ---- */

SIM_SCRIPT_FROZEN(reader_frozen_join,
                  "a reader that is stopped delays its resource, and nobody's submit",
                  "bare; readers; reads a b c"
                  "| A: attach; submit a | B: attach; submit b | C: attach; submit c d")

SIM_SCRIPT_FROZEN(reader_frozen_writer, "a writer that is stopped",
                  "bare; readers; reads b c"
                  "| A: attach; submit a | B: attach; submit b | C: attach; submit c d")

SIM_SCRIPT_FROZEN(reader_frozen_helper, "a worker that is stopped with the invitation",
                  "readers; reads a b d e"
                  "| A: attach; help | B: attach; submit d e"
                  "| works; later a b c; drive; help")
